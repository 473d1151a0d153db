r"""Sheets: pictures laid out for people to look at.

Four layouts share their paper, type and frames:

- `contact_sheet`: pictures in a grid, each over its caption;
- `row_sheet`: rows of pictures with a label on the left, to compare descriptions or models;
- `plane_sheet`: a dense grid over a latent plane, every picture as ink on a colour;
- `gaussian_sheet`: Gaussians as ellipses on a latent plane, over points.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from PIL import Image, ImageColor, ImageDraw, ImageOps

from mindseye.errors import UsageError
from mindseye.pictures import to_uint8
from mindseye.typesetting import INK, Text, typeset

__all__ = [
    "PALETTE",
    "RGB",
    "Outline",
    "Row",
    "contact_sheet",
    "gaussian_sheet",
    "plane_sheet",
    "row_sheet",
]

RGB = tuple[float, float, float]

PALETTE: tuple[RGB, ...] = (
    (0.64, 0.76, 0.89),  # sky
    (0.93, 0.76, 0.63),  # apricot
    (0.71, 0.82, 0.69),  # sage
    (0.88, 0.71, 0.75),  # rose
    (0.78, 0.74, 0.87),  # lilac
    (0.92, 0.87, 0.58),  # straw
    (0.57, 0.79, 0.76),  # sea
    (0.82, 0.80, 0.77),  # stone
)
"""Muted colours of equal weight, for concepts; dark ink is legible on all of them."""


class Row(NamedTuple):
    """A row of pictures and what is written beside and below them."""

    label: str
    """Stands on the left; it may have several lines, and long lines are wrapped."""

    pictures: Any
    """An array `(N, C, H, W)` in [0, 1]."""

    captions: Sequence[str] | None = None
    """One text per picture."""

    wrong: Sequence[bool] | None = None
    """Which pictures get a red frame."""


class Outline(NamedTuple):
    """A Gaussian on a plane, drawn where it is one and two standard deviations from its mean."""

    name: str
    """Explained underneath."""
    ellipse: Sequence[float]
    """Centre x, y, the half axes a, b and the angle of the first in radians."""
    rgb: RGB
    width: int = 2


def contact_sheet(
    pictures: Any,
    captions: Sequence[str] | None = None,
    wrong: Sequence[bool] | None = None,
    columns: int | None = None,
    title: str = "",
    scale: int | None = None,
) -> Image.Image:
    """Lay pictures out on a sheet, each over its caption.

    Arguments:
        pictures: An array `(N, C, H, W)` in [0, 1].
        captions: One text per picture; it may have several lines, and long lines are wrapped.
        wrong: Which pictures get a red frame instead of a thin grey one.
        columns: How many pictures stand in a row; chosen to fill the rows evenly by default.
        title: A heading.
        scale: Sheet pixels per picture pixel; about 112 pixels per picture by default.
    """
    row = _checked(Row("", pictures, captions, wrong))
    count = len(row.pictures)
    columns = _even_columns(count) if columns is None else min(columns, count)
    scale = _comfortable(*row.pictures.shape[1:3]) if scale is None else scale
    if columns < 1 or scale < 1:
        raise UsageError(f"`columns={columns}` and `scale={scale}` must be at least 1.")
    (cells,) = _cells([row], scale)
    return _titled(_grid(cells, columns), title)


def row_sheet(
    rows: Sequence[tuple[Any, ...]],
    title: str = "",
    scale: int | None = None,
    legend: Sequence[tuple[str, Sequence[float]]] = (),
) -> Image.Image:
    """Lay rows of pictures out under each other, each with its label on the left.

    Arguments:
        rows: `Row` after `Row`, or tuples of the same parts.
        title: A heading.
        scale: Sheet pixels per picture pixel; about 112 pixels per picture by default.
        legend: Names and colours, explained underneath.
    """
    checked = [_checked(Row(*row)) for row in rows]
    if not checked:
        raise UsageError("`rows` is empty; expected at least one row of pictures.")
    sides = [side for row in checked for side in row.pictures.shape[1:3]]
    scale = _comfortable(*sides) if scale is None else scale
    if scale < 1:
        raise UsageError(f"`scale={scale}` must be at least 1.")
    strips = [_grid(cells, len(cells)) for cells in _cells(checked, scale)]
    labels = typeset([row.label for row in checked], _LABEL_ROOM, _LABEL_SIZES)
    widest = max(label.width for label in labels)
    left = _FRAME + widest + _LABEL_GAP if widest else 0
    middles = [_FRAME + row.pictures.shape[1] * scale // 2 for row in checked]
    parts = [_labelled(*each, left) for each in zip(strips, middles, labels, strict=True)]
    return _titled(_keyed(_stacked(parts, _ROW_GAP), legend), title)


def plane_sheet(
    pictures: Any,
    colours: Any = None,
    legend: Sequence[tuple[str, Sequence[float]]] = (),
    title: str = "",
    scale: int | None = None,
) -> Image.Image:
    """Lay the pictures of a latent plane out without gaps, as ink on coloured ground.

    Arguments:
        pictures: An array `(R, C, channels, H, W)` in [0, 1]; 0 is bare ground, 1 is ink.
        colours: The ground of every picture, `(R, C, 3)` in [0, 1]; white by default.
        legend: Names and colours, explained underneath.
        title: A heading.
        scale: Sheet pixels per picture pixel; about 960 for the whole plane by default.
    """
    ink = _checked_ink(pictures)  # (R, C, H, W)
    rows, columns, height, width = ink.shape
    ground = np.ones((rows, columns, 3)) if colours is None else np.asarray(colours)
    if ground.shape != (rows, columns, 3):
        raise UsageError(f"`colours` has shape {ground.shape}; expected ({rows}, {columns}, 3).")
    if scale is None:
        scale = max(1, min(round(960 / (columns * width)), _comfortable(height, width)))
    if scale < 1:
        raise UsageError(f"`scale={scale}` must be at least 1.")
    plane = _enlarged(_tinted(ink, to_uint8(ground)), scale)
    return _explained(plane, legend, title)


def gaussian_sheet(
    outlines: Sequence[Outline],
    points: Any = (),
    names: tuple[str, str] = ("", ""),
    title: str = "",
    reach: float = 4.0,
    side: int = 720,
) -> Image.Image:
    """Draw Gaussians on the square from -reach to reach, over points `(N, 2)`.

    Arguments:
        outlines: The Gaussians, the last on top.
        points: Small dots beneath them.
        names: What the axes mean, said in the legend.
        title: A heading.
        reach: How far the square goes.
        side: Its pixels.
    """
    fine, unit = 2 * side, side / reach  # drawn twice as large, for smooth lines
    square = Image.new("RGB", (fine, fine), "white")
    draw = ImageDraw.Draw(square)
    draw.line([(0, side), (fine, side)], _LINE)
    draw.line([(side, 0), (side, fine)], _LINE)
    for x, y in np.asarray(points, dtype=float).reshape(-1, 2):
        at = side + x * unit, side - y * unit
        draw.ellipse([at[0] - 3, at[1] - 3, at[0] + 3, at[1] + 3], _LINE)
    for outline in outlines:
        colour = tuple(to_uint8(np.asarray(outline.rgb) * 0.8).tolist())
        for times in (1, 2):
            ring = side + _ring(outline.ellipse, times) * unit * np.array([1, -1])
            draw.line([tuple(p) for p in ring], colour, 2 * outline.width // times, joint="curve")
    legend = [(outline.name, tuple(0.8 * x for x in outline.rgb)) for outline in outlines]
    axes = [(f"across {names[0]}, up {names[1]}", (1.0, 1.0, 1.0))] if any(names) else []
    return _explained(square.resize((side, side), Image.Resampling.LANCZOS), legend + axes, title)


def _ring(ellipse: Sequence[float], times: float) -> np.ndarray:
    """Points on an ellipse, `(N, 2)`."""
    x, y, a, b, angle = ellipse
    t = np.linspace(0, 2 * np.pi, 181)
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    return np.stack([a * np.cos(t), b * np.sin(t)], 1) * times @ turn + [x, y]


def _explained(
    body: Image.Image, legend: Sequence[tuple[str, Sequence[float]]], title: str
) -> Image.Image:
    """A framed image under its title and over its legend."""
    framed = ImageOps.expand(ImageOps.expand(body, 1, _LINE), _FRAME - 1, _PAPER)
    return _titled(_keyed(framed, legend), title)


def _keyed(body: Image.Image, legend: Sequence[tuple[str, Sequence[float]]]) -> Image.Image:
    """An image over what its colours mean."""
    key = [_legend(legend, max(body.width, _LEAST_TITLE))] if legend else []
    return _stacked([body, *key], _GAP)


# Rows: checked pictures, and cells of one width; a cell is a framed picture over its caption.

_PAPER, _LINE, _RED = "#faf9f6", "#c9c7c0", "#d5302b"
_MARGIN, _GAP, _FRAME, _LEAST_CELL, _LEAST_TITLE = 24, 12, 3, 84, 240
_LABEL_ROOM, _LABEL_GAP, _ROW_GAP, _SWATCH = 148, 16, 16, 14
_CAPTION_SIZES, _LABEL_SIZES, _TITLE_SIZES = (13, 12, 11, 10), (14, 13, 12), (19, 17, 15)


def _checked(row: Row) -> Row:
    """The row with pictures as uint8 `(N, H, W, 3)` and one caption and mark for each."""
    pixels = to_uint8(row.pictures)
    where = f" in row {row.label!r}" if row.label else ""
    if pixels.ndim != 4 or pixels.shape[1] not in (1, 3) or pixels.size == 0:
        expected = "(N, C, H, W) with N ≥ 1 and C = 1 or 3"
        raise UsageError(f"`pictures` has shape {pixels.shape}{where}; expected {expected}.")
    count = len(pixels)
    captions = [""] * count if row.captions is None else list(row.captions)
    wrong = [False] * count if row.wrong is None else list(row.wrong)
    for name, values in {"captions": captions, "wrong": wrong}.items():
        if len(values) != count:
            raise UsageError(f"`{name}` has {len(values)} entries for {count} pictures{where}.")
    return Row(
        row.label, np.moveaxis(pixels.repeat(3 // pixels.shape[1], 1), 1, -1), captions, wrong
    )


def _comfortable(*sides: int) -> int:
    """The scale at which the longest side has about 112 pixels."""
    return max(1, round(112 / max(sides)))


def _even_columns(count: int) -> int:
    """Near a square, a little wider where that leaves fewer holes in the last row."""
    side = int(np.ceil(np.sqrt(count)))
    return count if count <= 5 else min(range(side, 2 * side), key=lambda c: (-count % c, c))


def _cells(rows: list[Row], scale: int) -> list[list[Image.Image]]:
    """The cells of every row, of one width and in one font."""
    words = [caption for row in rows for caption in row.captions or ()]
    room = max(row.pictures.shape[2] * scale for row in rows)
    room = max(room, _LEAST_CELL if any(words) else 0)
    texts = iter(typeset(words, room, _CAPTION_SIZES))
    return [
        [
            _cell(_framed(*each, scale), next(texts), room)
            for each in zip(row.pictures, row.wrong or (), strict=True)
        ]
        for row in rows
    ]


def _framed(pixels: np.ndarray, red: bool, scale: int) -> Image.Image:
    """A picture in its frame; both frames take the same room and hide no pixel of it."""
    framed = _enlarged(pixels, scale)
    for border, colour in [(_FRAME, _RED)] if red else [(1, _LINE), (_FRAME - 1, _PAPER)]:
        framed = ImageOps.expand(framed, border, colour)
    return framed


def _enlarged(pixels: np.ndarray, scale: int) -> Image.Image:
    return Image.fromarray(pixels.repeat(scale, 0).repeat(scale, 1))


def _cell(framed: Image.Image, caption: Text, room: int) -> Image.Image:
    """A framed picture over its caption."""
    below = caption.height + (5 if caption.height else 0)
    cell = Image.new("RGB", (room + 2 * _FRAME, framed.height + below), _PAPER)
    cell.paste(framed, ((cell.width - framed.width) // 2, 0))
    caption.write(cell, cell.width // 2, framed.height + 5, anchor="ma")
    return cell


# Layout: cells in a grid, labels beside strips, a title over everything.


def _grid(cells: list[Image.Image], columns: int) -> Image.Image:
    """Cells of one width in rows, a gap between them."""
    rows = range(0, len(cells), columns)
    heights = [max(cell.height for cell in cells[i : i + columns]) + _GAP for i in rows]
    step = cells[0].width + _GAP
    grid = Image.new("RGB", (columns * step - _GAP, sum(heights) - _GAP), _PAPER)
    for i, cell in enumerate(cells):
        grid.paste(cell, (i % columns * step, sum(heights[: i // columns])))
    return grid


def _labelled(strip: Image.Image, middle: int, label: Text, left: int) -> Image.Image:
    """A strip with its label on the left, level with the middle of the pictures."""
    top = max(0, label.height // 2 - middle)  # a label taller than the pictures moves them down
    above = top + middle - label.height // 2
    height = max(top + strip.height, above + label.height)
    row = Image.new("RGB", (left + strip.width, height), _PAPER)
    row.paste(strip, (left, top))
    label.write(row, _FRAME, above)
    return row


def _beside(parts: list[Image.Image], gap: int) -> Image.Image:
    """Images next to each other, at the top."""
    height = max(part.height for part in parts)
    line = Image.new("RGB", (sum(part.width + gap for part in parts) - gap, height), _PAPER)
    left = 0
    for part in parts:
        line.paste(part, (left, 0))
        left += part.width + gap
    return line


def _stacked(parts: list[Image.Image], gap: int) -> Image.Image:
    """Images under each other, on the left."""
    width = max(part.width for part in parts)
    stack = Image.new("RGB", (width, sum(part.height + gap for part in parts) - gap), _PAPER)
    top = 0
    for part in parts:
        stack.paste(part, (0, top))
        top += part.height + gap
    return stack


def _titled(body: Image.Image, title: str) -> Image.Image:
    """The sheet: margins all round, and the title over the upper left corner."""
    width = max(body.width, _LEAST_TITLE if title else 0)
    (text,) = typeset([title], width - 2 * _FRAME, _TITLE_SIZES)
    top = _MARGIN + (text.height + 8 if title else 0)
    sheet = Image.new("RGB", (width + 2 * _MARGIN, top + body.height + _MARGIN), _PAPER)
    text.write(sheet, _MARGIN + _FRAME, _MARGIN - 4)
    sheet.paste(body, (_MARGIN, top))
    return sheet


# The plane: ink on colours, and what the colours mean.


def _checked_ink(pictures: Any) -> np.ndarray:
    """How much ink every pixel has, `(R, C, H, W)` in [0, 1]; colours count as their mean."""
    pixels = to_uint8(pictures)
    if pixels.ndim != 5 or pixels.shape[2] not in (1, 3) or pixels.size == 0:
        expected = "(R, C, channels, H, W) with 1 or 3 channels"
        raise UsageError(f"`pictures` has shape {pixels.shape}; expected {expected}.")
    return pixels.mean(2, dtype=np.float32) / 255


def _tinted(ink: np.ndarray, ground: np.ndarray) -> np.ndarray:
    """Ink `(R, C, H, W)` on the ground of its picture `(R, C, 3)`, as one `(R·H, C·W, 3)`."""
    rows, columns, height, width = ink.shape
    dark = np.array(ImageColor.getrgb(INK), dtype=np.float32)
    ground = ground[:, :, None, None].astype(np.float32)
    tinted = ground + ink[..., None] * (dark - ground)  # (R, C, H, W, 3)
    plane = tinted.transpose(0, 2, 1, 3, 4).reshape(rows * height, columns * width, 3)
    return np.rint(plane).astype(np.uint8)


def _legend(entries: Sequence[tuple[str, Sequence[float]]], room: int) -> Image.Image:
    """Swatches with their names, in as many lines as they need."""
    names = typeset([name for name, _ in entries], room - 2 * _SWATCH, _CAPTION_SIZES)
    lines: list[list[Image.Image]] = [[]]
    for name, (_, rgb) in zip(names, entries, strict=True):
        item = _item(name, rgb)
        if lines[-1] and _beside([*lines[-1], item], 2 * _GAP).width > room:
            lines.append([])
        lines[-1].append(item)
    return _stacked([_beside(line, 2 * _GAP) for line in lines], 4)


def _item(name: Text, rgb: Sequence[float]) -> Image.Image:
    """A swatch and its name."""
    left = _FRAME + _SWATCH + 6
    item = Image.new("RGB", (left + name.width, max(_SWATCH, name.height)), _PAPER)
    colour = tuple(to_uint8(rgb).tolist())
    swatch = ImageOps.expand(Image.new("RGB", (_SWATCH - 2, _SWATCH - 2), colour), 1, _LINE)
    item.paste(swatch, (_FRAME - 1, 1))
    name.write(item, left, 0)
    return item
