"""Which pictures come with their description: a few, as many of each class."""

from __future__ import annotations

import torch
from torch import Tensor

from mindseye.errors import UsageError
from mindseye.randomness import keys, uniforms

__all__ = ["described", "known"]


def described(
    classes: Tensor | None, part: str, labels: int, share: float, seed: int, source: str
) -> Tensor | None:
    """The pictures of a part whose description is known: all, or some of the training pictures.

    Arguments:
        classes: What the pictures show, int64 `(N,)`; nothing where the source does not say it.
        part: The part; descriptions are hidden in `train` only.
        labels: How many descriptions are known; 0 to go by `share`.
        share: The share of descriptions that are known.
        seed: Chooses the pictures.
        source: What an error calls the source.
    """
    if part != "train":
        return None
    if classes is not None:
        return known(classes, labels, share, seed)
    if labels or share != 1:
        asked = f"labels={labels}" if labels else f"labelled={share}"
        raise UsageError(
            f"`{asked}` cannot be chosen: `source={source!r}` does not say what its pictures show.",
            "Leave it out, or use another source.",
        )
    return None


def known(classes: Tensor, labels: int = 0, share: float = 1.0, seed: int = 0) -> Tensor:
    """Choose the pictures whose description is known, bool `(N,)`.

    Classes have as many each, or differ by one where the number does not divide evenly; a class
    with too few pictures is known whole. Fewer labels of one seed are among its more.

    >>> known(torch.tensor([0, 0, 0, 1, 1, 1]), labels=2).sum()
    tensor(2)

    Arguments:
        classes: What the pictures show, int64 `(N,)`.
        labels: How many descriptions are known; 0 to go by `share`.
        share: The share of descriptions that are known.
        seed: Chooses the pictures.
    """
    if labels and share != 1:
        raise UsageError(
            f"`labels={labels}` and `labelled={share}` both say how many are known; keep one."
        )
    wanted = labels or round(share * len(classes))
    if wanted > len(classes):
        raise UsageError(f"`labels={labels}` are more than the {len(classes)} training pictures.")
    u = uniforms(keys(seed, torch.arange(len(classes)), "known"), 1)[:, 0]
    chosen = torch.zeros(len(classes), dtype=torch.bool)
    chosen[(_ranks(classes, u) + u).argsort(stable=True)[:wanted]] = True
    return chosen


def _ranks(classes: Tensor, u: Tensor) -> Tensor:
    """The place of every picture among those of its class, in the order of `u`."""
    order = u.argsort(stable=True)
    order = order[classes[order].argsort(stable=True)]  # by class, then by `u`
    counts = classes.bincount()
    starts = counts.cumsum(0) - counts
    ranks = torch.empty_like(order)
    ranks[order] = torch.arange(len(order)) - starts[classes[order]]
    return ranks
