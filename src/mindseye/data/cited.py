"""Cora and Citeseer as data sets: papers, and which cite each other."""

from __future__ import annotations

from pathlib import Path

from mindseye.data.linked import Linked
from mindseye.data.planetoid import read_planetoid
from mindseye.errors import UsageError
from mindseye.graphs import Graph

__all__ = ["Citeseer", "Cora"]


class Cora(Linked):
    """2708 papers on machine learning in seven classes, and 1433 words that they have or not."""

    shape = (1, 2708, 1433)

    @classmethod
    def graph_at(cls, source: str, folder: str | Path | None) -> Graph:
        """The whole graph."""
        cls.resolved(source)
        return read_planetoid("cora", folder)

    @staticmethod
    def resolved(source: str, folder: str | None = None) -> str:
        """The one source there is: `planetoid`."""
        return _planetoid(source)


class Citeseer(Linked):
    """3327 papers in six classes, and 3703 words that they have or not."""

    shape = (1, 3327, 3703)

    @classmethod
    def graph_at(cls, source: str, folder: str | Path | None) -> Graph:
        """The whole graph."""
        cls.resolved(source)
        return read_planetoid("citeseer", folder)

    @staticmethod
    def resolved(source: str, folder: str | None = None) -> str:
        """The one source there is: `planetoid`."""
        return _planetoid(source)


def _planetoid(source: str) -> str:
    if source not in ("auto", "planetoid"):
        raise UsageError(f"`source={source!r}` is not known; expected 'planetoid' or 'auto'.")
    return "planetoid"
