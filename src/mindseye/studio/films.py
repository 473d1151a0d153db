"""Rows of pictures as files: a sheet, and a film in which every row goes there and back."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO

import numpy as np
from PIL import Image
from torch import Tensor

from mindseye.sheets import contact_sheet, row_sheet

__all__ = ["film", "sheet"]

FRAME = 90
"""Milliseconds of one step."""

REST = 4
"""How many times as long both ends are shown."""

COLOURS = 128
"""Of a film: grey or not, its pictures are small and few."""


def sheet(
    dimensions: Sequence[int], values: Sequence[float], pictures: Tensor, title: str
) -> Image.Image:
    """A row for each of some dimensions, as it changes alone; pictures `(R, steps, C, H, W)`."""
    captions = [f"{value:+.1f}" for value in values]
    shown = pictures.cpu().numpy()
    last = len(shown) - 1
    rows = [
        (f"z{dimension + 1}", row, captions if i == last else None, None)
        for i, (dimension, row) in enumerate(zip(dimensions, shown, strict=True))
    ]
    return row_sheet(rows, title=title)


def film(dimensions: Sequence[int], pictures: Tensor, title: str) -> bytes:
    """A GIF file in which every dimension has one picture `(R, steps, C, H, W)` that moves.

    It goes from the first step to the last and back, for ever.
    """
    names = [f"z{dimension + 1}" for dimension in dimensions]
    steps = [
        contact_sheet(step, names, title=title)
        for step in np.moveaxis(pictures.cpu().numpy(), 1, 0)
    ]
    palette = _side_by_side(steps).quantize(COLOURS)  # one for all steps, so that nothing flickers
    frames = [step.quantize(palette=palette, dither=Image.Dither.NONE) for step in steps]
    order = [*frames, *frames[-2:0:-1]]
    rest = [FRAME * REST if i in (0, len(frames) - 1) else FRAME for i in range(len(order))]
    buffer = BytesIO()
    order[0].save(
        buffer, "GIF", save_all=True, append_images=order[1:], duration=rest, loop=0, disposal=1
    )
    return buffer.getvalue()


def _side_by_side(steps: Sequence[Image.Image]) -> Image.Image:
    """The first, the middle and the last step, from which colours are chosen."""
    some = [steps[0], steps[len(steps) // 2], steps[-1]]
    wide = Image.new("RGB", (sum(each.width for each in some), some[0].height))
    for i, each in enumerate(some):
        wide.paste(each, (i * some[0].width, 0))
    return wide
