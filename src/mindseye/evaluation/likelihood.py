"""The likelihood of a run: nats a picture, what they are spent on, and by which units."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from mindseye.data import ENDLESS, Dataset
from mindseye.errors import UsageError
from mindseye.files import write_json
from mindseye.metrics import Estimate, bootstrap
from mindseye.metrics.likelihood import ACTIVE, Units, log_evidence, rate_distortion, units
from mindseye.models.pruning import prunable, pruned
from mindseye.provenance import provenance
from mindseye.runs import BUILTIN, Run

__all__ = ["LikelihoodReport", "evaluate_likelihood", "likelihood_of"]

Progress = Callable[[int, int], None]

MANY, MOST = 10_000, 100_000
"""Pictures that are measured of a data set without an end, and of one that has very many."""


@dataclass(frozen=True)
class LikelihoodReport:
    """What is known of a model's likelihood; nats a picture."""

    part: str
    k: int
    """Draws for every picture."""

    pictures: int
    nll: Estimate
    """The negative importance-weighted estimate of log p(x)."""

    rate: Estimate
    distortion: Estimate

    activities: tuple[tuple[float, ...], ...]
    """The variance of every unit's mean, layer by layer."""

    active: tuple[int, ...]
    """Units whose variance is above 0.01, layer by layer."""

    pruned: Estimate | None
    """The same estimate without the other units, if there are any and they can be taken out."""

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            name: value.to_json() if isinstance(value, Estimate) else value
            for name, value in vars(self).items()
        }

    def to_text(self) -> str:
        """Lines for people."""
        lines = [
            f"-log p(x)    {_shown(self.nll)}  ({self.k} draws, {self.pictures} {self.part}"
            " pictures)",
            f"-elbo        {self.rate.mean + self.distortion.mean:.2f} = rate"
            f" {self.rate.mean:.2f} + distortion {self.distortion.mean:.2f}",
            f"active units {'+'.join(map(str, self.active))} of"
            f" {'+'.join(str(len(layer)) for layer in self.activities)}",
        ]
        if self.pruned:
            lines.append(f"without the others {_shown(self.pruned)}")
        return "\n".join(lines)


def evaluate_likelihood(
    run: Run,
    *,
    part: str = "test",
    k: int = 5000,
    pictures: int = 0,
    device: torch.device | str = "cpu",
    data: str | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> LikelihoodReport:
    """Measure a run, and keep the report beside its weights as `likelihood.json`.

    Arguments:
        run: A run of a VAE, one layer or deep.
        part: Whose pictures: test, or validation to choose by.
        k: Draws for every picture.
        pictures: The first so many; all of the part if 0.
        device: Where to compute.
        data: A folder with the data.
        seed: Chooses the draws, and the pixels where they are drawn.
        progress: Called with the draws that are done and those there are.
    """
    started = time.perf_counter()
    model = run.model().to(device)
    dataset = run.recipe.data.open(part, seed=seed, folder=data).to(device)
    report = likelihood_of(
        model, dataset, part=part, k=k, pictures=pictures, seed=seed, progress=progress
    )
    if BUILTIN not in run.path.parents:
        facts = {
            "seconds": round(time.perf_counter() - started, 1),
            "provenance": provenance(device),
        }
        write_json(run.path / "likelihood.json", report.to_json() | facts)
    return report


def likelihood_of(
    model: Any,
    dataset: Dataset,
    *,
    part: str = "test",
    k: int = 5000,
    pictures: int = 0,
    seed: int = 0,
    progress: Progress | None = None,
) -> LikelihoodReport:
    """Measure a model on the pictures of a data set, where both are."""
    if not hasattr(model, "image_readers") or not hasattr(model, "prior"):
        raise UsageError("This model has no likelihood of pictures alone.")
    x = _pictures(dataset, pictures, next(model.parameters()).device)
    log_px = log_evidence(model, x, k, seed=seed, progress=progress)
    found = rate_distortion(model, x, seed=seed)
    layers = units(model, x, seed=seed)
    return LikelihoodReport(
        part,
        k,
        len(x),
        nll=_mean(-log_px),
        rate=_mean(found.rate),
        distortion=_mean(found.distortion),
        activities=tuple(tuple(layer.activity.tolist()) for layer in layers),
        active=tuple(int((layer.activity > ACTIVE).sum()) for layer in layers),
        pruned=_without(model, layers, x, k, seed),
    )


def _pictures(dataset: Dataset, count: int, device: torch.device) -> Tensor:
    """The first pictures of a data set: so many, or all, or as many as is sensible."""
    if not 0 <= count <= dataset.count:
        most = f"1 and {dataset.count}, or 0 for all (at most {MOST})"
        raise UsageError(f"`pictures={count}` must be between {most}.")
    every = min(dataset.count, MANY if dataset.count == ENDLESS else MOST)
    return dataset.examples(torch.arange(count or every, device=device)).x


def _without(model: Any, layers: Sequence[Units], x: Tensor, k: int, seed: int) -> Estimate | None:
    """The estimate of the model without its inactive units."""
    keep, means = [layer.activity > ACTIVE for layer in layers], [layer.mean for layer in layers]
    dead, alive = any(not each.all() for each in keep), all(each.any() for each in keep)
    if not (dead and alive and prunable(model)):
        return None
    return _mean(-log_evidence(pruned(model, keep, means), x, k, seed=seed))


def _mean(values: Tensor) -> Estimate:
    return bootstrap(values.cpu())._replace(spread=None)


def _shown(found: Estimate) -> str:
    return f"{found.mean:.2f} nats, 95 % interval {found.low:.2f} to {found.high:.2f}"
