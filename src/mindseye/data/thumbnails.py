"""Many picture files, made small once: bytes on disk, mapped and not read.

To decode thousands of files takes minutes. They are read once, resized and kept in the user's cache
under a name that tells the files, their sizes and when they were written.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from mindseye.files import explained, write_pieces
from mindseye.pictures import read_picture, to_uint8

__all__ = ["thumbnails"]


def thumbnails(paths: Sequence[Path], side: int, folder: Path) -> Tensor:
    """The pictures of some files, stretched to squares, uint8 `(N, 3, side, side)`, mapped.

    Arguments:
        paths: The files, in order.
        side: The side of a picture in pixels.
        folder: Where the small pictures are kept, or made.
    """
    shape = (len(paths), 3, side, side)
    made = folder / f"{side}-{_digest(paths)}.bytes"
    if not (made.is_file() and made.stat().st_size == int(np.prod(shape))):
        write_pieces(made, (_small(path, side) for path in paths))
    with explained(made):
        pictures = np.memmap(made, np.uint8, mode="c", shape=shape)  # never written back
    return torch.from_numpy(pictures)


def _small(path: Path, side: int) -> bytes:
    return to_uint8(read_picture(path, (3, side, side), fit="stretched", arrays=False)).tobytes()


def _digest(paths: Sequence[Path]) -> str:
    """A name for some files as they are now."""
    digest = hashlib.sha256()
    for path in paths:
        with explained(path):
            status = path.stat()
        digest.update(f"{path.name}\0{status.st_size}\0{status.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:16]
