r"""Sets of different sizes as one tensor: rows of all sets, one set after the other.

A batch of $B$ sets with $K_1, \dots, K_B$ elements is $N = \sum_b K_b$ rows and the sizes; nothing
is padded. Between rows and sets go two maps, each the other's transpose: `totals` sums the rows of
every set, `spread` gives every row what belongs to its set. `maxima` is the largest row of every
set, for softmaxes that do not overflow. Nothing waits for the device.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

__all__ = ["Groups"]


class Groups(NamedTuple):
    """Which rows belong to which set.

    >>> groups = Groups.of(torch.tensor([1, 3]), rows=4)
    >>> groups.totals(torch.tensor([[1.0], [2.0], [3.0], [4.0]]))
    tensor([[1.],
            [9.]])
    >>> groups.spread(torch.tensor([[5.0], [6.0]]))[:, 0]
    tensor([5., 6., 6., 6.])
    >>> groups.maxima(torch.tensor([[1.0], [4.0], [2.0], [3.0]]))[:, 0]
    tensor([1., 4.])
    >>> groups.ranks()
    tensor([0, 0, 1, 2])
    """

    sizes: Tensor
    """How many rows every set has, int64 `(B,)`."""

    owner: Tensor
    """The set of every row, int64 `(N,)`, never falling."""

    @classmethod
    def of(cls, sizes: Tensor, rows: int) -> Groups:
        """The groups of some sizes; `rows` is their sum, which a device would have to be asked."""
        each = torch.arange(len(sizes), device=sizes.device)
        return cls(sizes, each.repeat_interleave(sizes, output_size=rows))

    def totals(self, values: Tensor) -> Tensor:
        """Sums over the rows of every set: `(N, D)` to `(B, D)`."""
        return _Totals.apply(values, self.sizes, self.owner)

    def spread(self, values: Tensor) -> Tensor:
        """What belongs to the set of every row: `(B, D)` to `(N, D)`."""
        return _Spread.apply(values, self.sizes, self.owner)

    def maxima(self, values: Tensor) -> Tensor:
        """The largest of the rows of every set, `(N, D)` to `(B, D)`; -inf where there are none."""
        return torch.segment_reduce(values, "max", lengths=self.sizes, axis=0, unsafe=True)

    def ranks(self) -> Tensor:
        """How many rows of its own set stand before every row, int64 `(N,)`."""
        starts = self.sizes.cumsum(0) - self.sizes
        return torch.arange(len(self.owner), device=self.owner.device) - starts[self.owner]


class _Totals(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, sizes: Tensor, owner: Tensor) -> Tensor:
        ctx.save_for_backward(sizes, owner)
        return torch.segment_reduce(values, "sum", lengths=sizes, axis=0, unsafe=True, initial=0)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        return _Spread.apply(gradients[0].contiguous(), *ctx.saved_tensors), None, None


class _Spread(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, sizes: Tensor, owner: Tensor) -> Tensor:
        ctx.save_for_backward(sizes, owner)
        return values.index_select(0, owner)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        return _Totals.apply(gradients[0].contiguous(), *ctx.saved_tensors), None, None
