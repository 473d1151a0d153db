"""The published file of dSprites as bits on disk: 512 bytes a picture, mapped and not read.

The npz file holds 737 280 pictures of 4 096 bytes, zipped: 3 GB to unzip. They are unzipped once,
piece by piece, packed to bits, and kept in the user's cache under a name that tells the file; what
is drawn later is read from there. Only `imgs` and `latents_classes` are looked at.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from mindseye.data.npz import Npz
from mindseye.data.sprites import SIZES
from mindseye.errors import DataError
from mindseye.files import explained, write_pieces

__all__ = ["bits_of", "packed", "unpacked"]

SIDE, BYTES, AT_ONCE = 64, 512, 4096


def packed(path: Path, folder: Path, sizes: Sequence[int] = SIZES) -> Tensor:
    """All pictures of the published file as bits, uint8 `(N, 512)`, mapped from a file.

    Arguments:
        path: The published npz file.
        folder: Where the packed file is, or is made.
        sizes: How many values each factor has, after the one colour.
    """
    count = math.prod(sizes)
    with explained(path), path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()[:16]
    made = folder / f"{path.stem}-{digest}.bits"
    if not (made.is_file() and made.stat().st_size == count * BYTES):
        _check_order(path, sizes)
        write_pieces(made, _bits(path, count))
    with explained(made):
        bits = np.memmap(made, np.uint8, mode="c", shape=(count, BYTES))  # never written back
    return torch.from_numpy(bits)


def bits_of(pictures: Tensor) -> Tensor:
    """The bits uint8 `(B, 512)` of pictures of 0 and 1, `(B, 1, 64, 64)`."""
    values = 1 << torch.arange(7, -1, -1, dtype=torch.uint8, device=pictures.device)
    return (pictures.view(-1, BYTES, 8).byte() * values).sum(-1, dtype=torch.uint8)


def unpacked(bits: Tensor) -> Tensor:
    """Pictures of bits `(B, 512)`, float32 `(B, 1, 64, 64)`."""
    shifts = torch.arange(7, -1, -1, dtype=torch.uint8, device=bits.device)
    pixels = (bits[:, :, None] >> shifts) & 1  # (B, 512, 8)
    return pixels.view(-1, 1, SIDE, SIDE).float()


def _check_order(path: Path, sizes: Sequence[int]) -> None:
    """The pictures must come in the order of their factors, the last one fastest."""
    rows = Npz(path).read("latents_classes", "integer", (math.prod(sizes), 1 + len(sizes)))
    expected = np.indices((1, *sizes)).reshape(1 + len(sizes), -1).T
    if not np.array_equal(rows, expected):
        message = f"{path}: `latents_classes` is not in the order of the published file."
        raise DataError(message, "Fetch it again from github.com/google-deepmind/dsprites-dataset.")


def _bits(path: Path, count: int) -> Iterator[bytes]:
    """The pictures, packed, piece by piece."""
    for pictures in Npz(path).rows("imgs", "uint8", (count, SIDE, SIDE), AT_ONCE):
        if pictures.max(initial=0) > 1:
            raise DataError(f"{path}: `imgs` has other pixels than 0 and 1.")
        yield np.packbits(pictures.reshape(len(pictures), -1), axis=1).tobytes()
