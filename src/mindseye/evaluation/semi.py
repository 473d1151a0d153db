"""How a semi-supervised model reads pictures: how often it is right, and the bound it has of them.

A picture is read right in an attribute if the most probable value under q(y|x) is what it shows.
The bound is that of the picture alone, in nats: the ELBO of log p(x), every description scored or
one drawn, as in training.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from mindseye.data import Batch, Dataset
from mindseye.errors import UsageError
from mindseye.files import write_json
from mindseye.labels import Labels
from mindseye.metrics import Estimate, bootstrap, fraction
from mindseye.models import SemiVAE
from mindseye.objectives.dgm import semi_dgm
from mindseye.provenance import provenance
from mindseye.runs import BUILTIN, Run

__all__ = ["SemiReport", "evaluate_semi", "semi_report"]

Progress = Callable[[int, int], None]

AT_ONCE = 500
"""Pictures that are read at once."""


@dataclass(frozen=True)
class SemiReport:
    """How well pictures are read."""

    part: str
    pictures: int
    accuracy: Mapping[str, Estimate]
    """The share that is read right, by attribute, with Wilson's interval."""

    elbo: Estimate
    """The bound of log p(x), nats a picture."""

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "part": self.part,
            "pictures": self.pictures,
            "accuracy": {name: found.to_json() for name, found in self.accuracy.items()},
            "elbo": self.elbo.to_json(),
        }

    def to_text(self) -> str:
        """Lines for people."""
        wide = max(len("elbo"), *map(len, self.accuracy))
        lines = [
            f"{name:{wide}}  {e.mean:.2%} right, 95 % interval {e.low:.2%} to {e.high:.2%}"
            f"  ({self.pictures} {self.part} pictures)"
            for name, e in self.accuracy.items()
        ]
        e = self.elbo
        nats = f"{e.mean:.2f} nats, 95 % interval {e.low:.2f} to {e.high:.2f}"
        return "\n".join([*lines, f"{'elbo':{wide}}  {nats}"])


def evaluate_semi(
    run: Run,
    *,
    part: str = "test",
    pictures: int = 0,
    device: torch.device | str = "cpu",
    data: str | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> SemiReport:
    """Measure a run, and keep the report beside its weights as `accuracy.json`.

    Arguments:
        run: A run of a semi-supervised model.
        part: Whose pictures: test, or validation to choose by.
        pictures: The first so many; all of the part if 0.
        device: Where to compute.
        data: A folder with the data.
        seed: Chooses the draws, and the pixels where they are drawn.
        progress: Called with the pictures that are done and those there are.
    """
    started = time.perf_counter()
    model = run.model()
    if not isinstance(model, SemiVAE):
        kind = run.recipe.model.kind
        raise UsageError(f"{run.path} is of `kind={kind!r}`; expected 'semi'.")
    dataset = run.recipe.data.open(part, seed=seed, folder=data).to(device)
    report = semi_report(
        model.to(device), dataset, part=part, pictures=pictures, seed=seed, progress=progress
    )
    if BUILTIN not in run.path.parents:
        facts = {
            "seconds": round(time.perf_counter() - started, 1),
            "provenance": provenance(device),
        }
        write_json(run.path / "accuracy.json", report.to_json() | facts)
    return report


@torch.no_grad()
def semi_report(
    model: SemiVAE,
    dataset: Dataset,
    *,
    part: str = "test",
    pictures: int = 0,
    seed: int = 0,
    progress: Progress | None = None,
) -> SemiReport:
    """Measure a model, no longer in training, on the pictures of a data set, where both are."""
    device = model.log_marginals.device
    if not 0 <= pictures <= dataset.count:
        raise UsageError(
            f"`pictures={pictures}` must be between 1 and {dataset.count}, or 0 for all."
        )
    every = torch.arange(pictures or dataset.count, device=device)
    right, bounds = [], []
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        for index in every.split(AT_ONCE):
            batch = dataset.examples(index)
            right.append(_right(model, batch, part))
            bounds.append(_bound(model, batch))
            if progress:
                progress(int(index[-1]) + 1, len(every))
    counts = torch.cat(right).sum(0).tolist()
    names = [attribute.name for attribute in model.vocabulary]
    return SemiReport(
        part,
        len(every),
        {name: fraction(count, len(every)) for name, count in zip(names, counts, strict=True)},
        bootstrap(torch.cat(bounds).cpu())._replace(spread=None),
    )


def _right(model: SemiVAE, batch: Batch[Labels], part: str) -> Tensor:
    """Which attributes of which pictures are read right, `(B, K)`."""
    if not batch.y.observed.all():
        raise UsageError(
            f"`part={part!r}` does not say what its pictures show, so nothing is right or wrong."
        )
    return model.q_y_given_x(batch.x).mode == batch.y.codes


def _bound(model: SemiVAE, batch: Batch[Labels]) -> Tensor:
    """The bound of log p(x), `(B,)`: nothing is said."""
    nothing = Labels(batch.y.codes, torch.zeros_like(batch.y.observed))
    return semi_dgm(model, batch.x, nothing).terms["elbo"]
