"""Runs of recipes: found where they are finished, taken up where they are not, else trained."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import torch

from mindseye.errors import NumericError
from mindseye.papers import Recipe
from mindseye.runs import Run
from mindseye.sweeps import Tally, runs_of, sweep

__all__ = ["Watch", "trained"]

Watch = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is."""


def trained(
    recipes: Sequence[Recipe],
    root: Path,
    title: Callable[[Run], str],
    *,
    device: torch.device | str,
    data: str | None,
    watch: Watch,
) -> list[Run]:
    """The finished runs of some recipes.

    Arguments:
        recipes: What to train.
        root: The folder of the runs.
        title: What is being done while a run is trained.
        device: Where to train.
        data: The folder with the data.
        watch: Called with the title of the first run that is not done, and with steps.
    """
    with closing(sweep(recipes, root, device, data)) as records:
        group = runs_of(recipes, root)
        tally, left = Tally(group), [run for run in group if not run.finished]
        for run, record in records:
            tally.add(run, record)
            watch(title(left[0]), tally.steps, tally.total)
            if record.kind in ("done", "failed") and len(left) > 1:
                left.remove(run)
    for run, note in tally.failed.items():
        raise NumericError(f"{run.path}: {note}")
    return group
