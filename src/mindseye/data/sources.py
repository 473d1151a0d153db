"""Source digits: the handwriting that the data sets render their pictures from.

MNIST is read from the four files of its authors (The MNIST database of handwritten digits, LeCun,
Cortes and Burges, 1998); nothing is downloaded unless it is asked for. Where it is not at hand,
the small digits that scikit-learn brings along take its place (Optical recognition of handwritten
digits, Alpaydin and Kaynak, 1998).
"""

from __future__ import annotations

import math
import os
import struct
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import interpolate, pad

from mindseye.data.fetching import Progress, fetched, sha256
from mindseye.data.places import cache, places
from mindseye.errors import DataError, UsageError, did_you_mean, listed
from mindseye.files import explained, write_bytes

__all__ = [
    "CHECKSUMS",
    "MIRRORS",
    "Sources",
    "digits",
    "download_mnist",
    "mnist",
    "mnist_halves",
    "resolved",
    "sources",
]

MIRRORS = (
    "https://ossci-datasets.s3.amazonaws.com/mnist",
    "https://storage.googleapis.com/cvdf-datasets/mnist",
)
"""Where MNIST is downloaded from, in order."""

CHECKSUMS = {
    "train-images-idx3-ubyte": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    "train-labels-idx1-ubyte": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    "t10k-images-idx3-ubyte": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    "t10k-labels-idx1-ubyte": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
}
"""The files of MNIST and the SHA-256 of each, uncompressed."""


class Sources(NamedTuple):
    """Digits to render pictures from."""

    images: Tensor
    """White on black, uint8, `(N, 28, 28)`."""

    digits: Tensor
    """What they show, int64, `(N,)`."""


def sources(name: str, folder: str | Path | None = None) -> Sources:
    """Source digits by name: `mnist`, `digits`, or `auto`, MNIST where it is found.

    Arguments:
        name: Which digits.
        folder: Where MNIST is; the usual places by default.
    """
    return mnist(folder) if resolved(name, folder) == "mnist" else digits()


def resolved(name: str, folder: str | Path | None = None) -> str:
    """Which digits a name means here: `mnist` or `digits`."""
    names = ["mnist", "digits", "auto"]
    if name not in names:
        message = f"`name={name!r}` is not a source of digits; expected {listed(names)}."
        raise UsageError(message, did_you_mean(name, names))
    if name == "auto":
        return "mnist" if _found(folder) else "digits"
    return name


def mnist(folder: str | Path | None = None) -> Sources:
    """The 70 000 digits of MNIST: 60 000 of the training set, then 10 000 of the test set.

    Arguments:
        folder: Where the four files are, gzipped or not. By default `$MINDSEYE_DATA`,
            `$MINDSEYE_DATA/mnist` and the user's cache are searched.
    """
    return Sources(*map(torch.cat, zip(*mnist_halves(folder), strict=True)))


def mnist_halves(folder: str | Path | None = None) -> tuple[Sources, Sources]:
    """The same digits, those of the training set and those of the test set apart."""
    place = _found(folder)
    if place is None:
        raise DataError(f"MNIST was not found in {_seen(folder)}.", _HINT)
    return _part(place, "train"), _part(place, "t10k")


def digits() -> Sources:
    """The 1 797 digits of scikit-learn, 8x8, drawn as MNIST is: a 20x20 box amid 28x28."""
    small, labels = _load_digits()
    small = pad(torch.from_numpy(small) / 16, (2, 2, 2, 2))[:, None]  # (N, 1, 12, 12)
    large = interpolate(small, size=(30, 30), mode="bicubic")[:, 0, 1:-1, 1:-1]  # (N, 28, 28)
    crisp = ((large - 0.2) / 0.6).clamp(0, 1)  # strokes as white and as sharp as those of MNIST
    return Sources((255 * crisp).round().to(torch.uint8), torch.from_numpy(labels).long())


def download_mnist(
    folder: str | Path | None = None,
    progress: Progress | None = None,
    mirrors: Sequence[str] = MIRRORS,
    checksums: Mapping[str, str] = CHECKSUMS,
) -> Path:
    """Fetch the files of MNIST that are not there yet, checked and written whole.

    Arguments:
        folder: Where to put them; the user's cache by default.
        progress: Called with a file's name, the bytes that came and the bytes expected, which
            are 0 where the server does not say.
        mirrors: Addresses to try in order.
        checksums: The names of the files and the SHA-256 of each, uncompressed.

    Returns:
        The folder.
    """
    folder = cache("mnist") if folder is None else Path(folder)
    for name, checksum in checksums.items():
        if not _whole(_path(folder, name), checksum):
            file = f"{name}.gz"
            data = fetched(
                file, checksum, mirrors, limit=_MAX_BYTES, progress=progress, plain=_plain
            )
            write_bytes(folder / file, data)
    return folder


def _load_digits() -> tuple[np.ndarray, np.ndarray]:
    try:
        from sklearn.datasets import load_digits
    except ImportError as error:
        message = "The small digits come with scikit-learn, which is not installed."
        raise DataError(message, "Type `pip install scikit-learn`.") from error
    images, labels = load_digits(return_X_y=True)
    return np.asarray(images).reshape(-1, 8, 8), np.asarray(labels)


# Finding the files

_HINT = (
    "Type `mindseye data get mnist`, or set MINDSEYE_DATA to the folder that holds its four files."
)
_MAX_BYTES = 64 * 2**20  # the largest file of MNIST has 45 MiB


def _path(folder: Path, name: str) -> Path | None:
    """A file of MNIST, gzipped or not, or nothing."""
    candidates = (folder / f"{name}.gz", folder / name)
    return next((path for path in candidates if os.path.isfile(path)), None)


def _found(folder: str | Path | None) -> Path | None:
    """The first place that holds all four files."""
    return next(
        (p for p in places(folder, "mnist") if all(_path(p, name) for name in CHECKSUMS)), None
    )


def _seen(folder: str | Path | None) -> str:
    """The places searched, each with what it lacks if it holds some of the files."""
    words = []
    for place in places(folder, "mnist"):
        lacking = [name for name in CHECKSUMS if _path(place, name) is None]
        partly = len(lacking) < len(CHECKSUMS)
        words.append(f"{place} (which lacks {' and '.join(lacking)})" if partly else f"{place}")
    return ", ".join(words)


# Reading them


def _part(folder: Path, name: str) -> Sources:
    """The images and labels of the training (`train`) or the test set (`t10k`)."""
    images, path = _idx(folder, f"{name}-images-idx3-ubyte", dimensions=3)
    labels, label_path = _idx(folder, f"{name}-labels-idx1-ubyte", dimensions=1)
    if images.shape[1:] != (28, 28):
        raise DataError(f"{path} has images of {images.shape[1:]} pixels; expected (28, 28).")
    if len(images) != len(labels):
        raise DataError(f"{path} has {len(images)} images but {label_path} {len(labels)} labels.")
    if len(labels) and labels.max() > 9:
        raise DataError(f"{label_path} has the label {labels.max()}; expected 0 to 9.")
    return Sources(torch.tensor(images), torch.tensor(labels, dtype=torch.int64))


def _idx(folder: Path, name: str, dimensions: int) -> tuple[np.ndarray, Path]:
    """An array in the IDX format: a magic number, the lengths, then the bytes."""
    path = _path(folder, name) or folder / name
    data = _contents(path)
    header = 4 + 4 * dimensions
    magic, *shape = struct.unpack(f">{1 + dimensions}I", data[:header].ljust(header, b"\0"))
    if magic != 0x0800 + dimensions:
        raise DataError(f"{path} starts with {magic}; expected {0x0800 + dimensions}.", _HINT)
    if len(data) != header + math.prod(shape):
        message = f"{path} has {len(data):,} bytes, which is not what its header {shape} says."
        raise DataError(message, "It may be truncated.")
    return np.frombuffer(data, np.uint8, offset=header).reshape(shape), path


def _contents(path: Path) -> bytes:
    with explained(path):
        data = path.read_bytes()
    return _unzipped(data, str(path)) if path.suffix == ".gz" else data


def _unzipped(data: bytes, name: str) -> bytes:
    unzip = zlib.decompressobj(wbits=31)
    try:
        plain = unzip.decompress(data, _MAX_BYTES)
    except zlib.error as error:
        raise DataError(f"{name} is not a whole gzip file ({error}).") from error
    if not unzip.eof:
        raise DataError(f"{name} is not a whole gzip file (it is truncated or too large).")
    return plain


# What is there already, and what came


def _plain(data: bytes) -> bytes:
    return _unzipped(data, "What came")


def _whole(path: Path | None, checksum: str) -> bool:
    try:
        return path is not None and sha256(_contents(path)) == checksum
    except DataError:
        return False
