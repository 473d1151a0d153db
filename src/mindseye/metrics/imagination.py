r"""Correctness and coverage: pictures show what was said and vary what was not.

Vedantam, Fischer, Huang and Murphy, *Generative Models of Visually Grounded Imagination* (2018),
https://arxiv.org/abs/1705.10762, section 3.

An observer names the attributes of $S$ pictures imagined from a concept $y_O$; its answers are
`judged`, `(S, K)`. $\mathcal{O}$ are the attributes that were said, $\mathcal{M}$ those left open,
$q_k$ is the histogram of the answers for attribute $k$, and $p_k$ is what it should be: certainty
of $y_k$ if $k$ was said, else the reference (uniform, or the marginal of the training set).

$$
\begin{aligned}
\text{correctness} &= \tfrac{1}{|\mathcal{O}|} \textstyle\sum_{k \in \mathcal{O}} q_k(y_k) \\
\text{coverage}    &= \tfrac{1}{|\mathcal{M}|} \textstyle\sum_{k \in \mathcal{M}}
                      1 - \mathrm{JS}(p_k, q_k) \\
\text{combined}    &= \tfrac{1}{K} \textstyle\sum_{k} 1 - \mathrm{JS}(p_k, q_k)
\end{aligned}
$$

The paper's text bounds JS by 1, so it means bits; its code takes JS in nats (at most 0.693) and a
uniform reference. Both are options here, and every report prints them.

Letters: Q queries, S samples, K attributes, V the size of the largest attribute; smaller
attributes have probability 0 beyond their last value.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from mindseye.concepts import Concept
from mindseye.errors import UsageError
from mindseye.labels import Labels, encode
from mindseye.metrics.checks import Base, check_base, check_codes
from mindseye.metrics.references import Reference, reference_table

__all__ = [
    "Marks",
    "cells",
    "combined",
    "compare",
    "correctness",
    "coverage",
    "histograms",
    "jensen_shannon",
    "log_of",
    "mark",
    "targets",
]


def correctness(judged: Tensor, concept: Concept) -> float:
    """Fraction of the words said that the observer sees, over all pictures.

    >>> from mindseye.concepts import Attribute, Vocabulary
    >>> words = Vocabulary([Attribute("size", ["big", "small"]), Attribute("hue", ["red", "blue"])])
    >>> judged = torch.tensor([[0, 0], [0, 1], [1, 1], [0, 0]])
    >>> correctness(judged, words.parse("size=big"))
    0.75
    """
    if not concept.observed:
        raise UsageError(
            f"`concept='{concept}'` says nothing, so it has no correctness;"
            " expected a concept with a word or more."
        )
    return float(_marks_of(judged, concept).correctness)


def coverage(
    judged: Tensor, concept: Concept, reference: Reference = "uniform", base: Base = "2"
) -> float:
    """How near the open attributes come to their reference, 1 at best.

    >>> from mindseye.concepts import Attribute, Vocabulary
    >>> words = Vocabulary([Attribute("size", ["big", "small"]), Attribute("hue", ["red", "blue"])])
    >>> judged = torch.tensor([[0, 0], [0, 1], [1, 1], [0, 0]])
    >>> coverage(judged, words.parse("size=big"))
    1.0
    """
    if not concept.missing:
        raise UsageError(
            f"`concept='{concept}'` leaves nothing open, so it has no coverage;"
            " expected a concept with an attribute unsaid."
        )
    return float(_marks_of(judged, concept, reference, base).coverage)


def combined(
    judged: Tensor, concept: Concept, reference: Reference = "uniform", base: Base = "2"
) -> float:
    """Both in one number: the mean of 1 - JS over all attributes, said or not."""
    return float(_marks_of(judged, concept, reference, base).combined)


def jensen_shannon(p: Tensor, q: Tensor, base: Base = "2") -> Tensor:
    r"""Jensen-Shannon divergence of probability vectors `(..., V)`, `(...)`.

    $$ \mathrm{JS}(p, q) = \textstyle\sum_v h(m_v) - \tfrac12 h(p_v) - \tfrac12 h(q_v), \qquad
       m = \tfrac12 (p + q), \quad h(t) = -t \log t, \quad h(0) = 0 $$

    >>> jensen_shannon(torch.tensor([1.0, 0.0]), torch.tensor([0.0, 1.0])).item()
    1.0
    """
    return cells(p, q).sum(-1).clamp(min=0) / log_of(base)


def cells(p: Tensor, q: Tensor) -> Tensor:
    """What each value adds to the Jensen-Shannon divergence, in nats."""
    entropy = torch.special.entr
    return entropy((p + q) / 2) - (entropy(p) + entropy(q)) / 2


def log_of(base: Base) -> float:
    """Nats in one unit of the base."""
    check_base(base)
    return math.log(2) if base == "2" else 1.0


class Marks(NamedTuple):
    """The three scores of Q queries, each `(Q,)`; a mean over no attributes is 0/0."""

    correctness: Tensor
    coverage: Tensor
    combined: Tensor


def compare(shown: Tensor, wanted: Tensor, observed: Tensor, base: Base) -> Marks:
    """Scores of histograms `(Q, K, V)` against what they should be `(Q, K, V)`."""
    return mark((wanted * shown).sum(-1), 1 - jensen_shannon(wanted, shown, base), observed)


def mark(matched: Tensor, similarity: Tensor, observed: Tensor) -> Marks:
    """Average over the right attributes.

    Arguments:
        matched: Share of the pictures that show the word said, `(Q, K)`.
        similarity: 1 - JS between what should be and what is, `(Q, K)`.
        observed: Which attributes were said, `(Q, K)`.
    """
    return Marks(
        (matched * observed).sum(-1) / observed.sum(-1),
        (similarity * ~observed).sum(-1) / (~observed).sum(-1),
        similarity.mean(-1),
    )


def histograms(judged: Tensor, width: int) -> Tensor:
    """Share of each value among the answers, `(Q, S, K)` to `(Q, K, V)`."""
    index = judged.mT  # (Q, K, S)
    ones = torch.ones(index.shape, dtype=torch.float64)
    counts = torch.zeros(*index.shape[:-1], width, dtype=torch.float64)
    return counts.scatter_add_(-1, index, ones) / index.shape[-1]


def targets(labels: Labels, table: Tensor) -> Tensor:
    """What each attribute of each query should look like, `(Q, K, V)`."""
    certain = one_hot(labels.codes, table.shape[-1]).to(table.dtype)
    return torch.where(labels.observed[..., None], certain, table)


def _marks_of(
    judged: Tensor, concept: Concept, reference: Reference = "uniform", base: Base = "2"
) -> Marks:
    """The scores of one query."""
    check_codes(judged, concept.vocabulary, "judged")
    labels = encode([concept])
    wanted = targets(labels, reference_table(reference, concept.vocabulary))
    return compare(histograms(judged.cpu()[None], wanted.shape[-1]), wanted, labels.observed, base)
