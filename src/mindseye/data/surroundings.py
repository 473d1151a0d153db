r"""What is around some nodes of a large graph, neighbours drawn where there are many.

A node $i$ hears $\sum_j \tilde A_{ij} h_j$. Where it has more than `fanout` neighbours, so many of
them are drawn with replacement and weighed by their number over `fanout`, so that what is heard is
right in expectation; where it has fewer, all are heard, and it is exact. Itself it always hears.

Links may be taken out for a step: neither end hears over them, and the degrees in $\tilde A$ are
those without them.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from mindseye.graphs import keys_of
from mindseye.randomness import keys, uniforms
from mindseye.sparse import Sparse

__all__ = ["Neighbours", "surroundings"]


class Neighbours(NamedTuple):
    """The neighbours of every node."""

    starts: Tensor
    """Where those of each node start, int64 `(N + 1,)`."""

    nodes: Tensor
    """Which they are, int64 `(2E,)`."""

    @classmethod
    def of(cls, links: Tensor, nodes: int) -> Neighbours:
        """Of some links, each in both directions."""
        ends = torch.cat([links[:, 0], links[:, 1]])
        others = torch.cat([links[:, 1], links[:, 0]])
        matrix = Sparse.of(ends, others, (nodes, nodes))
        return cls(matrix.starts, matrix.columns)


def surroundings(
    neighbours: Neighbours,
    nodes: Tensor,
    fanout: int,
    hops: int,
    *,
    seed: int,
    without: Tensor | None = None,
) -> tuple[Tensor, tuple[Sparse, ...]]:
    """The nodes that are heard, int64 `(M,)`, and the matrices that lead from them to `nodes`.

    Arguments:
        neighbours: Of every node.
        nodes: Who hears, none twice.
        fanout: How many neighbours each, at most.
        hops: How far.
        seed: Chooses neighbours.
        without: Links that are taken out, int64 `(B, 2)`.
    """
    total = len(neighbours.starts) - 1
    gone = nodes.new_empty(0, 2) if without is None else without.unique(dim=0)
    degrees = neighbours.starts.diff() - torch.bincount(gone.flatten(), minlength=total)
    root = (degrees + 1).float().rsqrt()
    missing = keys_of(gone, total)
    matrices: list[Sparse] = []
    for hop in range(hops):
        owner, others, weights = _heard(neighbours, nodes, fanout, seed, f"hop {hop}")
        ends = torch.stack([nodes[owner], others], 1)
        weights = weights * root[ends[:, 0]] * root[ends[:, 1]]
        weights = weights * ~torch.isin(keys_of(ends, total), missing)
        itself = torch.arange(len(nodes), device=nodes.device)
        heard, places = torch.cat([others, nodes]).unique(return_inverse=True)
        matrices.append(
            Sparse.of(
                torch.cat([owner, itself]),
                places,
                (len(nodes), len(heard)),
                torch.cat([weights, root[nodes] ** 2]),
            )
        )
        nodes = heard
    return nodes, tuple(reversed(matrices))


def _heard(
    neighbours: Neighbours, nodes: Tensor, fanout: int, seed: int, stream: str
) -> tuple[Tensor, Tensor, Tensor]:
    """Who hears whom: places in `nodes`, neighbours, and how much each of them counts."""
    starts = neighbours.starts[nodes]
    degrees = neighbours.starts[nodes + 1] - starts
    counts = degrees.clamp(max=fanout)
    every = torch.arange(len(nodes), device=nodes.device)
    owner = every.repeat_interleave(counts)
    rank = torch.arange(len(owner), device=nodes.device) - (counts.cumsum(0) - counts)[owner]
    many = (degrees > fanout)[owner]
    drawn = uniforms(keys(seed, rank + nodes[owner] * fanout, stream), 1)[:, 0]
    chosen = torch.where(many, (drawn * degrees[owner]).long(), rank)
    weights = torch.where(many, degrees[owner].float() / fanout, 1.0)
    return owner, neighbours.nodes[starts[owner] + chosen], weights
