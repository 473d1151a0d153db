"""Omniglot, 28 by 28: characters of fifty alphabets, binarised anew in every epoch.

Two files can be read. `chardata.mat` is that of the IWAE paper: 24 345 pictures to train on, of
which 1 345 are set apart for validation, and 8 070 of the test; what alphabet they are of is not
read. Where it is not at hand, `omniglot_28x28_gray.npz` takes its place: `images`, uint8 `(N, 28,
28)` with white ink, `drawer` 1 to 20, `alphabet` and `alphabet_names`, made from the 105 by 105
pictures of Omniglot by averaging boxes. Drawers 1 to 15 are to train on (24 345 pictures, 1 345 of
them for validation), drawers 16 to 20 for the test (8 115). These are not the authors' pictures:
likelihoods are near theirs and not to be compared to the last digit.

References:
    Importance Weighted Autoencoders, Burda, Grosse and Salakhutdinov, 2016
    https://arxiv.org/abs/1509.00519
    Human-level concept learning through probabilistic program induction, Lake et al., 2015
    https://github.com/brendenlake/omniglot
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from torch import Tensor

from mindseye.concepts import Attribute, Vocabulary
from mindseye.data.binarising import chosen_way
from mindseye.data.matlab import read_matrices
from mindseye.data.npz import Npz
from mindseye.data.places import places, the_file
from mindseye.data.splits import checked_part, set_apart
from mindseye.data.stored import Stored
from mindseye.data.supervision import described as told
from mindseye.errors import DataError, UsageError, did_you_mean, listed

__all__ = ["VOCABULARY", "Characters", "Omniglot", "read_chardata", "read_images"]

ALPHABETS = """
    Alphabet of the Magi, Anglo-Saxon Futhorc, Arcadian, Armenian, Asomtavruli (Georgian), Balinese,
    Bengali, Blackfoot (Canadian Aboriginal Syllabics), Braille, Burmese (Myanmar), Cyrillic,
    Early Aramaic, Futurama, Grantha, Greek, Gujarati, Hebrew,
    Inuktitut (Canadian Aboriginal Syllabics), Japanese (hiragana), Japanese (katakana), Korean,
    Latin, Malay (Jawi - Arabic), Mkhedruli (Georgian), N Ko,
    Ojibwe (Canadian Aboriginal Syllabics), Sanskrit, Syriac (Estrangelo), Tagalog, Tifinagh,
    Angelic, Atemayar Qelisayer, Atlantean, Aurek-Besh, Avesta, Ge ez, Glagolitic, Gurmukhi,
    Kannada, Keble, Malayalam, Manipuri, Mongolian, Old Church Slavonic (Cyrillic), Oriya, Sylheti,
    Syriac (Serto), Tengwar, Tibetan, ULOG
"""
VOCABULARY = Vocabulary(
    [Attribute("alphabet", [" ".join(a.split()) for a in ALPHABETS.split(",")])]
)

FILES = {"chardata": "chardata.mat", "images": "omniglot_28x28_gray.npz"}
VALIDATION, DRAWERS, TRAIN_DRAWERS = 1345, 20, 15


class Characters(NamedTuple):
    """Drawn characters and their alphabets."""

    images: Tensor
    """White on black, uint8, `(N, 28, 28)`."""

    alphabets: Tensor | None
    """Places in the vocabulary, int64, `(N,)`, if they are known."""

    def of(self, index: Tensor) -> Characters:
        """Some of them."""
        return Characters(
            self.images[index], None if self.alphabets is None else self.alphabets[index]
        )


class Omniglot(Stored):
    """Characters, each with its alphabet where the file says it.

    Arguments:
        train: The characters to train on and to validate with.
        test: The characters of the test.
        part: `train`, `validation` or `test`.
        validation: How many of `train` are for validation.
        split_seed: Chooses these, which pictures are described, and static pixels.
        labelled: The share of training pictures whose alphabet is known.
        labels: How many training pictures have a known alphabet; 0 to go by `labelled`.
        described: The share of every batch whose description is known; 0 leaves it to chance.
        binarise: `dynamic` (or `auto`), `static` or `none`.
        seed: Chooses order and noise.
        source: Where the characters come from, for people.
    """

    vocabulary = VOCABULARY
    settings = ("split_seed", "labelled", "labels", "described", "binarise")

    def __init__(
        self,
        train: Characters,
        test: Characters,
        part: str = "train",
        *,
        validation: int = VALIDATION,
        split_seed: int = 0,
        labelled: float = 1.0,
        labels: int = 0,
        described: float = 0.0,
        binarise: str = "auto",
        seed: int = 0,
        source: str = "images",
    ):
        chosen = test
        if checked_part(part, self.parts) != "test":
            stay, apart = set_apart(len(train.images), validation, split_seed)
            chosen = train.of(stay if part == "train" else apart)
        super().__init__(
            chosen.images,
            None if chosen.alphabets is None else chosen.alphabets[:, None],
            part,
            known=told(chosen.alphabets, part, labels, labelled, split_seed, source),
            described=described,
            binarise=chosen_way(binarise),
            seed=seed,
            static_seed=split_seed,
            source=source,
        )

    @staticmethod
    def resolved(source: str, folder: str | Path | None = None) -> str:
        """Which file is read: `chardata`, or `images` where there is no `chardata`."""
        if source not in ("auto", *FILES):
            message = f"`source={source!r}` is not known; expected {listed([*FILES, 'auto'])}."
            raise UsageError(message, did_you_mean(source, FILES))
        if source != "auto":
            return source
        path = the_file("Omniglot", list(FILES.values()), places(folder, "omniglot"))
        return next(name for name, file in FILES.items() if file == path.name)

    @classmethod
    def read(cls, source: str, part: str, folder: str | Path | None = None, **options: Any) -> Self:
        """A part from the file of a name."""
        checked_part(part, cls.parts)
        source = cls.resolved(source, folder)
        path = the_file("Omniglot", [FILES[source]], places(folder, "omniglot"))
        halves = read_chardata(path) if source == "chardata" else read_images(path)
        return cls(*halves, part, source=source, **options)


def read_images(path: Path) -> tuple[Characters, Characters]:
    """The characters of the npz file, those to train on and those of the test apart."""
    file = Npz(path)
    images = file.read("images", "uint8", (None, 28, 28))
    drawer = file.read("drawer", "integer", (len(images),))
    number = file.read("alphabet", "integer", (len(images),)).astype(np.int64)
    names = [" ".join(str(n).split("_")) for n in file.read("alphabet_names", "text", (None,))]
    words = list(VOCABULARY.attributes[0].values)
    if unknown := [name for name in names if name not in words]:
        raise DataError(f"{path}: `alphabet_names` has {unknown[0]!r}, which is not of Omniglot.")
    if len(images) and not 0 <= number.min() <= number.max() < len(names):
        raise DataError(f"{path}: `alphabet` has numbers outside 0 to {len(names) - 1}.")
    if len(images) and not 1 <= drawer.min() <= drawer.max() <= DRAWERS:
        raise DataError(f"{path}: `drawer` has numbers outside 1 to {DRAWERS}.")
    codes = np.array([words.index(name) for name in names], np.int64)[number]
    every = Characters(torch.from_numpy(images), torch.from_numpy(codes))
    train = torch.from_numpy(drawer <= TRAIN_DRAWERS)
    return every.of(train), every.of(~train)


def read_chardata(path: Path) -> tuple[Characters, Characters]:
    """The characters of the authors' file, those to train on and those of the test apart."""
    matrices = read_matrices(path, ("data", "testdata"))
    train, test = (_grey(path, name, matrices[name]) for name in ("data", "testdata"))
    return Characters(train, None), Characters(test, None)


def _grey(path: Path, name: str, matrix: np.ndarray) -> Tensor:
    """A matrix of pictures, one a column, each by columns and in [0, 1], as bytes."""
    if matrix.ndim != 2 or len(matrix) != 784:
        raise DataError(f"{path}: `{name}` is {matrix.shape}; expected (784, any).")
    if matrix.size and not (matrix.min() >= 0 and matrix.max() <= 1):
        raise DataError(f"{path}: `{name}` has numbers outside 0 to 1.")
    columns = np.rint(matrix.T.astype(np.float64) * 255).astype(np.uint8)
    return torch.from_numpy(columns.reshape(-1, 28, 28)).mT.contiguous()
