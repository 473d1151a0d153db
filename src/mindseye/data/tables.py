"""Tables of nodes and of their features, a row a node, as people write them."""

from __future__ import annotations

import csv
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from mindseye.data.pairfiles import separator_of
from mindseye.errors import DataError
from mindseye.files import explained
from mindseye.sparse import Sparse

__all__ = ["UNKNOWN", "Nodes", "check_names", "dense_features", "read_features", "read_nodes"]

UNKNOWN = "unknown"
"""The last class, where some node has none."""

NAMES = ("name", "id")
CLASSES = ("class", "label")
LARGEST = float(np.finfo(np.float32).max)
NOT_TEXT = "Expected a table of nodes in a text file (UTF-8)."
FIRST = "Expected a header, and then a row for every node."


class Nodes(NamedTuple):
    """What a table says of nodes."""

    rows: int
    """How many there are."""

    names: tuple[str, ...] = ()
    """What they are called, if the table says it."""

    labels: Tensor | None = None
    """Their classes, if the table says them, int64 `(N,)`."""

    classes: tuple[str, ...] = ()
    """What the classes are called."""

    features: Sparse | None = None
    """What else is known of them."""


def read_nodes(path: Path) -> Nodes:
    """A table with a header: `name` or `id`, `class` or `label`, and features, any of them.

    Classes are sorted: whole numbers by their size, other texts by their letters. Where a node has
    none, its class is `unknown`, the last one.
    """
    rows = _rows(path, ",;\t")
    _, header = next(rows, (1, []))
    if not header:
        raise DataError(f"{path} is empty.", FIRST)
    if "" in header:
        message = f"{path}: column {1 + header.index('')} has no title."
        raise DataError(message, "Give it one, or write the table without its row numbers.")
    columns = [title.casefold() for title in header]
    name, label = _the_column(path, columns, NAMES), _the_column(path, columns, CLASSES)
    numeric = [i for i in range(len(header)) if i not in (name, label)]
    names, labels = [], []
    table = _Numbers(path, numeric, [f"column {title!r}" for title in header])
    for line, cells in rows:
        _check_length(path, line, cells, len(header))
        table.add(line, cells)
        if name is not None:
            names.append(cells[name])
        if label is not None:
            labels.append(cells[label])
    if not table.rows:
        raise DataError(f"{path} has no nodes.", FIRST)
    check_names(path, names)
    classes = _classes(labels)
    numbers = {text: number for number, text in enumerate(classes)}
    coded = torch.tensor([numbers[text or UNKNOWN] for text in labels]) if labels else None
    features = table.sparse() if numeric else None
    return Nodes(table.rows, tuple(names), coded, classes, features)


def read_features(path: Path) -> Sparse:
    """A table of numbers, with a header or without."""
    rows = _rows(path, ",;\t ")
    line, cells = next(rows, (1, []))
    if not cells:
        raise DataError(f"{path} is empty.", "Expected a row of numbers for every node.")
    width = len(cells)
    table = _Numbers(path, range(width), [f"column {i + 1}" for i in range(width)])
    if any(map(_is_number, cells)):
        table.add(line, cells)
    for line, cells in rows:
        _check_length(path, line, cells, width)
        table.add(line, cells)
    if not table.rows:
        raise DataError(f"{path} has no rows of numbers.", "Expected one for every node.")
    return table.sparse()


def dense_features(path: Path, numbers: np.ndarray) -> Sparse:
    """The features of a whole array `(N, F)`, its zeros left out."""
    rows, columns = numbers.nonzero()
    with np.errstate(over="ignore"):  # what is too large is found below
        values = numbers[rows, columns].astype(np.float32)
    if not np.isfinite(values).all():
        wrong = int((~np.isfinite(values)).argmax())
        where = f"row {rows[wrong]}, column {columns[wrong]} of `features`"
        raise DataError(f"{path}: {where} is not a finite number.")
    places = torch.from_numpy(np.stack([rows, columns]))
    height, width = numbers.shape
    return Sparse.of(places[0], places[1], (height, width), torch.from_numpy(values))


def check_names(path: Path, names: Sequence[str]) -> None:
    """Every node has a name of its own."""
    seen: set[str] = set()
    for row, name in enumerate(names):
        if not name:
            raise DataError(f"{path}: node {row} has no name.", "Name it, or leave the column out.")
        if name in seen:
            raise DataError(f"{path}: two nodes are called {name!r}.", "Give each its own name.")
        seen.add(name)


class _Numbers:
    """Rows of features, of which only what is not zero is kept."""

    def __init__(self, path: Path, columns: Sequence[int], titles: Sequence[str]):
        self.path, self.columns, self.titles = path, columns, titles
        self.rows = 0
        self.kept = array("q"), array("q"), array("f")

    def add(self, line: int, cells: Sequence[str]) -> None:
        """A row more."""
        rows, columns, values = self.kept
        for place, column in enumerate(self.columns):
            if number := self._number(line, column, cells[column]):
                rows.append(self.rows)
                columns.append(place)
                values.append(number)
        self.rows += 1

    def _number(self, line: int, column: int, cell: str) -> float:
        try:
            number = float(cell)
        except ValueError:
            number = None
        if number is not None and abs(number) <= LARGEST:
            return number
        said = repr(cell if len(cell) <= 40 else f"{cell[:37]}...")
        finite = "a finite number" if number is not None else "a number"
        raise DataError(
            f"{self.path}: line {line}, {self.titles[column]}: {said} is not {finite}.",
            "Every column but `name` or `id` and `class` or `label` holds numbers.",
        )

    def sparse(self) -> Sparse:
        """All rows."""
        rows, columns, values = (
            torch.tensor(np.array(part)) if part else torch.empty(0, dtype=dtype)
            for part, dtype in zip(
                self.kept, (torch.int64, torch.int64, torch.float32), strict=True
            )
        )
        return Sparse.of(rows, columns, (self.rows, len(self.columns)), values)


def _rows(path: Path, separators: str) -> Iterator[tuple[int, list[str]]]:
    """The rows of a table that are not blank, with their lines; the first one has the separator."""
    try:
        with explained(path), path.open(encoding="utf-8-sig", newline="") as file:
            lines = _text_lines(path, file)
            first = next((line for line in lines if line.strip()), "")
            separator = separator_of(first)
            separator = separator if separator in separators else ","
            file.seek(0)
            yield from _cells(_text_lines(path, file), separator)
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not text in UTF-8 ({error.reason}).", NOT_TEXT) from error
    except csv.Error as error:
        raise DataError(f"{path} is not a table ({error}).", NOT_TEXT) from error


def _text_lines(path: Path, lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        if "\0" in line:
            raise DataError(f"{path} is not a text file.", NOT_TEXT)
        yield line


def _cells(lines: Iterator[str], separator: str) -> Iterator[tuple[int, list[str]]]:
    """The cells of rows, without the blanks around them."""
    if separator == " ":
        for number, line in enumerate(lines, 1):
            if cells := line.split():
                yield number, cells
        return
    reader = csv.reader(lines, delimiter=separator, skipinitialspace=True)
    width = 0
    for row in reader:
        cells = [cell.strip() for cell in row]
        if any(cells) or len(cells) > 1 or len(cells) == width:  # or else the line is blank
            width = width or len(cells)
            yield reader.line_num, cells


def _the_column(path: Path, columns: Sequence[str], titles: Sequence[str]) -> int | None:
    """The column of one of two titles, or none."""
    found = [i for i, column in enumerate(columns) if column in titles]
    if len(found) > 1:
        both = " and ".join(f"`{columns[i]}`" for i in found)
        raise DataError(
            f"{path} has the columns {both}; expected one of them.", "Rename the other."
        )
    return found[0] if found else None


def _check_length(path: Path, line: int, cells: Sequence[str], width: int) -> None:
    if len(cells) != width:
        raise DataError(
            f"{path}: line {line} has {len(cells)} columns; expected {width}.",
            "Every row has as many as the first one.",
        )


def _classes(labels: Sequence[str]) -> tuple[str, ...]:
    """What there is, sorted, what is unknown last."""
    known = set(labels) - {"", UNKNOWN}
    whole = all(text.isascii() and text.isdecimal() and len(text) < 10 for text in known)
    found = sorted(known, key=int) if whole else sorted(known)
    return (*found, UNKNOWN) if set(labels) & {"", UNKNOWN} else tuple(found)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
