"""Who sees what: source pictures and attribute combinations, divided without leaks.

Source digits are divided before anything is rendered, so the renderings of one digit never fall on
both sides. Two sevenths belong to the observer alone; the rest is train, validation and test in
the paper's 85 : 5 : 10. The compositional split also divides the combinations of attributes
85 : 5 : 10 (204, 12 and 24 of MNIST-A's 240), so that a model is asked for what it has never seen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from mindseye.errors import UsageError, did_you_mean, listed
from mindseye.randomness import keys, uniforms

__all__ = [
    "PARTS",
    "checked_part",
    "combinations",
    "compositional_split",
    "set_apart",
    "shuffled_order",
    "source_split",
]

PARTS = ("train", "validation", "test", "observer")


def source_split(count: int, part: str, seed: int = 0) -> Tensor:
    """Indices of the sources that belong to a part, sorted.

    >>> [len(source_split(70_000, part)) for part in PARTS]
    [42500, 2500, 5000, 20000]
    """
    order = shuffled_order(count, seed, "sources")
    models = round(count * 5 / 7)
    train, validation = round(models * 0.85), round(models * 0.90)
    edges = {
        "train": (0, train),
        "validation": (train, validation),
        "test": (validation, models),
        "observer": (models, count),
    }
    start, stop = edges[checked_part(part, PARTS)]
    return order[start:stop].sort().values


def compositional_split(sizes: Sequence[int], part: str, seed: int = 0) -> Tensor:
    """The combinations of attribute codes that belong to a part, `(M, K)`.

    >>> [len(compositional_split([10, 2, 3, 4], part)) for part in PARTS[:3]]
    [204, 12, 24]
    """
    every = combinations(sizes)
    order = shuffled_order(len(every), seed, "combinations")
    train, validation = math.floor(0.85 * len(every)), math.floor(0.90 * len(every))
    edges = {
        "train": (0, train),
        "validation": (train, validation),
        "test": (validation, len(every)),
    }
    start, stop = edges[checked_part(part, edges)]
    return every[order[start:stop].sort().values]


def set_apart(count: int, held: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Indices that stay, and `held` that are set apart, both sorted.

    >>> [len(part) for part in set_apart(60_000, 400)]
    [59600, 400]
    """
    if not 0 <= held < count:
        raise UsageError(f"{held} of {count} pictures cannot be set apart; give more pictures.")
    order = shuffled_order(count, seed, "set apart")
    return order[held:].sort().values, order[:held].sort().values


def combinations(sizes: Sequence[int]) -> Tensor:
    """All combinations of codes, `(∏ sizes, K)`."""
    return torch.cartesian_prod(*(torch.arange(size) for size in sizes)).view(-1, len(sizes))


def shuffled_order(count: int, seed: int, stream: str) -> Tensor:
    """A permutation that is the same on every machine and in every version of torch."""
    return uniforms(keys(seed, torch.arange(count), stream), 1)[:, 0].argsort(stable=True)


def checked_part(part: str, parts: Sequence[str] | dict[str, tuple[int, int]]) -> str:
    """A part that is one of `parts`, or an error that names them."""
    if part not in parts:
        raise UsageError(
            f"`part={part!r}` is not known; expected {listed(parts)}.", did_you_mean(part, parts)
        )
    return part
