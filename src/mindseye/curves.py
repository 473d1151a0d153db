"""Curves laid out for people: rows of small panels with one vertical scale.

A panel holds one curve or several: draws that are faint beneath their mean, or truth and model in
two colours. It is drawn three times as large and shrunk, so that lines are smooth.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from PIL import Image, ImageDraw

from mindseye.errors import UsageError
from mindseye.pictures import to_uint8
from mindseye.sheets import RGB, row_sheet
from mindseye.typesetting import MUTED, Text, typeset

__all__ = ["BEFORE", "MODEL", "OTHER", "TRUTH", "Curve", "CurveRow", "curve_sheet"]

MODEL: RGB = (0.12, 0.47, 0.71)
TRUTH: RGB = (0.16, 0.17, 0.20)
OTHER: RGB = (0.84, 0.38, 0.12)
BEFORE: RGB = (0.62, 0.63, 0.66)
"""Colours of what a model makes, of what is true, of a second model, and of what was before."""


class Curve(NamedTuple):
    """A curve, or several of one kind."""

    values: Any
    """Its values from left to right, `(T,)`; `(n, T)` for several."""

    rgb: RGB = MODEL

    faint: bool = False
    """Thin and pale, for draws beneath their mean."""


class CurveRow(NamedTuple):
    """A row of panels and what is written beside and below them."""

    label: str
    """Stands on the left; it may have several lines, and long lines are wrapped."""

    panels: Sequence[Sequence[Curve]]
    """The curves of every panel, the last one on top."""

    captions: Sequence[str] | None = None
    """One text per panel."""


def curve_sheet(
    rows: Sequence[CurveRow],
    title: str = "",
    legend: Sequence[tuple[str, RGB]] = (),
    size: tuple[int, int] = (176, 92),
    *,
    by_row: bool = False,
) -> Image.Image:
    """Lay rows of curves out under each other, each with its label on the left.

    Panels have one vertical scale with zero in it, whose numbers stand in the first of a row.

    Arguments:
        rows: What is drawn.
        title: A heading.
        legend: Names and colours, explained underneath.
        size: Width and height of a panel, in pixels.
        by_row: Give every row a scale of its own.
    """
    if not rows or not all(row.panels and all(row.panels) for row in rows):
        raise UsageError("`rows` is empty; expected at least one row of panels with curves.")
    if min(size) < _LEAST:
        raise UsageError(f"`size={size}` is too small; expected at least {_LEAST} pixels a side.")
    checked = [
        [[curve._replace(values=_lines(curve, row.label)) for curve in panel] for panel in row[1]]
        for row in rows
    ]
    shared = [list(itertools.chain(*checked))]
    scales = _aligned([_Scale.over(panels, *size) for panels in (checked if by_row else shared)])
    drawn = [
        np.stack([_drawn(panel, scale, first=i == 0) for i, panel in enumerate(panels)])
        for panels, scale in zip(checked, itertools.cycle(scales), strict=False)
    ]
    strips = [(row.label, each, row.captions) for row, each in zip(rows, drawn, strict=True)]
    return row_sheet(strips, title, scale=1, legend=legend)


_FINE = 3
"""How much larger a panel is drawn."""

_PAD, _LEAST = 5, 24
_GROUND, _GRID, _ZERO = "#ffffff", "#eceae5", "#b9b7b0"
_THIN, _THICK, _NUMBER_SIZE = 0.9, 1.7, (10,)


def _lines(curve: Curve, label: str) -> np.ndarray:
    """The values of a curve, or of several, as `(n, T)`."""
    values = np.asarray(curve.values, dtype=float)
    where = f" in row {label!r}" if label else ""
    if values.ndim not in (1, 2) or values.shape[-1] < 2 or not values.size:
        expected = "(T,) or (n, T) with T ≥ 2"
        raise UsageError(f"`values` has shape {values.shape}{where}; expected {expected}.")
    if bad := int((~np.isfinite(values)).sum()):
        raise UsageError(f"`values` has {bad} values that are NaN or infinite{where}.")
    return values.reshape(-1, values.shape[-1])


class _Scale(NamedTuple):
    """Where values stand in a panel."""

    low: float
    high: float
    width: int
    height: int
    left: int = _PAD
    """Where curves begin, right of the numbers."""

    @classmethod
    def over(cls, panels: Sequence[Sequence[Curve]], *size: int) -> _Scale:
        """The scale that holds all curves and zero."""
        lines = [curve.values for panel in panels for curve in panel]
        low, high = min(0.0, *map(np.min, lines)), max(0.0, *map(np.max, lines))
        return cls(low, high, *size) if low < high else cls(-1.0, 1.0, *size)

    def row(self, value: float | np.ndarray) -> Any:
        """How far below the top of a panel a value stands, in pixels."""
        room = self.height - 1 - 2 * _PAD
        return _PAD + room * (self.high - value) / (self.high - self.low)

    def points(self, values: np.ndarray) -> list[tuple[float, float]]:
        """A curve on the large panel."""
        across = np.linspace(self.left, self.width - 1 - _PAD, len(values))
        fine = (np.stack([across, self.row(values)], 1) + 0.5) * _FINE
        return [(x, y) for x, y in fine.tolist()]

    @property
    def numbers(self) -> list[Text]:
        """What stands at the ticks."""
        return typeset([f"{tick:g}" for tick in self.ticks], self.width, _NUMBER_SIZE)

    @property
    def ticks(self) -> list[float]:
        """Round numbers, two to five of them."""
        power = 10.0 ** math.ceil(math.log10(self.high - self.low))
        every = (self._multiples(power * each) for each in (0.5, 0.2, 0.1, 0.05, 0.02))
        return next(ticks for ticks in every if len(ticks) > 1)

    def _multiples(self, step: float) -> list[float]:
        first, last = math.ceil(self.low / step), math.floor(self.high / step)
        return [step * i for i in range(first, last + 1)]


def _aligned(scales: list[_Scale]) -> list[_Scale]:
    """The same scales with room for all their numbers."""
    widest = max(text.width for scale in scales for text in scale.numbers)
    return [scale._replace(left=_PAD + widest + 2) for scale in scales]


def _drawn(panel: Sequence[Curve], scale: _Scale, *, first: bool) -> np.ndarray:
    """A panel as bytes, `(3, H, W)`."""
    large = Image.new("RGB", (_FINE * scale.width, _FINE * scale.height), _GROUND)
    draw = ImageDraw.Draw(large)
    for tick in scale.ticks:
        at = (scale.row(tick) + 0.5) * _FINE
        draw.line([_FINE * scale.left, at, large.width, at], _GRID if tick else _ZERO, _FINE)
    for curve in panel:
        width = round(_FINE * (_THIN if curve.faint else _THICK))
        for values in curve.values:
            draw.line(scale.points(values), _ink(curve), width, joint="curve")
    small = large.reduce(_FINE)
    if first:
        _number(small, scale)
    return np.moveaxis(np.asarray(small), -1, 0)


def _ink(curve: Curve) -> tuple[int, int, int]:
    """The colour of a curve, nearer to white if it is faint."""
    share = 0.4 if curve.faint else 1.0
    red, green, blue = to_uint8(1 - share * (1 - np.array(curve.rgb))).tolist()
    return red, green, blue


def _number(panel: Image.Image, scale: _Scale) -> None:
    """Write what the lines of a panel stand for at its left edge."""
    draw = ImageDraw.Draw(panel)
    for tick, text in zip(scale.ticks, scale.numbers, strict=True):
        row = min(max(round(scale.row(tick)), 7), scale.height - 8)
        draw.text((scale.left - 4, row), text.lines[0][0], MUTED, text.font, "rm")
