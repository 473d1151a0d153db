r"""The best and the worst score at $S$ samples, exactly.

Coverage compares a histogram of $S$ answers with its reference, so even a perfect sampler falls
short of 1. JS is a sum over values, and the count $n_v$ of a value is binomial, whatever the other
counts are. So the expectation is a sum, with no sampling. For a sampler that draws from $r$, and
a histogram that should be $p$:

$$
\mathbb{E}\left[1 - \mathrm{JS}(p, n / S)\right]
  = 1 - \sum_v \sum_{n=0}^{S} \mathrm{Bin}(n; S, r_v) \, c(p_v, n / S),
\qquad c(p, q) = h\left(\tfrac{p + q}{2}\right) - \tfrac12 h(p) - \tfrac12 h(q)
$$

- The *perfect* sampler has $r = p$: it says what was said and draws the rest from the reference.
- The *collapsed* sampler draws one picture from the reference, whatever was said, and repeats it;
  its histogram is that of a single answer, so $S = 1$. It is the floor of coverage, and its
  correctness is chance.
"""

from __future__ import annotations

import torch
from torch import Tensor

from mindseye.concepts import Vocabulary
from mindseye.labels import Labels
from mindseye.metrics.checks import Base, check_samples
from mindseye.metrics.imagination import Marks, cells, log_of, mark, targets
from mindseye.metrics.references import Reference, reference_table

__all__ = [
    "collapsed_coverage",
    "collapsed_marks",
    "expected_similarity",
    "perfect_coverage",
    "perfect_marks",
]


def perfect_coverage(
    vocabulary: Vocabulary, samples: int, base: Base = "2", reference: Reference = "uniform"
) -> dict[str, float]:
    """Coverage of each attribute by a sampler that draws it from the reference.

    >>> from mindseye.concepts import Attribute
    >>> coin = Vocabulary([Attribute("side", ["heads", "tails"])])
    >>> [round(perfect_coverage(coin, samples)["side"], 3) for samples in (1, 10, 100)]
    [0.689, 0.98, 0.998]
    """
    table = reference_table(reference, vocabulary)
    values = expected_similarity(table, table, samples, base).tolist()
    return dict(zip(vocabulary.names, values, strict=True))


def collapsed_coverage(
    vocabulary: Vocabulary, base: Base = "2", reference: Reference = "uniform"
) -> dict[str, float]:
    """Coverage of each attribute by a sampler that repeats one picture, at any S."""
    return perfect_coverage(vocabulary, 1, base, reference)


def perfect_marks(labels: Labels, table: Tensor, samples: int, base: Base) -> Marks:
    """Expected scores of the perfect sampler on some queries."""
    open_ = expected_similarity(table, table, samples, base)  # (K,)
    similarity = torch.where(labels.observed, 1.0, open_)
    return mark(torch.ones_like(similarity), similarity, labels.observed)


def collapsed_marks(labels: Labels, table: Tensor, base: Base) -> Marks:
    """Expected scores of the collapsed sampler on some queries."""
    wanted = targets(labels, table)
    similarity = expected_similarity(wanted, table, 1, base)
    return mark((wanted * table).sum(-1), similarity, labels.observed)


def expected_similarity(p: Tensor, r: Tensor, samples: int, base: Base = "2") -> Tensor:
    """Expectation of 1 - JS between `p` and the histogram of draws from `r`.

    Arguments:
        p: What the histogram should be, probabilities `(..., V)`.
        r: What the sampler draws from, probabilities `(..., V)`.
        samples: The number of draws S.
        base: The log base of JS.
    """
    check_samples(samples)
    n = torch.arange(samples + 1, dtype=torch.float64)
    chance = _binomial(n, samples, r[..., None])  # (..., V, S + 1)
    return 1 - (chance * cells(p[..., None], n / samples)).sum((-1, -2)) / log_of(base)


def _binomial(n: Tensor, samples: int, p: Tensor) -> Tensor:
    """Probability of `n` successes, exact at p = 0 and p = 1 too."""
    ways = torch.lgamma(n[-1] + 1) - torch.lgamma(n + 1) - torch.lgamma(samples - n + 1)
    return (ways + torch.xlogy(n, p) + torch.special.xlog1py(samples - n, -p)).exp()
