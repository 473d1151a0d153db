"""A piece of a page: a heading, what is said under it, and a table."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Grid", "Section"]

Grid = list[list[str]]
"""Rows of cells; the first is the head."""


class Section(NamedTuple):
    """A heading, what is said under it, and a table."""

    title: str
    text: str
    grid: Grid
    words: int = 1
    """How many columns hold words; the others hold numbers and are set to the right."""
