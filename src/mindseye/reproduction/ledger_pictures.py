"""The pictures that stand beside a ledger: what the models of its first seed draw."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from mindseye.charts import Series, bar_chart, point_chart
from mindseye.files import read_json
from mindseye.metrics.likelihood import ACTIVE
from mindseye.reproduction.drawing import Picture
from mindseye.runs import Run
from mindseye.sheets import row_sheet

__all__ = ["PAINTERS", "painted"]

Labelled = tuple[str, Run]
"""A run, and what the table calls its row."""

Painter = Callable[[Sequence[Labelled], torch.device | str, str | None], Picture]


def painted(
    names: Sequence[str],
    runs: Sequence[Labelled],
    device: torch.device | str,
    data: str | None,
) -> Iterator[Picture]:
    """The pictures of some names, in order."""
    return (PAINTERS[name](runs, device, data) for name in names)


def _samples(
    runs: Sequence[Labelled], device: torch.device | str, data: str | None, n: int = 16
) -> Picture:
    rows = []
    for label, run in runs:
        mind = _mind(run, device)
        rows.append((label, mind.imagine("", n, mean=True).cpu().numpy(), None, None))
    sheet = row_sheet(rows, title="Draws from the prior", scale=2)
    return Picture("samples", "Samples", "Expected pictures of draws from each prior.", sheet)


def _activities(runs: Sequence[Labelled], device: torch.device | str, data: str | None) -> Picture:
    series = []
    for label, run in runs:
        layers = read_json(run.path / "likelihood.json")["activities"]
        for number, layer in enumerate(layers, 1):
            name = f"{label}, layer {number}" if len(layers) > 1 else label
            series.append(Series(name, [max(a, 1e-6) for a in sorted(layer, reverse=True)]))
    chart = bar_chart(
        series, "Activity of every unit", "variance of its mean", line=ACTIVE, log=True
    )
    caption = "Every unit's variance over pictures of its mean; the line is 0.01, and what is above"
    return Picture("activities", "Active units", f"{caption} is active.", chart)


def _rates(runs: Sequence[Labelled], device: torch.device | str, data: str | None) -> Picture:
    points = []
    for label, run in runs:
        found = read_json(run.path / "likelihood.json")
        points.append((label, found["rate"]["mean"], found["distortion"]["mean"]))
    chart = point_chart(points, "Rate and distortion", ("rate, nats", "distortion, nats"))
    caption = "What each model spends on a picture's code, and what it loses; the sum is -elbo."
    return Picture("rates", "Rate and distortion", caption, chart)


def _mind(run: Run, device: torch.device | str) -> Any:
    mind = run.mind()
    mind.model.to(device)
    return mind


PAINTERS: dict[str, Painter] = {
    "samples": _samples,
    "activities": _activities,
    "rates": _rates,
}
