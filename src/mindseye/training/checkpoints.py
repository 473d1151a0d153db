"""Checkpoints: folders that are whole or absent, with nothing in them but numbers and text.

    step-00001000/
      weights.safetensors    what pictures are imagined with
      state.safetensors      what training goes on from
      manifest.json          step, facts, size and sha256 of both files

A checkpoint is written under a temporary name, flushed to the disk and renamed, so a run killed at
any instant, or stopped by a full disk, leaves every earlier checkpoint as it was. Readers trust
nothing: sizes and digests are compared with the manifest before a checkpoint counts as one.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from mindseye.errors import DataError, UsageError
from mindseye.files import explained, fsync_folder, read_json, write_bytes, write_json
from mindseye.tensors import read_tensors, serialised

__all__ = ["Checkpoint", "Checkpoints"]


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
        contents = {_WEIGHTS: serialised(weights), _STATE: serialised(state)}
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


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:160]
