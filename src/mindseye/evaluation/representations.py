"""Representations of a world of known factors: of models, the best and the worst there are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import torch
from torch import Tensor

from mindseye.concepts import Vocabulary
from mindseye.data import DATASETS, Dataset
from mindseye.errors import UsageError
from mindseye.metrics.disentanglement import Posteriors

__all__ = [
    "BATCH",
    "Factored",
    "Narrow",
    "constant_posteriors",
    "factors_of",
    "ideal_posteriors",
    "looked_up",
]

BATCH = 4096
"""Pictures that are encoded at once."""


@runtime_checkable
class Factored(Protocol):
    """A data set whose factors are known and independent: any combination of them is a picture."""

    @property
    def vocabulary(self) -> Vocabulary:
        """The factors."""
        ...

    def pictures(self, codes: Tensor) -> Tensor:
        """The pictures with some factors int64 `(B, K)`."""
        ...

    def codes_of(self, index: Tensor) -> Tensor:
        """The factors `(B, K)` of the pictures of some numbers `(B,)`."""
        ...


class Narrow(NamedTuple):
    """Normals, by what a score asks of them."""

    mean: Tensor
    stddev: Tensor


def ideal_posteriors(vocabulary: Vocabulary) -> Posteriors:
    """The factors themselves, each in a dimension of its own with mean 0 and variance 1: a ceiling.

    Deviations are 0.01, so that two values of a factor are never taken for each other.
    """
    values = torch.tensor([len(attribute.values) for attribute in vocabulary])
    deviation = ((values.double() ** 2 - 1) / 12).sqrt()

    def posteriors(codes: Tensor) -> Narrow:
        sizes, scale = values.to(codes.device), deviation.to(codes.device, torch.float32)
        mean = (codes - (sizes - 1) / 2) / scale
        return Narrow(mean, torch.full_like(mean, 0.01))

    return posteriors


def constant_posteriors(vocabulary: Vocabulary) -> Posteriors:
    """The prior, whatever is shown: a floor."""

    def posteriors(codes: Tensor) -> Narrow:
        mean = torch.zeros(codes.shape, device=codes.device)
        return Narrow(mean, torch.ones_like(mean))

    return posteriors


def factors_of(name: str) -> type[Dataset]:
    """The data set of a name if its factors are known; else an error that says that they are not.

    >>> factors_of("dsprites").__name__
    'DSprites'
    """
    if not isinstance(DATASETS[name], Factored):
        raise UsageError(
            f"`{name}` has no independent factors whose pictures can be asked for; disentanglement"
            " is measured on dsprites."
        )
    return DATASETS[name]


@torch.no_grad()
def looked_up(
    posteriors: Posteriors, sizes: Sequence[int], device: torch.device | str
) -> Posteriors:
    """The same posteriors, all states of the world encoded once."""
    means, deviations = [], []
    for index in torch.arange(math.prod(sizes), device=device).split(BATCH):
        found = posteriors(torch.stack(torch.unravel_index(index, tuple(sizes)), dim=-1))
        means.append(found.mean)
        deviations.append(found.stddev)
    mean, deviation = torch.cat(means), torch.cat(deviations)  # (N, D)
    steps = [math.prod(sizes[k + 1 :]) for k in range(len(sizes))]
    rows = torch.tensor(steps, device=device)
    return lambda codes: Narrow(*(every[(codes * rows).sum(1)] for every in (mean, deviation)))
