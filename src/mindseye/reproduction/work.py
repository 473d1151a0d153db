"""Train (or find), score, draw, write: a table from its plan.

    FOLDER/
      vedantam-4a.md .json .html    the table, its numbers, a page with the pictures
      pictures/                     the figures of the paper, by our models
      runs/                         every model and observer, with its scores beside it
      real/                         what real pictures score, and what the observers get right
      seconds.json                  how long all of it took, over all calls

Whatever is there is used: a call that was stopped goes on where it was, and a second call computes
nothing. No model is chosen by its scores: every run is its last step.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import torch

from mindseye.papers import Recipe
from mindseye.papers.tables import Row, Split
from mindseye.provenance import provenance
from mindseye.reproduction.clock import Clock
from mindseye.reproduction.collecting import entries
from mindseye.reproduction.drawing import Drawing
from mindseye.reproduction.pages import write_pages, write_picture
from mindseye.reproduction.plan import COLUMNS, Plan
from mindseye.reproduction.scoring import Judge, accuracy_of, score_real, score_run
from mindseye.reproduction.training import Watch, trained
from mindseye.runs import Run, find
from mindseye.sweeps import rollbacks_of

__all__ = ["reproduce"]


def reproduce(
    plan: Plan,
    folder: str | os.PathLike[str],
    *,
    device: torch.device | str = "cpu",
    data: str | None = None,
    watch: Watch = lambda what, done, total: None,
) -> dict[str, Any]:
    """Make a table, and write it as Markdown, JSON and HTML; the JSON is what comes back.

    Arguments:
        plan: What to train and to ask.
        folder: Where everything goes, and where what is there already is found.
        device: Where to compute.
        data: The folder with MNIST.
        watch: Called with what is being done, how much of it is done and how much there is.
    """
    next(iter(plan.recipes.values())).data.open("train", folder=data)  # fail before it is begun
    work = _Work(plan, Path(folder), device, data, watch, Clock(Path(folder) / "seconds.json"))
    judges = [work.judge(column) for column in plan.protocols]
    pairs = [(split, row) for split in plan.table.splits for row in plan.rows]
    for split, row in pairs:
        work.train(split, row)
        work.score(split, row, judges)
    work.score_limits(judges)
    planes = work.trained(plan.planes, "training the planes of Figure 7")
    return work.write(judges, planes)


class _Work:
    """What has been done so far."""

    def __init__(
        self,
        plan: Plan,
        folder: Path,
        device: torch.device | str,
        data: str | None,
        watch: Watch,
        clock: Clock,
    ):
        self.plan, self.folder, self.device, self.data = plan, folder, device, data
        self.watch, self.clock = watch, clock
        self.runs: dict[tuple[str, str], list[Run]] = {}
        self.scores: dict[tuple[str, str, str], list[dict[str, Any]]] = {}

    def trained(self, recipes: tuple[Recipe, ...], title: str) -> list[Run]:
        """The finished runs of some recipes."""
        where: dict[str, Any] = {"device": self.device, "data": self.data, "watch": self.watch}
        with self.clock:
            return trained(recipes, self.folder / "runs", lambda _: title, **where)

    def judge(self, column: str) -> Judge:
        """The observer of a column, trained if it has to be."""
        observer = self.plan.observers[column]
        if isinstance(observer, Recipe):
            (run,) = self.trained((observer,), f"training the observer {observer.name}")
        else:
            run = find(observer)
        data = next(iter(self.plan.recipes.values())).data
        return Judge.of(column, run, data, device=self.device, folder=self.data)

    def train(self, split: Split, row: Row) -> None:
        """Train all seeds of a row."""
        recipes = tuple(self.plan.recipe(split, row, seed) for seed in self.plan.seeds)
        title = f"training {row.label}, {split.name} split"
        self.runs[split.name, row.family] = self.trained(recipes, title)

    def score(self, split: Split, row: Row, judges: list[Judge]) -> None:
        """Score all seeds of a row by all protocols."""
        for judge in judges:
            protocol = self.plan.asked(judge.column, split)
            title = f"scoring {row.label}, {split.name} split, {COLUMNS[judge.column]}"
            with self.clock:
                self.scores[split.name, row.family, judge.column] = [
                    score_run(run, judge, protocol, split, self._progress(title))
                    for run in self.runs[split.name, row.family]
                ]

    def score_limits(self, judges: list[Judge]) -> None:
        """Score real pictures, and the limits with them, once for each protocol."""
        for split in self.plan.table.splits:
            data = self.plan.recipes[split.name, self.plan.rows[0].family].data
            for judge in judges:
                protocol = self.plan.asked(judge.column, split)
                title = f"scoring real pictures, {split.name} split, {COLUMNS[judge.column]}"
                with self.clock:
                    score = score_real(
                        self.folder / "real", judge, protocol, split, data, self._progress(title)
                    )
                self.scores[split.name, "real", judge.column] = [score]

    def write(self, judges: list[Judge], planes: list[Run]) -> dict[str, Any]:
        """Draw the pictures, and write the pages; what the JSON holds."""
        with self.clock:
            pictures = self._draw(judges[0].run, planes)
            observers = [self._observer(judge) for judge in judges]
        result = self.plan.to_json() | {
            "published": {
                "accuracies": dict(self.plan.table.accuracies),
                "spread": self.plan.table.spread,
            },
            "observers": observers,
            "entries": list(entries(self.plan, self.scores)),
            "runs": [self._facts(key, i) for key in self.runs for i in range(len(self.plan.seeds))],
            "planes": [self._origin(run) for run in planes],
            "pictures": pictures,
            "seconds": round(self.clock.seconds, 1),
            "provenance": provenance(self.device),
        }
        write_pages(result, self.folder)
        return result

    def _draw(self, observer: Run, planes: list[Run]) -> list[dict[str, str]]:
        drawing = Drawing(self.plan, self.runs, observer, self.device, self.data)
        found = []
        for picture in drawing.pictures(planes):
            found.append(write_picture(picture, self.folder, self.plan.table.name))
            self.watch("drawing", len(found), len(found))
        return found

    def _observer(self, judge: Judge) -> dict[str, Any]:
        return {
            "column": judge.column,
            "name": judge.run.recipe.name,
            "run": self._relative(judge.run),
            "weights": judge.weights,
            "seconds": round(judge.run.seconds, 1),
            "accuracies": accuracy_of(self.folder / "real", judge, self.plan.pictures),
        }

    def _facts(self, key: tuple[str, str], i: int) -> dict[str, Any]:
        """What is known about one run of the table."""
        run, columns = self.runs[key][i], self.plan.protocols
        return {
            "split": key[0],
            "family": key[1],
            "seed": run.recipe.training.seed,
            **self._origin(run),
            "digest": run.recipe.digest,
            "steps": run.recipe.training.steps,
            "rollbacks": rollbacks_of(run),
            "training seconds": round(run.seconds, 1),
            "scoring seconds": {c: self.scores[*key, c][i]["seconds"] for c in columns},
        }

    def _origin(self, run: Run) -> dict[str, Any]:
        """Where a run is, what it was made of and by what."""
        return {
            "recipe": run.recipe.name,
            "run": self._relative(run),
            "provenance": run.provenance,
        }

    def _relative(self, run: Run) -> str:
        inside = self.folder in run.path.parents
        return run.path.relative_to(self.folder).as_posix() if inside else f"built in: {run.name}"

    def _progress(self, title: str) -> Any:
        return lambda done, total: self.watch(title, done, total)
