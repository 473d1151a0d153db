r"""What to ask: the concepts of one level, all of them or some at random.

The level of a concept is the number of words it says. Random queries are full combinations, each
used equally often, of which a random set of attributes is kept; so every attribute is said equally
often, whatever its size. Vedantam et al. (2018) ask 480 queries per level. How they drew them is
not in the paper, but this recipe fits the sets they published, which have 19, 111, 234 and 240
distinct queries at levels 1 to 4. Their compositional split asks about its held-out combinations
only: give those as `among`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import combinations

import torch
from torch import Tensor

from mindseye.concepts import Concept, Vocabulary
from mindseye.errors import UsageError
from mindseye.labels import Labels, decode
from mindseye.randomness import keys, uniforms

__all__ = ["queries"]


def queries(
    vocabulary: Vocabulary,
    level: int,
    n: int | None = None,
    seed: int = 0,
    among: Iterable[Concept] | None = None,
) -> list[Concept]:
    """Concepts that say exactly `level` words.

    Arguments:
        vocabulary: What can be said.
        level: How many words each concept says.
        n: How many concepts to draw, with repetition; all of them, once each, if not given.
        seed: Which concepts are drawn.
        among: Full combinations; only concepts that describe at least one of them are asked.

    >>> from mindseye.concepts import Attribute
    >>> words = Vocabulary([Attribute("size", ["big", "small"]), Attribute("hue", ["red", "blue"])])
    >>> [str(concept) for concept in queries(words, 1)]
    ['size=big', 'size=small', 'hue=red', 'hue=blue']
    >>> [str(concept) for concept in queries(words, 1, among=[words.parse("small, red")])]
    ['size=small', 'hue=red']
    >>> len(queries(words, 1, n=480))
    480
    """
    if not 0 <= level <= len(vocabulary.sizes):
        raise UsageError(
            f"`level={level}` is not a number of words; expected 0 to {len(vocabulary.sizes)}."
        )
    if n is not None and n < 1:
        raise UsageError(f"`n={n}` is too few; expected 1 or more queries.")
    pool = None if among is None else _codes(among)
    if n is not None:
        return _draw(vocabulary, level, n, seed, pool)
    if pool is not None:
        return _projections(vocabulary, level, pool)
    return list(vocabulary.concepts(level))


def _codes(among: Iterable[Concept]) -> list[tuple[int, ...]]:
    """Distinct full combinations in the order of their codes: a set has no order of its own."""
    distinct: set[tuple[int, ...]] = set()
    for concept in among:
        if concept.missing:
            raise UsageError(
                f"`among` holds '{concept}', which leaves {', '.join(concept.missing)} open;"
                " expected full combinations."
            )
        distinct.add(tuple(code for code in concept.codes if code is not None))
    if not distinct:
        raise UsageError("`among` is empty; expected one full combination or more.")
    return sorted(distinct)


def _projections(vocabulary: Vocabulary, level: int, pool: list[tuple[int, ...]]) -> list[Concept]:
    """Every way to say `level` words about some combination."""
    width = len(vocabulary.sizes)
    rows = {
        tuple(code if k in kept else None for k, code in enumerate(codes)): None
        for kept in combinations(range(width), level)
        for codes in pool
    }
    return [vocabulary.from_codes(row) for row in rows]


def _draw(
    vocabulary: Vocabulary, level: int, n: int, seed: int, pool: list[tuple[int, ...]] | None
) -> list[Concept]:
    """Draw combinations, and keep a random set of `level` attributes of each."""
    width = len(vocabulary.sizes)
    u = uniforms(keys(seed, torch.arange(n), f"queries of level {level}"), 2 * width)
    rank = u[:, width:].argsort(-1).argsort(-1)
    codes = _combinations(vocabulary.sizes, u[:, :width], pool)
    return decode(vocabulary, Labels(codes, rank < level))


def _combinations(sizes: tuple[int, ...], u: Tensor, pool: list[tuple[int, ...]] | None) -> Tensor:
    """One full combination per row of uniform numbers, `(n, K)`."""
    n = len(u)
    if pool is None and math.prod(sizes) > n:
        return (u * torch.tensor(sizes)).to(torch.int64)
    if pool is None:
        table = torch.cartesian_prod(*map(torch.arange, sizes)).reshape(-1, len(sizes))
    else:
        table = torch.tensor(pool)
    # Each combination as often as n allows; chance decides the rest.
    times, rest = divmod(n, len(table))
    some = (u[:rest, 0] * len(table)).to(torch.int64)
    return table[torch.cat([torch.arange(len(table)).repeat(times), some])]
