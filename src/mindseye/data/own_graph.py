"""A graph of your own as a data set, read from its files; the karate club where none are named.

Its path is kept as the source, so a run finds its graph again: `mindseye train graph/vgae --data
FOLDER`, or `--set data.source=FILE`. The same files are read once in a process.
"""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

from mindseye.data.edgelists import read_graph
from mindseye.data.karate import karate_club
from mindseye.data.linked import Linked
from mindseye.errors import DataError
from mindseye.graphs import Graph

__all__ = ["OwnGraph"]

KARATE = "karate"


class OwnGraph(Linked):
    """The links of a file, and what a table knows of the nodes."""

    shape = (1, 34, 34)
    settings = (*Linked.settings, "nodes", "columns")

    @classmethod
    def graph_at(cls, source: str, folder: str | Path | None) -> Graph:
        """The whole graph."""
        found = cls.resolved(source, None if folder is None else str(folder))
        if found == KARATE:
            return karate_club()
        return _read(found, _stamp(Path(found)))

    @staticmethod
    def resolved(source: str, folder: str | None = None) -> str:
        """The path of its files: the folder that is named, or `karate` where none is."""
        if source == KARATE:  # as a run keeps it
            return KARATE
        if folder is not None and (source == "auto" or not os.path.exists(source)):
            source = folder
        if source == "auto":
            return KARATE
        if not os.path.exists(source):
            raise DataError(
                f"there is no graph at {source}.",
                "Name the folder with its edges.csv: --data FOLDER.",
            )
        return os.path.abspath(source)


def _stamp(path: Path) -> tuple[tuple[str, int, int], ...]:
    """What tells whether files were changed."""
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    facts = [(file.name, file.stat()) for file in files if file.is_file()]
    return tuple((name, stat.st_mtime_ns, stat.st_size) for name, stat in facts)


@lru_cache(maxsize=1)
def _read(path: str, stamp: tuple[tuple[str, int, int], ...]) -> Graph:
    return read_graph(path)
