r"""One launch for all of Adam: gradient to weights, their copy for computing, and their average.

Weights, moments and average lie in flat buffers, cut into blocks of one size. Gradients stay where
the backward pass left them: a table holds the address of each block's gradient, so nothing is
gathered or added first. Without a gradient a block is left alone. Kinds: 0 no gradient, 1 float32,
2 bfloat16.
"""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

__all__ = ["BLOCK", "adam", "squares"]

BLOCK = 1024
"""Numbers of a block; a tensor begins at a multiple of it."""


def adam(
    flat: dict[str, Tensor],
    table: Tensor,
    controls: Tensor,
    eps: float,
    *,
    average: bool,
) -> None:
    """Move the weights; `controls` holds rate, β (unused), the average's new share, clip factor.

    Arguments:
        flat: Buffers `weights`, `first`, `second`, `average`, `compute`; by block `decay`, `steps`
            and `beta1`, `beta2`, the decays of the running means.
        table: Addresses, kinds and numbers of the gradients by block, int64 `(3, blocks)`.
        controls: float32 `(4,)`, on the device.
        eps: The smallest divisor.
        average: Whether there is an average.
    """
    blocks = table.shape[1]
    _adam[(blocks,)](
        table, controls, flat["weights"], flat["first"], flat["second"], flat["average"],
        flat["compute"], flat["decay"], flat["steps"], flat["beta1"], flat["beta2"],
        blocks, eps, average, BLOCK,
    )  # fmt: skip


def squares(table: Tensor, out: Tensor) -> None:
    """The sum of squares of every block's gradient, float32 `(blocks,)`."""
    _squares[(table.shape[1],)](table, out, table.shape[1], BLOCK)


@triton.jit
def _gradient(table, block, blocks, i, N: tl.constexpr):
    """A block's gradient as float32; 0 beyond its end."""
    address = tl.load(table + block)
    kind = tl.load(table + blocks + block)
    inside = i < tl.load(table + 2 * blocks + block)
    g = tl.zeros((N,), tl.float32)
    if kind == 1:
        g = tl.load(address.to(tl.pointer_type(tl.float32)) + i, mask=inside, other=0.0)
    if kind == 2:
        near = tl.load(address.to(tl.pointer_type(tl.bfloat16)) + i, mask=inside, other=0.0)
        g = near.to(tl.float32)
    return g


@triton.jit
def _squares(table, out, blocks, N: tl.constexpr):
    block = tl.program_id(0)
    g = _gradient(table, block, blocks, tl.arange(0, N), N)
    tl.store(out + block, tl.sum(g * g, 0))


@triton.jit
def _adam(
    table, controls, weights, first, second, average, compute, decay, steps, beta1s, beta2s,
    blocks, eps, averaged: tl.constexpr, N: tl.constexpr,
):  # fmt: skip
    block, i = tl.program_id(0), tl.arange(0, N)
    at = block.to(tl.int64) * N + i
    w = tl.load(weights + at)
    if tl.load(table + blocks + block) > 0:
        rate, step = tl.load(controls), tl.load(steps + block) + 1.0
        beta1, beta2 = tl.load(beta1s + block), tl.load(beta2s + block)
        g = _gradient(table, block, blocks, i, N) * tl.load(controls + 3)
        g += tl.load(decay + block) * w
        m = tl.load(first + at)
        v = tl.load(second + at)
        m += (1.0 - beta1) * (g - m)
        v = beta2 * v + (1.0 - beta2) * g * g
        unbias1 = 1.0 - tl.exp(step * tl.log(beta1))
        unbias2 = 1.0 - tl.exp(step * tl.log(beta2))
        w -= rate / unbias1 * m / (tl.sqrt(v) / tl.sqrt(unbias2) + eps)
        tl.store(steps + block, step)
        tl.store(weights + at, w)
        tl.store(first + at, m)
        tl.store(second + at, v)
        tl.store(compute + at, w.to(tl.bfloat16))
    if averaged:
        old = tl.load(average + at)
        tl.store(average + at, old + tl.load(controls + 2) * (w - old))
