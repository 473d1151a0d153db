r"""Batch normalisation and ELU as one function, $y = \mathrm{elu}(\gamma \hat x + \beta)$.

torch runs them as seven passes over the maps and reads them at a fifth of the memory's rate; these
are five passes near the full rate. Forward: moments, then the result. Backward, for the gradient
$g$ of the result and $d = g \cdot \mathrm{elu}'(\gamma \hat x + \beta)$: two sums, then

$$ \frac{\partial}{\partial x} = \frac{\gamma}{\sigma}
   \Big( d - \tfrac1M \textstyle\sum d - \hat x \tfrac1M \sum d \hat x \Big). $$

Only the input and three numbers a channel are kept for it. Maps lie channels last: a map is a
matrix of M rows (pixels) and C columns (channels). With `fold` the result is written two by two
pixels to a position, `(B, 4C, H/2, W/2)`, which is what a convolution of stride 2 wants to read.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from mindseye.kernels import addressable
from mindseye.kernels.pieces import elu, folded, through_elu

__all__ = ["BatchNormELU"]


class BatchNormELU(torch.autograd.Function):
    """Normalise by the batch, scale, shift, ELU; see `networks.normalised.BatchNormELU`."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight: Tensor,
        bias: Tensor,
        running: tuple[Tensor, Tensor] | None,
        momentum: float,
        eps: float,
        fold: bool,
    ) -> Tensor:
        """Maps `(B, C, H, W)` to maps `(B, C, H, W)`, or `(B, 4C, H/2, W/2)` if folded."""
        x = x.contiguous(memory_format=torch.channels_last)
        addressable(x.numel())
        rows, channels, side = _matrix(x)
        grid, block, span = _grid(rows, channels)
        parts = x.new_empty(grid[0], 2, channels, dtype=torch.float32)
        facts = x.new_empty(4, channels, dtype=torch.float32)  # mean, 1/σ, slope, offset
        y = _empty(x, fold)
        _moments[grid](x, parts, rows, channels, span, *block, num_warps=WARPS)
        mean, var = running if running else (facts, facts)
        _finish_moments[(triton.cdiv(channels, 16),)](
            x, parts, weight, bias, mean, var, facts,
            rows, channels, grid[0], momentum, eps, running is not None, 16, 512, num_warps=WARPS,
        )  # fmt: skip
        _apply[_elementwise(rows, channels)](
            x, facts, y, rows, channels, side, fold, *_block(channels)
        )
        ctx.save_for_backward(x, facts)
        ctx.fold = fold
        return y

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        """Gradients of the input, the scale and the shift."""
        x, facts = ctx.saved_tensors
        gradient = gradient.contiguous(memory_format=torch.channels_last)
        rows, channels, side = _matrix(x)
        grid, block, span = _grid(rows, channels)
        parts = x.new_empty(grid[0], 2, channels, dtype=torch.float32)
        sums = x.new_empty(2, channels, dtype=torch.float32)
        _gradient_sums[grid](
            x, gradient, facts, parts, rows, channels, side, span, ctx.fold, *block, num_warps=WARPS
        )
        _finish_sums[(triton.cdiv(channels, 16),)](
            parts, sums, channels, grid[0], 16, 512, num_warps=WARPS
        )
        dx = torch.empty_like(x)
        _apply_gradient[_elementwise(rows, channels)](
            x, gradient, facts, sums, dx, rows, channels, side, ctx.fold, *_block(channels)
        )
        return dx, sums[1], sums[0], None, None, None, None


PROGRAMS, TILE, WARPS = 264, 8192, 8
"""Of a reduction: two programs for every multiprocessor of an H200, numbers read at once."""


ELEMENTS = 4096
"""Numbers of a program that has nothing to add up."""


def _matrix(x: Tensor) -> tuple[int, int, int]:
    """Rows, columns and the side of square maps."""
    return x.numel() // x.shape[1], x.shape[1], x.shape[3]


def _empty(x: Tensor, fold: bool) -> Tensor:
    batch, channels, height, width = x.shape
    shape = (batch, 4 * channels, height // 2, width // 2) if fold else x.shape
    return torch.empty(shape, device=x.device, dtype=x.dtype, memory_format=torch.channels_last)


def _block(channels: int) -> tuple[int, int]:
    """Rows and columns of an element-wise block."""
    columns = min(128, triton.next_power_of_2(channels))
    return max(1, ELEMENTS // columns), columns


def _elementwise(rows: int, channels: int) -> tuple[int, int]:
    block = _block(channels)
    return triton.cdiv(rows, block[0]), triton.cdiv(channels, block[1])


def _grid(rows: int, channels: int) -> tuple[tuple[int, int], tuple[int, int], int]:
    """Programs and blocks of a reduction over rows, and the rows of a program."""
    columns = min(64, triton.next_power_of_2(channels))
    across = triton.cdiv(channels, columns)
    block = TILE // columns
    down = max(1, min(PROGRAMS // across, triton.cdiv(rows, block)))
    span = triton.cdiv(triton.cdiv(rows, down), block) * block
    return (triton.cdiv(rows, span), across), (block, columns), span


@triton.jit
def _moments(x, parts, rows, channels, span, R: tl.constexpr, C: tl.constexpr):
    """Sums of x and of x² over the rows of a program, from the first row as the origin."""
    column = tl.program_id(1) * C + tl.arange(0, C)
    inside = column < channels
    origin = tl.load(x + column, mask=inside, other=0.0).to(tl.float32)
    first = tl.zeros((R, C), tl.float32)
    second = tl.zeros((R, C), tl.float32)
    start = tl.program_id(0) * span
    for offset in range(0, span, R):
        row = start + offset + tl.arange(0, R)
        mask = (row < rows)[:, None] & inside[None, :]
        at = row[:, None] * channels + column[None, :]
        value = tl.load(x + at, mask=mask, other=0.0).to(tl.float32) - origin[None, :]
        value = tl.where(mask, value, 0.0)
        first += value
        second += value * value
    out = parts + tl.program_id(0) * 2 * channels + column
    tl.store(out, tl.sum(first, 0), mask=inside)
    tl.store(out + channels, tl.sum(second, 0), mask=inside)


@triton.jit
def _added(parts, column, inside, channels, count, C: tl.constexpr, P: tl.constexpr):
    """Both sums of some channels over all programs."""
    first = tl.zeros((C,), tl.float32)
    second = tl.zeros((C,), tl.float32)
    for start in range(0, count, P):
        part = start + tl.arange(0, P)
        at = part[:, None] * 2 * channels + column[None, :]
        mask = (part < count)[:, None] & inside[None, :]
        first += tl.sum(tl.load(parts + at, mask=mask, other=0.0), 0)
        second += tl.sum(tl.load(parts + at + channels, mask=mask, other=0.0), 0)
    return first, second


@triton.jit
def _finish_moments(
    x, parts, weight, bias, running_mean, running_var, facts,
    rows, channels, count, momentum, eps, update: tl.constexpr, C: tl.constexpr, P: tl.constexpr,
):  # fmt: skip
    """From sums to mean, 1/σ, slope and offset, and the running averages."""
    column = tl.program_id(0) * C + tl.arange(0, C)
    inside = column < channels
    first, second = _added(parts, column, inside, channels, count, C, P)
    shift = first / rows
    mean = shift + tl.load(x + column, mask=inside, other=0.0).to(tl.float32)
    var = tl.maximum(second / rows - shift * shift, 0.0)
    scale = 1.0 / tl.sqrt(var + eps)
    slope = scale * tl.load(weight + column, mask=inside, other=0.0)
    offset = tl.load(bias + column, mask=inside, other=0.0) - mean * slope
    tl.store(facts + column, mean, mask=inside)
    tl.store(facts + channels + column, scale, mask=inside)
    tl.store(facts + 2 * channels + column, slope, mask=inside)
    tl.store(facts + 3 * channels + column, offset, mask=inside)
    if update:
        old = tl.load(running_mean + column, mask=inside, other=0.0)
        tl.store(running_mean + column, old + momentum * (mean - old), mask=inside)
        old = tl.load(running_var + column, mask=inside, other=0.0)
        unbiased = var * (rows / (rows - 1.0))
        tl.store(running_var + column, old + momentum * (unbiased - old), mask=inside)


@triton.jit
def _apply(x, facts, y, rows, channels, side, fold: tl.constexpr, R: tl.constexpr, C: tl.constexpr):
    """y = elu(slope · x + offset)."""
    row = tl.program_id(0) * R + tl.arange(0, R)
    column = tl.program_id(1) * C + tl.arange(0, C)
    inside = column < channels
    mask = (row < rows)[:, None] & inside[None, :]
    at = row[:, None] * channels + column[None, :]
    slope = tl.load(facts + 2 * channels + column, mask=inside, other=0.0)
    offset = tl.load(facts + 3 * channels + column, mask=inside, other=0.0)
    t = tl.load(x + at, mask=mask, other=0.0).to(tl.float32) * slope[None, :] + offset[None, :]
    value = elu(t)
    to = folded(row, side, side, channels)[:, None] + column[None, :] if fold else at
    tl.store(y + to, value.to(y.dtype.element_ty), mask=mask)


@triton.jit
def _read(x, gradient, mask, slope, offset):
    """Numbers before the normalisation, and the gradient before the ELU."""
    value = tl.load(x, mask=mask, other=0.0).to(tl.float32)
    d = tl.load(gradient, mask=mask, other=0.0).to(tl.float32)
    return value, through_elu(d, value * slope[None, :] + offset[None, :])


@triton.jit
def _gradient_sums(
    x, gradient, facts, parts, rows, channels, side, span,
    fold: tl.constexpr, R: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """Sums of d and of d · x̂ over the rows of a program."""
    column = tl.program_id(1) * C + tl.arange(0, C)
    inside = column < channels
    mean = tl.load(facts + column, mask=inside, other=0.0)
    scale = tl.load(facts + channels + column, mask=inside, other=0.0)
    slope = tl.load(facts + 2 * channels + column, mask=inside, other=0.0)
    offset = tl.load(facts + 3 * channels + column, mask=inside, other=0.0)
    first = tl.zeros((R, C), tl.float32)
    second = tl.zeros((R, C), tl.float32)
    start = tl.program_id(0) * span
    for step in range(0, span, R):
        row = start + step + tl.arange(0, R)
        mask = (row < rows)[:, None] & inside[None, :]
        at = row[:, None] * channels + column[None, :]
        come = folded(row, side, side, channels)[:, None] + column[None, :] if fold else at
        value, d = _read(x + at, gradient + come, mask, slope, offset)
        first += d
        second += d * (value - mean[None, :])
    out = parts + tl.program_id(0) * 2 * channels + column
    tl.store(out, tl.sum(first, 0), mask=inside)
    tl.store(out + channels, tl.sum(second, 0) * scale, mask=inside)


@triton.jit
def _finish_sums(parts, sums, channels, count, C: tl.constexpr, P: tl.constexpr):
    """Add up the sums of all programs."""
    column = tl.program_id(0) * C + tl.arange(0, C)
    inside = column < channels
    first, second = _added(parts, column, inside, channels, count, C, P)
    tl.store(sums + column, first, mask=inside)
    tl.store(sums + channels + column, second, mask=inside)


@triton.jit
def _apply_gradient(
    x, gradient, facts, sums, dx, rows, channels, side,
    fold: tl.constexpr, R: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """The gradient of the input."""
    row = tl.program_id(0) * R + tl.arange(0, R)
    column = tl.program_id(1) * C + tl.arange(0, C)
    inside = column < channels
    mask = (row < rows)[:, None] & inside[None, :]
    at = row[:, None] * channels + column[None, :]
    mean = tl.load(facts + column, mask=inside, other=0.0)
    scale = tl.load(facts + channels + column, mask=inside, other=0.0)
    slope = tl.load(facts + 2 * channels + column, mask=inside, other=0.0)
    offset = tl.load(facts + 3 * channels + column, mask=inside, other=0.0)
    first = tl.load(sums + column, mask=inside, other=0.0) / rows
    second = tl.load(sums + channels + column, mask=inside, other=0.0) / rows
    come = folded(row, side, side, channels)[:, None] + column[None, :] if fold else at
    value, d = _read(x + at, gradient + come, mask, slope, offset)
    normal = (value - mean[None, :]) * scale[None, :]
    out = slope[None, :] * (d - first[None, :] - normal * second[None, :])
    tl.store(dx + at, out.to(dx.dtype.element_ty), mask=mask)
