"""How well a model of a graph tells held-out links from pairs without one.

Beside it stand what needs no training: the shared neighbours of a pair, weighed as Adamic and Adar
do, and the likeness of its features. Both see what the model sees, the training links alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from mindseye.data.linked import Linked
from mindseye.data.surroundings import Neighbours
from mindseye.errors import UsageError
from mindseye.files import read_json, write_json
from mindseye.graphs import Pairs
from mindseye.metrics import Estimate
from mindseye.metrics.links import average_precision, hits, resampled, roc_auc
from mindseye.models import GraphVAE
from mindseye.provenance import provenance
from mindseye.runs import BUILTIN, Run
from mindseye.sparse import Sparse

__all__ = [
    "LinksReport",
    "evaluate_links",
    "heuristics",
    "links_report",
    "links_scores",
    "measures",
]

Progress = Callable[[int, int], None]

Measure = Callable[[Tensor, Tensor], float]

HITS = (10, 50, 100)
"""The K of Hits@K; one that is larger than the number of pairs without a link says nothing."""


def measures(apart: int) -> dict[str, Measure]:
    """What is measured with so many pairs without a link, by name.

    >>> list(measures(60))
    ['auc', 'ap', 'hits@10', 'hits@50']
    """
    above = {f"hits@{k}": partial(hits, k=k) for k in HITS if k <= apart}
    return {"auc": roc_auc, "ap": average_precision, **above}


CHANCE = {"auc": 0.5, "ap": 0.5}
"""What scores drawn at random give, where that does not depend on the number of pairs."""


@dataclass(frozen=True)
class LinksReport:
    """How well links are found."""

    part: str
    links: int
    """Held-out links; there are as many pairs without one."""

    scores: Mapping[str, Estimate]
    """Shares by measure, each with a bootstrap interval over pairs."""

    beside: Mapping[str, Mapping[str, float]]
    """The same of what needs no training."""

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "part": self.part,
            "links": self.links,
            "scores": {name: found.to_json() for name, found in self.scores.items()},
            "beside": {name: dict(found) for name, found in self.beside.items()},
            "chance": dict(CHANCE),
        }

    def rows(self) -> list[list[str]]:
        """A table for people, in percent."""
        head = [f"{self.links} {self.part} links", "model", "95 % interval", *self.beside, "chance"]
        rows = [head]
        for name, found in self.scores.items():
            chance = f"{100 * CHANCE[name]:.0f}" if name in CHANCE else "-"
            others = [f"{100 * other[name]:.2f}" for other in self.beside.values()]
            interval = f"{100 * found.low:.2f} to {100 * found.high:.2f}"
            rows.append([_title(name), f"{100 * found.mean:.2f}", interval, *others, chance])
        return rows

    def to_text(self) -> str:
        """Lines for people."""
        rows = self.rows()
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
        return "\n".join([*lines, "Percent; 100 is the most. As many pairs without a link."])

    def to_markdown(self) -> str:
        """The same as a Markdown table."""
        head, *rows = self.rows()
        lines = [head, ["---", *["--:"] * (len(head) - 1)], *rows]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def evaluate_links(
    run: Run,
    *,
    part: str = "test",
    device: torch.device | str = "cpu",
    data: str | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> LinksReport:
    """Measure a run, and keep the report beside its weights: `links.json`, by part.

    Arguments:
        run: A run of a model of a graph.
        part: Whose links: test, or validation to choose by.
        device: Where to compute.
        data: A folder with the data.
        seed: Chooses the resamples of the intervals.
        progress: Called with the measures that are done and those there are.
    """
    model = run.model()
    if not isinstance(model, GraphVAE):
        raise UsageError(
            f"{run.path} knows nothing of links.", "Train a model that does: cora/vgae."
        )
    started = time.perf_counter()
    opened = run.recipe.data.graph(part, folder=data).to(device)
    report = links_report(model.to(device), opened, seed=seed, progress=progress)
    if run.path.parent != BUILTIN:
        seconds = round(time.perf_counter() - started, 2)
        facts = {"seconds": seconds, "provenance": provenance(device)}
        write_json(_kept(run, part), report.to_json() | facts)
    return report


def links_scores(run: Run, part: str = "test") -> dict[str, float]:
    """Percent by measure of a run that has been measured; nothing where it has not."""
    file = _kept(run, part)
    scores = read_json(file)["scores"] if file.is_file() else {}
    return {name: 100 * found["mean"] for name, found in scores.items()}


def _kept(run: Run, part: str) -> Path:
    """Where the report of a part is kept."""
    return run.path / ("links.json" if part == "test" else f"links-{part}.json")


@torch.no_grad()
def links_report(
    model: GraphVAE, data: Linked, *, seed: int = 0, progress: Progress | None = None
) -> LinksReport:
    """Measure a model, no longer in training, on a held-out part of a graph, where both are."""
    asked = data.asked
    p = model.p_links(model.q(data.seen).mean)
    scores = [p.logits(pairs.to(data.device)).cpu() for pairs in asked]
    found, asked_for = {}, measures(len(asked.apart))
    for done, (name, measure) in enumerate(asked_for.items(), 1):
        found[name] = resampled(measure, *scores, seed=seed)
        if progress:
            progress(done, len(asked_for))
    return LinksReport(data.part, len(asked.linked), found, heuristics(data))


def heuristics(data: Linked) -> dict[str, dict[str, float]]:
    """What shared neighbours and, where features are shown, likeness of these are worth."""
    neighbours = Neighbours.of(data.division.train, data.graph.nodes)
    degrees = neighbours.starts.diff().float()
    around = Sparse(
        neighbours.starts, neighbours.nodes, torch.ones(len(neighbours.nodes)), len(degrees)
    )
    rare = 1 / degrees.clamp_min(2).log()  # who has one neighbour joins no two
    known = {"shared neighbours": _measured(around, data.asked, rare)}
    if not data.featureless:
        features = data.features.to("cpu")
        lengths = _lengths(features)
        alike = features.weighted(features.values / lengths[features.rows_of_entries()])
        known["like features"] = _measured(alike, data.asked, torch.ones(features.width))
    return known


def _measured(matrix: Sparse, asked: Pairs, weights: Tensor) -> dict[str, float]:
    """All measures of what the rows of both nodes of a pair share."""
    linked, apart = (_shared(matrix, pairs.cpu(), weights) for pairs in asked)
    return {name: measure(linked, apart) for name, measure in measures(len(apart)).items()}


def _shared(matrix: Sparse, pairs: Tensor, weights: Tensor) -> Tensor:
    """The product of the two rows of every pair, columns weighed, `(M,)`."""
    one, other = (matrix.rows(pairs[:, i]) for i in (0, 1))
    first, second = (rows.rows_of_entries() * matrix.width + rows.columns for rows in (one, other))
    if not len(first) or not len(second):
        return torch.zeros(len(pairs))
    order = second.argsort()
    at = torch.searchsorted(second[order], first).clamp_max(len(second) - 1)
    same = second[order][at] == first
    products = one.values * other.values[order][at] * weights[one.columns] * same
    return torch.zeros(len(pairs)).index_add(0, one.rows_of_entries(), products)


def _lengths(features: Sparse) -> Tensor:
    squares = features.weighted(features.values**2) @ torch.ones(features.width, 1)
    return squares[:, 0].sqrt().clamp_min(1e-12)


def _title(name: str) -> str:
    return name.upper() if name in ("auc", "ap") else name.capitalize()
