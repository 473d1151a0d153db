"""The backward pass of bias and ELU in one launch: the gradient before them, and its sum."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from mindseye.kernels.pieces import elu

__all__ = ["BiasELU"]


class BiasELU(torch.autograd.Function):
    """Add biases `(K, 1, N)` to `(K, B, N)`, or `(N,)` to `(B, N)`, and take the ELU."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, bias: Tensor) -> Tensor:
        """y = elu(x + bias)."""
        x = x.contiguous()
        rows, columns = x.shape[-2:]
        y = torch.empty_like(x)
        grid = (triton.cdiv(x.numel(), 1024),)
        _elu[grid](x, bias.contiguous(), y, x.numel(), rows, columns, 1024)
        ctx.save_for_backward(y)
        ctx.bias = bias.shape
        return y

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor]:
        """The gradients of the input and of the biases."""
        (y,) = ctx.saved_tensors
        rows, columns = y.shape[-2:]
        networks = y.numel() // (rows * columns)
        dx, bias = torch.empty_like(y), y.new_empty(ctx.bias)
        grid = (networks, triton.cdiv(columns, 16))
        _elu_gradient[grid](y, gradient.contiguous(), dx, bias, rows, columns, 64, 16)
        return dx, bias


@triton.jit
def _elu(x, bias, y, size, rows, columns, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    column = i // (rows * columns) * columns + i % columns
    b = tl.load(bias + column, mask=i < size, other=0.0).to(tl.float32)
    t = tl.load(x + i, mask=i < size, other=0.0).to(tl.float32) + b
    value = elu(t)
    tl.store(y + i, value.to(y.dtype.element_ty), mask=i < size)


@triton.jit
def _elu_gradient(y, gradient, dx, bias, rows, columns, R: tl.constexpr, C: tl.constexpr):
    network, column = tl.program_id(0), tl.program_id(1) * C + tl.arange(0, C)
    inside = column < columns
    total = tl.zeros((R, C), tl.float32)
    for start in range(0, rows, R):
        row = start + tl.arange(0, R)
        mask = (row < rows)[:, None] & inside[None, :]
        at = (network * rows + row[:, None]) * columns + column[None, :]
        value = tl.load(y + at, mask=mask, other=0.0).to(tl.float32)
        d = tl.load(gradient + at, mask=mask, other=0.0).to(tl.float32)
        d = tl.where(value > 0, d, d * (value + 1.0))
        tl.store(dx + at, d.to(dx.dtype.element_ty), mask=mask)
        total += d
    out = tl.sum(total, 0).to(bias.dtype.element_ty)
    tl.store(bias + network * columns + column, out, mask=inside)
