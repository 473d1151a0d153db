"""Kernels of 5 by 5 as kernels of 3 by 3 over folded maps, in one launch each way."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

__all__ = ["FoldedKernel"]


class FoldedKernel(torch.autograd.Function):
    """Weights `(out, in, 5, 5)` to `(out, 4 in, 3, 3)`, both channels last."""

    @staticmethod
    def forward(ctx: Any, weight: Tensor) -> Tensor:
        """Entry (2a + u, 2b + v) becomes entry (a, b) of channel block 2u + v."""
        weight = weight.contiguous(memory_format=torch.channels_last)
        out, channels = weight.shape[:2]
        folded = torch.empty(
            (out, 4 * channels, 3, 3),
            device=weight.device, dtype=weight.dtype, memory_format=torch.channels_last,
        )  # fmt: skip
        grid = (triton.cdiv(folded.numel(), 1024),)
        _fold[grid](weight, folded, folded.numel(), channels, True, 1024)
        ctx.like = weight
        return folded

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        """The same entries back; what stood beyond the fifth is dropped."""
        gradient = gradient.contiguous(memory_format=torch.channels_last)
        out = torch.empty_like(ctx.like)
        channels = out.shape[1]
        grid = (triton.cdiv(gradient.numel(), 1024),)
        _fold[grid](out, gradient, gradient.numel(), channels, False, 1024)
        return out


@triton.jit
def _fold(plain, folded, size, channels, forward: tl.constexpr, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    c, block = i % channels, i // channels % 4
    place, o = i // (4 * channels) % 9, i // (36 * channels)
    y, x = place // 3 * 2 + block // 2, place % 3 * 2 + block % 2
    inside = (y < 5) & (x < 5) & (i < size)
    at = (o * 25 + y * 5 + x) * channels + c
    if forward:
        tl.store(folded + i, tl.load(plain + at, mask=inside, other=0.0), mask=i < size)
    else:
        tl.store(plain + at, tl.load(folded + i, mask=inside, other=0.0), mask=inside)
