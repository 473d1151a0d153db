"""Scores of the few pictures at hand, beside the best and the worst that can be expected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from mindseye.concepts import Concept
from mindseye.labels import encode
from mindseye.metrics.imagination import correctness, coverage
from mindseye.metrics.limits import collapsed_coverage, perfect_coverage

__all__ = ["Bounded", "Glance", "glance"]


class Bounded(NamedTuple):
    """A score between its limits."""

    value: float
    ceiling: float | None
    """Of real pictures, or of a perfect sampler; none if it was not measured."""
    floor: float
    """Of one picture, drawn whatever was said and repeated."""


class Glance(NamedTuple):
    """How good some pictures of one description are."""

    correctness: Bounded | None
    """Share of the said words that are seen; none if nothing was said."""
    coverage: Bounded | None
    """Evenness of what was left open, 1 - JS in bits; none if everything was said."""


def glance(concept: Concept, seen: Sequence[Concept], accuracy: Mapping[str, float]) -> Glance:
    """Score what an observer sees in pictures of a concept.

    >>> from mindseye.concepts import Attribute, Vocabulary
    >>> words = Vocabulary([Attribute("size", ["big", "small"]), Attribute("hue", ["red", "blue"])])
    >>> seen = [words.parse(text) for text in ("big, red", "big, blue", "small, red", "big, blue")]
    >>> glance(words.parse("big"), seen, {"size": 0.9}).correctness
    Bounded(value=0.75, ceiling=0.9, floor=0.5)

    Arguments:
        concept: What was said.
        seen: What the observer sees in every picture, full descriptions.
        accuracy: How often the observer is right on real pictures, by attribute.
    """
    judged = encode(seen).codes
    vocabulary, said, left = concept.vocabulary, concept.observed, concept.missing
    right = even = None
    if said:
        known = set(said) <= set(accuracy)
        ceiling = _mean([accuracy[name] for name in said]) if known else None
        sizes = dict(zip(vocabulary.names, vocabulary.sizes, strict=True))
        right = Bounded(
            correctness(judged, concept), ceiling, _mean([1 / sizes[name] for name in said])
        )
    if left:
        best, worst = perfect_coverage(vocabulary, len(seen)), collapsed_coverage(vocabulary)
        even = Bounded(
            coverage(judged, concept),
            _mean([best[name] for name in left]),
            _mean([worst[name] for name in left]),
        )
    return Glance(right, even)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
