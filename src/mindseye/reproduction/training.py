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
    title: str,
    *,
    device: torch.device | str,
    data: str | None,
    watch: Watch,
) -> list[Run]:
    """The finished runs of some recipes, the seeds of one row."""
    with closing(sweep(recipes, root, device, data)) as records:
        group = runs_of(recipes, root)
        tally = Tally(group)
        for run, record in records:
            tally.add(run, record)
            watch(title, tally.steps, tally.total)
    for run, note in tally.failed.items():
        raise NumericError(f"{run.path}: {note}")
    return group
