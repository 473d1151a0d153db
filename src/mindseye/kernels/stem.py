r"""The first layer of an image encoder: 5 by 5 convolution of one channel, normalised, ELU, folded.

Its maps are the largest of the network, and all of them follow from the picture's 25-pixel patches
$u$. So they are never stored before the normalisation, and their moments need no pass over them:
with $G = \sum u u^\top$ over all M patches (a 1 is put behind every patch), channel $c$ has mean
$w_c^\top G_{\cdot 1} / M$ and second moment $w_c^\top G w_c / M$. Backward, the sums of
$d_c u$ give all gradients, by one pass over $d = g \cdot \mathrm{elu}'$ with the maps computed
again: writing $S_c = \sum d_c u$ and $s_c = \sum d_c$,

$$
\frac{\partial}{\partial w_c} = \frac{\gamma_c}{\sigma_c} \Big( S_c - \tfrac{s_c}{M} \sum u
- \tfrac{1}{M} \big(\textstyle\sum d_c \hat x_c\big) \sum \hat x_c u \Big).
$$

The picture gets no gradient. Its pixels are rounded to bfloat16, as in any layer.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from mindseye.kernels import addressable
from mindseye.kernels.pieces import elu, folded, through_elu

__all__ = ["Stem"]

PROGRAMS, TILE, WARPS = 1056, 128, 4
"""Of a reduction: eight programs for every multiprocessor of an H200, pixels read at once."""

PATCH, ONE = 32, 25
"""Numbers of a padded patch, and where its 1 stands."""


class Stem(torch.autograd.Function):
    """Convolve, normalise by the batch, scale, shift, ELU and fold."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        kernel: Tensor,
        weight: Tensor,
        bias: Tensor,
        running: tuple[Tensor, Tensor] | None,
        momentum: float,
        eps: float,
        stride: int,
    ) -> Tensor:
        """Pictures `(B, 1, H, W)` to maps `(B, 4C, H/2s, W/2s)` for a stride s, bfloat16."""
        batch, height, side = len(x), x.shape[2] // stride, x.shape[3] // stride
        channels, rows = len(kernel), batch * height * side
        addressable(rows * channels)
        x = _framed(x)
        grid, span = _grid(rows)
        parts = x.new_empty(grid, PATCH, PATCH, dtype=torch.float32)
        _patch_moments[(grid,)](
            x, parts, rows, height, side, stride, span, PATCH, TILE, num_warps=WARPS
        )
        gram = parts.sum(0)
        kernel = kernel.contiguous()
        facts = x.new_empty(4, channels, dtype=torch.float32)
        mean, var = running if running else (facts, facts)
        _finish_moments[(1,)](
            gram, kernel, weight, bias, mean, var, facts,
            momentum, eps, running is not None, channels, PATCH,
        )  # fmt: skip
        y = torch.empty(
            (batch, 4 * channels, height // 2, side // 2),
            device=x.device, dtype=torch.bfloat16, memory_format=torch.channels_last,
        )  # fmt: skip
        _forward[(triton.cdiv(rows, TILE),)](
            x, kernel, facts, y, rows, height, side, stride, channels, PATCH, TILE, num_warps=WARPS
        )
        ctx.save_for_backward(x, kernel, facts, gram)
        ctx.stride = stride
        return y

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        """Gradients of the kernel, the scale and the shift."""
        x, kernel, facts, gram = ctx.saved_tensors
        gradient = gradient.contiguous(memory_format=torch.channels_last)
        height, side = ((size - 4) // ctx.stride for size in x.shape[1:])
        channels, rows = len(kernel), len(x) * height * side
        grid, span = _grid(rows)
        parts = x.new_empty(grid, channels, PATCH, dtype=torch.float32)
        _gradient_sums[(grid,)](
            x, kernel, facts, gradient, parts, rows, height, side, ctx.stride, span,
            channels, PATCH, TILE, num_warps=WARPS,
        )  # fmt: skip
        total = parts.sum(0)
        dkernel = torch.empty_like(kernel)
        sums = x.new_empty(2, channels, dtype=torch.float32)
        _finish_sums[(1,)](total, gram, kernel, facts, dkernel, sums, channels, PATCH)
        return None, dkernel, sums[1], sums[0], None, None, None, None


def _framed(x: Tensor) -> Tensor:
    """Pictures `(B, 1, H, W)` as bfloat16 `(B, H + 4, W + 4)`, with a frame of zeros."""
    batch, _, height, side = x.shape
    out = x.new_empty(batch, height + 4, side + 4, dtype=torch.bfloat16)
    _frame[(triton.cdiv(out.numel(), 1024),)](x.contiguous(), out, out.numel(), height, side, 1024)
    return out


def _grid(rows: int) -> tuple[int, int]:
    """Programs of a reduction over pixels, and the pixels of a program."""
    span = triton.cdiv(triton.cdiv(rows, PROGRAMS), TILE) * TILE
    return triton.cdiv(rows, span), span


@triton.jit
def _frame(x, out, size, height, side, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    w, h = i % (side + 4) - 2, i // (side + 4) % (height + 4) - 2
    b = i // ((side + 4) * (height + 4))
    inside = (w >= 0) & (w < side) & (h >= 0) & (h < height) & (i < size)
    pixel = tl.load(x + (b * height + h) * side + w, mask=inside, other=0.0)
    tl.store(out + i, pixel.to(tl.bfloat16), mask=i < size)


@triton.jit
def _weights(kernel, C: tl.constexpr, P: tl.constexpr):
    """The kernels as a matrix, patch by channel, zeros behind the 25 numbers."""
    k, c = tl.arange(0, P), tl.arange(0, C)
    inside = (k < 25)[:, None] & (c >= 0)[None, :]
    w = tl.load(kernel + c[None, :] * 25 + k[:, None], mask=inside, other=0.0)
    return w.to(tl.bfloat16)


@triton.jit
def _patches(x, row, rows, height, side, stride, P: tl.constexpr):
    """Patches of 25 pixels around some, with a 1 behind them; pixels beyond the last are zeros."""
    k = tl.arange(0, P)
    w, h = row % side, row // side % height
    b = row // (side * height)
    width = side * stride + 4
    corner = (b * (height * stride + 4) + h * stride) * width + w * stride
    across = tl.where(k < 25, k // 5 * width + k % 5, 0)
    inside = (row < rows)[:, None]
    pixel = tl.load(x + corner[:, None] + across[None, :], mask=inside, other=0.0)
    tail = tl.where(inside & (k == 25)[None, :], 1.0, 0.0).to(tl.bfloat16)
    return tl.where((k < 25)[None, :], pixel, tail)


@triton.jit
def _patch_moments(x, parts, rows, height, side, stride, span, P: tl.constexpr, R: tl.constexpr):
    """Σ u uᵀ over the pixels of a program."""
    total = tl.zeros((P, P), tl.float32)
    start = tl.program_id(0) * span
    for step in range(0, span, R):
        u = _patches(x, start + step + tl.arange(0, R), rows, height, side, stride, P)
        total += tl.dot(tl.trans(u), u)
    k = tl.arange(0, P)
    tl.store(parts + tl.program_id(0) * P * P + k[:, None] * P + k[None, :], total)


@triton.jit
def _finish_moments(
    gram, kernel, weight, bias, running_mean, running_var, facts,
    momentum, eps, update: tl.constexpr, C: tl.constexpr, P: tl.constexpr,
):  # fmt: skip
    """From the moments of patches to mean, 1/σ, slope and offset of every channel."""
    k, c = tl.arange(0, P), tl.arange(0, C)
    g = tl.load(gram + k[:, None] * P + k[None, :])
    w = _weights(kernel, C, P).to(tl.float32)
    rows = tl.load(gram + 25 * P + 25)
    sums = tl.load(gram + 25 * P + k)
    mean = tl.sum(w * sums[:, None], 0) / rows
    second = tl.sum(w * tl.dot(g, w, input_precision="ieee"), 0) / rows
    var = tl.maximum(second - mean * mean, 0.0)
    scale = 1.0 / tl.sqrt(var + eps)
    slope = scale * tl.load(weight + c)
    tl.store(facts + c, mean)
    tl.store(facts + C + c, scale)
    tl.store(facts + 2 * C + c, slope)
    tl.store(facts + 3 * C + c, tl.load(bias + c) - mean * slope)
    if update:
        old = tl.load(running_mean + c)
        tl.store(running_mean + c, old + momentum * (mean - old))
        old = tl.load(running_var + c)
        tl.store(running_var + c, old + momentum * (var * (rows / (rows - 1.0)) - old))


@triton.jit
def _forward(
    x, kernel, facts, y, rows, height, side, stride,
    C: tl.constexpr, P: tl.constexpr, R: tl.constexpr,
):  # fmt: skip
    """y = elu(slope · (u wᵀ) + offset)."""
    row = tl.program_id(0) * R + tl.arange(0, R)
    c = tl.arange(0, C)
    w = _weights(kernel, C, P)
    slope, offset = tl.load(facts + 2 * C + c), tl.load(facts + 3 * C + c)
    t = tl.dot(_patches(x, row, rows, height, side, stride, P), w)
    t = t * slope[None, :] + offset[None, :]
    value = elu(t)
    to = folded(row, height, side, C)[:, None] + c[None, :]
    tl.store(y + to, value.to(y.dtype.element_ty), mask=(row < rows)[:, None])


@triton.jit
def _gradient_sums(
    x, kernel, facts, gradient, parts, rows, height, side, stride, span,
    C: tl.constexpr, P: tl.constexpr, R: tl.constexpr,
):  # fmt: skip
    """Σ d u over the pixels of a program, the maps computed again."""
    k, c = tl.arange(0, P), tl.arange(0, C)
    w = _weights(kernel, C, P)
    slope, offset = tl.load(facts + 2 * C + c), tl.load(facts + 3 * C + c)
    total = tl.zeros((C, P), tl.float32)
    start = tl.program_id(0) * span
    for step in range(0, span, R):
        row = start + step + tl.arange(0, R)
        u = _patches(x, row, rows, height, side, stride, P)
        t = tl.dot(u, w) * slope[None, :] + offset[None, :]
        come = folded(row, height, side, C)[:, None] + c[None, :]
        d = tl.load(gradient + come, mask=(row < rows)[:, None], other=0.0).to(tl.float32)
        d = through_elu(d, t)
        total += tl.dot(tl.trans(d.to(tl.bfloat16)), u)
    tl.store(parts + tl.program_id(0) * C * P + c[:, None] * P + k[None, :], total)


@triton.jit
def _finish_sums(total, gram, kernel, facts, dkernel, sums, C: tl.constexpr, P: tl.constexpr):
    """From Σ d u to the gradients."""
    k, c = tl.arange(0, P), tl.arange(0, C)
    s = tl.load(total + c[:, None] * P + k[None, :])
    d = tl.load(total + c * P + 25)
    g = tl.load(gram + k[:, None] * P + k[None, :])
    u = tl.load(gram + 25 * P + k)
    rows = tl.load(gram + 25 * P + 25)
    w = tl.trans(_weights(kernel, C, P)).to(tl.float32)
    mean, scale = tl.load(facts + c), tl.load(facts + C + c)
    slope = tl.load(facts + 2 * C + c)
    dx = scale * (tl.sum(w * s, 1) - mean * d)  # Σ d x̂
    xu = scale[:, None] * (tl.dot(w, g, input_precision="ieee") - mean[:, None] * u[None, :])
    out = slope[:, None] * (s - d[:, None] * u[None, :] / rows - dx[:, None] * xu / rows)
    tl.store(
        dkernel + c[:, None] * 25 + k[None, :],
        out.to(dkernel.dtype.element_ty),
        mask=(k < 25)[None, :],
    )
    tl.store(sums + c, d)
    tl.store(sums + C + c, dx)
