r"""Instance normalisation and a rectifier as one function, $y = \max(0, \gamma \hat x + \beta)$.

Every channel of every picture is normalised by its own mean and deviation. torch does so in a dozen
passes over maps that it first brings into another order; these are two kernels. A program has a
picture and some channels, and passes over their pixels twice: the second time they are in the
cache. Backward, for $d = g$ where the result is positive and 0 elsewhere, with means over pixels,

$$ \frac{\partial}{\partial x} = \frac{\gamma}{\sigma}
   \Big( d - \overline{d} - \hat x\, \overline{d \hat x} \Big). $$

Maps lie channels last: a picture is a matrix of N rows (pixels) and C columns (channels).
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from mindseye.kernels import addressable

__all__ = ["InstanceNorm"]

CHANNELS, TILE, WARPS = 32, 8192, 8
"""Channels of a program, numbers it reads at once, and its warps."""


class InstanceNorm(torch.autograd.Function):
    """Normalise by the picture, scale, shift, rectify; see `networks.instance`."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, eps: float, rectified: bool
    ) -> Tensor:
        """Maps `(B, C, H, W)` to maps of the same shape, channels last."""
        x = x.contiguous(memory_format=torch.channels_last)
        addressable(x.numel())
        batch, channels, height, width = x.shape
        facts = x.new_empty(batch, 2, channels, dtype=torch.float32)  # mean and 1/σ
        y = torch.empty_like(x)
        _forward[_grid(batch, channels)](
            x, weight, bias, facts, y, height * width, channels, eps, rectified, *_block(channels),
            num_warps=WARPS,
        )  # fmt: skip
        ctx.save_for_backward(x, weight, bias, facts)
        ctx.rectified = rectified
        return y

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        """Gradients of the input, the scale and the shift."""
        x, weight, bias, facts = ctx.saved_tensors
        gradient = gradient.contiguous(memory_format=torch.channels_last)
        batch, channels, height, width = x.shape
        sums = x.new_empty(2, batch, channels, dtype=torch.float32)
        dx = torch.empty_like(x)
        _backward[_grid(batch, channels)](
            x, gradient, weight, bias, facts, sums, dx, batch, height * width, channels,
            ctx.rectified, *_block(channels), num_warps=WARPS,
        )  # fmt: skip
        shift, scale = sums.sum(1)
        return dx, scale, shift, None, None


def _block(channels: int) -> tuple[int, int]:
    """Rows and columns of a tile."""
    columns = min(CHANNELS, triton.next_power_of_2(channels))
    return TILE // columns, columns


def _grid(batch: int, channels: int) -> tuple[int, int]:
    return batch, triton.cdiv(channels, _block(channels)[1])


@triton.jit
def _forward(
    x, weight, bias, facts, y, rows, channels, eps, rectified: tl.constexpr,
    R: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """Moments of every channel of a picture, then the result."""
    column = tl.program_id(1) * C + tl.arange(0, C)
    inside = column < channels
    start = tl.program_id(0) * rows
    origin = tl.load(x + start * channels + column, mask=inside, other=0.0).to(tl.float32)
    first = tl.zeros((R, C), tl.float32)
    second = tl.zeros((R, C), tl.float32)
    for offset in range(0, rows, R):
        row = offset + tl.arange(0, R)
        mask = (row < rows)[:, None] & inside[None, :]
        at = (start + row)[:, None] * channels + column[None, :]
        value = tl.load(x + at, mask=mask, other=0.0).to(tl.float32) - origin[None, :]
        value = tl.where(mask, value, 0.0)
        first += value
        second += value * value
    mean = tl.sum(first, 0) / rows
    variance = tl.sum(second, 0) / rows - mean * mean
    inverse = 1 / tl.sqrt(tl.maximum(variance, 0.0) + eps)
    mean += origin
    known = tl.program_id(0) * 2 * channels + column
    tl.store(facts + known, mean, mask=inside)
    tl.store(facts + known + channels, inverse, mask=inside)
    slope = tl.load(weight + column, mask=inside, other=0.0).to(tl.float32) * inverse
    shift = tl.load(bias + column, mask=inside, other=0.0).to(tl.float32)
    for offset in range(0, rows, R):
        row = offset + tl.arange(0, R)
        mask = (row < rows)[:, None] & inside[None, :]
        at = (start + row)[:, None] * channels + column[None, :]
        value = tl.load(x + at, mask=mask, other=0.0).to(tl.float32)
        value = (value - mean[None, :]) * slope[None, :] + shift[None, :]
        if rectified:
            value = tl.maximum(value, 0.0)
        tl.store(y + at, value.to(y.dtype.element_ty), mask=mask)


@triton.jit
def _backward(
    x, gradient, weight, bias, facts, sums, dx, batch, rows, channels, rectified: tl.constexpr,
    R: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """Sums of d and of d x̂ over the pixels of a picture, then the gradient of its maps."""
    column = tl.program_id(1) * C + tl.arange(0, C)
    inside = column < channels
    picture = tl.program_id(0)
    start = picture * rows
    known = picture * 2 * channels + column
    mean = tl.load(facts + known, mask=inside, other=0.0)
    inverse = tl.load(facts + known + channels, mask=inside, other=0.0)
    scale = tl.load(weight + column, mask=inside, other=0.0).to(tl.float32)
    shift = tl.load(bias + column, mask=inside, other=0.0).to(tl.float32)
    first = tl.zeros((R, C), tl.float32)
    second = tl.zeros((R, C), tl.float32)
    for offset in range(0, rows, R):
        row = offset + tl.arange(0, R)
        mask = (row < rows)[:, None] & inside[None, :]
        at = (start + row)[:, None] * channels + column[None, :]
        value = tl.load(x + at, mask=mask, other=0.0).to(tl.float32)
        hat = (value - mean[None, :]) * inverse[None, :]
        d = tl.load(gradient + at, mask=mask, other=0.0).to(tl.float32)
        if rectified:
            d = tl.where(hat * scale[None, :] + shift[None, :] > 0, d, 0.0)
        first += d
        second += d * hat
    total = tl.sum(first, 0)
    along = tl.sum(second, 0)
    tl.store(sums + picture * channels + column, total, mask=inside)
    tl.store(sums + (batch + picture) * channels + column, along, mask=inside)
    total = total / rows
    along = along / rows
    slope = scale * inverse
    for offset in range(0, rows, R):
        row = offset + tl.arange(0, R)
        mask = (row < rows)[:, None] & inside[None, :]
        at = (start + row)[:, None] * channels + column[None, :]
        value = tl.load(x + at, mask=mask, other=0.0).to(tl.float32)
        hat = (value - mean[None, :]) * inverse[None, :]
        d = tl.load(gradient + at, mask=mask, other=0.0).to(tl.float32)
        if rectified:
            d = tl.where(hat * scale[None, :] + shift[None, :] > 0, d, 0.0)
        value = slope[None, :] * (d - total[None, :] - hat * along[None, :])
        tl.store(dx + at, value.to(dx.dtype.element_ty), mask=mask)
