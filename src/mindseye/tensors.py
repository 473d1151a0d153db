"""Tensor files in the safetensors format: numbers by name, and nothing that could run.

8 bytes of header length, a JSON header, then the numbers. A reader trusts nothing: header, length,
duplicate names, shapes and non-finite values are checked before anything is made of a file. A
writer refuses what a reader would.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from mindseye.errors import DataError, NumericError, UsageError, did_you_mean, listed
from mindseye.files import explained, write_bytes

__all__ = ["check_shapes", "is_finite", "read_tensors", "serialised", "write_tensors"]


def read_tensors(
    path: str | os.PathLike[str], expected: Mapping[str, torch.Size] | None = None
) -> dict[str, Tensor]:
    """Read a safetensors file, or say in one line what is wrong with it.

    Arguments:
        path: The file.
        expected: The names and shapes that must be in it, no more and no fewer.

    Returns:
        The tensors on the CPU, in the types they are stored in, in the order of their names.
    """
    path = Path(path)
    with explained(path):
        data = bytearray(path.stat().st_size)
        with open(path, "rb") as file:
            if file.readinto(data) != len(data):
                raise DataError(f"{path} changed while it was read.")
    header = _header(path, data)
    if expected is not None:
        check_shapes({name: entry.shape for name, entry in header.items()}, expected, path)
    return {name: _tensor(path, name, header[name], data) for name in sorted(header)}


def write_tensors(
    path: str | os.PathLike[str],
    tensors: Mapping[str, Tensor],
    metadata: Mapping[str, str] | None = None,
) -> Path:
    """Write a safetensors file atomically; the same tensors always give the same bytes."""
    return write_bytes(path, serialised(tensors, metadata))


def serialised(tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None) -> bytes:
    """The bytes of a safetensors file, the same for the same tensors.

    The safetensors package itself orders metadata at random and knows no non-finite values.
    """
    header: dict[str, Any] = {_METADATA: dict(sorted(metadata.items()))} if metadata else {}
    chunks, end = [], 0
    for name in sorted(tensors):
        data = _raw(name, tensors[name])
        begin, end = end, end + len(data)
        dtype, shape = _NAMES[tensors[name].dtype], list(tensors[name].shape)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}
        chunks.append(data)
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return b"".join([len(text).to_bytes(8, "little"), text, *chunks])


def check_shapes(
    found: Mapping[str, torch.Size],
    expected: Mapping[str, torch.Size],
    source: str | os.PathLike[str],
) -> None:
    """Compare names and shapes, and name the first tensor that is missing, new or misshapen."""
    for name, shape in expected.items():
        if name not in found:
            near = did_you_mean(name, found.keys() - expected.keys())
            raise DataError(f"{source} lacks tensor {_quoted(name)} of shape {tuple(shape)}.", near)
        if found[name] != shape:
            raise DataError(
                f"{source}: tensor {_quoted(name)} has shape {tuple(found[name])};"
                f" expected {tuple(shape)}."
            )
    for name in sorted(found.keys() - expected.keys()):
        shape = tuple(found[name])
        raise DataError(f"{source}: tensor {_quoted(name)} of shape {shape} is not expected.")


@torch.no_grad()
def is_finite(tensor: Tensor) -> bool:
    """Whether every number is finite; a finite sum, which is fast, shows that already."""
    if not tensor.is_floating_point():
        return True
    return bool(tensor.sum().isfinite()) or bool(tensor.isfinite().all())


_DTYPES = {
    "BOOL": torch.bool,
    "U8": torch.uint8,
    "I8": torch.int8,
    "I16": torch.int16,
    "I32": torch.int32,
    "I64": torch.int64,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "F32": torch.float32,
    "F64": torch.float64,
}
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}
_METADATA = "__metadata__"
_MOST_DIMENSIONS = 16


@dataclass(frozen=True)
class _Entry:
    """Where a tensor lies in a file, and as what."""

    dtype: torch.dtype
    shape: torch.Size
    begin: int
    end: int


def _raw(name: str, tensor: Tensor) -> bytes:
    if tensor.dtype not in _NAMES:
        raise UsageError(f"Tensor {_quoted(name)} is {tensor.dtype}; expected {listed(_DTYPES)}.")
    if not is_finite(tensor):
        raise NumericError(f"Tensor {_quoted(name)} holds non-finite values; it is not saved.")
    flat = tensor.detach().cpu().contiguous().reshape(-1)
    return flat.view(torch.uint8).numpy().tobytes()


def _header(path: Path, data: bytearray) -> dict[str, _Entry]:
    """The table of contents, checked against itself and against the length of the file."""
    size = int.from_bytes(data[:8], "little")
    if len(data) < 8 or size > len(data) - 8:
        raise DataError(f"{path} is not a whole safetensors file: it ends inside its header.")
    try:
        header = json.loads(data[8 : 8 + size].decode(), object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path} has a damaged header: {error}.") from error
    if not isinstance(header, dict):
        raise DataError(f"{path} has a damaged header: it is not a JSON object.")
    header.pop(_METADATA, None)
    entries = {name: _entry(path, name, header[name]) for name in header}
    _check_layout(path, entries, len(data) - 8 - size)
    return {
        name: _Entry(entry.dtype, entry.shape, entry.begin + 8 + size, entry.end + 8 + size)
        for name, entry in entries.items()
    }


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the name {_quoted(max(names, key=names.count))} is there more than once")
    return table


def _entry(path: Path, name: str, entry: Any) -> _Entry:
    match entry:
        case {"dtype": str(dtype), "shape": list(shape), "data_offsets": [begin, end]} if (
            all(type(number) is int and number >= 0 for number in [*shape, begin, end])
            and len(shape) <= _MOST_DIMENSIONS
            and math.prod(max(1, length) for length in shape) < 2**63
        ):
            if dtype not in _DTYPES:
                kind = f"{path}: tensor {_quoted(name)} is of type {_quoted(dtype)};"
                raise DataError(f"{kind} expected {listed(_DTYPES)}.")
        case _:
            raise DataError(
                f"{path} has a damaged header: tensor {_quoted(name)} is not described."
            )
    if end - begin != math.prod(shape) * _DTYPES[dtype].itemsize:
        wanted = f"shape {tuple(shape)} of {dtype}"
        raise DataError(f"{path}: tensor {_quoted(name)} has {end - begin} bytes, not {wanted}.")
    return _Entry(_DTYPES[dtype], torch.Size(shape), begin, end)


def _check_layout(path: Path, entries: dict[str, _Entry], length: int) -> None:
    """Tensors follow each other without gaps and end where the file ends."""
    end = 0
    for name, entry in sorted(entries.items(), key=lambda item: (item[1].begin, item[1].end)):
        if entry.begin != end:
            raise DataError(f"{path} has a damaged header: a gap before tensor {_quoted(name)}.")
        end = entry.end
    if end != length:
        raise DataError(f"{path} holds {length} bytes of numbers; its header promises {end}.")


def _tensor(path: Path, name: str, entry: _Entry, data: bytearray) -> Tensor:
    count = entry.shape.numel()
    if count == 0:
        return torch.empty(entry.shape, dtype=entry.dtype)
    raw = torch.frombuffer(
        data, dtype=torch.uint8, count=entry.end - entry.begin, offset=entry.begin
    )
    if entry.dtype is torch.bool and raw.max() > 1:
        raise DataError(f"{path}: tensor {_quoted(name)} holds bytes that are no booleans.")
    tensor = raw.clone().view(entry.dtype).reshape(entry.shape)
    if not is_finite(tensor):
        raise DataError(f"{path}: tensor {_quoted(name)} holds non-finite values.")
    return tensor


def _quoted(name: str) -> str:
    """A name in quotes on one line, cut if it is long."""
    return repr(name if len(name) <= 80 else name[:77] + "...")
