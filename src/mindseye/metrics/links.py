r"""How well links are told from pairs without one, by the scores that a model gives to both.

- **AUC**, the area under the ROC curve: how often a link has the higher score, ties counted half.
- **AP**, average precision: the mean, over links from the best down, of the share of links among
  all that score at least as much, $\sum_n (R_n - R_{n-1}) P_n$ over thresholds.
- **Hits@K**: the share of links above the K-th best pair without one.

All depend on the order of the scores alone. A link is right by chance in AUC 0.5.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from mindseye.errors import UsageError
from mindseye.metrics.estimates import Estimate
from mindseye.randomness import keys, uniforms

__all__ = ["average_precision", "hits", "resampled", "roc_auc"]

WORK = 2 * 10**7
"""So many scores are resampled at most."""


def roc_auc(linked: Tensor, apart: Tensor) -> float:
    """How often a link scores above a pair without one.

    >>> roc_auc(torch.tensor([3.0, 1.0]), torch.tensor([2.0, 0.0]))
    0.75

    Arguments:
        linked: Scores of pairs that are linked, `(P,)`.
        apart: Scores of pairs that are not, `(M,)`.
    """
    _check(linked, apart)
    order = apart.sort().values
    below = torch.searchsorted(order, linked)
    level = torch.searchsorted(order, linked, right=True)
    return ((below + level).double() / (2 * len(apart))).mean().item()


def average_precision(linked: Tensor, apart: Tensor) -> float:
    """The area under precision over recall, as a sum over the scores of links.

    >>> round(average_precision(torch.tensor([3.0, 1.0]), torch.tensor([2.0, 0.0])), 4)
    0.8333
    """
    _check(linked, apart)
    links, others = linked.sort().values, apart.sort().values
    better = len(links) - torch.searchsorted(links, linked)  # and as good
    wrong = len(others) - torch.searchsorted(others, linked)
    return (better.double() / (better + wrong)).mean().item()


def hits(linked: Tensor, apart: Tensor, k: int = 100) -> float:
    """The share of links above the `k`-th best pair without one; 1 where there are fewer.

    >>> hits(torch.tensor([3.0, 1.0]), torch.tensor([2.0, 0.0]), k=1)
    0.5
    """
    _check(linked, apart)
    if k < 1:
        raise UsageError(f"`k={k}` must be at least 1.")
    if k > len(apart):
        return 1.0
    return (linked > apart.topk(k).values[-1]).double().mean().item()


def resampled(
    measure: Callable[[Tensor, Tensor], float],
    linked: Tensor,
    apart: Tensor,
    *,
    seed: int = 0,
    draws: int = 200,
) -> Estimate:
    """A measure with its 95 % interval: links and other pairs are resampled, each among themselves.

    Arguments:
        measure: Of scores of links and of other pairs.
        linked: Scores of pairs that are linked, `(P,)`.
        apart: Scores of pairs that are not, `(M,)`.
        seed: Chooses the resamples.
        draws: How many; fewer of many pairs.
    """
    count = max(20, min(draws, WORK // (len(linked) + len(apart))))
    found = [
        measure(_again(linked, seed, i, "linked"), _again(apart, seed, i, "apart"))
        for i in range(count)
    ]
    ends = torch.tensor([0.025, 0.975], dtype=torch.float64)
    low, high = torch.tensor(found, dtype=torch.float64).quantile(ends).tolist()
    return Estimate(measure(linked, apart), low, high, len(linked))


def _again(scores: Tensor, seed: int, draw: int, stream: str) -> Tensor:
    """As many scores, drawn with replacement."""
    rows = draw * len(scores) + torch.arange(len(scores))
    u = uniforms(keys(seed, rows, f"resampled {stream}"), 1)[:, 0]
    return scores[(u * len(scores)).long()]


def _check(linked: Tensor, apart: Tensor) -> None:
    """Raise unless there are scores of both kinds, all of them numbers."""
    for name, scores in (("linked", linked), ("apart", apart)):
        if scores.ndim != 1 or not len(scores):
            raise UsageError(f"`{name}` is {tuple(scores.shape)}; expected a row of scores.")
        if scores.isnan().any():
            raise UsageError(f"`{name}` has scores that are not numbers.")
