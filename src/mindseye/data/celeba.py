"""CelebA: faces of celebrities in colour, with 18 attributes or with up to nine words.

`celeba` describes a face by 18 attributes, each yes or no, as Vedantam et al. do. `celeba-words`
describes the same face by words in random order, as Cremer and Kushman do: one for each attribute
that is present, and `male` or `female`. The order is drawn anew every time a picture is seen.

The official division is by persons: train, validation and test share none. A quarter of the
official training pictures belongs to the observer, the rest is `train`. These two are divided by
the place of a picture in the list and not by persons: they may share some.

References:
    Generative Models of Visually Grounded Imagination, Vedantam, Fischer, Huang and Murphy, 2018
    https://arxiv.org/abs/1705.10762
    On the Importance of Learning Aggregate Posteriors in Multimodal Variational Autoencoders,
    Cremer and Kushman, 2018
    Deep Learning Face Attributes in the Wild, Liu, Luo, Wang and Tang, 2015
    https://arxiv.org/abs/1411.7766
"""

from __future__ import annotations

from pathlib import Path
from typing import Self

import torch
from torch import Tensor

from mindseye.captions import BLANK, Sentence
from mindseye.concepts import Attribute, Concept, Vocabulary
from mindseye.data.coloured import Coloured
from mindseye.data.faces import ATTRIBUTES, SIDE, Faces, read_aligned, read_sheets
from mindseye.data.places import cache, places, the_file
from mindseye.data.splits import PARTS, checked_part, set_apart
from mindseye.errors import UsageError, did_you_mean, listed
from mindseye.labels import Labels, encode
from mindseye.randomness import keys, uniforms

__all__ = ["SENTENCE", "VOCABULARY", "WORDS", "CelebA", "CelebAWords", "words_of"]

NAMES = tuple(name.replace("_", " ").lower() for name in ATTRIBUTES)
VOCABULARY = Vocabulary([Attribute(name, ["no", "yes"]) for name in NAMES])

MALE = NAMES.index("male")
WORDS = (*NAMES[: MALE + 1], "female", *NAMES[MALE + 1 :])
"""The 19 words that can be said of a face."""

PLACES = 9
SENTENCE = Sentence([Attribute(f"word {i + 1}", [BLANK, *WORDS]) for i in range(PLACES)])

FILES = {"aligned": "img_align_celeba", "sheets": "celeba64_index.npz"}
SPLIT_SEED = 0


class CelebA(Coloured):
    """Faces, each with its 18 attributes.

    Arguments:
        faces: The pictures of the part and their attributes.
        part: `train`, `validation`, `test` or `observer`.
        seed: Chooses the order.
        source: Where the faces come from, for people.
    """

    vocabulary = VOCABULARY
    shape = (3, SIDE, SIDE)
    parts = PARTS
    settings = ("side",)

    def __init__(self, faces: Faces, part: str = "train", *, seed: int = 0, source: str = "sheets"):
        labels = Labels.full(faces.attributes.long())
        super().__init__(
            faces.images, labels, checked_part(part, self.parts), seed=seed, source=source
        )

    @staticmethod
    def resolved(source: str, folder: str | Path | None = None) -> str:
        """What is read: `aligned`, or `sheets` where there are no aligned pictures."""
        if source not in ("auto", *FILES):
            message = f"`source={source!r}` is not known; expected {listed([*FILES, 'auto'])}."
            raise UsageError(message, did_you_mean(source, FILES))
        if source != "auto":
            return source
        path = the_file("CelebA", list(FILES.values()), places(folder, "celeba"))
        return next(name for name, file in FILES.items() if file == path.name)

    @classmethod
    def read(
        cls,
        source: str,
        part: str,
        folder: str | Path | None = None,
        *,
        side: int = 0,
        seed: int = 0,
    ) -> Self:
        """A part of CelebA, its pictures `side` pixels wide and high; 0 for 64."""
        checked_part(part, cls.parts)
        source = cls.resolved(source, folder)
        path = the_file("CelebA", [FILES[source]], places(folder, "celeba"))
        official = "train" if part == "observer" else part
        if source == "sheets":
            faces = read_sheets(path, official, side or SIDE)
        else:
            faces = read_aligned(path, official, side or SIDE, cache("celeba"))
        if official == "train":
            stay, apart = set_apart(len(faces.images), len(faces.images) // 4, SPLIT_SEED)
            faces = faces.of(apart if part == "observer" else stay)
        return cls(faces, part, seed=seed, source=source)


class CelebAWords(CelebA):
    """The same faces, each with up to nine words in random order.

    A word is said for every attribute that is present, and `male` or `female`. Their order is drawn
    by the number of the picture, so it is another one in every epoch. Where there are more than
    nine words, the first nine of this order are said; where there are fewer, the last places are
    blank. All places are observed.
    """

    vocabulary = SENTENCE

    def _said(self, index: Tensor) -> Labels:
        present = _present(self.labels.codes[index % self.count])
        u = uniforms(keys(self.seed, index, f"words {self.part}"), len(WORDS))
        order = torch.where(present, u, 2.0).argsort(dim=1, stable=True)[:, :PLACES]
        return Labels.full(torch.where(present.gather(1, order), 1 + order, 0))

    def _fitting(self, concept: Concept) -> Tensor:
        """The pictures that have all the words said, whatever their places."""
        said = words_of(encode([concept], self.images.device).codes)
        fits = (_present(self.labels.codes) | ~said).all(1).nonzero()[:, 0]
        if not len(fits):
            raise UsageError(f"`part={self.part!r}` has no picture of {concept}.")
        return fits


def words_of(codes: Tensor) -> Tensor:
    """Which of `WORDS` captions contain, bool `(B, 19)`, wherever in their codes `(B, 9)`.

    >>> said = words_of(encode([SENTENCE.parse("smiling - female")]).codes)[0]
    >>> [WORDS[i] for i in said.nonzero()[:, 0]]
    ['female', 'smiling']
    """
    none = torch.zeros(len(codes), 1 + len(WORDS), dtype=torch.bool, device=codes.device)
    return none.scatter_(1, codes, True)[:, 1:]


def _present(codes: Tensor) -> Tensor:
    """The words that may be said of faces with some attributes `(B, 18)`, bool `(B, 19)`."""
    yes = codes.bool()
    female = ~yes[:, MALE : MALE + 1]
    return torch.cat([yes[:, : MALE + 1], female, yes[:, MALE + 1 :]], 1)
