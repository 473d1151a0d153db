"""Pictures of disentanglement: what every latent does, and which factor it stands for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from mindseye.charts import heat_charts
from mindseye.data import Dataset
from mindseye.evaluation.representations import Factored
from mindseye.explore import latents_of, liveliest, traversals
from mindseye.files import read_json
from mindseye.films import film, sheet
from mindseye.metrics.likelihood import ACTIVE
from mindseye.reproduction.drawing import Labelled, Picture
from mindseye.runs import Run

__all__ = ["information", "traversed", "votes"]

KNOWN = 0.1
"""The least share of a factor's entropy that a dimension knows if it is called after it."""


@torch.no_grad()
def traversed(
    runs: Sequence[Labelled], device: torch.device | str, data: str | None, steps: int = 11
) -> Iterator[Picture]:
    """A sheet and a film for every row: each dimension alone, from -3 to 3, most active first."""
    for label, run in runs:
        mind = run.mind()
        mind.model.to(device)
        dataset = run.recipe.data.open("test", folder=data).to(device)
        index = torch.arange(min(500, dataset.count), device=device)
        activity = latents_of(mind, dataset.examples(index)).var(0)
        order = liveliest(activity)
        z = mind.read(_typical(dataset, device)).mean[0]
        values, pictures = traversals(mind, z, steps, dimensions=order)
        names = [_called(d, run) for d in order]
        name = f"traversals-{run.recipe.name.rpartition('/')[2]}-{run.recipe.digest[:4]}"
        yield Picture(
            name,
            f"Traversals of {label}",
            _TRAVERSED,
            sheet(order, values, pictures, f"{label}: one dimension changes alone", names, scale=1),
            film(order, pictures, label, names),
        )


def votes(runs: Sequence[Labelled], device: torch.device | str, data: str | None) -> Picture:
    """The table of votes of the FactorVAE score, a factor a row and a dimension a column."""
    parts = []
    for label, run in runs:
        found = read_json(run.path / "disentanglement.json")
        counts = torch.tensor(found["votes"], dtype=torch.float64)
        shares = counts / counts.sum(1, keepdim=True).clamp_min(1)
        parts.append((label, shares.tolist(), found["factors"], _dimensions(counts.shape[1])))
    chart = heat_charts(parts, "Votes of the FactorVAE score", "share of a factor's votes")
    return Picture("votes", "Votes", _VOTES, chart)


def information(runs: Sequence[Labelled], device: torch.device | str, data: str | None) -> Picture:
    """What every dimension knows of every factor, as a share of the factor's entropy."""
    parts = []
    for label, run in runs:
        found = read_json(run.path / "disentanglement.json")
        shares = _shares(found)  # (D, K)
        parts.append((label, shares.T.tolist(), found["factors"], _dimensions(len(shares))))
    title, axis = "What every dimension knows of every factor", "share of the factor's entropy"
    return Picture("information", "Information", _INFORMATION, heat_charts(parts, title, axis))


_TRAVERSED = (
    "Every row changes one latent dimension from -3 to 3 and leaves the others where a picture of "
    "the data has them; the most active dimensions come first. A row is called after the factor "
    "that its dimension knows best, if it is active and knows a tenth of its entropy."
)
_VOTES = (
    "How often the dimension of a column varied least while the factor of a row was fixed. An "
    "ideal representation has one dark cell in each row, each in a column of its own."
)
_INFORMATION = (
    "Mutual information of the mean of a dimension, cut into 20 bins, and a factor. The MIG is the "
    "difference between the two darkest cells of a row."
)


def _dimensions(count: int) -> list[str]:
    return [f"z{d + 1}" for d in range(count)]


def _shares(found: Mapping[str, Any]) -> Tensor:
    """Information as a share of entropies, `(D, K)`."""
    every = torch.tensor(found["information"], dtype=torch.float64)
    return every / torch.tensor(found["entropies"], dtype=torch.float64)


def _called(dimension: int, run: Run) -> str:
    """The number of a dimension, and the factor that it knows best if it was measured."""
    name, path = f"z{dimension + 1}", run.path / "disentanglement.json"
    if not path.is_file():
        return name
    found = read_json(path)
    share, k = _shares(found)[dimension].max(0)
    known = share >= KNOWN and found["activities"][dimension] > ACTIVE
    return f"{name} {found['factors'][int(k)]}" if known else name


def _typical(dataset: Dataset, device: torch.device | str) -> Tensor:
    """A picture to begin with, `(1, C, H, W)`: with the middle of every factor, or the first."""
    if isinstance(dataset, Factored):
        middle = [len(attribute.values) // 2 for attribute in dataset.vocabulary]
        return dataset.pictures(torch.tensor([middle], device=device))
    return dataset.examples(torch.zeros(1, dtype=torch.int64, device=device)).x
