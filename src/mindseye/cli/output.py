"""How commands speak: answers on stdout, progress on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.progress import Progress

__all__ = ["answer", "bar", "note", "print_json", "table"]


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
