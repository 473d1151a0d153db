r"""A mean, and how far to trust it.

Two spreads are given for a mean over queries. The percentile bootstrap: 1000 resamples of the
queries, and the interval that holds 95 % of their means. And the ± printed in the tables of
Vedantam et al. (2018), which is the standard deviation of five means, each over a draw, with
replacement, of 80 % of the queries. Both speak of the queries of one model, not of training anew.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import torch
from torch import Tensor

from mindseye.randomness import keys, uniforms

__all__ = ["Estimate", "bootstrap", "fraction"]


class Estimate(NamedTuple):
    """A mean with its 95 % interval."""

    mean: float
    low: float
    high: float
    n: int
    """How many values the mean is over."""

    spread: float | None = None
    """The ± of Vedantam et al. (2018), for means over queries."""

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary."""
        return self._asdict()


def bootstrap(values: Tensor, seed: int = 0, resamples: int = 1000) -> Estimate:
    """The mean of values `(Q,)` with its percentile interval and the paper's ±.

    >>> bootstrap(torch.ones(8))
    Estimate(mean=1.0, low=1.0, high=1.0, n=8, spread=0.0)
    """
    values = values.to(torch.float64)
    n = len(values)
    means = _means(values, n, resamples, seed, "bootstrap")
    low, high = means.quantile(torch.tensor([0.025, 0.975], dtype=torch.float64)).tolist()
    spread = _means(values, max(1, int(0.8 * n)), 5, seed, "spread").std(correction=0).item()
    return Estimate(values.mean().item(), low, high, n, spread)


def fraction(successes: int, n: int) -> Estimate:
    r"""A share of independent trials, with Wilson's interval.

    $$ \frac{\hat p + z^2 / 2n \pm z \sqrt{\hat p (1 - \hat p) / n + z^2 / 4n^2}}{1 + z^2 / n},
       \qquad z = 1.96 $$

    >>> share = fraction(9, 10)
    >>> share.mean, round(share.low, 3), round(share.high, 3)
    (0.9, 0.596, 0.982)
    """
    z, mean = 1.959963984540054, successes / n
    centre = mean + z**2 / (2 * n)
    half = z * math.sqrt(mean * (1 - mean) / n + (z / (2 * n)) ** 2)
    low, high = (centre - half) / (1 + z**2 / n), (centre + half) / (1 + z**2 / n)
    return Estimate(mean, max(low, 0.0), min(high, 1.0), n)


def _means(values: Tensor, size: int, draws: int, seed: int, stream: str) -> Tensor:
    """Means of `draws` draws of `size` values with replacement, some draws at a time."""
    step = max(1, 1_000_000 // size)  # 8 MB of indices
    found = []
    for start in range(0, draws, step):
        stop = min(start + step, draws)
        found.append(values[_indices(seed, stream, start, stop, size, len(values))].mean(-1))
    return torch.cat(found)


@lru_cache(maxsize=8)
def _indices(seed: int, stream: str, start: int, stop: int, size: int, n: int) -> Tensor:
    """Draws number `start` to `stop` from `n` values; all scores of a table meet the same ones."""
    u = uniforms(keys(seed, torch.arange(start, stop), stream), size)  # (draws, size)
    return (u * n).to(torch.int64).clamp_(max=n - 1)
