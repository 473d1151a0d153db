"""Tables that `mindseye reproduce` has written, as the page shows them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from PIL import Image

from mindseye.errors import DataError, MindseyeError
from mindseye.files import read_json
from mindseye.papers import TABLES
from mindseye.reproduction.pages import opening, sections
from mindseye.reproduction.section import Section

__all__ = ["Figure", "Result", "find_results"]

LARGEST = 2**24
"""Bytes of a picture that is shown."""


class Figure(NamedTuple):
    """A picture of a table."""

    name: str
    caption: str
    path: Path
    width: int
    height: int


class Result(NamedTuple):
    """A table that was made."""

    name: str
    """That of its folder."""

    table: str
    """What `mindseye reproduce` calls it."""

    title: str
    opening: str
    sections: list[Section]
    figures: list[Figure]
    size: str
    quick: bool
    seeds: int
    rows: list[str]
    """The methods that it has."""


def find_results(folder: Path) -> Iterator[Result]:
    """The tables in the folders of a folder; what is damaged is passed over."""
    for name in TABLES:
        for path in sorted(folder.glob(f"*/{name}.json")):
            try:
                yield _result(path)
            except MindseyeError:
                continue


def _result(path: Path) -> Result:
    """A table from its JSON; whoever wrote it may have written anything."""
    data = read_json(path)
    try:
        return Result(
            name=path.parent.name,
            table=path.stem,
            title=str(data["title"]),
            opening=opening(data),
            sections=list(sections(data)),
            figures=[figure for each in data["pictures"] if (figure := _figure(path.parent, each))],
            size=str(data["size"]),
            quick=bool(data["quick"]),
            seeds=len(data["seeds"]),
            rows=list(dict.fromkeys(str(run["family"]) for run in data["runs"])),
        )
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise DataError(f"{path} is not a table of this version.") from error


def _figure(folder: Path, told: dict[str, Any]) -> Figure | None:
    """A picture in the table's own folder; what lies elsewhere is not looked at."""
    path = (folder / told["file"]).resolve()
    try:
        if folder.resolve() not in path.parents or path.stat().st_size > LARGEST:
            return None
        with Image.open(path, formats=["PNG"]) as picture:
            return Figure(str(told["figure"]), str(told["caption"]), path, *picture.size)
    except (OSError, ValueError, Image.DecompressionBombError):
        return None
