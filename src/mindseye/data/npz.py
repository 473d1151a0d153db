"""Arrays of npz files, read without trusting them.

What an array claims to be is compared with what is expected before any of it is read, so a damaged
or a hostile file is named and takes no memory. Nothing is unpickled.
"""

from __future__ import annotations

import math
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import numpy as np
from numpy.lib import format as npy

from mindseye.errors import DataError
from mindseye.files import explained

__all__ = ["Npz"]

KINDS = {
    "uint8": "whole numbers 0 to 255",
    "integer": "whole numbers",
    "real": "real numbers",
    "number": "numbers",
    "text": "texts",
}
AGAIN = "It may be truncated: fetch it again."


class Npz:
    """An npz file.

    Arguments:
        path: The file.
    """

    def __init__(self, path: Path):
        self.path = path

    def names(self) -> list[str]:
        """What the arrays are called."""
        with self._archive() as archive:
            return [each.removesuffix(".npy") for each in archive.namelist()]

    def read(self, name: str, kind: str, shape: tuple[int | None, ...]) -> np.ndarray:
        """A whole array.

        Arguments:
            name: What it is called in the file.
            kind: `uint8`, `integer` or `real` of any size, `number` for either, or `text`.
            shape: How long it must be on each axis, `None` where any length will do.
        """
        with self._opened(name) as file:
            found, by_columns, dtype = self._header(file, name, kind, shape)
            data = np.frombuffer(self._bytes(file, name, math.prod(found) * dtype.itemsize), dtype)
            self._ends(file, name)
        rows = data.reshape(found[::-1]).T if by_columns else data.reshape(found)
        return rows.copy()  # one that may be written to

    def rows(
        self, name: str, kind: str, shape: tuple[int | None, ...], step: int
    ) -> Iterator[np.ndarray]:
        """The same array in pieces of up to `step` rows."""
        with self._opened(name) as file:
            found, by_columns, dtype = self._header(file, name, kind, shape)
            if by_columns:
                raise DataError(f"{self.path}: `{name}` is stored by columns; expected rows.")
            each = math.prod(found[1:]) * dtype.itemsize
            for start in range(0, found[0], step):
                count = min(step, found[0] - start)
                data = self._bytes(file, name, count * each)
                yield np.frombuffer(data, dtype).reshape(count, *found[1:])
            self._ends(file, name)

    def _bytes(self, file: IO[bytes], name: str, count: int) -> bytes:
        data = file.read(count)
        if len(data) < count:
            raise DataError(f"{self.path}: `{name}` ends too early.", AGAIN)
        return data

    def _ends(self, file: IO[bytes], name: str) -> None:
        """Nothing may follow; at its end the checksum of a file is compared, too."""
        if file.read(1):
            raise DataError(f"{self.path}: `{name}` is longer than its header says.")

    def _header(
        self, file: IO[bytes], name: str, kind: str, shape: tuple[int | None, ...]
    ) -> tuple[tuple[int, ...], bool, np.dtype]:
        """The shape of an array, whether it is stored by columns, and its type."""
        readers = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
        version = npy.read_magic(file)
        if version not in readers:
            raise DataError(f"{self.path}: `{name}` has the unknown version {version}.")
        found, by_columns, dtype = readers[version](file)
        fits = len(found) == len(shape) and all(
            wanted in (None, n) for n, wanted in zip(found, shape, strict=True)
        )
        if not fits:
            wanted = tuple("any" if n is None else n for n in shape)
            raise DataError(f"{self.path}: `{name}` is {found}; expected {_plain(wanted)}.")
        if not _is(dtype, kind):
            raise DataError(f"{self.path}: `{name}` holds {dtype}; expected {KINDS[kind]}.")
        return found, by_columns, dtype

    @contextmanager
    def _opened(self, name: str) -> Iterator[IO[bytes]]:
        """The bytes of an array."""
        with self._archive() as archive:
            if f"{name}.npy" not in archive.namelist():
                held = ", ".join(each.removesuffix(".npy") for each in archive.namelist())
                message = f"{self.path} has no `{name}`; it holds {held or 'nothing'}."
                raise DataError(message, "It may be a file of another kind.")
            with archive.open(f"{name}.npy") as file:
                yield file

    @contextmanager
    def _archive(self) -> Iterator[zipfile.ZipFile]:
        """The file, whatever fails in reading it explained."""
        with explained(self.path):
            try:
                with zipfile.ZipFile(self.path) as archive:
                    yield archive
            except DataError:
                raise
            except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, RuntimeError) as error:
                raise DataError(f"{self.path} is not a whole npz file ({error}).", AGAIN) from error


def _is(dtype: np.dtype, kind: str) -> bool:
    if kind == "uint8":
        return dtype == np.uint8
    return dtype.kind in {"integer": "iu", "real": "f", "number": "biuf", "text": "U"}[kind]


def _plain(shape: tuple[int | str, ...]) -> str:
    """A shape for people: (any, 28, 28)."""
    return f"({', '.join(map(str, shape))}{',' * (len(shape) == 1)})"
