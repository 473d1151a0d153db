"""Wholes as files of numbers: read from `.npy`, `.csv` or a picture, written as `.npy` or `.csv`.

A whole is `(C, H, W)`; a curve has $C = H = 1$, and in files it is a row of numbers. The reader
goes by the bytes and never by the name, and answers what it cannot read with one line.
"""

from __future__ import annotations

import math
import os
import stat
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from mindseye.errors import DataError, UsageError, listed
from mindseye.files import explained, write_bytes
from mindseye.pictures import read_picture

__all__ = ["check_target", "read_wholes", "save_wholes"]

MAX_BYTES = 256 * 2**20
"""Files larger than this are refused before they are read."""

TARGETS = (".npy", ".csv")
"""How wholes are written."""

Shape = tuple[int, int, int]


def read_wholes(path: str | os.PathLike[str], shape: Shape) -> np.ndarray:
    """Read one whole or several, float32 `(n, C, H, W)`.

    Text has one number a line, or commas between the numbers of a whole and a line for each; an
    array is one whole or several, as it is or as rows of numbers. Other files are pictures.

    Arguments:
        path: The file.
        shape: Of a whole, `(C, H, W)`.
    """
    path = Path(path)
    data = _contents(path)
    if data.startswith(b"\x93NUMPY"):
        return _fitted(_array(data, path), shape, path)
    if (text := _text(data)) is not None:
        return _fitted(_table(text, path), shape, path)
    if shape[1] > 1:
        return read_picture(path, shape)[None]
    hint = f"Give {shape[2]} numbers, as .npy or .csv."
    raise DataError(f"{path} holds no numbers; this model knows curves.", hint)


def save_wholes(path: str | os.PathLike[str], wholes: Any) -> Path:
    """Write wholes `(n, C, H, W)`: curves as rows `(n, T)`, and all wholes as rows of text.

    Arguments:
        path: A file that ends in `.npy` or `.csv`.
        wholes: An array.
    """
    kind = check_target(path)
    values = np.asarray(wholes, dtype=np.float32)
    rows = values.reshape(len(values), -1)
    file = BytesIO()
    if kind == ".csv":
        np.savetxt(file, rows, "%.9g", delimiter=",")  # nine digits give the same float32 back
    else:
        np.save(file, rows if values.shape[2] == 1 else values, allow_pickle=False)
    return write_bytes(path, file.getvalue())


def check_target(path: str | os.PathLike[str]) -> str:
    """The ending of a file that wholes can be written to, or an error before they are made."""
    kind = Path(path).suffix.lower()
    if kind not in TARGETS:
        raise UsageError(f"`{path}` must end in {listed(TARGETS)}; wholes are saved as numbers.")
    return kind


def _contents(path: Path) -> bytes:
    with explained(path):
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise DataError(f"{path} is not a file.", "Name a file of numbers or a picture.")
        if status.st_size > MAX_BYTES:
            raise DataError(f"{path} has {status.st_size:,} bytes; the limit is {MAX_BYTES:,}.")
        if not status.st_size:
            raise DataError(f"{path} is empty (0 bytes).")
        return path.read_bytes()


def _text(data: bytes) -> str | None:
    """What some bytes say, if they are text."""
    try:
        return None if b"\0" in data else data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None


def _array(data: bytes, path: Path) -> np.ndarray:
    try:
        array = np.lib.format.read_array(BytesIO(data), allow_pickle=False)
    except Exception as error:  # whatever a damaged header leads to
        reason = " ".join(str(error).split())
        raise DataError(f"{path} cannot be read as an array ({reason}).") from error
    if array.dtype == np.uint8:
        return array.astype(np.float32) / 255
    if array.dtype.kind not in "fiu":
        raise DataError(f"{path} is an array of {array.dtype}; expected numbers.")
    return array


def _table(text: str, path: Path) -> np.ndarray:
    """The numbers of a text, `(n, T)`; those that stand one a line are one whole."""
    rows = [
        [_number(word, path, i) for word in line.split(",")]
        for i, line in enumerate(text.splitlines(), 1)
        if line.strip()
    ]
    if not rows:
        raise DataError(f"{path} has no numbers in it.")
    if all(len(row) == 1 for row in rows):
        return np.array(rows).T
    for i, row in enumerate(rows, 1):
        if len(row) != len(rows[0]):
            has = f"{path} has {len(rows[0])} numbers in its first row and {len(row)} in row {i}"
            raise DataError(f"{has}.", "Every row is a whole; or write one number a line.")
    return np.array(rows)


def _number(word: str, path: Path, line: int) -> float:
    try:
        return float(word)
    except ValueError as error:
        said = repr(word.strip()[:40])
        hint = "Write one number a line, or commas between the numbers of a whole; no headings."
        raise DataError(f"{path}, line {line}: {said} is not a number.", hint) from error


def _fitted(values: np.ndarray, shape: Shape, path: Path) -> np.ndarray:
    """Wholes of a shape, `(n, C, H, W)`, all of them finite."""
    size = math.prod(shape)
    if values.shape in ((size,), shape):
        values = values[None]
    if values.shape[1:] not in ((size,), shape) or not len(values):
        raise DataError(f"{path} {_has(values.shape)}; {_expected(shape)}.")
    if not np.isfinite(values).all():
        bad = int((~np.isfinite(values)).sum())
        where = int(np.flatnonzero(~np.isfinite(values))[0] % size)
        raise DataError(f"{path} has {bad:,} values that are NaN or infinite; see number {where}.")
    low, high = values.min(), values.max()
    if shape[1] > 1 and not (low >= -1 and high <= 2):  # what a model writes may lie a bit outside
        hint = "Divide the values of bytes by 255."
        raise DataError(f"{path} has values from {low:g} to {high:g}; expected 0 to 1.", hint)
    return values.astype(np.float32).reshape(-1, *shape)


def _has(shape: Sequence[int]) -> str:
    """What came, in words where it is a list of numbers."""
    if len(shape) <= 2 and shape and (len(shape) == 1 or shape[0] == 1):
        return f"has {shape[-1]:,} values"
    return f"is an array of shape {tuple(shape)}"


def _expected(shape: Shape) -> str:
    if shape[1] == 1:
        return f"this model's curves have {shape[2]}"
    return f"this model's wholes are {shape}, {math.prod(shape):,} values"
