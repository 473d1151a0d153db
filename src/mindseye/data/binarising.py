"""How grey values become pixels: anew each time, once and for all, or not at all.

A grey value between 0 and 1 is the probability that its pixel is 1. IWAE and most likelihoods of
MNIST since draw the pixels anew whenever a picture is seen in training (On the quantitative
analysis of deep belief networks, Salakhutdinov and Murray, 2008).
"""

from __future__ import annotations

import math

from torch import Tensor

from mindseye.errors import UsageError, did_you_mean, listed
from mindseye.randomness import pixel_uniforms

__all__ = ["WAYS", "binarised", "chosen_way", "grey"]

WAYS = ("dynamic", "static", "none")
"""Anew whenever a picture is seen; once for all seeds; grey values as they are."""


def chosen_way(binarise: str) -> str:
    """The way of a name; `auto` is dynamic."""
    if binarise not in ("auto", *WAYS):
        raise UsageError(
            f"`binarise={binarise!r}` is not known; expected {listed(['auto', *WAYS])}.",
            did_you_mean(binarise, WAYS),
        )
    return "dynamic" if binarise == "auto" else binarise


def binarised(images: Tensor, source: Tensor, key: Tensor) -> Tensor:
    """Some of the images `(N, H, W)`, their pixels drawn by keys, `(B, 1, H, W)`."""
    values = grey(images, source)
    return pixel_uniforms(key, math.prod(values.shape[1:])).view_as(values).lt_(values)


def grey(images: Tensor, source: Tensor) -> Tensor:
    """Some of the images as they are, in [0, 1], `(B, 1, H, W)`."""
    return images.index_select(0, source).float().div_(255)[:, None]
