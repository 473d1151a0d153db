"""How commands speak: answers on stdout, progress on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.progress import Progress

__all__ = [
    "answer",
    "bar",
    "briefly",
    "cell",
    "duration",
    "file_stem",
    "note",
    "print_json",
    "sheet_path",
    "table",
]


def answer(text: str = "") -> None:
    """Print a line of the answer."""
    typer.echo(text)


def note(text: str) -> None:
    """Print a line that is not part of the answer."""
    typer.echo(text, err=True)


def print_json(value: Any) -> None:
    """Print the answer as JSON."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))


def table(rows: list[list[str]]) -> None:
    """Print rows in aligned columns; the first one is the head."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        typer.echo(line.rstrip())


def cell(value: Any) -> str:
    """A value as it stands in a table."""
    if isinstance(value, float):
        return f"{value:.2f}"
    return "-" if value is None else str(value)


def briefly(text: str, most: int = 60) -> str:
    """A text that may be long, in a column of a table.

    >>> briefly("red@0.2,-0.5; blue@0.6,0.1", most=15)
    'red@0.2,-0.5; …'
    """
    return text if len(text) <= most else f"{text[: most - 1]}…"


def duration(seconds: float) -> str:
    """A time for people.

    >>> [duration(seconds) for seconds in (30, 600, 9000)]
    ['30 s', '10 min', '2.5 h']
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def file_stem(text: str, seed: int) -> str:
    """A file name a person can read.

    >>> file_stem("3×f2, f7", 0)
    '3xf2,f7-seed0'
    """
    plain = text.replace(", ", ",").replace("; ", "_").replace("×", "x")
    safe = "".join(c if c.isalnum() or c in "=,-_.@" else "_" for c in plain)
    return f"{safe[:150]}-seed{seed}"


def sheet_path(out: str | None, stem: str) -> Path:
    """Where a sheet goes: the file that was named, or a readable name in a folder."""
    if out is not None and out.lower().endswith(".png"):
        return Path(out)
    return Path(out or "imagined") / f"{stem}.png"


@contextmanager
def bar(title: str) -> Iterator[Progress]:
    """A progress bar on stderr with the rate and the time left; gone from pipes and files."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    console = Console(file=sys.stderr)
    columns = (
        TextColumn(title),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn("{task.description}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        yield progress
