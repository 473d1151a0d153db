"""Pictures of graphs: every node at its place in a plane, coloured by class, over the links."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from mindseye.charts import Series, bar_chart, linked_chart
from mindseye.graphs import Graph
from mindseye.layouts import MOST
from mindseye.linking import Linker

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["Drawn", "degree_sheet", "drawn", "plane_sheet"]

SHOWN = 20_000
"""The most links that are drawn."""

NAMED = 60
"""Of so many nodes, the names are written."""


class Drawn(NamedTuple):
    """What is drawn of a graph; all of it, unless it is large."""

    nodes: Tensor
    """int64 `(M,)`: all of them, or so many that stand evenly among all."""

    links: Tensor
    """Training links among these, int64 `(E, 2)`, by their places in `nodes`."""


def drawn(linker: Linker) -> Drawn:
    """The nodes and links of a graph that are drawn."""
    count, links = linker.graph.nodes, linker.data.train.cpu()
    nodes = torch.arange(count)
    if count > MOST:
        nodes = torch.linspace(0, count - 1, MOST, dtype=torch.float64).long()
        places = torch.full((count,), -1).index_put((nodes,), torch.arange(MOST))
        links = places[links]
        links = links[(links >= 0).all(1)]
    if len(links) > SHOWN:
        links = links[torch.linspace(0, len(links) - 1, SHOWN, dtype=torch.float64).long()]
    return Drawn(nodes, links)


def plane_sheet(
    linker: Linker,
    *,
    straight: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Image:
    """The latents of all nodes in a plane, with the links that the model was trained on.

    Arguments:
        linker: The model and its graph.
        straight: Whether principal components are shown, and not who is near whom.
        progress: Called with the steps that are done and those there are.
    """
    nodes, links = drawn(linker)
    at = linker.plane(straight=straight, progress=progress)[nodes]
    all_near = not straight and linker.graph.nodes <= MOST
    way = "near ones stay near" if all_near else "principal components"
    count = f"{linker.graph.nodes:,} nodes"
    if len(nodes) < linker.graph.nodes:
        count = f"{len(nodes):,} of {count}"
    title = f"{linker.name}: {count}, {way}"
    named = at.tolist() if len(nodes) <= NAMED else []
    names = [(linker.graph.name(node), place) for node, place in enumerate(named)]
    return linked_chart(_groups(linker.graph, nodes, at), at[links].tolist(), title, names)


def degree_sheet(graph: Graph, title: str) -> Image:
    """How many nodes have how many links."""
    degrees = torch.bincount(graph.links.flatten(), minlength=graph.nodes)
    counts = torch.bincount(degrees.clamp_max(30)).tolist()
    return bar_chart([Series("links of a node, 30 and more at the end", counts)], title, "nodes")


def _groups(graph: Graph, nodes: Tensor, at: Tensor) -> list[tuple[str, list[list[float]]]]:
    """Places by class; all nodes together where there are none."""
    if graph.labels is None:
        return [("nodes", at.tolist())]
    labels = graph.labels[nodes]
    each = [(name, at[labels == i]) for i, name in enumerate(graph.classes)]
    return [(name, places.tolist()) for name, places in each if len(places)]
