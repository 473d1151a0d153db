"""Files that are whole or absent: temporary name, fsync, rename, fsync of the folder.

A reader never sees half a file, whatever instant the writer is killed at; and what a write
acknowledged survives a power cut.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from mindseye.errors import DataError

__all__ = [
    "explained",
    "fsync_file",
    "fsync_folder",
    "read_json",
    "write_bytes",
    "write_json",
    "write_pieces",
]


def write_bytes(path: str | os.PathLike[str], data: bytes) -> Path:
    """Write a file atomically and durably; parent folders are made as needed."""
    return write_pieces(path, [data])


def write_pieces(path: str | os.PathLike[str], pieces: Iterable[bytes]) -> Path:
    """Write a large file piece by piece, atomically and durably; a piece that fails leaves none."""
    path = Path(path)
    with explained(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                for piece in pieces:
                    file.write(piece)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(temporary, 0o644)
            os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
        fsync_folder(path.parent)
    return path


def write_json(path: str | os.PathLike[str], value: Any) -> Path:
    """Write JSON a person can read, atomically."""
    return write_bytes(path, (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode())


def read_json(path: str | os.PathLike[str]) -> Any:
    """Read JSON, or say which file is missing or damaged."""
    path = Path(path)
    with explained(path):
        try:
            return json.loads(path.read_text(encoding="utf-8"))
        except (ValueError, RecursionError) as error:
            raise DataError(f"{path} is not valid JSON ({error}).") from error


def fsync_file(path: str | os.PathLike[str]) -> None:
    """Wait until a file's bytes are on the disk."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())


def fsync_folder(path: str | os.PathLike[str]) -> None:
    """Wait until a folder's entries are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextlib.contextmanager
def explained(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn the operating system's refusals into one line that names the file."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise DataError(f"{path}: {reason}.", _HINTS.get(type(error), "")) from error


_HINTS: dict[type[OSError], str] = {
    FileNotFoundError: "Check the path.",
    PermissionError: "Choose a folder you may write to.",
    IsADirectoryError: "Name a file, not a folder.",
}
