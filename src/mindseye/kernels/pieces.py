"""Pieces of kernels: ELU and its slope, and where a pixel lies in folded maps."""

from __future__ import annotations

import triton
import triton.language as tl

__all__ = ["elu", "folded", "through_elu"]


@triton.jit
def elu(t):
    """t above 0, its exponential less 1 below."""
    return tl.where(t > 0, t, tl.exp(tl.minimum(t, 0.0)) - 1.0)


@triton.jit
def through_elu(d, t):
    """The gradient before an ELU of t, from the one behind it."""
    return tl.where(t > 0, d, d * tl.exp(tl.minimum(t, 0.0)))


@triton.jit
def folded(row, height, side, channels):
    """Where the channels of a pixel begin in maps folded two by two."""
    w, h = row % side, row // side % height
    b = row // (side * height)
    place = (b * (height // 2) + h // 2) * (side // 2) + w // 2
    return (place * 4 + (h % 2) * 2 + w % 2) * channels
