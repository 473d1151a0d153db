"""The scores of a ledger of disentanglement: of runs, and of the best and the worst there are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from mindseye.evaluation.disentangling import (
    Asked,
    disentanglement_of,
    evaluate_disentanglement,
)
from mindseye.evaluation.representations import (
    constant_posteriors,
    factors_of,
    ideal_posteriors,
)
from mindseye.papers import Recipe
from mindseye.reproduction.ledger_plan import LedgerPlan
from mindseye.runs import Run

__all__ = ["disentanglement", "disentanglement_limits"]

Progress = Callable[[int, int], None]


def disentanglement(
    run: Run,
    asked: Mapping[str, float],
    device: torch.device | str,
    data: str | None,
    progress: Progress,
) -> dict[str, Any]:
    """All scores of a run, with rate and distortion."""
    found = evaluate_disentanglement(
        run, _asked(asked), device=device, data=data, progress=progress
    )
    return found.scores | found.nats


def disentanglement_limits(
    plan: LedgerPlan,
    recipe: Recipe,
    device: torch.device | str,
    data: str | None,
    progress: Progress,
) -> dict[str, dict[str, Any]]:
    """What the factors themselves score, and what a constant does, by label."""
    known = {
        "the factors themselves (ceiling)": ideal_posteriors,
        "a constant (floor)": constant_posteriors,
    }
    words = factors_of(recipe.data.name).vocabulary
    return {
        label: disentanglement_of(
            make(words), words, _asked(plan.asked), device=device, progress=progress
        ).scores
        for label, make in known.items()
    }


def _asked(numbers: Mapping[str, float]) -> Asked:
    told: dict[str, Any] = {name: int(value) for name, value in numbers.items()}
    return Asked(**told)
