"""Sparse matrices of files: by rows, as three arrays and a shape, none of which is trusted."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from mindseye.data.npz import Npz
from mindseye.errors import DataError
from mindseye.sparse import Sparse

__all__ = ["KEYS", "Csr", "read_csr", "sparse_of"]

KEYS = ("feat_data", "feat_indices", "feat_indptr", "feat_shape")
"""What the four are called in an npz file."""

LONGEST = 2**31


class Csr(NamedTuple):
    """A sparse matrix as its file has it."""

    data: np.ndarray
    """The entries, row by row."""

    indices: np.ndarray
    """The column of each."""

    indptr: np.ndarray
    """Where every row starts, and where the last one ends."""

    shape: tuple[int, int]
    """Rows and columns."""


def read_csr(npz: Npz) -> Csr:
    """The matrix of an npz file, by its `KEYS`."""
    data, indices, indptr, shape = KEYS
    rows, width = npz.read(shape, "integer", (2,)).tolist()
    if min(rows, width) < 0 or max(rows, width) >= LONGEST:
        raise DataError(f"{npz.path}: `{shape}` is {rows, width}; expected rows and columns.")
    return Csr(
        npz.read(data, "number", (None,)),
        npz.read(indices, "integer", (None,)),
        npz.read(indptr, "integer", (rows + 1,)),
        (rows, width),
    )


def sparse_of(path: Path, csr: Csr) -> Sparse:
    """The same matrix, if it is one; `path` is where it was read."""
    if wrong := _wrong_kinds(csr) or _wrong_places(csr):
        raise DataError(f"{path}: {wrong}.", "It may be damaged: fetch or write it again.")
    starts, columns = csr.indptr.astype(np.int64), csr.indices.astype(np.int64)
    rows = np.repeat(np.arange(csr.shape[0]), np.diff(starts))
    with np.errstate(over="ignore"):  # what is too large is found below
        values = csr.data.astype(np.float32)
    matrix = Sparse.of(
        torch.from_numpy(rows),
        torch.from_numpy(columns),
        csr.shape,
        torch.from_numpy(values),
    )
    _check_entries(path, matrix)
    return matrix


def _wrong_kinds(csr: Csr) -> str:
    """What is wrong with the kinds of numbers of a sparse matrix, or nothing."""
    places = all(each.dtype.kind in "iu" and each.ndim == 1 for each in (csr.indices, csr.indptr))
    sound = places and csr.data.dtype.kind in "biuf" and csr.data.ndim == 1
    return "" if sound else "the places of a sparse matrix are not whole numbers"


def _wrong_places(csr: Csr) -> str:
    """What is wrong with the places of a sparse matrix, or nothing."""
    (rows, width), starts, columns = csr.shape, csr.indptr, csr.indices
    if len(starts) != rows + 1 or starts[0] != 0 or starts[-1] != len(columns):
        return f"the starts of {rows:,} rows do not lead from 0 to {len(columns):,} entries"
    if starts.min() < 0 or starts.max() > len(columns) or (starts[1:] < starts[:-1]).any():
        return "the rows of a sparse matrix do not follow each other"
    if len(columns) != len(csr.data):
        return f"there are {len(columns):,} places of entries but {len(csr.data):,} entries"
    if len(columns) and (columns.min() < 0 or columns.max() >= width):
        return f"an entry is in column {_outside(columns, width)}; expected 0 to {width - 1}"
    return ""


def _check_entries(path: Path, matrix: Sparse) -> None:
    """Every entry is a number, and no place has two."""
    if not matrix.values.isfinite().all():
        row = int(matrix.rows_of_entries()[~matrix.values.isfinite()][0])
        raise DataError(f"{path}: row {row} has a feature that is not a finite number.")
    again = (matrix.columns.diff() == 0) & (matrix.rows_of_entries().diff() == 0)
    if again.any():
        raise DataError(
            f"{path}: a sparse matrix has two entries in column "
            f"{int(matrix.columns[1:][again][0])} of one row; expected one."
        )


def _outside(columns: np.ndarray, width: int) -> int:
    return int(columns.min() if columns.min() < 0 else columns.max())
