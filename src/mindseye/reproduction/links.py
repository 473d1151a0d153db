"""Links foretold: what fills the rows of `kipf-vgae`, what needs no training, and its pictures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import mean
from typing import Any

import torch

from mindseye.evaluation.links import evaluate_links, heuristics
from mindseye.graphsheets import plane_sheet
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
    plan: LedgerPlan, device: torch.device | str, data: str | None, progress: Progress
) -> dict[str, dict[str, Any]]:
    """What shared neighbours and like features are worth, mean over the same divisions."""
    graphs = {recipe.data.name: recipe.data for recipe in plan.recipes.values()}
    found: dict[str, dict[str, Any]] = {}
    for done, (name, kind) in enumerate(graphs.items(), 1):
        whole = replace(kind, featureless=False)
        each = [
            heuristics(replace(whole, split_seed=seed).open("test", folder=data))  # pyright: ignore[reportArgumentType]
            for seed in plan.seeds
        ]
        for label in each[0]:
            found[f"{GRAPHS[name]}, {label}"] = {
                measure: 100 * mean(one[label][measure] for one in each)
                for measure in each[0][label]
            }
        progress(done, len(graphs))
    return found


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
