"""Checkpoints: folders that are whole or absent, with nothing in them but numbers and text.

    step-00001000/
      weights.safetensors    what pictures are imagined with
      state.safetensors      what training goes on from
      manifest.json          step, facts, size and sha256 of both files

A checkpoint is written under a temporary name, flushed to the disk and renamed, so a run killed at
any instant, or stopped by a full disk, leaves every earlier checkpoint as it was. Readers trust
nothing: sizes and digests are compared with the manifest, and a tensor file is checked for its
header, its length, duplicate names, shapes and non-finite values before anything is made of it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from mindseye.errors import DataError, NumericError, UsageError, did_you_mean, listed
from mindseye.files import explained, fsync_folder, read_json, write_bytes, write_json

__all__ = [
    "Checkpoint",
    "Checkpoints",
    "check_shapes",
    "is_finite",
    "read_tensors",
    "write_tensors",
]


@dataclass(frozen=True)
class Checkpoint:
    """One checkpoint on disk that was found whole.

    Arguments:
        path: Its folder.
        step: The number of training steps it has seen.
        facts: What the writer noted about it.
    """

    path: Path
    step: int
    facts: dict[str, Any]

    def weights(self) -> dict[str, Tensor]:
        """Read the weights to imagine pictures with."""
        return read_tensors(self.path / _WEIGHTS)

    def state(self) -> dict[str, Tensor]:
        """Read the state to go on training from."""
        return read_tensors(self.path / _STATE)


class Checkpoints:
    """The checkpoints of one run, in one folder that one process writes to.

    Arguments:
        folder: Where they live; made by the first save.
        keep: How many of the newest stay on disk.
    """

    def __init__(self, folder: str | os.PathLike[str], keep: int = 2):
        if keep < 1:
            raise UsageError(f"`keep` (={keep}) must be at least 1.")
        self.folder = Path(folder)
        self.keep = keep
        self.skipped: dict[Path, str] = {}
        """The damaged checkpoints the last call of `newest` passed over, with the reasons."""

    def save(
        self,
        step: int,
        weights: Mapping[str, Tensor],
        state: Mapping[str, Tensor],
        facts: Mapping[str, Any],
    ) -> Path:
        """Write the checkpoint of a step; when this returns, it survives a power cut.

        Non-finite values are refused, and so is a step that is not the latest. Afterwards the
        checkpoints beyond `keep` and what killed writers left behind are removed.
        """
        self._refuse_the_past(step)
        contents = {_WEIGHTS: _serialised(weights), _STATE: _serialised(state)}
        path = self.folder / f"step-{step:08d}"
        with explained(path), self._temporary() as temporary:
            for name, data in contents.items():
                write_bytes(temporary / name, data)
            files = {name: _digest(data) for name, data in contents.items()}
            manifest = {"step": step, "facts": dict(facts), "files": files}
            write_json(temporary / _MANIFEST, manifest)
            _remove(path)  # damaged, or it would have been refused above
            os.rename(temporary, path)
            fsync_folder(self.folder)
        self._tidy(step)
        return path

    def newest(self) -> Checkpoint | None:
        """The newest checkpoint that is whole, or none; `skipped` names the damaged ones."""
        self.skipped = {}
        for _, path in reversed(self._saved()):
            try:
                return _opened(path)
            except ValueError as error:
                self.skipped[path] = _short(error)
        return None

    def _saved(self) -> list[tuple[int, Path]]:
        """The checkpoint folders, whole or damaged, oldest first."""
        if not self.folder.exists():
            return []
        with explained(self.folder):
            matches = [(_NAME.fullmatch(path.name), path) for path in self.folder.iterdir()]
        return sorted((int(match[1]), path) for match, path in matches if match)

    def _refuse_the_past(self, step: int) -> None:
        """A whole checkpoint is never overwritten; a damaged one may be."""
        if any(saved >= step for saved, _ in self._saved()):
            newest = self.newest()
            if newest is not None and newest.step >= step:
                raise UsageError(
                    f"`step` (={step}) must come after the newest checkpoint in {self.folder},"
                    f" step {newest.step}.",
                    "Go on from that one, or choose another folder.",
                )

    @contextlib.contextmanager
    def _temporary(self) -> Iterator[Path]:
        """A folder that is gone afterwards unless it was renamed."""
        self.folder.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=_SAVING, dir=self.folder))
        try:
            temporary.chmod(0o755)
            yield temporary
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise

    def _tidy(self, step: int) -> None:
        """Remove old and damaged checkpoints and stale temporaries, as far as the disk lets us."""
        with contextlib.suppress(OSError, DataError):
            saved = self._saved()
            kept = [path for number, path in saved if number <= step][-self.keep :]
            for path in [path for _, path in saved if path not in kept]:
                _remove(path)
            for stale in self.folder.glob(".*-*"):
                if stale.name.startswith((_SAVING, _REMOVING)):
                    shutil.rmtree(stale, ignore_errors=True)


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
    return write_bytes(path, _serialised(tensors, metadata))


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


# Folders.

_WEIGHTS, _STATE, _MANIFEST = "weights.safetensors", "state.safetensors", "manifest.json"
_SAVING, _REMOVING = ".saving-", ".removing-"
_NAME = re.compile(r"step-([0-9]{8,18})")


def _opened(path: Path) -> Checkpoint:
    """A checkpoint whose manifest parses and whose files have the promised bytes."""
    manifest = read_json(path / _MANIFEST)
    match manifest:
        case {"step": int(step), "facts": dict(facts), "files": dict(files)}:
            pass
        case _:
            raise DataError(f"{path / _MANIFEST} is not a manifest of a checkpoint.")
    if path.name != f"step-{step:08d}":
        raise DataError(f"{path / _MANIFEST} belongs to step {step}.")
    for name in (_WEIGHTS, _STATE):
        with explained(path / name):
            if files.get(name) != _digest((path / name).read_bytes()):
                raise DataError(f"{path / name} is damaged: its sha256 is not the manifest's.")
    return Checkpoint(path, step, facts)


def _digest(data: bytes) -> dict[str, Any]:
    return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def _remove(path: Path) -> None:
    """Take a folder out of sight in one step, then delete it at leisure."""
    hidden = path.with_name(f"{_REMOVING}{path.name}")
    shutil.rmtree(hidden, ignore_errors=True)
    with contextlib.suppress(OSError):
        os.rename(path, hidden)
    shutil.rmtree(hidden, ignore_errors=True)


# Tensor files: 8 bytes of header length, a JSON header, then the numbers.

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


def _serialised(tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None) -> bytes:
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
        raise DataError(f"{path} has a damaged header: {_short(error)}.") from error
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
        raise ValueError(f"the name {max(names, key=names.count)!r} is there more than once")
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


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:160]
