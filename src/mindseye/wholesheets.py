"""Wholes of parts as people want to see them: curves in panels, pictures enlarged.

Where parts have places in a picture, rings can mark them, each in the colour of its part.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from PIL import Image as Images
from PIL import ImageDraw
from torch import Tensor

from mindseye.composing import Composer, Composition
from mindseye.curves import BEFORE, MODEL, OTHER, TRUTH, Curve, CurveRow, curve_sheet
from mindseye.data.sites import PALETTE
from mindseye.data.wholes import Wholes
from mindseye.errors import UsageError
from mindseye.parts import Part, Parts
from mindseye.pictures import to_uint8
from mindseye.pieces import decode_parts, encode_parts
from mindseye.sheets import RGB, row_sheet

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = [
    "SHOWN",
    "Step",
    "WholeRow",
    "growing_sheet",
    "real_wholes_sheet",
    "steps_sheet",
    "whole_sheet",
    "wholes_sheet",
]

SIDE = 128
"""Pixels of a picture on a sheet, about."""

COLUMNS = {True: 4, False: 8}
"""Curves (True) and pictures (False) beside each other, where they need not stand in one row."""

SHOWN = 6
"""Wholes of a step that are drawn, however many there are."""


class WholeRow(NamedTuple):
    """A row of wholes and what is written beside and below them."""

    label: str
    wholes: Any
    """An array `(n, C, H, W)`."""
    captions: Sequence[str] | None = None
    """One text per whole."""
    parts: Sequence[Parts] | None = None
    """What every whole is made of, to mark it."""
    colours: Sequence[RGB] | None = None
    """Of the curves; that of a model if not given."""
    behind: Sequence[tuple[Any, RGB]] = ()
    """Other curves `(n, 1, 1, T)` beneath these, and their colours."""


class Step(NamedTuple):
    """Wholes after a part has come or gone."""

    label: str
    whole: Composition
    beside: Tensor | None = None
    """The sum of the same parts, `(n, C, H, W)`."""
    truth: Composition | None = None
    """What the generator makes of the same parts."""


def whole_sheet(
    rows: Sequence[WholeRow],
    title: str = "",
    legend: Sequence[tuple[str, RGB]] = (),
    *,
    marks: bool = False,
    by_row: bool = False,
) -> Image:
    """Lay rows of wholes out under each other, each with its label on the left.

    Arguments:
        rows: Wholes of one shape.
        title: A heading.
        legend: What the colours of curves mean.
        marks: Ring the places of the parts of pictures.
        by_row: Give every row of curves a vertical scale of its own.
    """
    rows = [row._replace(wholes=_numbers(row.wholes)) for row in rows]
    shapes = {row.wholes.shape[1:] for row in rows}
    if len(shapes) != 1 or not all(row.wholes.size for row in rows):
        raise UsageError(f"`rows` has wholes of {len(shapes)} shapes; expected wholes of one.")
    if _is_curve(rows[0].wholes):
        panels = [CurveRow(row.label, _panels(row), row.captions) for row in rows]
        return curve_sheet(panels, title, legend, by_row=by_row)
    enlarged = [np.stack(_enlarged(row, marks)) for row in rows]
    return row_sheet(
        [(row.label, each, row.captions) for row, each in zip(rows, enlarged, strict=True)],
        title,
        scale=1,
    )


def wholes_sheet(
    wholes: Any,
    parts: Sequence[Parts],
    title: str = "",
    captions: Sequence[str] | None = None,
    *,
    marks: bool = False,
    rgb: RGB = MODEL,
) -> Image:
    """Lay wholes `(n, C, H, W)` out in a grid.

    Arguments:
        wholes: What is drawn.
        parts: What every one is made of.
        title: A heading.
        captions: One text per whole.
        marks: Ring the places of the parts of pictures.
        rgb: The colour of curves.
    """
    step = COLUMNS[_is_curve(wholes)]
    rows = [
        WholeRow(
            "",
            wholes[at : at + step],
            captions and captions[at : at + step],
            parts[at : at + step],
            [rgb] * step,
        )
        for at in range(0, len(wholes), step)
    ]
    return whole_sheet(rows, title, marks=marks)


def steps_sheet(
    steps: Sequence[Step],
    title: str = "",
    observed: Tensor | None = None,
    captions: Sequence[str] | None = None,
    *,
    marks: bool = False,
    spread: bool = False,
) -> Image:
    """A row for each step, every whole under itself as it was before.

    Of curves, what was before is drawn beneath, and so is the sum of the parts; of pictures the sum
    has a row of its own, and so has what is true.

    Arguments:
        steps: Wholes and how they came about, the first one first.
        title: A heading.
        observed: Wholes that the first step took apart, `(n, C, H, W)`.
        captions: Texts for the wholes of the first step.
        marks: Ring the places of the parts of pictures.
        spread: Not wholes, but their mean and how far they are from it.
    """
    if spread:
        return _spread_sheet(steps, title)
    curve, rows = _is_curve(steps[0].whole.means), []
    true = None
    before, rgb = observed, TRUTH
    if observed is not None:
        many = [steps[0].whole.parts] * SHOWN
        rows.append(WholeRow("observed", observed[:SHOWN], None, many, [TRUTH] * SHOWN))
    for i, step in enumerate(steps):
        many = [step.whole.parts] * SHOWN
        behind = [(step.beside, OTHER), (before, rgb)] if curve else []
        rows.append(
            WholeRow(
                f"{step.label}\n{_brief(step.whole.parts)}",
                step.whole.means[:SHOWN],
                captions[:SHOWN] if captions and not i else None,
                many,
                behind=[(wholes, colour) for wholes, colour in behind if wholes is not None],
            )
        )
        if step.beside is not None and not curve:
            rows.append(WholeRow("mean of its parts alone", step.beside[:SHOWN], None, many))
        if step.truth is not None:
            behind = [(true, BEFORE)] if curve and true is not None else []
            real, inks = step.truth.means[:SHOWN], [TRUTH] * SHOWN
            rows.append(WholeRow("generator", real, None, many, inks, behind))
            true = real
        before, rgb = step.whole.means, BEFORE
    return whole_sheet(rows, title, _legend(steps, observed), marks=marks)


def _spread_sheet(steps: Sequence[Step], title: str) -> Image:
    """A row for each step: the mean of its wholes, and how far they are from it."""
    rows = []
    for step in steps:
        made = [(f"{step.label}\n{_brief(step.whole.parts)}", step.whole, MODEL)]
        made += [("generator", step.truth, TRUTH)] if step.truth is not None else []
        rows += [_spread_row(*each) for each in made]
    legend = [("mean of the model's wholes", MODEL), ("mean of the generator's", TRUTH)]
    paired = steps[0].truth is not None and _is_curve(steps[0].whole.means)
    return whole_sheet(rows, title, legend if paired else [])


def _spread_row(label: str, whole: Composition, rgb: RGB) -> WholeRow:
    """The mean with one deviation to each side, or a picture of each."""
    mean, deviation = whole.spread()
    if _is_curve(whole.means):
        pale: RGB = tuple(1 - 0.4 * (1 - each) for each in rgb)  # pyright: ignore[reportAssignmentType]
        sides = [((mean + way * deviation)[None], pale) for way in (-1, 1)]
        return WholeRow(label, mean[None], ["mean ± deviation"], None, [rgb], sides)
    return WholeRow(label, torch.stack([mean, 2 * deviation]), ["mean", "deviation × 2"])


def growing_sheet(composer: Composer, data: Wholes, n: int = 3, seed: int = 0) -> Image:
    """Wholes of more and more parts: real ones, and beside them those that a model makes.

    Arguments:
        composer: The model.
        data: Where the parts and the real wholes come from.
        n: How many of each.
        seed: Chooses the wholes.
    """
    sizes = [size for size in (1, 2, 4, 8, 16, 32) if size < data.most] + [data.most]
    drawn = data.examples(torch.arange(len(sizes)), torch.tensor(sizes)).y
    rows = []
    for parts in map(_rounded, decode_parts(data.vocabulary, drawn)):
        real = data.wholes_of(encode_parts([parts]), seed, n)[0]
        both = torch.cat([real, composer.imagine(parts, n, seed).cpu()])
        count = f"{len(parts)} part{'s' if len(parts) > 1 else ''}"
        rows.append(
            WholeRow(f"{count}\n{_brief(parts)}", both, None, None, [TRUTH] * n + [MODEL] * n)
        )
    rows[-1] = rows[-1]._replace(captions=["real"] * n + ["model"] * n)
    return whole_sheet(rows, f"{composer.name}: real wholes and the model's", by_row=True)


def real_wholes_sheet(
    data: Wholes, description: str, n: int, seed: int, *, title: str = "", marks: bool = False
) -> Image:
    """Real wholes of a data set over what they are made of, or those of some parts."""
    if description.strip():
        parts = data.vocabulary.parse(description)
        wholes = data.wholes_of(encode_parts([parts]), seed, n)[0]
        return wholes_sheet(wholes, [parts] * n, f"{title}: {parts}", marks=marks, rgb=TRUTH)
    batch = data.examples(torch.arange(n))
    each = decode_parts(data.vocabulary, batch.y)
    return wholes_sheet(batch.x, each, title, [*map(_brief, each)], marks=marks, rgb=TRUTH)


# What is written


def _brief(parts: Parts) -> str:
    """What a whole is made of, without places: the picture shows those."""
    if not parts.kit.axes:
        return str(parts)
    counts = Counter(part.category for part in parts)
    return ", ".join(f"{n}×{name}" if n > 1 else name for name, n in counts.items())


def _rounded(parts: Parts) -> Parts:
    """The same parts at places of two decimals, which a label can show."""
    places = [tuple(round(value, 2) for value in part.place) for part in parts]
    return parts.kit.parts(Part(p.category, at) for p, at in zip(parts, places, strict=True))


def _legend(steps: Sequence[Step], observed: Tensor | None) -> list[tuple[str, RGB]]:
    entries = [("model", MODEL, True), ("before", BEFORE, len(steps) > 1)]
    entries += [("observed", TRUTH, observed is not None)]
    entries += [("generator", TRUTH, steps[0].truth is not None)]
    entries += [("sum of its parts alone", OTHER, steps[0].beside is not None)]
    there = [(name, rgb) for name, rgb, used in entries if used]
    return there if len(there) > 1 else []


# How it is drawn


def _numbers(wholes: Any) -> np.ndarray:
    return wholes.detach().cpu().numpy() if isinstance(wholes, Tensor) else np.asarray(wholes)


def _is_curve(wholes: Any) -> bool:
    return wholes.shape[2] == 1


def _panels(row: WholeRow) -> list[list[Curve]]:
    """The curves of every panel, its own on top."""
    colours = row.colours or [MODEL] * len(row.wholes)
    behind = [(_numbers(wholes), rgb) for wholes, rgb in row.behind]
    return [
        [*(Curve(wholes[i].ravel(), rgb) for wholes, rgb in behind), Curve(own.ravel(), colours[i])]
        for i, own in enumerate(row.wholes)
    ]


def _enlarged(row: WholeRow, marks: bool) -> list[np.ndarray]:
    """Pictures as they stand on the sheet, `(3, H, W)` each, their parts marked if asked."""
    pixels = to_uint8(row.wholes)
    scale = max(1, round(SIDE / max(pixels.shape[2:])))
    large = pixels.repeat(3 // pixels.shape[1], 1).repeat(scale, 2).repeat(scale, 3)
    if not (marks and row.parts):
        return list(large)
    sides = pixels.shape[3], pixels.shape[2]
    return [_marked(*each, sides, scale) for each in zip(large, row.parts, strict=False)]


FINE, RADIUS = 3, 5.0
"""Rings are drawn so many times as large and shrunk; their radius in pixels of the sheet."""


def _marked(pixels: np.ndarray, parts: Parts, sides: tuple[int, int], scale: int) -> np.ndarray:
    """A picture with a ring around every part, from the left and the top as places go."""
    picture = Images.fromarray(np.moveaxis(pixels, 0, -1).copy())
    rings = Images.new("RGBA", (FINE * picture.width, FINE * picture.height))
    draw = ImageDraw.Draw(rings)
    for part in parts:
        unit = [(value - parts.kit.low) / (parts.kit.high - parts.kit.low) for value in part.place]
        at = [FINE * scale * (u * (n - 1) + 0.5) for u, n in zip(unit, sides, strict=True)]
        colour = tuple(to_uint8(PALETTE.get(part.category, MODEL)).tolist())
        edge = (20, 20, 20) if sum(colour) > 380 else (240, 240, 240)
        for radius, ink, width in ((RADIUS + 1, edge, 4), (RADIUS, colour, 2)):
            far = FINE * radius
            ends = [at[0] - far, at[1] - far, at[0] + far, at[1] + far]
            draw.ellipse(ends, outline=(*ink, 255), width=FINE * width)
    rings = rings.reduce(FINE)
    picture.paste(rings, mask=rings.getchannel("A"))
    return np.moveaxis(np.asarray(picture), -1, 0)
