"""Numeric matrices of MATLAB files of version 5 to 7, and nothing else of them.

A file is a header of 128 bytes and a row of elements, each a type, a length and its bytes, filled
up to a multiple of eight. A matrix is an element of elements: flags, lengths, name, numbers by
columns. An element may be wrapped in zlib. Text, cells, structures and sparse or complex matrices
are passed over unless they are asked for by name, and then refused.

References:
    MAT-File Format, The MathWorks
    https://www.mathworks.com/help/pdf_doc/matlab/matfile_format.pdf
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mindseye.errors import DataError
from mindseye.files import explained

__all__ = ["read_matrices"]

NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8"}
NUMBERS |= {12: "i8", 13: "u8"}
"""Types of elements that hold numbers."""

CLASSES = {6: "f8", 7: "f4", 8: "i1", 9: "u1", 10: "i2", 11: "u2", 12: "i4", 13: "u4"}
CLASSES |= {14: "i8", 15: "u8"}
"""Classes of matrices of numbers: what they are in MATLAB, however they are stored."""

MATRIX, ZIPPED = 14, 15
COMPLEX = 0x0800
LARGEST = 2**30
AGAIN = "It may be truncated: fetch it again."


def read_matrices(path: Path, names: Collection[str]) -> dict[str, np.ndarray]:
    """Some matrices by name, each as MATLAB indexes it."""
    with explained(path):
        data = path.read_bytes()
    order = _checked(path, data)
    try:
        found = dict(_matrices(data[128:], order, names))
    except (struct.error, zlib.error, ValueError, UnicodeDecodeError) as error:
        if isinstance(error, DataError):
            raise DataError(f"{path}: {error.message}", error.hint) from error
        raise DataError(f"{path} is not a whole MATLAB file ({error}).", AGAIN) from error
    if missing := [name for name in names if name not in found]:
        held = "It may be a file of another kind, or truncated."
        raise DataError(f"{path} has no matrix `{missing[0]}`.", held)
    return found


class _Element(NamedTuple):
    """A type and its bytes."""

    kind: int
    data: bytes


def _checked(path: Path, data: bytes) -> str:
    """The byte order of a file that is one of MATLAB's."""
    order = {b"IM": "<", b"MI": ">"}.get(data[126:128], "")
    version = struct.unpack(f"{order}H", data[124:126])[0] if order else 0
    if version == 0x0200:
        raise DataError(f"{path} is of MATLAB 7.3.", "Save it again with `save -v7`.")
    if version != 0x0100:
        raise DataError(f"{path} is not a MATLAB file of version 5 to 7.", "Check the path.")
    return order


def _matrices(data: bytes, order: str, names: Collection[str]) -> Iterator[tuple[str, np.ndarray]]:
    """The matrices that are asked for, in the order of the file."""
    for kind, inner in _plain(data, order):
        if kind == MATRIX:
            flags, lengths, name, *parts = _elements(inner, order)
            if (called := name.data.decode("ascii")) in names:
                yield called, _matrix(called, flags, lengths, parts, order)


def _plain(data: bytes, order: str) -> Iterator[_Element]:
    """The elements of a file, those that are wrapped unwrapped."""
    for element in _elements(data, order):
        if element.kind == ZIPPED:
            yield from _elements(_unzipped(element.data), order)
        else:
            yield element


def _elements(data: bytes, order: str) -> Iterator[_Element]:
    """The elements that some bytes hold, one after the other."""
    start = 0
    while start < len(data):
        kind, size = struct.unpack_from(f"{order}II", data, start)
        begin, step = start + 8, 8
        if kind >> 16:  # a small element: its bytes take the place of its length
            kind, size, begin, step = kind & 0xFFFF, kind >> 16, start + 4, 4
        if begin + size > len(data):
            raise ValueError(f"an element of {size:,} bytes ends too early")
        yield _Element(kind, data[begin : begin + size])
        padded = size if kind == ZIPPED else -(-size // step) * step
        start = begin + padded


def _matrix(
    name: str, flags: _Element, lengths: _Element, parts: list[_Element], order: str
) -> np.ndarray:
    """The numbers of a matrix."""
    (word, _) = struct.unpack(f"{order}II", flags.data)
    if (word & 0xFF) not in CLASSES or word & COMPLEX or len(parts) != 1:
        raise DataError(f"`{name}` is not a matrix of real numbers.")
    shape = tuple(np.frombuffer(lengths.data, f"{order}i4").tolist())
    ((kind, data),) = parts
    if kind not in NUMBERS or len(data) != math.prod(shape) * np.dtype(NUMBERS[kind]).itemsize:
        raise DataError(f"`{name}` does not hold the numbers of a matrix of {shape}.", AGAIN)
    numbers = np.frombuffer(data, f"{order}{NUMBERS[kind]}")
    return numbers.astype(CLASSES[word & 0xFF]).reshape(shape, order="F")


def _unzipped(data: bytes) -> bytes:
    unzip = zlib.decompressobj()
    plain = unzip.decompress(data, LARGEST)
    if not unzip.eof:
        raise ValueError("a zipped element is truncated or too large")
    return plain
