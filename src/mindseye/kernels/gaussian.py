r"""What is done to a few Gaussians a picture, in one launch each: bounding, densities, divergences.

`Bounded` splits features into means and log standard deviations, squeezed as `soft_bounded` does;
`LogDensity` is $\log \mathcal{N}(z; \mu, \sigma^2)$ and `Divergence`, both summed over the last
dimension,

$$ \mathrm{KL}(\mathcal{N}(\mu, \sigma^2) \,\|\, \mathcal{N}(m, s^2)) =
   \tfrac12 \Big( \tfrac{\sigma^2}{s^2} + \tfrac{(\mu - m)^2}{s^2} - 1 \Big)
   - \log \tfrac{\sigma}{s}. $$
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

__all__ = ["Bounded", "Divergence", "LogDensity"]


class Bounded(torch.autograd.Function):
    """Features `(..., 2D)` to means and log standard deviations `(..., D)`, float32."""

    @staticmethod
    def forward(ctx: Any, features: Tensor, low: float, high: float) -> tuple[Tensor, Tensor]:
        """Split, and bound the logarithms."""
        features = features.contiguous()
        half = features.shape[-1] // 2
        loc = features.new_empty(*features.shape[:-1], half, dtype=torch.float32)
        log = torch.empty_like(loc)
        grid = (triton.cdiv(loc.numel(), 256),)
        _bound[grid](features, loc, log, loc.numel(), half, low, high, 256)
        ctx.save_for_backward(features)
        ctx.ends = low, high
        return loc, log

    @staticmethod
    def backward(ctx: Any, d_loc: Tensor, d_log: Tensor) -> tuple[Tensor, None, None]:
        """The gradient of the features."""
        (features,) = ctx.saved_tensors
        out, half = torch.empty_like(features), d_loc.shape[-1]
        grid = (triton.cdiv(d_loc.numel(), 256),)
        _bound_gradient[grid](
            features, d_loc.contiguous(), d_log.contiguous(), out,
            d_loc.numel(), half, *ctx.ends, 256,
        )  # fmt: skip
        return out, None, None


class LogDensity(torch.autograd.Function):
    """Values `(..., D)` under Gaussians `(..., D)` to log densities `(...)`.

    The Gaussians may lack leading sizes of the values; every index of those meets the same ones.
    """

    @staticmethod
    def forward(ctx: Any, value: Tensor, loc: Tensor, scale: Tensor) -> Tensor:
        """The log density, summed over the last dimension."""
        value, loc, scale = value.contiguous(), loc.contiguous(), scale.contiguous()
        size, out = value.shape[-1], value.new_empty(value.shape[:-1])
        block = triton.next_power_of_2(size)
        each = loc.numel() // size
        _density[(out.numel(),)](value, loc, scale, out, size, each, block, num_warps=1)
        ctx.save_for_backward(value, loc, scale)
        return out

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        """The gradients of values, means and deviations."""
        value, loc, scale = ctx.saved_tensors
        size, each = value.shape[-1], loc.numel() // value.shape[-1]
        out = value.new_empty(3, *value.shape)
        _density_gradient[(gradient.numel(),)](
            value, loc, scale, gradient.contiguous(), out, value.numel(), size, each,
            triton.next_power_of_2(size), num_warps=1,
        )  # fmt: skip
        needed = ctx.needs_input_grad
        return (
            out[0] if needed[0] else None,
            out[1].sum_to_size(loc.shape) if needed[1] else None,
            out[2].sum_to_size(loc.shape) if needed[2] else None,
        )


class Divergence(torch.autograd.Function):
    """Means and standard deviations of two Gaussians to their divergence `(B,)`.

    The first is `(B, D)`; the second too, or one for all, `(D,)`, which gets no gradient.
    """

    @staticmethod
    def forward(ctx: Any, loc: Tensor, scale: Tensor, m: Tensor, s: Tensor) -> Tensor:
        """The closed form."""
        inputs = [t.contiguous() for t in (loc, scale, m, s)]
        rows, size = loc.shape
        ctx.each = m.ndim > 1
        out = loc.new_empty(rows)
        _divergence[(rows,)](
            *inputs, out, size, size * ctx.each, triton.next_power_of_2(size), num_warps=1
        )
        ctx.save_for_backward(*inputs)
        return out

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        """The gradients of both."""
        loc = ctx.saved_tensors[0]
        rows, size = loc.shape
        out = loc.new_empty(4, rows, size)
        _divergence_gradient[(rows,)](
            *ctx.saved_tensors, gradient.contiguous(), out, rows, size, size * ctx.each,
            triton.next_power_of_2(size), num_warps=1,
        )  # fmt: skip
        return (out[0], out[1], out[2], out[3]) if ctx.each else (out[0], out[1], None, None)


@triton.jit
def _tanh(x):
    e = tl.exp(-2.0 * tl.abs(x))
    t = (1.0 - e) / (1.0 + e)
    return tl.where(x > 0, t, -t)


@triton.jit
def _bound(features, loc, bounded, size, half, low, high, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    at = i // half * 2 * half + i % half
    mean = tl.load(features + at, mask=i < size, other=0.0).to(tl.float32)
    log = tl.load(features + at + half, mask=i < size, other=0.0).to(tl.float32)
    end = tl.where(log > 0, high, -low)
    tl.store(loc + i, mean, mask=i < size)
    tl.store(bounded + i, end * _tanh(log / end), mask=i < size)


@triton.jit
def _bound_gradient(features, d_loc, d_log, out, size, half, low, high, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    at = i // half * 2 * half + i % half
    log = tl.load(features + at + half, mask=i < size, other=0.0).to(tl.float32)
    t = _tanh(log / tl.where(log > 0, high, -low))
    d = tl.load(d_log + i, mask=i < size, other=0.0)
    kind = out.dtype.element_ty
    tl.store(out + at, tl.load(d_loc + i, mask=i < size, other=0.0).to(kind), mask=i < size)
    tl.store(out + at + half, (d * (1.0 - t * t)).to(kind), mask=i < size)


@triton.jit
def _density(value, loc, scale, out, size, each, N: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, N)
    inside = i < size
    there = (row % each) * size + i
    s = tl.load(scale + there, mask=inside, other=1.0)
    far = tl.load(value + row.to(tl.int64) * size + i, mask=inside, other=0.0)
    far = (far - tl.load(loc + there, mask=inside, other=0.0)) / s
    log = -0.5 * far * far - tl.log(s) - 0.9189385332046727
    tl.store(out + row, tl.sum(tl.where(inside, log, 0.0), 0))


@triton.jit
def _density_gradient(value, loc, scale, gradient, out, numbers, size, each, N: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, N)
    inside = i < size
    at, there = row.to(tl.int64) * size + i, (row % each) * size + i
    g = tl.load(gradient + row)
    s = tl.load(scale + there, mask=inside, other=1.0)
    far = tl.load(value + at, mask=inside, other=0.0)
    far = (far - tl.load(loc + there, mask=inside, other=0.0)) / s
    pull = g * far / s
    tl.store(out + at, -pull, mask=inside)
    tl.store(out + numbers + at, pull, mask=inside)
    tl.store(out + 2 * numbers + at, g * (far * far - 1.0) / s, mask=inside)


@triton.jit
def _divergence(loc, scale, m, s, out, size, apart, N: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, N)
    at, inside = row * size + i, i < size
    a = tl.load(scale + at, mask=inside, other=1.0)
    there = row * apart + i
    b = tl.load(s + there, mask=inside, other=1.0)
    d = tl.load(loc + at, mask=inside, other=0.0) - tl.load(m + there, mask=inside, other=0.0)
    ratio = a / b
    value = 0.5 * (ratio * ratio + d * d / (b * b) - 1.0) - tl.log(ratio)
    tl.store(out + row, tl.sum(tl.where(inside, value, 0.0), 0))


@triton.jit
def _divergence_gradient(loc, scale, m, s, gradient, out, rows, size, apart, N: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, N)
    at, inside = row * size + i, i < size
    g = tl.load(gradient + row)
    a = tl.load(scale + at, mask=inside, other=1.0)
    there = row * apart + i
    b = tl.load(s + there, mask=inside, other=1.0)
    d = tl.load(loc + at, mask=inside, other=0.0) - tl.load(m + there, mask=inside, other=0.0)
    far = d / (b * b)
    tl.store(out + at, g * far, mask=inside)
    tl.store(out + rows * size + at, g * (a / (b * b) - 1.0 / a), mask=inside)
    tl.store(out + 2 * rows * size + at, -g * far, mask=inside)
    back = (1.0 - (a * a + d * d) / (b * b)) / b
    tl.store(out + 3 * rows * size + at, g * back, mask=inside)
