"""Charts as pictures: bars, points and lines, drawn with the same type as the sheets.

A chart is for a page or a folder of results; the studio draws its own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from PIL import Image, ImageDraw

from mindseye.errors import UsageError
from mindseye.typesetting import typeset

__all__ = [
    "Panel",
    "Series",
    "bar_chart",
    "cloud_chart",
    "heat_chart",
    "heat_charts",
    "line_chart",
    "linked_chart",
    "point_chart",
    "split_chart",
]

GROUND, INK, FAINT = (255, 255, 255), (40, 40, 40), (205, 205, 205)
THIN = (226, 226, 226)
COLOURS = (
    (31, 119, 180),
    (214, 96, 30),
    (44, 140, 60),
    (180, 40, 60),
    (120, 90, 170),
    (120, 90, 70),
    (200, 100, 170),
    (100, 100, 100),
    (150, 150, 30),
    (20, 150, 160),
    (60, 60, 120),
    (160, 120, 200),
)
MARGIN, LEFT, BELOW, SIZE = 16, 96, 56, 15


class Series(NamedTuple):
    """Numbers with a name."""

    name: str
    values: Sequence[float]


def bar_chart(
    series: Sequence[Series], title: str, axis: str, *, line: float | None = None, log: bool = False
) -> Image.Image:
    """A strip of bars for each series, one under the other.

    Arguments:
        series: What is drawn; each has its own strip and its own colour.
        title: The heading.
        axis: What a bar's height is.
        line: A height to mark in every strip.
        log: Whether heights are logarithms of the numbers; those of 0 have none.
    """
    if not series or not all(each.values for each in series):
        raise UsageError("`series` is empty; expected one or more, each with numbers.")
    every = [value for each in series for value in each.values if value > 0 or not log]
    low = min([*every, line or math.inf]) if log else min(0.0, *every)
    high = max([*every, line or -math.inf])
    scale = _Scale(low, high, log)
    strips = [_strip(each, COLOURS[i % len(COLOURS)], scale, line) for i, each in enumerate(series)]
    return _stack(title, axis, strips)


def split_chart(
    series: Sequence[Series], parts: Sequence[str], title: str, axis: str
) -> Image.Image:
    """A bar for each series, lying, made of parts one after the other.

    Arguments:
        series: What is drawn: a number for each part, none below 0.
        parts: What the parts are called, in the order of the numbers.
        title: The heading.
        axis: What a bar's length is.
    """
    if not series or not all(len(each.values) == len(parts) for each in series):
        raise UsageError("`series` is empty or of other parts; expected a number for each part.")
    longest = max(sum(each.values) for each in series)
    bars = [_lying(each, longest) for each in series]
    return _stack(title, axis, [_key(parts), *bars])


def point_chart(
    points: Sequence[tuple[str, float, float]], title: str, axes: tuple[str, str]
) -> Image.Image:
    """Points in a plane, each with its name beside it.

    Arguments:
        points: Names and coordinates.
        title: The heading.
        axes: What the coordinates are.
    """
    if not points:
        raise UsageError("`points` is empty; expected one or more.")
    return _plane([(name, [(a, b)]) for name, a, b in points], title, axes, radius=5)


def cloud_chart(
    groups: Sequence[tuple[str, Sequence[Sequence[float]]]], title: str, axes: tuple[str, str]
) -> Image.Image:
    """Clouds of points in a plane, each of one colour.

    Arguments:
        groups: Names, and the coordinates of all points of the name.
        title: The heading.
        axes: What the coordinates are.
    """
    if not groups or not all(len(points) for _, points in groups):
        raise UsageError("`groups` is empty; expected one or more, each with points.")
    return _plane(groups, title, axes, radius=2)


def linked_chart(
    groups: Sequence[tuple[str, Sequence[Sequence[float]]]],
    lines: Sequence[Sequence[Sequence[float]]],
    title: str,
    names: Sequence[tuple[str, Sequence[float]]] = (),
) -> Image.Image:
    """Clouds of points in a plane without axes, some of them joined by faint lines.

    Arguments:
        groups: Names, and the coordinates of all points of the name.
        lines: Pairs of points.
        title: The heading.
        names: What stands beside points, where these are few.
    """
    if not groups or not all(len(points) for _, points in groups):
        raise UsageError("`groups` is empty; expected one or more, each with points.")
    few = sum(len(points) for _, points in groups) < 200
    look = {"size": (980, 760), "lines": lines, "names": names}
    return _plane(groups, title, ("", ""), 5 if few else 2, **look)


class Panel(NamedTuple):
    """Lines over one axis."""

    name: str
    lines: Sequence[tuple[str, Sequence[tuple[float, float]]]]
    """Names, and the points of each from left to right."""
    mark: tuple[str, float] | None = None
    """What a place on the axis is called, and where it is."""


def line_chart(
    panels: Sequence[Panel], title: str, axes: tuple[str, str], *, log: bool = False
) -> Image.Image:
    """Lines in panels one under the other, all on the same scales.

    Arguments:
        panels: What is drawn; the first lines of all panels have one colour, and so on.
        title: The heading.
        axes: What goes across, and what goes up.
        log: Whether heights are logarithms of the numbers; those that are not above 0 have none.
    """
    every = [point for panel in panels for _, line in panel.lines for point in line]
    shown = [point for point in every if point[1] > 0 or not log]
    if not shown:
        raise UsageError("`panels` is empty; expected one or more, with lines that have points.")
    across, up = zip(*shown, strict=True)
    x, y = _Scale(min(across), max(across), log=False), _Scale(*_padded(up), log=False)
    if log:  # from one power of ten to another
        low, high = math.floor(math.log10(min(up))), math.ceil(math.log10(max(up)))
        y = _Scale(10.0**low, 10.0 ** max(high, low + 1), log=True)
    return _stack(title, axes[1], [_lined(panel, axes[0], x, y) for panel in panels])


def _lined(panel: Panel, axis: str, x: _Scale, y: _Scale) -> Image.Image:
    """One panel, its lines explained on the right."""
    width, height = 760, 300
    picture = Image.new("RGB", (width, height), GROUND)
    box = (LEFT, 30, width - 190, height - BELOW)
    _ruled(picture, box, x, y)
    _write(picture, panel.name, (LEFT, 6))
    _write(picture, axis, ((box[0] + box[2]) // 2 - 60, height - 26))
    draw = ImageDraw.Draw(picture)
    if panel.mark:
        column = _between(box[0], box[2], x.part(panel.mark[1]))
        draw.line([column, box[1], column, box[3]], fill=INK)
        _write(picture, panel.mark[0], (column + 4, box[3] - 22))
    for i, (name, line) in enumerate(panel.lines):
        colour, row = COLOURS[i % len(COLOURS)], box[1] + 22 * i
        points = [
            (box[0] + (box[2] - box[0]) * x.part(a), box[3] + (box[1] - box[3]) * y.part(b))
            for a, b in line
            if b > 0 or not y.log
        ]
        _smooth(picture, points, colour)
        draw.rectangle([box[2] + 14, row + 7, box[2] + 26, row + 10], fill=colour)
        _write(picture, name, (box[2] + 32, row))
    return picture


def _smooth(
    picture: Image.Image, points: Sequence[tuple[float, float]], colour: tuple[int, int, int]
) -> None:
    """Draw a line twice as wide as a pixel, by way of a larger mask that is shrunk."""
    fine = 3
    mask = Image.new("L", (fine * picture.width, fine * picture.height))
    ImageDraw.Draw(mask).line([(fine * a, fine * b) for a, b in points], 255, 2 * fine, "curve")
    picture.paste(colour, mask=mask.reduce(fine))


def _ruled(picture: Image.Image, box: tuple[int, int, int, int], x: _Scale, y: _Scale) -> None:
    """A frame with the lines of both scales and their numbers."""
    draw = ImageDraw.Draw(picture)
    draw.rectangle(box, outline=FAINT)
    for tick in x.ticks():
        _tick(picture, draw, box, x, tick, across=True)
    for tick in y.ticks():
        _tick(picture, draw, box, y, tick, across=False)


def _plane(
    groups: Sequence[tuple[str, Sequence[Sequence[float]]]],
    title: str,
    axes: tuple[str, str],
    radius: int,
    size: tuple[int, int] = (760, 460),
    lines: Sequence[Sequence[Sequence[float]]] = (),
    names: Sequence[tuple[str, Sequence[float]]] = (),
) -> Image.Image:
    """Points by groups, which are explained on the right; with names, axes have numbers."""
    width, height = size
    picture = Image.new("RGB", (width, height), GROUND)
    draw = ImageDraw.Draw(picture)
    across, down = zip(*(point for _, points in groups for point in points), strict=True)
    x, y = (_Scale(*_padded(values), log=False) for values in (across, down))
    left, below = (LEFT, BELOW) if any(axes) else (MARGIN, MARGIN)
    box = (left, MARGIN, width - 190, height - below)
    if any(axes):
        _ruled(picture, box, x, y)
    else:
        draw.rectangle(box, outline=FAINT)
    for line in lines:
        draw.line([_placed(box, x, y, point) for point in line], fill=FAINT if names else THIN)
    for i, (name, points) in enumerate(groups):
        colour = COLOURS[i % len(COLOURS)]
        for a, b in points:
            at = _placed(box, x, y, (a, b))
            ends = [at[0] - radius, at[1] - radius, at[0] + radius, at[1] + radius]
            draw.ellipse(ends, fill=colour)
        row = MARGIN + 22 * i
        draw.ellipse([box[2] + 14, row + 4, box[2] + 24, row + 14], fill=colour)
        _write(picture, name, (box[2] + 30, row))
    for name, point in names:
        across, down = _placed(box, x, y, point)
        _write(picture, name, (across + radius + 2, down - 16))
    _write(picture, axes[0], ((box[0] + box[2]) // 2 - 60, height - 26))
    return _stack(title, axes[1], [picture])


def _placed(
    box: tuple[int, int, int, int], x: _Scale, y: _Scale, point: Sequence[float]
) -> tuple[int, int]:
    """Where a point stands in a box."""
    across, up = point
    return _between(box[0], box[2], x.part(across)), _between(box[3], box[1], y.part(up))


Heat = tuple[str, Sequence[Sequence[float]], Sequence[str], Sequence[str]]
"""A heading, numbers from 0 to 1, and the names of their rows and columns."""


def heat_charts(parts: Sequence[Heat], title: str, axis: str) -> Image.Image:
    """Tables of numbers as darker and lighter cells, one under the other.

    Arguments:
        parts: The tables; 0 is white, 1 is dark.
        title: The heading.
        axis: What a cell's darkness is.
    """
    if not parts:
        raise UsageError("`parts` is empty; expected one or more tables.")
    return _stack(title, axis, [heat_chart(*part) for part in parts])


def heat_chart(
    name: str, values: Sequence[Sequence[float]], rows: Sequence[str], columns: Sequence[str]
) -> Image.Image:
    """A table of numbers from 0 to 1 as cells, white to dark, with the numbers in them."""
    if not values or any(len(row) != len(columns) for row in values) or len(values) != len(rows):
        raise UsageError(
            f"`values` does not fit; expected {len(rows)} rows of {len(columns)} numbers."
        )
    width = max(480, LABELS + CELL * len(columns) + MARGIN)
    picture = Image.new("RGB", (width, 60 + 26 * len(rows)), GROUND)
    draw = ImageDraw.Draw(picture)
    _write(picture, name, (MARGIN, 4))
    for j, column in enumerate(columns):
        _write(picture, column, (LABELS + CELL * j + 6, 26))
    for i, (row, numbers) in enumerate(zip(rows, values, strict=True)):
        top = 48 + 26 * i
        _write(picture, row, (MARGIN, top + 3))
        for j, value in enumerate(numbers):
            left, part = LABELS + CELL * j, min(1.0, max(0.0, value))
            draw.rectangle([left, top, left + CELL - 2, top + 24], _shade(part))
            ink = GROUND if part > 0.55 else INK
            draw.text((left + 8, top + 5), f"{value:.2f}", ink)
    return picture


CELL, LABELS = 48, 120


def _shade(part: float) -> tuple[int, int, int]:
    """White at 0, the first colour at 1, a little darker than in proportion between."""
    dark, amount = COLOURS[0], part**0.7
    red, green, blue = (
        round(light + (ink - light) * amount) for light, ink in zip(GROUND, dark, strict=True)
    )
    return red, green, blue


class _Scale(NamedTuple):
    """Where a number stands between two ends."""

    low: float
    high: float
    log: bool

    def part(self, value: float) -> float:
        """0 at the low end, 1 at the high one."""
        low, high, value = (self._placed(v) for v in (self.low, self.high, value))
        return min(1.0, max(0.0, (value - low) / max(high - low, 1e-12)))

    def _placed(self, value: float) -> float:
        return math.log10(max(value, 1e-12)) if self.log else value

    def ticks(self) -> list[float]:
        """Round numbers between the ends."""
        if self.log:
            ends = (math.floor(self._placed(self.low)), math.ceil(self._placed(self.high)))
            powers = [10.0**e for e in range(ends[0], ends[1] + 1)]
            return [power for power in powers if self.low <= power <= self.high]
        power = 10 ** math.floor(math.log10(max(self.high - self.low, 1e-9)))
        steps = (power * part for part in (1, 0.5, 0.2))
        step = next(each for each in steps if (self.high - self.low) / each >= 4)
        first = math.ceil(self.low / step)
        return [step * i for i in range(first, math.floor(self.high / step) + 1)]


def _strip(
    series: Series, colour: tuple[int, int, int], scale: _Scale, line: float | None
) -> Image.Image:
    """The bars of one series, the tallest first as they are given."""
    width, height, count = 760, 110, len(series.values)
    across = min(14 * count, width - MARGIN - LEFT)
    gap = 2 if across >= 4 * count else 1
    picture = Image.new("RGB", (width, height), GROUND)
    draw = ImageDraw.Draw(picture)
    top, base = 26, height - 8
    _write(picture, series.name, (LEFT, 2))
    written = height
    for tick in scale.ticks():
        row = _between(base, top, scale.part(tick))
        draw.line([LEFT, row, width - MARGIN, row], fill=FAINT)
        if written - row >= SIZE:  # numbers keep a line's distance from each other
            _write(picture, f"{tick:g}", (LEFT - 8, row - 9), anchor="ra")
            written = row
    for i, value in enumerate(series.values):
        left, right = (LEFT + across * edge // count for edge in (i, i + 1))
        height_of = _between(base, top, scale.part(value))
        draw.rectangle([left, height_of, max(left, right - gap), base], colour)
    if line is not None:
        row = _between(base, top, scale.part(line))
        draw.line([LEFT, row, width - MARGIN, row], fill=INK, width=1)
    return picture


def _lying(series: Series, longest: float) -> Image.Image:
    """The parts of one series one after the other, each with its number."""
    width, height, left = 760, 62, float(MARGIN)
    picture = Image.new("RGB", (width, height), GROUND)
    draw = ImageDraw.Draw(picture)
    _write(picture, series.name, (MARGIN, 4))
    for i, value in enumerate(series.values):
        right = left + (width - 2 * MARGIN) * value / max(longest, 1e-12)
        draw.rectangle([left, 26, max(left, right - 2), 52], COLOURS[i % len(COLOURS)])
        (number,) = typeset([f"{value:.1f}"], 200, (SIZE,))
        if number.width + 12 < right - left:
            draw.text((left + 8, 30), number.lines[0][0], "white", number.font)
        left = right
    return picture


def _key(names: Sequence[str]) -> Image.Image:
    """Names beside their colours."""
    picture = Image.new("RGB", (760, 30), GROUND)
    draw, left = ImageDraw.Draw(picture), MARGIN
    for i, name in enumerate(names):
        draw.rectangle([left, 6, left + 14, 20], COLOURS[i % len(COLOURS)])
        (label,) = typeset([name], 320, (SIZE,))
        label.write(picture, left + 22, 4)
        left += 46 + label.width
    return picture


def _tick(
    picture: Image.Image,
    draw: ImageDraw.ImageDraw,
    box: tuple[int, int, int, int],
    scale: _Scale,
    tick: float,
    across: bool,
) -> None:
    """A line of the grid and its number."""
    if across:
        column = _between(box[0], box[2], scale.part(tick))
        draw.line([column, box[1], column, box[3]], fill=FAINT)
        _write(picture, f"{tick:g}", (column, box[3] + 4), anchor="ma")
    else:
        row = _between(box[3], box[1], scale.part(tick))
        draw.line([box[0], row, box[2], row], fill=FAINT)
        _write(picture, f"{tick:g}", (box[0] - 8, row - 9), anchor="ra")


def _stack(title: str, axis: str, parts: Sequence[Image.Image]) -> Image.Image:
    """A heading, what the heights are, and the parts under each other."""
    width = max(part.width for part in parts)
    whole = Image.new("RGB", (width, 56 + sum(part.height for part in parts)), GROUND)
    _write(whole, title, (MARGIN, 8), 18)
    _write(whole, axis, (MARGIN, 32))
    top = 56
    for part in parts:
        whole.paste(part, (0, top))
        top += part.height
    return whole


def _write(
    picture: Image.Image, text: str, at: tuple[int, int], size: int = SIZE, anchor: str = "la"
) -> None:
    (label,) = typeset([text], 700, (size,))
    label.write(picture, *at, anchor)


def _padded(values: Sequence[float]) -> tuple[float, float]:
    """Ends with some room around the values."""
    room = 0.08 * (max(values) - min(values)) or 1.0
    return min(values) - room, max(values) + room


def _between(start: int, end: int, part: float) -> int:
    return round(start + (end - start) * part)
