"""Pictures of graphs: every node at its place in a plane, coloured by class, over the links."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from mindseye.charts import Series, bar_chart, linked_chart
from mindseye.graphs import Graph
from mindseye.layouts import MOST
from mindseye.linking import Linker

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["degree_sheet", "plane_sheet"]

SHOWN = 20_000
"""The most nodes, and the most links, that are drawn."""


NAMED = 60
"""Of so many nodes, the names are written."""


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
    nodes, at = linker.graph.nodes, linker.plane(straight=straight, progress=progress)
    shown = torch.zeros(nodes, dtype=torch.bool)
    shown[_some(nodes)] = True
    links = linker.data.train.cpu()
    links = links[shown[links].all(1)]
    way = "principal components" if straight or nodes > MOST else "near ones stay near"
    few = f", {SHOWN:,} of them drawn" if nodes > SHOWN else ""
    title = f"{linker.name}: {nodes:,} nodes{few}, {way}"
    groups = _groups(linker.graph, at, shown)
    places = at.tolist() if nodes <= NAMED else []
    names = [(linker.graph.name(node), place) for node, place in enumerate(places)]
    return linked_chart(groups, at[links[_some(len(links))]].tolist(), title, names)


def degree_sheet(graph: Graph, title: str) -> Image:
    """How many nodes have how many links."""
    degrees = torch.bincount(graph.links.flatten(), minlength=graph.nodes)
    counts = torch.bincount(degrees.clamp_max(30)).tolist()
    return bar_chart([Series("links of a node, 30 and more at the end", counts)], title, "nodes")


def _some(count: int) -> Tensor:
    """Places of up to `SHOWN` of so many, evenly apart."""
    return torch.linspace(0, count - 1, min(count, SHOWN)).long()


def _groups(graph: Graph, at: Tensor, shown: Tensor) -> list[tuple[str, list[list[float]]]]:
    """Places by class; all nodes together where there are none."""
    if graph.labels is None:
        return [("nodes", at[shown].tolist())]
    each = [(name, at[shown & (graph.labels == i)]) for i, name in enumerate(graph.classes)]
    return [(name, places.tolist()) for name, places in each if len(places)]
