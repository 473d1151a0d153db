"""A ledger made again: plan, train, measure, draw, write.

    FOLDER/
      burda-mnist.md .json .html    the table, its numbers, a page with the pictures
      pictures/                     what the models of the first seed draw
      runs/                         every model, with what was measured of it beside it
      limits/                       the best and the worst there can be, where that is known
      seconds.json                  how long all of it took, over all calls

Whatever is there is used: a call that was stopped goes on where it was, a second call computes
nothing, and seeds beyond those that are asked for count where they are finished. No model is chosen
by its scores: every run is its last step.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import count, takewhile
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import torch

from mindseye.papers.ledgers import Entry
from mindseye.provenance import provenance
from mindseye.reproduction.clock import Clock
from mindseye.reproduction.ledger_pictures import painted
from mindseye.reproduction.ledger_plan import LedgerPlan
from mindseye.reproduction.limits import limits
from mindseye.reproduction.pages import write_pages, write_picture
from mindseye.reproduction.scorers import measured
from mindseye.reproduction.training import Watch, trained
from mindseye.runs import Run
from mindseye.sweeps import find_runs, rollbacks_of

__all__ = ["reproduce_ledger"]


def reproduce_ledger(
    plan: LedgerPlan,
    folder: str | os.PathLike[str],
    *,
    device: torch.device | str = "cpu",
    data: str | None = None,
    watch: Watch = lambda what, done, total: None,
) -> dict[str, Any]:
    """Make a ledger, and write it as Markdown, JSON and HTML; the JSON is what comes back.

    Arguments:
        plan: What to train and to measure.
        folder: Where everything goes, and where what is there already is found.
        device: Where to compute.
        data: The folder with the data.
        watch: Called with what is being done, how much of it is done and how much there is.
    """
    for needed in {plan.recipes[row.family].data for row in plan.rows}:
        needed.open("train", folder=data)  # fail before it is begun
    work = _Work(plan, Path(folder), device, data, watch)
    rest = list(plan.rows)
    while ready := [row for row in rest if work.ready(row)]:
        work.train(ready)
        rest = [row for row in rest if row not in ready]
    for row in plan.rows:
        work.measure(row)
    return work.write()


class _Work:
    """What has been done so far."""

    def __init__(
        self,
        plan: LedgerPlan,
        folder: Path,
        device: torch.device | str,
        data: str | None,
        watch: Watch,
    ):
        self.plan, self.folder, self.device, self.data = plan, folder, device, data
        self.watch, self.clock = watch, Clock(folder / "seconds.json")
        self.runs: dict[str, list[Run]] = {}
        self.found: dict[str, list[dict[str, Any]]] = {}

    def ready(self, row: Entry) -> bool:
        """Whether the weights that a row begins with are there, or none are needed."""
        first = [before for before in self.plan.rows if before.family == row.after]
        return all(self._finished(before, seed) for before in first for seed in self.plan.seeds)

    def train(self, rows: Sequence[Entry]) -> None:
        """Train all seeds of some rows; on a GPU, those side by side that can be."""
        recipes = {
            row.family: [self.plan.recipe(row, seed) for seed in self._seeds(row)] for row in rows
        }
        labels = {
            recipe.digest: f"training {row.label}" for row in rows for recipe in recipes[row.family]
        }
        with self.clock:
            runs = trained(
                [recipe for each in recipes.values() for recipe in each],
                self.folder / "runs",
                lambda run: labels[run.recipe.digest],
                device=self.device,
                data=self.data,
                watch=self.watch,
            )
        each = iter(runs)
        for family, made in recipes.items():
            self.runs[family] = [next(each) for _ in made]

    def measure(self, row: Entry) -> None:
        """Measure all seeds of a row."""
        with self.clock:
            self.found[row.family] = [
                measured(
                    self.plan.ledger.scorer,
                    run,
                    self.plan.asked_of(row),
                    device=self.device,
                    data=self.data,
                    progress=self._progress(f"measuring {row.label}"),
                )
                for run in self.runs[row.family]
            ]

    def write(self) -> dict[str, Any]:
        """Draw the pictures, and write the pages; what the JSON holds."""
        rows = self.plan.rows
        with self.clock:
            known = self._limits()
            pictures = list(self._draw())
        result = self.plan.to_json() | {
            "seeds": sorted(
                {run.recipe.training.seed for runs in self.runs.values() for run in runs}
            ),
            "entries": [self._entry(row) for row in rows],
            "limits": known,
            "runs": [
                _facts(row, run, score, self.folder)
                for row in rows
                for run, score in zip(self.runs[row.family], self.found[row.family], strict=True)
            ],
            "pictures": pictures,
            "seconds": round(self.clock.seconds, 1),
            "provenance": provenance(self.device),
        }
        write_pages(result, self.folder)
        return result

    def _seeds(self, row: Entry) -> Iterator[int]:
        """Those that are asked for, and those after them that are finished already."""
        yield from self.plan.seeds
        yield from takewhile(lambda seed: self._finished(row, seed), count(len(self.plan.seeds)))

    def _finished(self, row: Entry, seed: int) -> bool:
        (run,) = find_runs([self.plan.recipe(row, seed)], self.folder / "runs")
        return run is not None and run.finished

    def _limits(self) -> list[dict[str, Any]]:
        return limits(
            self.plan,
            self.folder / "limits",
            device=self.device,
            data=self.data,
            progress=self._progress("measuring the limits"),
        )

    def _draw(self) -> Iterator[dict[str, str]]:
        """Draw the pictures of the first seed and write them; what the JSON says about each."""
        first = [(row.label, self.runs[row.family][0]) for row in self.plan.rows]
        names = self.plan.ledger.pictures
        for done, picture in enumerate(painted(names, first, self.device, self.data), 1):
            self.watch("drawing", done, max(done, len(names)))
            yield write_picture(picture, self.folder, self.plan.ledger.name)

    def _entry(self, row: Entry) -> dict[str, Any]:
        """A row of the table: what was printed, and ours over the seeds."""
        seeds = [run.recipe.training.seed for run in self.runs[row.family]]
        ours = {}
        for column in self.plan.ledger.columns:
            values = [score["values"].get(column.key) for score in self.found[row.family]]
            if all(value is not None for value in values):
                ours[column.key] = _cell(values, seeds, self.plan.ledger.standard_error)
                ours[column.key] |= _interval(self.found[row.family], column.key)
        return {
            "family": row.family,
            "label": row.label,
            "published": dict(row.published),
            "ours": ours,
        }

    def _progress(self, title: str) -> Any:
        return lambda done, total: self.watch(title, done, total)


def _cell(
    values: Sequence[Any], seeds: Sequence[int], standard_error: bool = False
) -> dict[str, Any]:
    """The mean over seeds and how far they are apart; layer by layer where there are several."""
    each = {str(seed): value for seed, value in zip(seeds, values, strict=True)}
    if isinstance(values[0], list):
        means = [mean(layer) for layer in zip(*values, strict=True)]
        return {"mean": means, "deviation": None, "seeds": each}
    deviation = stdev(values) if len(values) > 1 else None
    if deviation is not None and standard_error:
        deviation /= len(values) ** 0.5
    return {"mean": mean(values), "deviation": deviation, "seeds": each}


def _interval(found: Sequence[dict[str, Any]], key: str) -> dict[str, Any]:
    """The interval over pictures of a row that has one seed, where its scorer gives it."""
    ends = [found[0]["values"].get(f"{key} {end}") for end in ("low", "high")]
    return {"interval": ends} if len(found) == 1 and None not in ends else {}


def _facts(row: Entry, run: Run, score: dict[str, Any], folder: Path) -> dict[str, Any]:
    return {
        "family": row.family,
        "seed": run.recipe.training.seed,
        "recipe": run.recipe.name,
        "run": run.path.relative_to(folder).as_posix(),
        "digest": run.recipe.digest,
        "steps": run.recipe.training.steps,
        "rollbacks": rollbacks_of(run),
        "training seconds": round(run.seconds, 1),
        "scoring seconds": score["seconds"],
        "measured": score["values"],
        "provenance": run.provenance,
    }
