r"""A graph to learn links of: some are shown, some are held out, and pairs are asked about.

Links are divided as Kipf and Welling (2016) do: a twentieth is for validation, a tenth for the
test, each beside as many pairs that are not linked, drawn from all of those; the rest is for
training. **No model ever hears over a link that is held out**, and in training no pair is known to
be apart: a link that is held out may be drawn as a pair without one.

A batch is a function of its number. What it shows and asks is one of three things:

- the whole graph and all its pairs (`masked=0`, `fanout=0`), as the paper does;
- a part of the links, and as questions those that are hidden (`masked=0.5`);
- the surroundings of a few links, of `fanout` neighbours a node (`fanout=10`): for large graphs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from copy import copy
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Self

import torch
from torch import Tensor

from mindseye.concepts import Vocabulary
from mindseye.data.splits import checked_part, shuffled_order
from mindseye.data.surroundings import Neighbours, surroundings
from mindseye.errors import DataError, UsageError
from mindseye.graphs import AllPairs, Graph, Pairs, Seen, keys_of, normalised
from mindseye.randomness import integers, keys, uniforms
from mindseye.sparse import Sparse

__all__ = ["HOPS", "Division", "Glimpse", "Linked", "divided", "pairs_apart"]

HOPS = 2
"""How far a node hears."""


class Glimpse(NamedTuple):
    """What is shown and asked in a step: the batch of a graph."""

    x: Seen
    y: AllPairs | Pairs


class Division(NamedTuple):
    """The links of a graph, divided."""

    train: Tensor
    """int64 `(E, 2)`."""

    held_out: Mapping[str, Pairs]
    """By part, validation and test."""


def divided(graph: Graph, seed: int = 0) -> Division:
    """Hold out a twentieth and a tenth of the links, each beside as many pairs without one.

    Arguments:
        graph: Whose links.
        seed: Chooses them.
    """
    count = len(graph.links)
    sizes = {"test": count // 10, "validation": count // 20}
    if not sizes["validation"]:
        raise DataError(
            f"the graph has {count} links; a twentieth of them is held out for validation.",
            "Expected 20 or more.",
        )
    order = shuffled_order(count, seed, "links")
    both = pairs_apart(graph.links, graph.nodes, sum(sizes.values()), seed, "apart", distinct=True)
    held_out, start = {}, 0
    for part, size in sizes.items():
        linked = graph.links[order[start : start + size].sort().values]
        held_out[part] = Pairs(linked, both[start : start + size])
        start += size
    return Division(graph.links[order[start:].sort().values], held_out)


def pairs_apart(
    links: Tensor, nodes: int, count: int, seed: int, stream: str, *, distinct: bool = False
) -> Tensor:
    """Draw pairs of different nodes that are not among the links, int64 `(count, 2)`.

    Arguments:
        links: Pairs that are not to be drawn, the smaller node first, sorted.
        nodes: How many nodes there are.
        count: How many pairs.
        seed: Chooses them.
        stream: Which of the seed's draws.
        distinct: Whether no pair may come twice.
    """
    there = nodes * (nodes - 1) // 2 - len(links)
    if count > there // 2:
        raise DataError(
            f"the graph is too dense: {count:,} pairs without a link are asked for, and there are"
            f" {max(there, 0):,}."
        )
    known = keys_of(links, nodes)
    found = torch.empty(0, dtype=torch.int64, device=links.device)
    start = 0
    while len(found) < count:
        more = max(64, 2 * (count - len(found)) if distinct else (count - len(found)) * 9 // 8)
        drawn = _drawn(nodes, start, more, seed, stream, links.device)
        start += more
        fresh = drawn[~_among(drawn, known)]
        found = torch.cat([found, fresh])
        if distinct:
            found = _first_ones(found)
    found = found[:count]
    return torch.stack([found // nodes, found % nodes], 1)


class Linked(ABC):
    """A graph, of which a part of the links is held out.

    Arguments:
        graph: The graph.
        part: `train`, `validation` or `test`: what is asked about.
        split_seed: Chooses the links that are held out.
        featureless: Whether features are left out: then a node is known by its number alone.
        masked: The share of the training links that is hidden in every step, and asked about.
        fanout: How many neighbours a node hears in a step; all if 0.
        seed: Chooses what is hidden and what is asked about.
    """

    vocabulary = Vocabulary([])
    shape: tuple[int, int, int]
    parts = ("train", "validation", "test")
    settings: tuple[str, ...] = ("split_seed", "featureless", "masked", "fanout")

    def __init__(
        self,
        graph: Graph,
        part: str = "train",
        *,
        split_seed: int = 0,
        featureless: bool = False,
        masked: float = 0.0,
        fanout: int = 0,
        seed: int = 0,
    ):
        self.graph, self.part = graph, checked_part(part, self.parts)
        self.masked, self.fanout, self.seed = masked, fanout, seed
        self.division = divided(graph, split_seed)
        features = None if featureless else graph.features
        self.featureless = features is None
        self.features = features or Sparse.identity(graph.nodes)
        self.shape = (1, graph.nodes, self.features.width)
        self.train = self.division.train
        self.device = torch.device("cpu")

    @classmethod
    def read(
        cls,
        source: str,
        part: str,
        folder: str | Path | None = None,
        *,
        nodes: int = 0,
        columns: int = 0,
        **options: Any,
    ) -> Self:
        """A part of the graph at a source; it must have the size that was found before, if any."""
        graph = cls.graph_at(source, folder)
        for name, before, now in (
            ("nodes", nodes, graph.nodes),
            ("columns", columns, graph.columns),
        ):
            if before and before != now:
                raise DataError(
                    f"the graph has {now:,} {name}; it had {before:,} when the run began.",
                    "Restore its files, or train anew.",
                )
        return cls(graph, part, **options)

    @classmethod
    @abstractmethod
    def graph_at(cls, source: str, folder: str | Path | None) -> Graph:
        """The whole graph."""

    @staticmethod
    @abstractmethod
    def resolved(source: str, folder: str | None = None) -> str:
        """Where it comes from."""

    @property
    def count(self) -> int:
        """How many links the part has."""
        return len(self.train if self.part == "train" else self.asked.linked)

    @property
    def asked(self) -> Pairs:
        """What a held-out part asks about."""
        if self.part == "train":
            raise UsageError("`part='train'` holds nothing out.", "Take validation or test.")
        return self.division.held_out[self.part]

    @cached_property
    def seen(self) -> Seen:
        """The whole graph with its training links."""
        around = normalised(self.train, self.graph.nodes)
        return Seen(self.features, (around,) * HOPS, self.graph.nodes)

    def batch(self, step: int | Tensor, size: int, count: int = 1) -> Glimpse:
        """What is shown and asked in a step.

        Arguments:
            step: Its number.
            size: How many links are asked about, where surroundings are drawn.
            count: One: graphs are not captured.
        """
        step = int(step)
        if self.fanout:
            return self._few(step, size)
        if self.masked:
            return self._hiding(step)
        return Glimpse(self.seen, AllPairs(self.train))

    def facts(self) -> dict[str, Any]:
        """What it holds, for people."""
        apart = 0 if self.part == "train" else len(self.asked.apart)
        return {"links": self.count, "pairs apart": apart, **self._whole()}

    def to(self, device: torch.device | str) -> Self:
        """The same graph on another device."""
        moved = copy(self)
        for derived in ("seen", "_neighbours"):
            vars(moved).pop(derived, None)
        moved.device = torch.device(device)
        moved.train, moved.features = self.train.to(device), self.features.to(device)
        return moved

    def _whole(self) -> dict[str, Any]:
        facts = self.graph.facts()
        return {name: facts[name] for name in ("nodes", "features", "classes", "isolated")}

    def _hiding(self, step: int) -> Glimpse:
        """The links that stay visible, and those that do not as questions."""
        count = len(self.train)
        rows = step * count + torch.arange(count, device=self.device)
        order = uniforms(keys(self.seed, rows, "hidden"), 1)[:, 0].argsort()
        away = max(1, min(round(self.masked * count), count - 1))
        linked, visible = self.train[order[:away]], self.train[order[away:]]
        around = normalised(visible, self.graph.nodes)
        seen = Seen(self.features, (around,) * HOPS, self.graph.nodes)
        return Glimpse(seen, Pairs(linked, self._apart(step, away)))

    def _few(self, step: int, size: int) -> Glimpse:
        """Some links, as many pairs without one, and what is around them."""
        rows = step * size + torch.arange(size, device=self.device)
        linked = self.train[integers(keys(self.seed, rows, "asked"), len(self.train))]
        both = torch.cat([linked, self._apart(step, size)])
        asked, places = both.unique(return_inverse=True)
        heard, hops = surroundings(
            self._neighbours,
            asked,
            self.fanout,
            HOPS,
            seed=self.seed * 1_000_003 + step,
            without=linked if self.masked else None,
        )
        seen = Seen(self.features.rows(heard), hops, self.graph.nodes)
        return Glimpse(seen, Pairs(*places.view(2, size, 2)))

    def _apart(self, step: int, count: int) -> Tensor:
        """Pairs that no training link joins."""
        return pairs_apart(self.train, self.graph.nodes, count, self.seed, f"apart {step}")

    @cached_property
    def _neighbours(self) -> Neighbours:
        return Neighbours.of(self.train, self.graph.nodes)


def _drawn(
    nodes: int, start: int, count: int, seed: int, stream: str, device: torch.device
) -> Tensor:
    """Keys of pairs of different nodes, uniform, int64 `(count,)`."""
    rows = torch.arange(start, start + count, device=device)
    u = uniforms(keys(seed, rows, stream), 2)
    one = (u[:, 0] * nodes).long()
    other = (u[:, 1] * (nodes - 1)).long()
    other += other >= one
    return keys_of(torch.stack([one, other], 1), nodes)


def _among(values: Tensor, known: Tensor) -> Tensor:
    """Which values are among some that are sorted."""
    at = torch.searchsorted(known, values).clamp_(max=max(len(known) - 1, 0))
    return known[at] == values if len(known) else torch.zeros_like(values, dtype=torch.bool)


def _first_ones(values: Tensor) -> Tensor:
    """The values without those that stood before, in their order."""
    kept, inverse = values.unique(return_inverse=True)
    first = torch.full_like(kept, len(values))
    first.scatter_reduce_(0, inverse, torch.arange(len(values), device=values.device), "amin")
    return values[first.sort().values]
