"""Sweeps: one recipe at many settings, in one process.

A run is found again by its recipe's digest: the same sweep goes on where it was stopped, a larger
one trains what is new, and one that is finished trains nothing.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from itertools import product
from typing import Any

import torch

from mindseye.errors import DataError, NumericError, UsageError
from mindseye.evaluation import Protocol, evaluate_run, evaluated, scores_of
from mindseye.evaluation.links import evaluate_links, links_scores
from mindseye.evaluation.parts import evaluate_parts, parts_scores
from mindseye.files import explained
from mindseye.papers import Recipe
from mindseye.papers.recipe import Refit
from mindseye.runs import Run, blank, create, list_runs
from mindseye.runs.together import alike, train_together
from mindseye.training import Record

__all__ = [
    "Tally",
    "find_runs",
    "grid",
    "points",
    "rollbacks_of",
    "runs_of",
    "scored",
    "summary",
    "sweep",
    "values",
]

COMPANY = 8
"""No more models are trained together: what they keep has to fit."""

WIDEST = 10_000
"""No range holds more values; one that does is a slip of the keyboard."""


def values(text: str) -> list[str]:
    """The values that a text lists, with ranges of whole numbers, both ends included.

    >>> values("1, 10, 50")
    ['1', '10', '50']
    >>> values("0..3,7")
    ['0', '1', '2', '3', '7']
    """
    found = [value for part in text.split(",") for value in _range(part.strip())]
    if "" in found:
        raise UsageError(f"`{text}` has a value missing.", "Write values such as 1,10,50 or 0..9.")
    return found


def points(settings: Mapping[str, Sequence[str]]) -> list[dict[str, str]]:
    """Every combination of values, the last setting changing fastest.

    >>> points({"seed": ["0", "1"], "lam": ["10"]})
    [{'seed': '0', 'lam': '10'}, {'seed': '1', 'lam': '10'}]
    """
    for name, each in settings.items():
        if not each:
            raise UsageError(f"`{name}` has no values; expected one or more.")
    return [dict(zip(settings, point, strict=True)) for point in product(*settings.values())]


def grid(recipe: Recipe, settings: Mapping[str, Sequence[str]]) -> list[Recipe]:
    """A recipe at every combination of settings, all of them checked.

    >>> made = grid(Recipe("mine"), {"seed": ["0", "1"], "lam": ["10", "50"]})
    >>> [(each.training.seed, each.weights["lam"]) for each in made]
    [(0, 10.0), (0, 50.0), (1, 10.0), (1, 50.0)]

    Arguments:
        recipe: What is common to all.
        settings: Values by the name of a setting, as `Recipe.with_settings` reads them.
    """
    made: dict[str, tuple[str, Recipe]] = {}
    for point in points(settings):
        words, each = _words(point), _at(recipe, point)
        if each.digest in made:
            other = made[each.digest][0]
            raise UsageError(f"`{other}` and `{words}` are the same run.", "Leave one of them out.")
        made[each.digest] = words, each
    return [each for _, each in made.values()]


def sweep(
    recipes: Sequence[Recipe],
    root: str | os.PathLike[str] = "runs",
    device: torch.device | str = "cpu",
    data: str | None = None,
    *,
    compiled: bool = True,
) -> Generator[tuple[Run, Record]]:
    """Train what is not finished of some recipes; records as they come, each with its run.

    On a GPU, small models of one schedule are trained together, up to eight. The call itself makes
    the folders and fails if anything is missing; records are what trains. Runs whose numbers run
    away end with a record 'failed', and the others go on.

    Arguments:
        recipes: What to train.
        root: The folder of runs, where those of the same recipes are found.
        device: Where to train.
        data: A folder with the data.
        compiled: On a GPU, capture whole steps in bfloat16 and replay them.
    """
    for needed in {recipe.data for recipe in recipes}:
        needed.open("train", folder=data)  # fail before a folder is made
    unfinished = [run for run in dict.fromkeys(runs_of(recipes, root)) if not run.finished]
    return _trained(unfinished, device, data, compiled)


def scored(
    runs: Collection[Run],
    protocol: Protocol | None,
    *,
    observer: str | None = None,
    device: torch.device | str = "cpu",
    data: str | None = None,
) -> Generator[Run]:
    """Score the finished runs, those that have no such scores yet; each, once it has.

    Runs of a graph need no protocol: their validation links are measured. Nor do those of parts.
    """
    for run in dict.fromkeys(runs):
        if not run.finished:
            continue
        if protocol is None:
            if not _scores(run):
                measure = evaluate_links if run.recipe.data.is_graph else evaluate_parts
                measure(run, part="validation", device=device, data=data)
        elif not evaluated(run, protocol, observer):
            evaluate_run(run, protocol, observer=observer, device=device, data=data)
        yield run


def runs_of(recipes: Sequence[Recipe], root: str | os.PathLike[str]) -> list[Run]:
    """The runs of some recipes in a folder; made, where there is none."""
    found: dict[str, Run] = {}
    for recipe, run in zip(recipes, find_runs(recipes, root), strict=True):
        if recipe.digest not in found:
            found[recipe.digest] = run or _created(recipe, root)
    return [found[recipe.digest] for recipe in recipes]


def _created(recipe: Recipe, root: str | os.PathLike[str]) -> Run:
    """A new run; if only its last stage is new, it begins where a finished run ends."""
    start = _start(recipe, root) if recipe.start else None
    run, before = create(recipe, root, start=start), _without_last_stage(recipe, root)
    if before:
        copied = run.path / ".checkpoints"  # a copy that was cut short is never taken for whole
        with explained(copied):
            shutil.copytree(before.path / "checkpoints", copied)
            os.rename(copied, run.path / "checkpoints")
    return run


def _start(recipe: Recipe, root: str | os.PathLike[str]) -> Run:
    """The finished run whose weights a recipe begins with."""
    for run in list_runs(root):
        with suppress(DataError):
            if run.finished and run.recipe.digest == recipe.start:
                return run
    raise UsageError(
        f"{recipe.name} begins with the weights of a run with digest {recipe.start}, and none in"
        f" {root} is finished.",
        "Train that one first.",
    )


def _without_last_stage(recipe: Recipe, root: str | os.PathLike[str]) -> Run | None:
    """A finished run that differs from a recipe in its name and in lacking the refitting."""
    if not recipe.refit.updates:
        return None
    for run in list_runs(root):
        with suppress(DataError):
            same = replace(recipe, name=run.recipe.name, about=run.recipe.about, refit=Refit())
            if run.recipe == same and run.finished and run.checkpoints.newest():
                return run
    return None


def find_runs(recipes: Sequence[Recipe], root: str | os.PathLike[str]) -> list[Run | None]:
    """The run of every recipe in a folder: a finished one, else one to go on with, else none."""
    known: dict[str, Run] = {}
    for run in list_runs(root):
        with suppress(DataError):  # a damaged recipe is none of these
            digest = run.recipe.digest
            if digest not in known or (run.finished and not known[digest].finished):
                known[digest] = run
    return [known.get(recipe.digest) for recipe in recipes]


def summary(run: Run) -> dict[str, Any]:
    """What a sweep says about one run: the last record of training, and the scores it has."""
    last = next(reversed(run.trained()), {})
    return {
        "steps": last.get("step", 0),
        "bound": last.get("bound"),
        "terms": last.get("terms", {}),
        "seconds": round(run.seconds, 1),
        "rollbacks": rollbacks_of(run),
        "scores": _scores(run),
        "state": "finished" if run.finished else "unfinished",
    }


def _scores(run: Run) -> dict[str, Any]:
    """The scores that a run has: of a protocol, or of its own validation part."""
    return scores_of(run) or links_scores(run, "validation") or parts_scores(run, "validation")


class Tally:
    """How far some runs are: steps, pictures a second of all together, what went wrong.

    Arguments:
        runs: All runs of a sweep; those that are finished already count for nothing.
    """

    def __init__(self, runs: Collection[Run]):
        self.runs = {run for run in runs if not run.finished}
        self.total = sum(_steps(run) for run in self.runs)
        self.done = self.rollbacks = 0
        self.failed: dict[Run, str] = {}
        self._reached: dict[Run, int] = {}
        self._pictures, self._since = 0, 0.0

    def add(self, run: Run, record: Record) -> None:
        """Count a record."""
        self.done += record.kind == "done"
        self.rollbacks += record.kind == "rollback"
        if record.kind == "failed":
            self.failed[run] = record.note
        options, step = run.recipe.training, record.step
        new = min(step, options.steps) - self._reached.get(run, step)  # steps before are not known
        self._pictures += max(0, new) * options.batch_size
        self._since = self._since or time.perf_counter()
        self._reached[run] = step

    @property
    def steps(self) -> int:
        """Steps made by all runs, refitting counted in."""
        return sum(self._reached.values())

    @property
    def rate(self) -> float:
        """Pictures a second since the first record."""
        seconds = time.perf_counter() - self._since if self._since else 0.0
        return self._pictures / seconds if seconds else 0.0


def rollbacks_of(run: Run) -> int:
    """How often training went back to a good state."""
    return sum(record.get("kind") == "rollback" for record in run.log())


def _trained(
    runs: Sequence[Run], device: torch.device | str, data: str | None, compiled: bool
) -> Generator[tuple[Run, Record]]:
    """Train one group after another; one whose numbers run away does not stop the others."""
    for group in _groups(runs, device, compiled):
        last = dict.fromkeys(group, Record("train", 0, 0.0))
        with closing(_of(group, device, data, compiled)) as records:
            try:
                for run, record in records:
                    last[run] = record
                    yield run, record
            except NumericError as error:
                for run in group:
                    yield run, replace(last[run], kind="failed", note=str(error))


def _groups(
    runs: Sequence[Run], device: torch.device | str, compiled: bool
) -> Iterable[Sequence[Run]]:
    """Runs that are trained together on a GPU; each by itself elsewhere."""
    if torch.device(device).type != "cuda" or not compiled:
        return [[run] for run in runs]
    found: dict[Any, list[Run]] = {}
    for run in runs:
        same = alike(run.recipe) if not run.step else None
        found.setdefault(same or run.path, []).append(run)
    return [each[i : i + COMPANY] for each in found.values() for i in range(0, len(each), COMPANY)]


def _of(
    group: Sequence[Run], device: torch.device | str, data: str | None, compiled: bool
) -> Generator[tuple[Run, Record]]:
    """The records of one run, or of several that are trained together."""
    if len(group) > 1:
        yield from train_together(group, device, data, compiled=compiled)
    else:
        (run,) = group
        with closing(run.train(device, data, compiled=compiled)) as records:
            for record in records:
                yield run, record


def _at(recipe: Recipe, point: Mapping[str, str]) -> Recipe:
    """A recipe at one point of a grid, whose model can be built."""
    try:
        made = recipe.with_settings(point)
        blank(made)
    except UsageError as error:
        raise UsageError(f"{_words(point)}: {error.message}", error.hint) from error
    return made


def _words(point: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in point.items())


def _range(text: str) -> list[str]:
    """The whole numbers of `0..9`; any other text is a value itself."""
    if ".." not in text:
        return [text]
    ends = re.fullmatch(r"(-?\d+)\.\.(-?\d+)", text)
    first, last = (int(end) for end in ends.groups()) if ends else (0, -1)
    if not first <= last < first + WIDEST:
        raise UsageError(
            f"`{text}` is not a range; expected two whole numbers, the smaller one first, and at "
            f"most {WIDEST} values.",
            "Write a range such as 0..9.",
        )
    return [str(number) for number in range(first, last + 1)]


def _steps(run: Run) -> int:
    return run.recipe.training.steps + run.recipe.refit.updates
