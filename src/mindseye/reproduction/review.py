"""What the review's table measures of its models, and which of them each picture shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from mindseye.data import DSprites
from mindseye.evaluation.disentangling import factors_found
from mindseye.evaluation.likelihood import evaluate_likelihood
from mindseye.evaluation.semi import evaluate_semi
from mindseye.metrics.disentanglement import factor_vae_score
from mindseye.runs import Run

__all__ = ["of_digits", "of_sprites", "of_words", "review"]

Progress = Callable[[int, int], None]


def review(
    run: Run,
    asked: Mapping[str, float],
    device: torch.device | str,
    data: str | None,
    progress: Progress,
) -> dict[str, Any]:
    """The negative bound of any of its models; factors found of sprites, accuracy of words."""
    pictures = int(asked["pictures"])
    if of_words(run):
        found = evaluate_semi(run, pictures=pictures, device=device, data=data, progress=progress)
        (right,) = found.accuracy.values()
        return {"loss": -found.elbo.mean, "accuracy": 100 * right.mean}
    report = evaluate_likelihood(
        run, k=100, pictures=pictures, device=device, data=data, progress=progress
    )
    nats = {"loss": report.rate.mean + report.distortion.mean, "rate": report.rate.mean}
    if of_digits(run):
        return nats
    return nats | {"found": _found(run, int(asked["points"]), device, data)}


def of_digits(run: Run) -> bool:
    """Whether it is a VAE of digits."""
    return run.recipe.model.kind == "vae" and run.recipe.data.name == "mnist"


def of_sprites(run: Run) -> bool:
    """Whether it models sprites."""
    return run.recipe.data.name == "dsprites"


def of_words(run: Run) -> bool:
    """Whether some of its descriptions were known."""
    return run.recipe.model.kind == "semi"


@torch.no_grad()
def _found(run: Run, points: int, device: torch.device | str, data: str | None) -> int:
    model: Any = run.model().to(device)
    dataset = run.recipe.data.open("test", folder=data).to(device)
    assert isinstance(dataset, DSprites)

    def represent(codes: Tensor) -> Tensor:
        parts = codes.to(device).split(1000)
        return torch.cat([model.q_x(dataset.pictures(part)).mean for part in parts])

    sizes = run.recipe.data.vocabulary.sizes
    numbers = {"train": points, "test": max(1, points // 2), "points": points}
    return factors_found(factor_vae_score(represent, sizes, device=device, **numbers).votes)
