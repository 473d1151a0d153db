"""Rows of pictures as files: a sheet, and films, of which some go there and back."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO

import numpy as np
from PIL import Image
from torch import Tensor

from mindseye.sheets import contact_sheet, row_sheet

__all__ = ["animated", "film", "sheet"]

FRAME = 90
"""Milliseconds of one step."""

REST = 4
"""How many times as long both ends are shown."""

COLOURS = 128
"""Of a film: grey or not, its pictures are small and few."""


def sheet(
    dimensions: Sequence[int],
    values: Sequence[float],
    pictures: Tensor,
    title: str,
    names: Sequence[str] | None = None,
    scale: int | None = None,
) -> Image.Image:
    """A row for each of some dimensions, as it changes alone.

    Arguments:
        dimensions: Which they are, counted from 0.
        values: What they take.
        pictures: `(R, steps, C, H, W)`.
        title: A heading.
        names: What each row is called; z1, z2, … if not given.
        scale: Sheet pixels per picture pixel; about 112 pixels per picture by default.
    """
    captions = [f"{round(value, 1) + 0.0:+.1f}" for value in values]  # 0, not -0
    shown = pictures.cpu().numpy()
    last = len(shown) - 1
    rows = [
        (name, row, captions if i == last else None, None)
        for i, (name, row) in enumerate(zip(_named(dimensions, names), shown, strict=True))
    ]
    return row_sheet(rows, title=title, scale=scale)


def film(
    dimensions: Sequence[int], pictures: Tensor, title: str, names: Sequence[str] | None = None
) -> bytes:
    """A GIF file in which every dimension has one picture that moves.

    It goes from the first step to the last and back, for ever.

    Arguments:
        dimensions: Which they are, counted from 0.
        pictures: `(R, steps, C, H, W)`.
        title: A heading.
        names: What each picture is called; z1, z2, … if not given.
    """
    captions = _named(dimensions, names)
    steps = [
        contact_sheet(step, captions, title=title)
        for step in np.moveaxis(pictures.cpu().numpy(), 1, 0)
    ]
    order = [*steps, *steps[-2:0:-1]]
    rest = [FRAME * REST if i in (0, len(steps) - 1) else FRAME for i in range(len(order))]
    return animated(order, rest)


def animated(frames: Sequence[Image.Image], rest: Sequence[int], kind: str = "gif") -> bytes:
    """A file of pictures that follow one another, for ever.

    Arguments:
        frames: Pictures of one size.
        rest: Milliseconds of each.
        kind: gif, or png for an animated PNG, which keeps all colours.
    """
    buffer, shown = BytesIO(), list(frames)
    if kind == "gif":  # one palette for all frames, so that nothing flickers
        palette = _side_by_side(shown).quantize(COLOURS)
        shown = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in shown]
    options = {"disposal": 1} if kind == "gif" else {}
    shown[0].save(
        buffer,
        kind.upper(),
        save_all=True,
        append_images=shown[1:],
        duration=list(rest),
        loop=0,
        **options,
    )
    return buffer.getvalue()


def _named(dimensions: Sequence[int], names: Sequence[str] | None) -> Sequence[str]:
    return [f"z{dimension + 1}" for dimension in dimensions] if names is None else names


def _side_by_side(steps: Sequence[Image.Image]) -> Image.Image:
    """The first, the middle and the last step, from which colours are chosen."""
    some = [steps[0], steps[len(steps) // 2], steps[-1]]
    wide = Image.new("RGB", (sum(each.width for each in some), some[0].height))
    for i, each in enumerate(some):
        wide.paste(each, (i * some[0].width, 0))
    return wide
