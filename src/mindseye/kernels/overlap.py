"""Overlapping sums: the second half of a 5 by 5 transposed convolution of stride 2 to one channel.

The first half is a matrix product: each pixel of the maps gives 25 numbers (32, for the product's
sake), one for each pixel of the result near it. A pixel of the result is the sum of 4 to 9 of them.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from mindseye.kernels import addressable

__all__ = ["Overlap"]

TAPS = 32
"""Numbers of a pixel, of which 25 are used."""


class Overlap(torch.autograd.Function):
    """Numbers `(B, H, W, 32)` to pictures `(B, 1, 2H, 2W)`."""

    @staticmethod
    def forward(ctx: Any, taps: Tensor) -> Tensor:
        """Add up what overlaps."""
        batch, height, side, _ = taps.shape
        addressable(taps.numel())
        ctx.shape = taps.shape
        out = taps.new_empty(batch, 1, 2 * height, 2 * side)
        grid = (triton.cdiv(out.numel(), 1024),)
        _add[grid](taps.contiguous(), out, out.numel(), height, side, TAPS, 1024)
        return out

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        """Hand every pixel's gradient to those it was the sum of."""
        out = gradient.new_empty(ctx.shape)
        _, height, side, _ = ctx.shape
        grid = (triton.cdiv(out.numel(), 2048),)
        _hand[grid](gradient.contiguous(), out, out.numel(), height, side, TAPS, 2048)
        return out


@triton.jit
def _add(taps, out, size, height, side, T: tl.constexpr, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    x, y = i % (2 * side), i // (2 * side) % (2 * height)
    b = i // (4 * side * height)
    total = tl.zeros((N,), tl.float32)
    for j in range(9):
        k, m = j // 3 * 2 + y % 2, j % 3 * 2 + x % 2
        u, v = y // 2 + 1 - j // 3, x // 2 + 1 - j % 3
        inside = (k < 5) & (m < 5) & (u >= 0) & (v >= 0) & (u < height) & (v < side) & (i < size)
        at = ((b * height + u) * side + v) * T + k * 5 + m
        total += tl.load(taps + at, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + i, total.to(out.dtype.element_ty), mask=i < size)


@triton.jit
def _hand(gradient, out, size, height, side, T: tl.constexpr, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    k, place = i % T, i // T
    w, h = place % side, place // side % height
    b = place // (side * height)
    y, x = 2 * h - 2 + k // 5, 2 * w - 2 + k % 5
    inside = (k < 25) & (y >= 0) & (x >= 0) & (y < 2 * height) & (x < 2 * side) & (i < size)
    at = (b * 2 * height + y) * 2 * side + x
    tl.store(out + i, tl.load(gradient + at, mask=inside, other=0.0), mask=i < size)
