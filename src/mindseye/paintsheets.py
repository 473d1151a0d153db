"""Pictures as they are painted: a strip of canvases, the words listened to, and a film of both."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PIL import Image, ImageDraw
from torch import Tensor

from mindseye.films import animated
from mindseye.painting import Painting
from mindseye.pictures import scaled_image
from mindseye.sheets import row_sheet
from mindseye.typesetting import typeset

__all__ = ["found_sheet", "painting_film", "painting_sheet"]

GROUND, LINE, HEAT = "#ffffff", "#c2452d", (32, 92, 148)
GAP, CELL, ROOM, TYPE = 6, 18, 110, (13, 12, 11, 10, 9)
FRAME, REST = 110, 1600
"""Milliseconds of a stroke, and of the finished picture."""


def painting_sheet(
    paintings: Sequence[Painting], *, window: int, most: int = 12, side: int = 72
) -> Image.Image:
    """A strip for every picture, canvas after canvas, over the words it listened to.

    A frame shows where the patch of a stroke is written. Where there are more strokes than fit,
    some are left out, evenly; the last is always there.

    Arguments:
        paintings: What was painted of one description, or of several with the same noise.
        window: Filters of a patch in either direction.
        most: The most canvases of a strip.
        side: Height of a canvas on the sheet, in pixels.
    """
    rows = [
        _strip(painting, i, window, _chosen(painting, most), side)
        for i in range(len(paintings[0].pictures))
        for painting in paintings
    ]
    width = max(row.width for row in rows)
    sheet = Image.new("RGB", (width + 2 * GAP, GAP + sum(r.height + 2 * GAP for r in rows)), GROUND)
    top = GAP
    for row in rows:
        sheet.paste(row, (GAP, top))
        top += row.height + 2 * GAP
    return sheet


def painting_film(
    paintings: Sequence[Painting], *, window: int, kind: str = "gif", side: int = 120
) -> bytes:
    """A film of all pictures, stroke by stroke, that rests on what came of it.

    Arguments:
        paintings: What was painted of one description, or of several with the same noise.
        window: Filters of a patch in either direction.
        kind: gif, or png for an animated PNG.
        side: Height of a canvas, in pixels.
    """
    strokes = paintings[0].canvases.shape[1]
    frames = [_frame(paintings, t, window, side) for t in range(strokes)]
    frames.append(_frame(paintings, None, window, side))
    return animated(frames, [FRAME] * strokes + [REST], kind)


def found_sheet(
    pictures: Tensor, nats: Sequence[float], captions: Sequence[str], title: str
) -> Image.Image:
    """Pictures that were found, the best first, over how well they fit and what they show."""
    texts = [f"{each:+.1f} nats\n{told}" for each, told in zip(nats, captions, strict=True)]
    rows = [
        ("", pictures[start : start + 8].cpu().numpy(), texts[start : start + 8], None)
        for start in range(0, len(pictures), 8)
    ]
    return row_sheet(rows, title=title)


def _chosen(painting: Painting, most: int) -> list[int]:
    """Which strokes are shown."""
    strokes = painting.canvases.shape[1]
    return sorted(set(np.linspace(0, strokes - 1, min(most, strokes)).round().astype(int).tolist()))


def _strip(
    painting: Painting, i: int, window: int, chosen: Sequence[int], side: int
) -> Image.Image:
    """One picture after its strokes, what came of it, and which words were listened to."""
    shown = [_canvas(painting, i, t, window, side) for t in chosen]
    last = scaled_image(painting.pictures[i].cpu(), side, crisp=True)
    shown.append(last)
    listens = painting.attention.shape[-1] > 0
    words = [k for k, word in enumerate(painting.words[i]) if word] if listens else []
    (head,) = typeset([str(painting.captions[i])], ROOM + len(shown) * (last.width + GAP), TYPE)
    width = ROOM + len(shown) * (last.width + GAP)
    top = head.height + GAP
    strip = Image.new("RGB", (width, top + side + CELL + (len(words) * CELL)), GROUND)
    head.write(strip, 0, 0)
    for n, canvas in enumerate(shown):
        strip.paste(canvas, (ROOM + n * (last.width + GAP), top))
    labels = [*(str(t + 1) for t in chosen), "picture"]
    _row_of(strip, labels, top + side, last.width, "stroke")
    for row, k in enumerate(words):
        weights = [float(painting.attention[i, t, k]) for t in chosen]
        _heat(strip, painting.words[i][k], weights, top + side + CELL * (1 + row), last.width)
    return strip


def _row_of(sheet: Image.Image, labels: Sequence[str], top: int, pitch: int, name: str) -> None:
    """Texts under the canvases of a strip."""
    for n, text in enumerate(typeset([name, *labels], max(pitch, ROOM), TYPE[2:])):
        left = 0 if n == 0 else ROOM + (n - 1) * (pitch + GAP)
        text.write(sheet, left, top + 2)


def _heat(sheet: Image.Image, word: str, weights: Sequence[float], top: int, pitch: int) -> None:
    """A word, and how much it is listened to at every stroke."""
    draw = ImageDraw.Draw(sheet)
    (text,) = typeset([word], ROOM, TYPE)
    text.write(sheet, 0, top)
    for n, weight in enumerate(weights):
        left = ROOM + n * (pitch + GAP)
        colour = tuple(round(255 + (dark - 255) * min(1.0, weight)) for dark in HEAT)
        draw.rectangle((left, top, left + pitch - 1, top + CELL - 2), fill=colour)


def _canvas(painting: Painting, i: int, t: int, window: int, side: int) -> Image.Image:
    """A canvas after a stroke, with a frame where its patch was written."""
    picture = painting.canvases[i, t]
    image = scaled_image(picture.cpu(), side, crisp=True)
    scale = side / picture.shape[-2]
    row, column, spacing = painting.places[i, t].tolist()
    half = spacing * (window - 1) / 2
    box = [(column - half), (row - half), (column + half), (row + half)]
    ImageDraw.Draw(image).rectangle([(edge + 0.5) * scale for edge in box], outline=LINE)
    return image


def _frame(paintings: Sequence[Painting], t: int | None, window: int, side: int) -> Image.Image:
    """All pictures after a stroke, or as they came out, over what was said."""
    rows = []
    for painting in paintings:
        n = len(painting.pictures)
        canvases = [
            scaled_image(painting.pictures[i].cpu(), side, crisp=True)
            if t is None
            else _canvas(painting, i, t, window, side)
            for i in range(n)
        ]
        width = n * (canvases[0].width + GAP)
        texts = typeset([str(caption) for caption in painting.captions], canvases[0].width, TYPE)
        row = Image.new("RGB", (width, side + GAP + max(text.height for text in texts)), GROUND)
        for i, (canvas, text) in enumerate(zip(canvases, texts, strict=True)):
            row.paste(canvas, (i * (canvas.width + GAP), 0))
            text.write(row, i * (canvas.width + GAP), side + GAP // 2)
        rows.append(row)
    height = sum(row.height + GAP for row in rows)
    frame = Image.new("RGB", (max(row.width for row in rows) + GAP, height + GAP), GROUND)
    top = GAP
    for row in rows:
        frame.paste(row, (GAP, top))
        top += row.height + GAP
    return frame
