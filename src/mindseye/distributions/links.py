r"""Links between nodes, given what is believed of each: Bernoulli, pair by pair.

$$ p(A \mid Z) = \prod_{i=1}^N \prod_{j=1}^N p(A_{ij} \mid z_i, z_j), \qquad
   p(A_{ij} = 1 \mid z_i, z_j) = \sigma(s(z_i, z_j)), \quad s(z_i, z_j) = z_i^\top z_j $$

as in Kipf and Welling (2016), or another symmetric score $s$.

Sums over all $N^2$ pairs are taken block by block, upper half only, with what the gradient needs in
the same pass: an $N \times N$ matrix is never kept, and half of the work is saved.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.distributions import Distribution, constraints
from torch.nn.functional import softplus
from torch.types import _size

from mindseye.distributions.normal import ONE

__all__ = ["Links"]

Score = Callable[[Tensor, Tensor], Tensor]
"""From two nodes each, `(..., D)`, to the log odds of a link, `(...)`; symmetric."""

BLOCK = 256
"""Rows of the matrix of all pairs that are worked on at once."""


class Links(Distribution):
    """A distribution over adjacency matrices.

    Arguments:
        z: Latents of the nodes, `(N, D)`.
        score: The log odds of a link; the inner product by default.
    """

    arg_constraints: ClassVar[dict[str, constraints.Constraint]] = {}  # pyright: ignore[reportIncompatibleMethodOverride]

    def __init__(self, z: Tensor, score: Score | None = None):
        super().__init__(torch.Size(), torch.Size([len(z)] * 2), validate_args=False)
        self.z, self.score = z, score

    def logits(self, pairs: Tensor) -> Tensor:
        """The log odds of a link between the nodes of every pair, `(M, 2)` to `(M,)`."""
        one, other = (self.z.index_select(0, ends) for ends in pairs.unbind(1))
        return self._scored(one, other)

    def logits_of(self, node: int) -> Tensor:
        """The log odds of links between one node and every node, itself too, `(N,)`."""
        return self._scored(self.z[node].expand_as(self.z), self.z)

    def log_prob(self, value: Tensor) -> Tensor:
        """The log probability of an adjacency matrix of zeros and ones, `(N, N)`."""
        return -softplus(torch.where(value.bool(), -self._all(), self._all())).sum()

    def sample(self, sample_shape: _size = ONE) -> Tensor:
        """Draw matrices of zeros and ones, every pair in both directions on its own."""
        return torch.bernoulli(self._all().sigmoid().expand(*sample_shape, -1, -1))

    def by_node(self, links: Tensor) -> tuple[Tensor, Tensor]:
        r"""Log probabilities that these links are there and that all others are not, each `(N,)`.

        $$ \sum_{j : A_{ij} = 1} \log p(A_{ij} = 1), \qquad
           \sum_{j : A_{ij} = 0} \log p(A_{ij} = 0) $$

        for every node $i$, where each node is taken as linked to itself, as in the code of Kipf and
        Welling.

        Arguments:
            links: Each once, int64 `(E, 2)`.
        """
        assert self.score is None, "all pairs are summed for inner products alone"
        logits = self.logits(links)
        own = self.z.square().sum(-1)
        present = -_at_both_ends(softplus(-logits), links, softplus(-own))
        linked = _at_both_ends(softplus(logits), links, softplus(own))
        return present, linked - _AllPairs.apply(self.z)

    def _all(self) -> Tensor:
        if self.score is None:
            return self.z @ self.z.T
        return torch.stack([self.logits_of(node) for node in range(len(self.z))])

    def _scored(self, one: Tensor, other: Tensor) -> Tensor:
        return (one * other).sum(-1) if self.score is None else self.score(one, other)


def _at_both_ends(values: Tensor, links: Tensor, own: Tensor) -> Tensor:
    """What the links of every node have, summed, and what it has of its own, `(N,)`."""
    return own.index_add(0, links[:, 0], values).index_add(0, links[:, 1], values)


class _AllPairs(torch.autograd.Function):
    r"""The sums $\sum_j \mathrm{softplus}(z_i^\top z_j)$ of every node.

    Where all sums count alike, as in a mean, the gradient is $2 \sum_j \sigma(z_i^\top z_j)\, z_j$
    times what they count, and that was summed on the way. Otherwise it is summed anew.
    """

    @staticmethod
    def forward(ctx: Any, z: Tensor) -> Tensor:
        sums, pull = torch.zeros_like(z[:, 0]), torch.zeros_like(z)
        for rows, after in _blocks(len(z)):
            corner, side = z[rows] @ z[rows].T, z[rows] @ z[after].T
            sums[rows] += softplus(corner).sum(1)
            pull[rows] += corner.sigmoid_() @ z[rows]
            each = softplus(side)
            sums[rows] += each.sum(1)
            sums[after] += each.sum(0)
            side.sigmoid_()
            pull[rows] += side @ z[after]
            pull[after] += side.T @ z[rows]
        ctx.save_for_backward(z, pull)
        return sums

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        (weights,) = gradients
        z, pull = ctx.saved_tensors
        if weights.numel() and bool((weights == weights[0]).all()):
            return 2 * weights[0] * pull
        found = torch.zeros_like(z)
        for rows, _ in _blocks(len(z)):
            slopes = (z[rows] @ z.T).sigmoid_()
            found[rows] = weights[rows, None] * (slopes @ z) + slopes @ (weights[:, None] * z)
        return found


def _blocks(count: int) -> list[tuple[slice, slice]]:
    """Rows, some at a time, and the rows after them."""
    ends = [min(start + BLOCK, count) for start in range(0, count, BLOCK)]
    return [(slice(end - ((end - 1) % BLOCK + 1), end), slice(end, count)) for end in ends]
