r"""Log-likelihood of pictures under Bernoulli pixels, $\sum_i x_i l_i - \log(1 + e^{l_i})$.

One pass over logits and pixels, summed in float32; the gradient, $x_i - \sigma(l_i)$, is another.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

__all__ = ["BernoulliLogProb"]


class BernoulliLogProb(torch.autograd.Function):
    """Logits `(..., B, *picture)` of pixels `(B, *picture)` to `(..., B)`.

    Pixels get no gradient.
    """

    @staticmethod
    def forward(ctx: Any, logits: Tensor, x: Tensor) -> Tensor:
        """Sum over a picture; every leading index of the logits meets the same pictures."""
        logits, x = logits.contiguous(), x.contiguous()
        ctx.save_for_backward(logits, x)
        out = logits.new_empty(logits.shape[: 1 + logits.ndim - x.ndim], dtype=torch.float32)
        _sums[(out.numel(),)](logits, x, out, x[0].numel(), len(x), 1024)
        return out

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        """The gradient of the logits."""
        logits, x = ctx.saved_tensors
        size, out = x[0].numel(), torch.empty_like(logits)
        grid = (gradient.numel(), triton.cdiv(size, 1024))
        _gradients[grid](logits, x, gradient.contiguous(), out, size, len(x), 1024)
        return out, None


@triton.jit
def _sums(logits, x, out, size, pictures, R: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros((R,), tl.float32)
    for start in range(0, size, R):
        i = start + tl.arange(0, R)
        at = row.to(tl.int64) * size + i
        logit = tl.load(logits + at, mask=i < size, other=0.0).to(tl.float32)
        shown = (row % pictures).to(tl.int64) * size + i
        p = tl.load(x + shown, mask=i < size, other=0.0).to(tl.float32)
        value = p * logit - tl.maximum(logit, 0.0) - tl.log(1.0 + tl.exp(-tl.abs(logit)))
        total += tl.where(i < size, value, 0.0)
    tl.store(out + row, tl.sum(total, 0))


@triton.jit
def _gradients(logits, x, gradient, out, size, pictures, R: tl.constexpr):
    row = tl.program_id(0)
    i = tl.program_id(1) * R + tl.arange(0, R)
    at = row.to(tl.int64) * size + i
    logit = tl.load(logits + at, mask=i < size, other=0.0).to(tl.float32)
    shown = (row % pictures).to(tl.int64) * size + i
    p = tl.load(x + shown, mask=i < size, other=0.0).to(tl.float32)
    g = tl.load(gradient + row)
    e = tl.exp(-tl.abs(logit))
    sigmoid = tl.where(logit > 0, 1.0, e) / (1.0 + e)
    tl.store(out + at, (g * (p - sigmoid)).to(out.dtype.element_ty), mask=i < size)
