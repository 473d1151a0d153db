"""MNIST binarised once and for all: 50 000 pictures to train on, 10 000 and 10 000 to hold out.

The pixels were drawn once by the authors of the first likelihoods on them and are the same for
everybody since. They are read from the usual three text files, `binarized_mnist_train.amat`,
`_valid.amat` and `_test.amat`, 784 zeros and ones a line; or from `binarized_mnist.npz`, where
`train`, `valid` and `test` hold them as bits, 98 bytes a picture, and `train_label` and its like,
if they are there, the digits.

References:
    On the quantitative analysis of deep belief networks, Salakhutdinov and Murray, 2008
    https://www.cs.toronto.edu/~rsalakhu/papers/dbn_ais.pdf
    The Neural Autoregressive Distribution Estimator, Larochelle and Murray, 2011
    https://proceedings.mlr.press/v15/larochelle11a.html
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from mindseye.data.mnist_dynamic import VOCABULARY
from mindseye.data.npz import Npz
from mindseye.data.places import places, the_file
from mindseye.data.splits import checked_part
from mindseye.data.stored import Stored
from mindseye.data.supervision import described as told
from mindseye.errors import DataError, UsageError
from mindseye.files import explained

__all__ = ["MnistStatic", "read_amat", "read_bits"]

SIZES = {"train": 50_000, "valid": 10_000, "test": 10_000}
FOLDERS = ("mnist-static", "binarized_mnist")
PIXELS = 784


class MnistStatic(Stored):
    """Digits whose pixels never change.

    Arguments:
        images: Pixels of 0 and 255, uint8 `(N, 28, 28)`.
        digits: What they show, int64 `(N,)`, if it is known.
        part: `train`, `validation` or `test`.
        split_seed: Chooses which pictures are described.
        labelled: The share of training pictures whose digit is known.
        labels: How many training pictures have a known digit; 0 to go by `labelled`.
        described: The share of every batch whose description is known; 0 leaves it to chance.
        seed: Chooses the order.
        source: Where the pictures come from, for people.
    """

    vocabulary = VOCABULARY
    settings = ("split_seed", "labelled", "labels", "described")

    def __init__(
        self,
        images: Tensor,
        digits: Tensor | None,
        part: str = "train",
        *,
        split_seed: int = 0,
        labelled: float = 1.0,
        labels: int = 0,
        described: float = 0.0,
        seed: int = 0,
        source: str = "npz",
    ):
        said = told(digits, part, labels, labelled, split_seed, source)
        codes = None if digits is None else digits[:, None]
        super().__init__(
            images,
            codes,
            part,
            known=said,
            described=described,
            binarise="none",
            seed=seed,
            source=source,
        )

    @staticmethod
    def resolved(source: str, folder: str | Path | None = None) -> str:
        """Which file is read: `npz` or `amat`."""
        if source not in ("auto", "npz", "amat"):
            raise UsageError(f"`source={source!r}` is not known; expected 'npz', 'amat' or 'auto'.")
        return _file(source, "train", folder).suffix[1:]

    @classmethod
    def read(cls, source: str, part: str, folder: str | Path | None = None, **options: Any) -> Self:
        """A part from its file."""
        checked_part(part, cls.parts)
        source, name = cls.resolved(source, folder), _NAMES.get(part, part)
        path = _file(source, name, folder)
        bits, digits = read_bits(path, name) if source == "npz" else (read_amat(path, name), None)
        if len(bits) != SIZES[name]:
            message = f"{path} has {len(bits):,} pictures of `{name}`; expected {SIZES[name]:,}."
            raise DataError(message, "It may be truncated: fetch it again.")
        images = torch.from_numpy(bits).view(-1, 28, 28) * 255
        return cls(images, digits, part, source=source, **options)

    def facts(self) -> dict[str, Any]:
        """Where the pictures come from, how many there are, and of which digits."""
        counts = self.codes[:, 0].bincount(minlength=10).tolist()
        said = " ".join(map(str, counts)) if self.shows else "not known"
        return super().facts() | {"binarised": "static", "of each digit": said}


def read_bits(path: Path, name: str) -> tuple[np.ndarray, Tensor | None]:
    """Pixels of 0 and 1 `(N, 784)` and digits of the npz file, if it has them."""
    file = Npz(path)
    bits = np.unpackbits(file.read(name, "uint8", (None, PIXELS // 8)), axis=1)
    if f"{name}_label" not in file.names():
        return bits, None
    digits = file.read(f"{name}_label", "integer", (len(bits),)).astype(np.int64)
    if len(digits) and not 0 <= digits.min() <= digits.max() <= 9:
        raise DataError(f"{path}: `{name}_label` has digits outside 0 to 9.")
    return bits, torch.from_numpy(digits)


def read_amat(path: Path, name: str = "train") -> np.ndarray:
    """Pixels of 0 and 1 `(N, 784)` of a text file, a picture a line."""
    rows = []
    with explained(path), path.open("rb") as file:
        for number, line in enumerate(file, 1):
            row = b"".join(words := line.split())
            if words and (len(words), len(row)) != (PIXELS, PIXELS):
                message = f"{path}, line {number}, has {len(words)} numbers; expected 784, 0 or 1."
                raise DataError(message, "It may be truncated, or of another format.")
            rows.append(row)
    bits = np.frombuffer(b"".join(rows), np.uint8) - ord("0")
    if (bits > 1).any():
        raise DataError(f"{path} has other numbers than 0 and 1.", "It may be of another format.")
    return bits.reshape(-1, PIXELS)


_NAMES = {"validation": "valid"}


def _file(source: str, name: str, folder: str | Path | None) -> Path:
    """The file of a part."""
    files = {"npz": "binarized_mnist.npz", "amat": f"binarized_mnist_{name}.amat"}
    wanted = list(files.values()) if source == "auto" else [files[source]]
    return the_file("Binarised MNIST", wanted, places(folder, *FOLDERS))
