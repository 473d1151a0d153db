"""Where the files of a data set are looked for.

A folder that is named is the only one searched. Otherwise these are, in order: `$MINDSEYE_DATA`, a
folder of the data set's name in it, and the user's cache.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from mindseye.errors import DataError

__all__ = ["cache", "find", "places", "the_file"]


def cache(name: str) -> Path:
    """The folder of a data set in the user's cache."""
    home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(os.path.expanduser(home)) / "mindseye" / name


def places(folder: str | Path | None, *names: str) -> list[Path]:
    """The folders to search for a data set, which may go by several names."""
    if folder is not None:
        return [Path(folder)]
    data = os.path.expanduser(os.environ.get("MINDSEYE_DATA", ""))
    given = [Path(data), *(Path(data) / name for name in names)] if data else []
    return [*given, *(cache(name) for name in names)]


def find(files: Sequence[str], searched: Sequence[Path]) -> Path | None:
    """The first file or folder of one of these names, the earlier name in any place first."""
    paths = (place / file for file in files for place in searched)
    return next((path for path in paths if os.path.exists(path)), None)


def the_file(title: str, files: Sequence[str], searched: Sequence[Path]) -> Path:
    """The file that `find` finds, or an error that says what to put where."""
    if path := find(files, searched):
        return path
    raise DataError(
        f"{title} was not found in {', '.join(map(str, searched))}.",
        f"Put {' or '.join(files)} there, or set MINDSEYE_DATA to its folder.",
    )
