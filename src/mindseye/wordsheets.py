"""Pictures beside captions: what every word of a caption was drawn from.

A row has a picture on the left, over what is written about it, perhaps with the picture that it was
made of before it, and a small chart for every place of the sentence: a bar for each word that may
stand there, the word that was drawn in black and printed above.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from PIL import Image, ImageDraw

from mindseye.errors import UsageError
from mindseye.pictures import scaled_image
from mindseye.typesetting import INK, MUTED, typeset

__all__ = ["Place", "Shown", "Telling", "word_sheet"]

GROUND, BAR, FAINT = "#ffffff", "#4a7fb5", "#d5d8dd"
PANEL, GAP, CHART, ROOM, TYPE = 84, 10, 56, 140, (13, 12, 11, 10, 9, 8)


class Place(NamedTuple):
    """A place of a sentence: the words that may stand there, and their chances."""

    words: Sequence[str]
    chances: Sequence[float]
    chosen: int
    """The word that was drawn."""


class Shown(NamedTuple):
    """A picture and what is written under it."""

    label: str
    """What the picture is: a test picture, a reconstruction …"""
    picture: Any
    """An array `(C, H, W)` in [0, 1]."""
    note: str = ""
    """What else is written: the caption of a test picture, the observer's reading."""


class Telling(NamedTuple):
    """Pictures and what is told of the last of them."""

    shown: Sequence[Shown]
    places: Sequence[Place] = ()
    """Nothing where nothing is told."""


def word_sheet(tellings: Sequence[Telling], title: str = "", side: int = 112) -> Image.Image:
    """Lay pictures out under each other, each beside the charts of its words.

    Charts stand under each other too, however many pictures are before them.

    Arguments:
        tellings: Row after row.
        title: A heading.
        side: Height of a picture on the sheet, in pixels.
    """
    if not tellings or not all(telling.shown for telling in tellings):
        raise UsageError("`tellings` is empty; expected at least one picture.")
    strips = [_strip(telling.shown, side) for telling in tellings]
    before = max(strip.width for strip in strips)
    rows = [_row(s, before, t.places) for s, t in zip(strips, tellings, strict=True)]
    width = max(row.width for row in rows)
    (head,) = typeset([title], width, (17, 15, 13)) if title else (None,)
    top = GAP + (head.height + GAP if head else 0)
    sheet = Image.new("RGB", (width + 2 * GAP, top + sum(r.height + GAP for r in rows)), GROUND)
    if head:
        head.write(sheet, GAP, GAP)
    for row in rows:
        sheet.paste(row, (GAP, top))
        top += row.height + GAP
    return sheet


def _strip(shown: Sequence[Shown], side: int) -> Image.Image:
    """Pictures beside each other, each over its label and its note."""
    pictures = [scaled_image(each.picture, side) for each in shown]
    rooms = [max(ROOM, picture.width) for picture in pictures]
    texts = [
        typeset([f"{each.label}\n{each.note}".strip()], room, (13, 12, 11))[0]
        for each, room in zip(shown, rooms, strict=True)
    ]
    height = max(text.height for text in texts)
    width = sum(rooms) + GAP * (len(rooms) - 1)
    strip, left = Image.new("RGB", (width, side + 4 + height), GROUND), 0
    for picture, room, text in zip(pictures, rooms, texts, strict=True):
        strip.paste(picture, (left + (room - picture.width) // 2, 0))
        text.write(strip, left, side + 4)
        left += room + GAP
    return strip


def _row(strip: Image.Image, before: int, places: Sequence[Place]) -> Image.Image:
    """Pictures at the right of their room, and the charts of the last one."""
    width = before + GAP + len(places) * (PANEL + GAP)
    row = Image.new("RGB", (width, max(strip.height, CHART + 40)), GROUND)
    row.paste(strip, (before - strip.width, 0))
    for k, place in enumerate(places):
        row.paste(_chart(place), (before + GAP + k * (PANEL + GAP), 0))
    return row


def _chart(place: Place) -> Image.Image:
    """The bars of a place, the drawn word above them."""
    panel = Image.new("RGB", (PANEL, CHART + 38), GROUND)
    draw = ImageDraw.Draw(panel)
    (word,) = typeset([place.words[place.chosen].replace(" ", "-")], PANEL, TYPE)  # on one line
    word.write(panel, PANEL // 2, 0, anchor="ma")
    top, base = 20, 20 + CHART
    each = PANEL / len(place.words)
    for i, chance in enumerate(place.chances):
        left, right = round(i * each) + 1, max(round((i + 1) * each) - 1, round(i * each) + 2)
        height = round(max(0.0, min(1.0, chance)) * CHART)
        colour = INK if i == place.chosen else BAR
        draw.rectangle((left, base - height, right, base), fill=colour)
    draw.line((0, base, PANEL, base), fill=FAINT)
    draw.line((0, top, PANEL, top), fill=FAINT)
    (share,) = typeset([f"{place.chances[place.chosen]:.0%}"], PANEL, (11,))
    draw.text((PANEL // 2, base + 2), share.lines[0][0], MUTED, share.font, anchor="ma")
    return panel
