"""Links foretold: what fills the rows of `kipf-vgae`, what needs no training, and its pictures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import mean
from typing import Any

import torch

from mindseye.evaluation.links import evaluate_links, heuristics
from mindseye.graphsheets import plane_sheet
from mindseye.papers import Recipe
from mindseye.papers.kipf import GRAPHS
from mindseye.reproduction.drawing import Picture
from mindseye.reproduction.ledger_plan import LedgerPlan
from mindseye.runs import Run

__all__ = ["links", "links_limits", "planes"]

Progress = Callable[[int, int], None]


def links(
    run: Run,
    asked: Mapping[str, float],
    device: torch.device | str,
    data: str | None,
    progress: Progress,
) -> dict[str, Any]:
    """Percent by measure, with the ends of the interval over pairs."""
    found = evaluate_links(run, device=device, data=data, progress=progress)
    ends = {"": "mean", " low": "low", " high": "high"}
    return {
        f"{name}{end}": 100 * getattr(estimate, what)
        for name, estimate in found.scores.items()
        for end, what in ends.items()
    }


def links_limits(
    plan: LedgerPlan,
    recipe: Recipe,
    device: torch.device | str,
    data: str | None,
    progress: Progress,
) -> dict[str, dict[str, Any]]:
    """What shared neighbours and like features are worth, mean over the same divisions."""
    each = []
    for done, seed in enumerate(plan.seeds, 1):
        whole = replace(recipe.data, featureless=False, split_seed=seed)
        each.append(heuristics(whole.graph("test", folder=data)))
        progress(done, len(plan.seeds))
    return {
        f"{GRAPHS[recipe.data.name]}, {label}": {
            measure: 100 * mean(one[label][measure] for one in each) for measure in each[0][label]
        }
        for label in each[0]
    }


def planes(
    runs: Sequence[tuple[str, Run]], device: torch.device | str, data: str | None
) -> Iterator[Picture]:
    """The latents of all nodes in a plane, of models that know features, coloured by class."""
    for label, run in runs:
        if run.recipe.data.featureless or run.recipe.model.latent < 3:
            continue
        chart = plane_sheet(run.linker(data, device))
        caption = (
            f"{label}: the latents of all nodes laid out so that near ones stay near (t-SNE), with "
            "the training links; colours are classes, which no model was told."
        )
        yield Picture(
            f"plane-{run.recipe.name.replace('/', '-')}", f"Plane, {label}", caption, chart
        )
