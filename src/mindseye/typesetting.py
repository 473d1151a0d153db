"""Text on images: the largest font that breaks no word, and lines that fit."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from PIL import Image, ImageDraw, ImageFont

__all__ = ["INK", "MUTED", "Text", "typeset"]

INK, MUTED = "#22252b", "#737983"


@dataclass(frozen=True)
class Text:
    """Paragraphs of lines in a font; the first paragraph in ink, the others muted."""

    paragraphs: list[list[str]]
    font: Any

    @property
    def lines(self) -> list[tuple[str, str]]:
        """Every line and its colour."""
        colours = [INK] + [MUTED] * len(self.paragraphs)
        pairs = zip(self.paragraphs, colours, strict=False)
        return [(line, colour) for paragraph, colour in pairs for line in paragraph]

    @property
    def width(self) -> int:
        """Of the longest line, in pixels."""
        return max((math.ceil(self.font.getlength(line)) for line, _ in self.lines), default=0)

    @property
    def height(self) -> int:
        """Of all lines, in pixels."""
        return len(self.lines) * self._leading

    def write(self, image: Image.Image, x: int, y: int, anchor: str = "la") -> None:
        """Write on an image, the first line at (x, y)."""
        draw = ImageDraw.Draw(image)
        for row, (line, colour) in enumerate(self.lines):
            draw.text((x, y + row * self._leading), line, colour, self.font, anchor=anchor)

    @property
    def _leading(self) -> int:
        return sum(self.font.getmetrics()) + 2


def typeset(texts: list[str], room: int, sizes: Sequence[int]) -> list[Text]:
    """Set texts in one font, of the largest size that breaks no word, in lines that fit."""
    texts = [text.translate(_PLAIN) for text in texts]
    pieces = {piece.rstrip() for text in texts for piece in _PIECES.findall(text)}
    fonts = [_font(size, "".join(pieces)) for size in sizes]
    fitting = (font for font in fonts if all(font.getlength(piece) <= room for piece in pieces))
    font = next(fitting, fonts[-1])
    return [Text([_wrapped(part, font, room) for part in t.splitlines()], font) for t in texts]


_SPELLED = {chr(code) for code in range(32, 127)} | set("\n·…‘’“”°±")
_PLAIN = str.maketrans(
    {"–": "-", "—": "-", "−": "-", "×": "x", "\t": " ", "\u00a0": " ", "→": "->", "←": "<-"}
    | {"α": "alpha", "β": "beta", "γ": "gamma"}
)
_PIECES = re.compile(r"[^\s=]+ = [^\s=]+\s*|[^\s=]*=\s*|[^\s=]+\s*")
"""A line may break after a space or "=", but not around " = "."""
_OTHER_FONTS = ("Arial Unicode.ttf", "NotoSansCJK-Regular.ttc", "DejaVuSans.ttf", "arial.ttf")


def _font(size: int, text: str) -> Any:
    """Pillow's own font, or one of the system's where that cannot spell the text."""
    for name in _OTHER_FONTS if set(text) - _SPELLED else ():
        with suppress(OSError):
            return ImageFont.truetype(name, size)
    return ImageFont.load_default(size)


def _wrapped(text: str, font: Any, room: int) -> list[str]:
    """Lines no wider than the room; only a piece too wide for a line is broken."""
    lines = [""]
    for piece in _PIECES.findall(text):
        if font.getlength((lines[-1] + piece).rstrip()) <= room:
            lines[-1] += piece
            continue
        lines += [""] if lines[-1] else []
        for letter in piece:
            full = lines[-1] and font.getlength((lines[-1] + letter).rstrip()) > room
            lines[-1:] = [lines[-1], letter] if full else [lines[-1] + letter]
    return [line.rstrip() for line in lines]
