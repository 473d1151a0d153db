r"""The verbs of a trained model of a graph: who is linked to whom, and where everybody is.

A model is trained on as many pairs that are linked as are not, so its log odds $s$ compare two
kinds of pairs, not chances. Links are rare: with a share $\pi$ of all pairs linked, a pair is
linked with probability $\sigma(s + \log \pi / (1 - \pi))$, and that is what is told.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from mindseye.data.linked import Linked
from mindseye.distributions.links import Links
from mindseye.errors import DataError, UsageError
from mindseye.graphs import Graph, keys_of
from mindseye.layouts import MOST, neighbourly, principal
from mindseye.models import GraphVAE
from mindseye.tensors import read_tensors, write_tensors

__all__ = ["Likely", "Linker"]

WHOLE = 6000
"""Of graphs of more nodes, the likeliest links of all are not looked for."""


class Likely(NamedTuple):
    """A pair of nodes, and how likely it is linked."""

    one: int
    other: int
    probability: float
    known: str
    """training, held out or new: whether it is a link of the graph, and who was told."""

    def to_json(self, graph: Graph) -> dict[str, Any]:
        """Plain data, with the names of the nodes."""
        names = {"from": graph.name(self.one), "to": graph.name(self.other)}
        return {**names, "probability": self.probability, "known": self.known}


class Linker:
    """A trained model of a graph with its verbs.

    Arguments:
        model: The model, no longer in training.
        data: The graph with its training links, where the model is.
        name: What the model is called.
        kept: Where the plane of neighbours is kept, which takes seconds to lay out, if anywhere.
    """

    def __init__(
        self, model: GraphVAE, data: Linked, name: str = "model", kept: Path | None = None
    ):
        self.model, self.data, self.name, self.kept = model.eval(), data, name, kept
        self._near: Tensor | None = None

    @property
    def graph(self) -> Graph:
        """What it was trained on."""
        return self.data.graph

    @cached_property
    def latents(self) -> Tensor:
        """The mean of what is believed of every node, `(N, D)`."""
        with torch.no_grad():
            return self.model.q(self.data.seen).mean

    @property
    def links(self) -> Links:
        """The distribution over links at the means."""
        return self.model.p_links(self.latents)

    @property
    def rarity(self) -> float:
        """The log odds that any pair is linked, by the training links."""
        pairs, linked = self.graph.nodes * (self.graph.nodes - 1) / 2, len(self.data.train)
        return math.log(linked / (pairs - linked))

    @torch.no_grad()
    def between(self, one: str | int, other: str | int) -> Likely:
        """How likely two nodes are linked."""
        pair = torch.tensor([[self._node(one), self._node(other)]], device=self.data.device)
        if pair[0, 0] == pair[0, 1]:
            raise UsageError(f"{one!r} is one node; expected two.")
        return self._told(pair, self.links.logits(pair))[0]

    @torch.no_grad()
    def likeliest(self, node: str | int, n: int = 10, *, known: bool = False) -> list[Likely]:
        """The nodes that one is most likely linked to.

        Arguments:
            node: Its name or number.
            n: How many, at most.
            known: Whether links that it was trained on are told, too.
        """
        one = self._node(node)
        others = torch.arange(self.graph.nodes, device=self.data.device)
        pairs = torch.stack([torch.full_like(others, one), others], 1)
        logits = self.links.logits_of(one)
        logits[one] = -math.inf
        return self._best(pairs, logits, n, known)

    @torch.no_grad()
    def likeliest_of_all(
        self, n: int = 10, *, progress: Callable[[int, int], None] | None = None
    ) -> list[Likely]:
        """The likeliest links that it was not trained on, among all nodes."""
        nodes = self.graph.nodes
        if nodes > WHOLE:
            raise UsageError(
                f"the graph has {nodes:,} nodes; all pairs of {WHOLE:,} and fewer are looked at.",
                "Name a node.",
            )
        found: list[Likely] = []
        for one in range(nodes - 1):
            others = torch.arange(one + 1, nodes, device=self.data.device)
            pairs = torch.stack([torch.full_like(others, one), others], 1)
            found += self._best(pairs, self.links.logits_of(one)[one + 1 :], n, known=False)
            if len(found) > 100 * n or one == nodes - 2:
                found = sorted(found, key=lambda pair: -pair.probability)[:n]
            if progress:
                progress(one + 1, nodes - 1)
        return found

    def plane(
        self, *, straight: bool = False, progress: Callable[[int, int], None] | None = None
    ) -> Tensor:
        """Every node in a plane, `(N, 2)`: by neighbours, or straight by principal components.

        Of more nodes than `layouts.MOST` there are principal components only.
        """
        if straight or self.graph.nodes > MOST:
            return self._straight
        found = self.laid_out()
        if found is None:
            found = self._near = neighbourly(self.latents.cpu(), progress=progress)
            if self.kept:
                with suppress(DataError):  # where nothing can be written, it is laid out again
                    write_tensors(self.kept, {"near": found, "straight": self._straight})
        return found

    def laid_out(self) -> Tensor | None:
        """The plane by neighbours if it was laid out before, `(N, 2)`; nothing if it was not.

        What is kept is that of these latents only if their principal components are, too.
        """
        if self._near is None and self.kept and self.kept.is_file():
            size = self._straight.shape
            with suppress(DataError):  # damaged, or of another graph
                found = read_tensors(self.kept, {"near": size, "straight": size})
                if torch.allclose(found["straight"], self._straight, rtol=1e-3, atol=1e-4):
                    self._near = found["near"]
        return self._near

    @cached_property
    def degrees(self) -> Tensor:
        """How many links every node has, and how many of these it was trained on, `(N, 2)`."""
        each = (self.graph.links, self.data.train.cpu())
        counts = [torch.bincount(links.flatten(), minlength=self.graph.nodes) for links in each]
        return torch.stack(counts, 1)

    @cached_property
    def _straight(self) -> Tensor:
        return principal(self.latents.cpu())

    def _best(self, pairs: Tensor, logits: Tensor, n: int, known: bool) -> list[Likely]:
        if not known:
            trained = torch.isin(keys_of(pairs, self.graph.nodes), self._keys("train"))
            logits = logits.masked_fill(trained, -math.inf)
        best, at = logits.topk(min(n, len(logits)))
        there = best > -math.inf
        return self._told(pairs[at[there]], best[there])

    def _told(self, pairs: Tensor, logits: Tensor) -> list[Likely]:
        keys = keys_of(pairs, self.graph.nodes)
        trained, linked = torch.isin(keys, self._keys("train")), torch.isin(keys, self._keys("all"))
        chances = torch.sigmoid(logits + self.rarity)
        kinds = [
            "training" if one else "held out" if other else "new"
            for one, other in zip(trained.tolist(), linked.tolist(), strict=True)
        ]
        return [
            Likely(one, other, chance, kind)
            for (one, other), chance, kind in zip(
                pairs.tolist(), chances.tolist(), kinds, strict=True
            )
        ]

    def _keys(self, which: str) -> Tensor:
        links = self.data.train if which == "train" else self.graph.links.to(self.data.device)
        return keys_of(links, self.graph.nodes)

    def _node(self, node: str | int) -> int:
        if isinstance(node, str):
            return self.graph.node(node)
        if not 0 <= node < self.graph.nodes:
            raise UsageError(f"there is no node {node}; expected 0 to {self.graph.nodes - 1}.")
        return node
