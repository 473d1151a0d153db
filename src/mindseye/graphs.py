r"""Graphs: nodes with features, links between some of them, and pairs about which one may ask.

A graph is undirected and simple: a link is a pair of different nodes, the smaller number first, and
there is at most one between two nodes. Whatever a file holds beyond that is cleaned away when the
graph is made, and counted.

What a model is shown of a graph is a `Seen`: features of some nodes, and for every hop a sparse
matrix that carries what is known of nodes to their neighbours. For a whole graph each hop is

$$ \tilde A = D^{-1/2} (A + I)\, D^{-1/2} ; $$

for a few nodes of a large one, hops are rectangular and lead from the nodes around them to them.
What it is asked is about `Pairs`, or about all pairs there are, `AllPairs`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from mindseye.errors import DataError, UsageError, did_you_mean
from mindseye.sparse import Sparse

__all__ = ["AllPairs", "Graph", "Pairs", "Seen", "graph_of", "keys_of", "normalised"]

COMPARED = 10_000
"""So many names are compared with a misspelt one; of a million that would take half a minute."""


@dataclass(frozen=True, eq=False)
class Graph:
    """An undirected graph without loops; `graph_of` makes one of any list of pairs."""

    nodes: int
    """How many there are."""

    links: Tensor
    """Pairs of nodes, int64 `(E, 2)`: the smaller first, sorted, none twice."""

    features: Sparse | None = None
    """What is known of every node, `(N, F)`; nothing where nothing is."""

    labels: Tensor | None = None
    """The class of every node, int64 `(N,)`, for people alone: no model sees it."""

    classes: tuple[str, ...] = ()
    """What the classes are called."""

    names: tuple[str, ...] = ()
    """What the nodes are called; their numbers if there are none."""

    cleaned: str = ""
    """What had to be left out, in words."""

    def name(self, node: int) -> str:
        """What a node is called."""
        return self.names[node] if self.names else str(node)

    def node(self, name: str) -> int:
        """The number of a node by its name, or by its number where nodes have none."""
        if name in self.names:
            return self.names.index(name)
        if not self.names and name.isdecimal() and int(name) < self.nodes:
            return int(name)
        known = f"0 to {self.nodes - 1}" if not self.names else f"{self.names[0]!r} and others"
        raise UsageError(
            f"no node is called {name!r}; expected {known}.",
            did_you_mean(name, self.names[:COMPARED]),
        )

    @property
    def columns(self) -> int:
        """How many features a node has; where there are none, its number is one of so many."""
        return self.features.width if self.features else self.nodes

    def facts(self) -> dict[str, Any]:
        """What it holds, for people."""
        degrees = torch.bincount(self.links.flatten(), minlength=self.nodes)
        return {
            "nodes": self.nodes,
            "links": len(self.links),
            "features": self.features.width if self.features else 0,
            "classes": len(self.classes),
            "isolated": int((degrees == 0).sum()),
            "most links": int(degrees.max()),
        }

    @classmethod
    def from_pyg(cls, data: Any) -> Graph:
        """The graph of a `torch_geometric.data.Data`: its `edge_index`, its `x` and `y` if any."""
        x, y = getattr(data, "x", None), getattr(data, "y", None)
        features = None
        if x is not None:
            rows, columns = x.nonzero(as_tuple=True)
            features = Sparse.of(rows, columns, tuple(x.shape), x[rows, columns].float())
        classes = () if y is None else tuple(str(i) for i in range(int(y.max()) + 1))
        return graph_of(
            data.edge_index.T, data.num_nodes, features=features, labels=y, classes=classes
        )

    def to_pyg(self) -> Any:
        """The same as a `torch_geometric.data.Data`, every link in both directions."""
        from torch_geometric.data import Data

        both = torch.cat([self.links, self.links.flip(1)]).T.contiguous()
        x = self.features.dense() if self.features else None
        return Data(x=x, edge_index=both, y=self.labels, num_nodes=self.nodes)


def graph_of(
    pairs: Tensor,
    nodes: int | None = None,
    *,
    features: Sparse | None = None,
    labels: Tensor | None = None,
    classes: Sequence[str] = (),
    names: Sequence[str] = (),
) -> Graph:
    """The graph of a list of pairs: directions, loops and repetitions are left out.

    >>> graph = graph_of(torch.tensor([[2, 0], [0, 2], [1, 1], [1, 2]]))
    >>> graph.links.tolist(), graph.cleaned
    ([[0, 2], [1, 2]], '1 self-loop and 1 repeated link were left out')

    Arguments:
        pairs: Two nodes each, int64 `(M, 2)`.
        nodes: How many nodes there are; as many as the largest number needs by default.
        features: What is known of every node.
        labels: The class of every node.
        classes: What the classes are called.
        names: What the nodes are called.
    """
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise DataError(f"`pairs` is {tuple(pairs.shape)}; expected two nodes in every row.")
    count = _checked_range(pairs, features.shape[0] if features else nodes)
    low, high = pairs.amin(1), pairs.amax(1)
    proper = low != high
    kept = (low * count + high)[proper].unique()  # sorted
    links = torch.stack([kept // count, kept % count], 1)
    loops = len(pairs) - int(proper.sum())
    cleaned = _left_out(loops, len(pairs) - loops - len(links))
    return Graph(count, links, features, labels, tuple(classes), tuple(names), cleaned)


def keys_of(pairs: Tensor, nodes: int) -> Tensor:
    """A number for every pair, the same in both directions, int64 `(M,)`."""
    return pairs.amin(-1) * nodes + pairs.amax(-1)


def normalised(links: Tensor, nodes: int) -> Sparse:
    r"""The matrix $D^{-1/2} (A + I) D^{-1/2}$ of some links, `(N, N)`; $D$ counts the loops too.

    >>> normalised(torch.tensor([[0, 1]]), 3).dense()
    tensor([[0.5000, 0.5000, 0.0000],
            [0.5000, 0.5000, 0.0000],
            [0.0000, 0.0000, 1.0000]])
    """
    self_loops = torch.arange(nodes, device=links.device)
    rows = torch.cat([links[:, 0], links[:, 1], self_loops])
    columns = torch.cat([links[:, 1], links[:, 0], self_loops])
    root = torch.bincount(rows, minlength=nodes).float().rsqrt()
    weights = root[rows] * root[columns]
    return Sparse.of(rows, columns, (nodes, nodes), weights, symmetric=True)


class Seen(NamedTuple):
    """What a model is shown of a graph."""

    features: Sparse
    """Of the nodes that are heard, `(M, F)`."""

    hops: tuple[Sparse, ...]
    """From the nodes that are heard to those that are asked about, one matrix after the other."""

    nodes: int
    """How many nodes the graph has, shown or not."""

    def to(self, device: torch.device | str) -> Seen:
        """The same on another device."""
        return Seen(
            self.features.to(device), tuple(hop.to(device) for hop in self.hops), self.nodes
        )


class Pairs(NamedTuple):
    """Pairs of the nodes shown, as many that are linked as are not."""

    linked: Tensor
    """int64 `(B, 2)`."""

    apart: Tensor
    """int64 `(B, 2)`."""


class AllPairs(NamedTuple):
    """All pairs of nodes, each in both directions, and each node with itself."""

    links: Tensor
    """Those that are linked, int64 `(E, 2)`, each once."""


def _checked_range(pairs: Tensor, nodes: int | None) -> int:
    """How many nodes there are, every one of the pairs among them."""
    if not len(pairs):
        raise DataError("there are no links.", "Expected two nodes in every row.")
    low, high = int(pairs.min()), int(pairs.max())
    count = high + 1 if nodes is None else nodes
    if low < 0 or high >= count:
        wrong = low if low < 0 else high
        row = int((pairs == wrong).any(1).nonzero()[0])
        raise DataError(
            f"row {row + 1} has the node {wrong}, which is out of range; expected 0 to"
            f" {count - 1}.",
            "Nodes are counted from 0, and as many as there are rows of features.",
        )
    return count


def _left_out(loops: int, repeated: int) -> str:
    """What is no part of a graph, in words."""
    counts = {"self-loop": loops, "repeated link": repeated}
    words = [f"{n:,} {what}{'s' * (n > 1)}" for what, n in counts.items() if n]
    verb = "was" if loops + repeated == 1 else "were"
    return f"{' and '.join(words)} {verb} left out" if words else ""
