"""What a view is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fastapi import APIRouter

from mindseye.imagine import Mind

__all__ = ["View"]


@dataclass(frozen=True)
class View:
    """One way to look at models."""

    name: str
    """Of its module here, and of its module on the page."""
    title: str
    about: str
    router: APIRouter
    shows: Callable[[Mind], bool]
    """Whether it can show a model."""
    shows_parts: bool = False
    """Whether it can show a model of wholes and their parts."""
    shows_graphs: bool = False
    """Whether it can show models of graphs, which imagine nothing."""
