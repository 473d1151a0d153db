r"""Words in one launch each way: the product of experts, and the log-likelihood of descriptions.

`Product` is $\sigma^{-2} = 1 + \sum_k \sigma_k^{-2}$, $\mu = \sigma^2 \sum_k \sigma_k^{-2} \mu_k$
over the observed experts. With the shares $r_k = \sigma^2 / \sigma_k^2$ and $t = -2 \log \sigma$,

$$ \frac{\partial \mu}{\partial \mu_k} = r_k, \qquad
   \frac{\partial t}{\partial \log \sigma_k} = -2 r_k, \qquad
   \frac{\partial \mu}{\partial \log \sigma_k} = -2 r_k (\mu_k - \mu). $$

`Chosen` is $\sum_{k \in \mathcal{O}} \log \pi_{k, y_k}$ from logits; those beyond an attribute's
size are left out.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

__all__ = ["Chosen", "Product"]


class Product(torch.autograd.Function):
    """Means and log deviations `(B, K, D)` of experts to the product's mean and deviation."""

    @staticmethod
    def forward(ctx: Any, loc: Tensor, log_scale: Tensor, observed: Tensor) -> tuple[Tensor, ...]:
        """Add up precisions as logarithms."""
        loc, log_scale, observed = loc.contiguous(), log_scale.contiguous(), observed.contiguous()
        rows, count, size = loc.shape
        mean, scale = loc.new_empty(rows, size), loc.new_empty(rows, size)
        blocks = triton.next_power_of_2(count), triton.next_power_of_2(size)
        _product[(rows,)](loc, log_scale, observed, mean, scale, count, size, *blocks, num_warps=1)
        ctx.save_for_backward(loc, log_scale, observed, mean, scale)
        return mean, scale

    @staticmethod
    def backward(ctx: Any, d_mean: Tensor, d_scale: Tensor) -> tuple[Tensor, Tensor, None]:
        """The gradients of the experts."""
        loc = ctx.saved_tensors[0]
        rows, count, size = loc.shape
        d_loc, d_log = torch.empty_like(loc), torch.empty_like(loc)
        blocks = triton.next_power_of_2(count), triton.next_power_of_2(size)
        _product_gradient[(rows,)](
            *ctx.saved_tensors, d_mean.contiguous(), d_scale.contiguous(), d_loc, d_log,
            count, size, *blocks, num_warps=1,
        )  # fmt: skip
        return d_loc, d_log, None


class Chosen(torch.autograd.Function):
    """Logits `(B, K, V)` of any strides, codes and observed `(B, K)`, sizes `(K,)` to `(B,)`."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, codes: Tensor, observed: Tensor, sizes: Tensor) -> Tensor:
        """The log-likelihood of what was said."""
        codes, observed = codes.contiguous(), observed.contiguous()
        rows, count, values = logits.shape
        out = logits.new_empty(rows, dtype=torch.float32)
        blocks = triton.next_power_of_2(count), triton.next_power_of_2(values)
        _chosen[(rows,)](
            logits, codes, observed, sizes, out, count, *logits.stride(), *blocks, num_warps=1
        )
        ctx.save_for_backward(logits, codes, observed, sizes)
        return out

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None, None]:
        """The gradient of the logits, in their layout."""
        logits, codes, observed, sizes = ctx.saved_tensors
        rows, count, values = logits.shape
        out = torch.empty_strided(
            logits.shape, logits.stride(), dtype=logits.dtype, device=logits.device
        )
        blocks = triton.next_power_of_2(count), triton.next_power_of_2(values)
        _chosen_gradient[(rows,)](
            logits, codes, observed, sizes, gradient.contiguous(), out, count, values,
            *logits.stride(), *blocks, num_warps=1,
        )  # fmt: skip
        return out, None, None, None


@triton.jit
def _shares(log_scale, observed, row, count, size, K: tl.constexpr, D: tl.constexpr):
    """Where experts lie, which speak, the share of each, and the logarithm of all precision."""
    k, d = tl.arange(0, K), tl.arange(0, D)
    inside = (k < count)[:, None] & (d < size)[None, :]
    at = (row * count + k[:, None]) * size + d[None, :]
    said = tl.load(observed + row * count + k, mask=k < count, other=0) != 0
    log = tl.load(log_scale + at, mask=inside, other=0.0)
    precision = tl.where(said[:, None] & inside, -2.0 * log, -float("inf"))
    top = tl.maximum(tl.max(precision, 0), 0.0)  # the prior's is 0
    total = top + tl.log(tl.exp(-top) + tl.sum(tl.exp(precision - top[None, :]), 0))
    return at, inside, tl.exp(precision - total[None, :]), total


@triton.jit
def _product(loc, log_scale, observed, mean, scale, count, size, K: tl.constexpr, D: tl.constexpr):
    row, d = tl.program_id(0), tl.arange(0, D)
    at, inside, share, total = _shares(log_scale, observed, row, count, size, K, D)
    value = tl.sum(share * tl.load(loc + at, mask=inside, other=0.0), 0)
    tl.store(mean + row * size + d, value, mask=d < size)
    tl.store(scale + row * size + d, tl.exp(-0.5 * total), mask=d < size)


@triton.jit
def _product_gradient(
    loc, log_scale, observed, mean, scale, d_mean, d_scale, d_loc, d_log,
    count, size, K: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    row, d = tl.program_id(0), tl.arange(0, D)
    here, there = row * size + d, d < size
    at, inside, share, _ = _shares(log_scale, observed, row, count, size, K, D)
    g = tl.load(d_mean + here, mask=there, other=0.0)
    spread = tl.load(d_scale + here, mask=there, other=0.0)
    spread = spread * tl.load(scale + here, mask=there, other=0.0)
    far = tl.load(loc + at, mask=inside, other=0.0)
    far = far - tl.load(mean + here, mask=there, other=0.0)[None, :]
    tl.store(d_loc + at, g[None, :] * share, mask=inside)
    tl.store(d_log + at, share * (spread[None, :] - 2.0 * g[None, :] * far), mask=inside)


@triton.jit
def _log_probs(logits, sizes, row, count, sb, sk, sv, K: tl.constexpr, V: tl.constexpr):
    """Where the logits of a row lie, which are values, and their log-probabilities."""
    k, v = tl.arange(0, K), tl.arange(0, V)
    size = tl.load(sizes + k, mask=k < count, other=1)
    inside = (k < count)[:, None] & (v[None, :] < size[:, None])
    at = row * sb + k[:, None] * sk + v[None, :] * sv
    value = tl.load(logits + at, mask=inside, other=0.0).to(tl.float32)
    value = tl.where(inside, value, -1e30)
    top = tl.max(value, 1)
    total = top + tl.log(tl.sum(tl.exp(value - top[:, None]), 1))
    return at, value - total[:, None]


@triton.jit
def _chosen(
    logits, codes, observed, sizes, out, count, sb, sk, sv, K: tl.constexpr, V: tl.constexpr
):
    row, k, v = tl.program_id(0), tl.arange(0, K), tl.arange(0, V)
    _, log = _log_probs(logits, sizes, row, count, sb, sk, sv, K, V)
    code = tl.load(codes + row * count + k, mask=k < count, other=0)
    said = tl.load(observed + row * count + k, mask=k < count, other=0) != 0
    hit = (v[None, :] == code[:, None]) & said[:, None]
    tl.store(out + row, tl.sum(tl.sum(tl.where(hit, log, 0.0), 1), 0))


@triton.jit
def _chosen_gradient(
    logits, codes, observed, sizes, gradient, out, count, values, sb, sk, sv,
    K: tl.constexpr, V: tl.constexpr,
):  # fmt: skip
    row, k, v = tl.program_id(0), tl.arange(0, K), tl.arange(0, V)
    at, log = _log_probs(logits, sizes, row, count, sb, sk, sv, K, V)
    code = tl.load(codes + row * count + k, mask=k < count, other=0)
    said = tl.load(observed + row * count + k, mask=k < count, other=0) != 0
    one = tl.where(v[None, :] == code[:, None], 1.0, 0.0)
    d = tl.where(said[:, None], tl.load(gradient + row) * (one - tl.exp(log)), 0.0)
    inside = (k < count)[:, None] & (v < values)[None, :]
    tl.store(out + at, d.to(out.dtype.element_ty), mask=inside)
