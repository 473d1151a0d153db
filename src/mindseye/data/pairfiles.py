"""Files of pairs: two columns of nodes, read quickly, and slowly where a line is odd.

Entries are separated by commas, semicolons, tabs or spaces, whichever the first line has. Columns
after the second are passed over, as are blank lines and those that begin with `#`. Nodes are whole
numbers or names; the first two lines show which, and whether the first of them is a header.

A file is read in blocks of lines. Numbers are found in all lines of a block at once (`columns`); a
block in which anything is unusual is read again line by line, which is slower and knows which line
it is.
"""

from __future__ import annotations

import csv
import re
from array import array
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

from mindseye.data.columns import MANY_DIGITS, two_columns
from mindseye.errors import DataError, did_you_mean
from mindseye.files import explained

__all__ = ["FROM_ZERO", "LARGEST", "read_pairs", "separator_of"]

BLOCK = 2**20
"""How many bytes are read at a time; no line may be longer."""

HEADERS = {"source", "target", "src", "dst", "from", "to", "node1", "node2", "u", "v"}
"""Words that make a header where nodes have names."""

LARGEST = 2**31
"""More nodes than this are none."""

MANY_NAMES = 5_000
NOT_TEXT = "Expected two columns of nodes in a text file (UTF-8)."
FROM_ZERO = "Number the nodes from 0, or list them in nodes.csv with an `id` column."
TWO = "Expected two nodes in every line, as in `0,1`."


def read_pairs(
    path: Path, known: Sequence[str] | int | None = None
) -> tuple[np.ndarray, tuple[str, ...]]:
    """The pairs of a file.

    Arguments:
        path: The file.
        known: The names of all nodes, or how many there are, if that is known.

    Returns:
        Pairs of numbers, int64 `(E, 2)`, and the names of the nodes if they have some.
    """
    with explained(path), path.open("rb") as file:
        blocks = _blocks(path, file)
        first = _beginning(blocks)
        layout = _layout(path, first, known)
        nodes = _Nodes(known, named=layout.named)
        rest = chain([layout.without_header(first)], blocks)
        found = [_pairs(path, block, layout.separator, nodes) for block in rest]
    pairs = np.concatenate(found)
    if not len(pairs):
        raise DataError(f"{path} has no links.", TWO)
    return pairs, tuple(nodes.names)


class _Nodes:
    """The numbers of nodes by what files call them.

    Arguments:
        known: The names of all nodes, how many there are if they are called 0, 1, 2 and so on, or
            nothing if whatever comes is a node.
        named: Whether nodes have names, where nothing else says it.
    """

    def __init__(self, known: Sequence[str] | int | None, *, named: bool = False):
        names = () if isinstance(known, int | None) else known
        self.is_open = known is None
        self.limit = known if isinstance(known, int) else LARGEST
        self.named = named or len(names) > 0
        self.names = {name: node for node, name in enumerate(names)}
        self.whole = _sorted_numbers(names) if names else None

    @property
    def are_whole(self) -> bool:
        """Whether all nodes are called by whole numbers."""
        return not self.named or self.whole is not None

    def of_many(self, said: np.ndarray) -> np.ndarray | None:
        """The numbers of many nodes that are called by whole numbers, or nothing if one is not."""
        if self.whole is None:
            return said if said.max(initial=-1) < self.limit else None
        values, nodes = self.whole
        place = np.searchsorted(values, said).clip(max=len(values) - 1)
        return nodes[place] if np.array_equal(values[place], said) else None

    def of(self, said: str) -> int:
        """The number of one node, or what is wrong, to which the place is added later."""
        node = self.names.get(said)
        if node is not None:
            return node
        if not said:
            raise DataError("there is no node", TWO)
        return self._of_name(said) if self.named else self._of_number(said)

    def _of_name(self, said: str) -> int:
        if self.is_open:
            return self.names.setdefault(said, len(self.names))
        if self.whole and _plain(said) in self.names:
            return self.names[_plain(said)]
        near = did_you_mean(said, self.names) if len(self.names) <= MANY_NAMES else ""
        raise DataError(f"no node is called {_short(said)}", near or "See the table of nodes.")

    def _of_number(self, said: str) -> int:
        if not re.fullmatch("[0-9]+", said):
            hint = "Nodes are counted from 0; if they have names, list them in a table of nodes."
            raise DataError(f"{_short(said)} is not a whole number", hint)
        plain = _plain(said)
        if len(plain) > MANY_DIGITS or int(plain) >= self.limit:
            message = f"the node {_short(said)[1:-1]} is out of range"
            hint = "They are counted from 0, and as many as there are rows about nodes."
            raise DataError(
                f"{message}; expected 0 to {self.limit - 1}", FROM_ZERO if self.is_open else hint
            )
        return int(plain)


class _Block(NamedTuple):
    """Some lines, and the number of the first one."""

    line: int
    data: bytes


class _Layout(NamedTuple):
    """How a file is written."""

    separator: str
    named: bool
    header: int  # its line, or 0

    def without_header(self, block: _Block) -> _Block:
        """The same lines, the header as a comment."""
        if not self.header:
            return block
        lines = block.data.split(b"\n", self.header - block.line + 1)
        lines[self.header - block.line] = b"#"
        return _Block(block.line, b"\n".join(lines))


def _blocks(path: Path, file: IO[bytes]) -> Iterator[_Block]:
    """The lines of a file, many at a time, all of which end in a line feed."""
    line, left = 1, file.read(3).removeprefix(b"\xef\xbb\xbf")
    while data := file.read(BLOCK):
        data = left + data
        if b"\0" in data:
            break
        whole, left = _cut(data)
        if whole:
            yield _Block(line, whole)
            line += whole.count(b"\n")
        if len(left) > BLOCK:
            raise DataError(f"{path}: line {line} has more than {BLOCK:,} characters.", NOT_TEXT)
    if b"\0" in left + data:
        raise DataError(f"{path} is not a text file.", NOT_TEXT)
    yield _Block(line, _with_line_feeds(left) + b"\n")


def _cut(data: bytes) -> tuple[bytes, bytes]:
    """Whole lines, and what is left."""
    end = 1 + max(data.rfind(b"\n"), data.rfind(b"\r", 0, -1))  # a line feed may follow the last
    return _with_line_feeds(data[:end]), data[end:]


def _with_line_feeds(data: bytes) -> bytes:
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in data else data


def _layout(path: Path, block: _Block, known: Sequence[str] | int | None) -> _Layout:
    """How a file is written, by its first two lines."""
    first = b"".join(_telling(block)[:1])
    separator = separator_of(_text(path, first, block.line))
    rows = list(islice(_rows(path, block, separator), 2))
    if not rows:
        raise DataError(f"{path} is empty.", TWO)
    (line, entries), nodes = rows[0], _Nodes(known)
    whole = [_looks_whole(entry) for entry in entries[:2]]
    follows = len(rows) > 1 and all(map(_looks_whole, rows[1][1][:2]))
    numbers = nodes.are_whole and (known is not None or all(whole) or follows)
    words = all(entry.casefold() in HEADERS and entry not in nodes.names for entry in entries[:2])
    header = not any(whole) if numbers else words
    return _Layout(separator, nodes.named or not numbers, line if header else 0)


def _beginning(blocks: Iterator[_Block]) -> _Block:
    """The first lines of a file, two of which say something if there are two."""
    first = _Block(1, b"")
    for block in blocks:
        first = _Block(first.line, first.data + block.data) if _telling(first) else block
        if len(_telling(first)) > 1:
            break
    return first


def _telling(block: _Block) -> list[bytes]:
    """The first two lines that are neither blank nor comments."""
    lines = (line.strip() for line in block.data.split(b"\n"))
    return list(islice((line for line in lines if line and not line.startswith(b"#")), 2))


def separator_of(line: str) -> str:
    r"""What separates the entries of a line.

    >>> [separator_of(line) for line in ("a,b c", "a;b", "a\tb c", "a b")]
    [',', ';', '\t', ' ']
    """
    return next((each for each in ",;\t" if each in line), " ")


def _looks_whole(entry: str) -> bool:
    """Whether somebody meant a number."""
    return bool(re.fullmatch(r"[-+]?[0-9]+(\.[0-9]*)?", entry))


def _pairs(path: Path, block: _Block, separator: str, nodes: _Nodes) -> np.ndarray:
    """The pairs of a block."""
    if nodes.are_whole:
        said = two_columns(block.data, separator)
        numbers = None if said is None else nodes.of_many(said)
        if numbers is not None:
            return numbers
    return _carefully(path, block, separator, nodes)


# Line by line


def _carefully(path: Path, block: _Block, separator: str, nodes: _Nodes) -> np.ndarray:
    """The pairs of a block, or an error that says which line is wrong."""
    found = array("q")
    for line, cells in _rows(path, block, separator):
        try:
            found.append(nodes.of(cells[0]))
            found.append(nodes.of(cells[1]))
        except DataError as error:
            where = f"{path}: line {line}, column {1 + len(found) % 2}"
            raise DataError(f"{where}: {error.message}.", error.hint) from error
    return np.frombuffer(found, np.int64).reshape(-1, 2) if found else np.empty((0, 2), np.int64)


def _rows(path: Path, block: _Block, separator: str) -> Iterator[tuple[int, list[str]]]:
    """The lines of a block that say something, cut into cells, two at least."""
    text = _text(path, block.data, block.line)
    nothing = f" \t\v\f{separator}"
    for line, content in enumerate(text.split("\n"), block.line):
        said = content.strip().lstrip(nothing)
        if said and not said.startswith("#"):
            cells = _cells(content, separator)
            if len(cells) < 2:
                raise DataError(f"{path}: line {line} has one column; expected two.", TWO)
            yield line, cells


def _cells(line: str, separator: str) -> list[str]:
    """The cells of a line, without the blanks and quotes around them.

    >>> _cells(' 1, "Bacon, Francis" ', ",")
    ['1', 'Bacon, Francis']
    """
    if separator == " ":
        return [cell.strip('"') for cell in line.split()]
    if '"' not in line or len(line) > csv.field_size_limit():
        return [cell.strip() for cell in line.split(separator)]
    (row,) = csv.reader([line], delimiter=separator, skipinitialspace=True)
    return [cell.strip() for cell in row]


def _text(path: Path, data: bytes, line: int) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line += data.count(b"\n", 0, error.start)
        message = f"{path}: line {line} is not text in UTF-8 (byte {data[error.start]:#04x})."
        raise DataError(message, NOT_TEXT) from error


def _sorted_numbers(names: Sequence[str]) -> tuple[np.ndarray, np.ndarray] | None:
    """Names that are whole numbers, in their order, and their nodes; nothing if one is none."""
    if not all(re.fullmatch("0|[1-9][0-9]{0,17}", name) for name in names):
        return None
    values = np.array([int(name) for name in names], np.int64)
    order = values.argsort()
    return values[order], order


def _plain(said: str) -> str:
    """A whole number without the zeros before it."""
    return said.lstrip("0") or "0" if re.fullmatch("[0-9]+", said) else said


def _short(said: str) -> str:
    """An entry for people."""
    return repr(said if len(said) <= 40 else f"{said[:37]}...")
