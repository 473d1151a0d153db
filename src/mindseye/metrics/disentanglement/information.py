r"""Entropy and mutual information of counts, and the gap between the two best dimensions.

A representation is cut into bins of equal width, dimension by dimension, from its smallest to its
largest value. Of the joint counts of bins and factor values,

$$ I(a; b) = H(a) + H(b) - H(a, b), \qquad H(a) = -\textstyle\sum_i p_i \log p_i $$

All in nats. The estimate is that of the counts, without correction: independent draws have a
little more than 0, about $(A - 1)(B - 1) / 2N$ for $N$ draws of $A$ and $B$ values.

Letters: N states, D dimensions, K factors, A bins, V the size of the largest factor.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from mindseye.errors import UsageError

__all__ = [
    "MutualInformationGap",
    "binned",
    "entropy",
    "factor_entropies",
    "gap_of",
    "information_matrix",
    "joint_counts",
    "mutual_information",
    "top_two",
]

ROUNDING = 1e-12
"""Nats that three entropies may miss each other by; as little is taken for nothing."""


class MutualInformationGap(NamedTuple):
    """How much more the best dimension knows of a factor than the next."""

    score: float
    """The mean of the gaps."""
    gaps: Tensor
    """Of each factor, as a share of its entropy, `(K,)`."""
    information: Tensor
    """Between each dimension and each factor, in nats, `(D, K)`."""
    entropies: Tensor
    """Of each factor, in nats, `(K,)`."""


def gap_of(information: Tensor, entropies: Tensor) -> MutualInformationGap:
    """The gap of information `(D, K)` about factors with entropies `(K,)`.

    Estimates below 0 count as 0. A single dimension has no rival: its gap is all it knows.

    >>> information = torch.tensor([[0.6, 0.0], [0.2, 0.1], [0.0, 0.5]])
    >>> gap_of(information, torch.tensor([0.8, 0.8])).gaps
    tensor([0.5000, 0.5000])
    """
    information, entropies = information.cpu(), entropies.cpu()
    if not (entropies > 0).all():
        raise UsageError(
            f"Factor {entropies.argmin().item()} has one value in all states drawn;"
            " expected `points` enough to see two."
        )
    first, second = top_two(information.clamp(min=0))
    gaps = (first - second) / entropies
    return MutualInformationGap(gaps.mean().item(), gaps, information, entropies)


def top_two(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """The largest and the second largest of each column `(D, K)`; the second of one row is 0."""
    best = matrix.topk(min(2, len(matrix)), dim=0).values
    return best[0], best[1] if len(best) > 1 else torch.zeros_like(best[0])


def information_matrix(representations: Tensor, codes: Tensor, bins: int) -> Tensor:
    """Mutual information of binned dimensions `(N, D)` and factors `(N, K)`, `(D, K)`."""
    bin_of = binned(representations, bins)
    columns = [mutual_information(joint_counts(bin_of, values)) for values in codes.mT]
    return torch.stack(columns, dim=-1)


def binned(values: Tensor, bins: int) -> Tensor:
    """The bin of every value in its column, `(N, D)`; the largest value is in the last bin.

    >>> binned(torch.tensor([[0.0], [0.9], [1.0], [3.9], [4.0]]), 4)[:, 0]
    tensor([0, 0, 1, 3, 3])
    """
    low, high = values.amin(0)[:, None], values.amax(0)[:, None]
    inner = torch.arange(1, bins, device=values.device) / bins
    edges = low + (high - low) * inner  # (D, A - 1)
    return torch.searchsorted(edges.contiguous(), values.mT.contiguous(), right=True).mT


def joint_counts(bins: Tensor, values: Tensor) -> Tensor:
    """How often each bin `(N, D)` of each dimension meets each value `(N,)`, `(D, A, V)`."""
    d, a, v = bins.shape[1], int(bins.max()) + 1, int(values.max()) + 1
    table = torch.arange(d, device=bins.device) * (a * v)
    cells = table + bins * v + values[:, None]  # (N, D)
    return torch.bincount(cells.flatten(), minlength=d * a * v).reshape(d, a, v)


def mutual_information(counts: Tensor) -> Tensor:
    """Mutual information of joint counts `(..., A, V)`, `(...)`; exactly 0 of what never varies.

    >>> mutual_information(torch.tensor([[5, 0], [0, 5]])).exp()
    tensor(2., dtype=torch.float64)
    """
    marginals = entropy(counts.sum(-1)) + entropy(counts.sum(-2))
    found = marginals - entropy(counts.flatten(-2))
    return torch.where(found > ROUNDING, found, 0.0)


def entropy(counts: Tensor) -> Tensor:
    """Entropy of counts `(..., V)`, `(...)`.

    >>> entropy(torch.tensor([[1, 1, 1, 1], [7, 0, 0, 0]])).exp()
    tensor([4., 1.], dtype=torch.float64)
    """
    counts = counts.to(torch.float64)
    return torch.special.entr(counts / counts.sum(-1, keepdim=True)).sum(-1)


def factor_entropies(codes: Tensor) -> Tensor:
    """Entropies of the factors of some states `(N, K)`, `(K,)`."""
    return torch.stack([entropy(torch.bincount(values)) for values in codes.mT])
