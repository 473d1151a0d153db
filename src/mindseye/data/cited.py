"""Cora and Citeseer as data sets: papers, and which cite each other."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from mindseye.data.linked import Linked
from mindseye.data.planetoid import read_planetoid
from mindseye.errors import UsageError
from mindseye.graphs import Graph

__all__ = ["Citeseer", "Cora"]


class Cited(Linked):
    """A graph of papers, read from its own files."""

    name: ClassVar[str]

    @classmethod
    def graph_at(cls, source: str, folder: str | Path | None) -> Graph:
        """The whole graph."""
        cls.resolved(source)
        return read_planetoid(cls.name, folder)

    @staticmethod
    def resolved(source: str, folder: str | None = None) -> str:
        """The one source there is: `planetoid`."""
        if source not in ("auto", "planetoid"):
            raise UsageError(f"`source={source!r}` is not known; expected 'planetoid' or 'auto'.")
        return "planetoid"


class Cora(Cited):
    """2708 papers on machine learning in seven classes, and 1433 words that they have or not."""

    name, shape = "cora", (1, 2708, 1433)


class Citeseer(Cited):
    """3327 papers in six classes, and 3703 words that they have or not."""

    name, shape = "citeseer", (1, 3327, 3703)
