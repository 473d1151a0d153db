"""MS COCO: photographs of everyday life, small and in colour, with captions in free words.

A caption has twenty places, each with any of the words that occur at least five times in the
training captions, or blank. Words are cut out of a text by `wording.words_in`; those that are not
known are left out, and what comes after the twentieth is cut off. An image that has several
captions is described by another one each time it is seen.

The words are found when the data is read, and kept with a recipe: a model goes on with those it was
trained with. Images are divided by their numbers, 85 : 5 : 10, so parts never share one.

References:
    Microsoft COCO: Common Objects in Context, Lin et al., 2014
    https://arxiv.org/abs/1405.0312
    Microsoft COCO Captions: Data Collection and Evaluation Server, Chen et al., 2015
    https://arxiv.org/abs/1504.00325
"""

from __future__ import annotations

from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor

from mindseye.captions import BLANK, Sentence
from mindseye.concepts import Attribute
from mindseye.data.albums import (
    INDEX,
    SIDE,
    Album,
    annotations_in,
    read_annotations,
    read_sheets,
    the_annotations,
)
from mindseye.data.coloured import Coloured
from mindseye.data.places import find, places, the_file
from mindseye.data.splits import checked_part
from mindseye.data.wording import Captions, coded, common_words
from mindseye.errors import DataError, UsageError, did_you_mean, listed
from mindseye.labels import Labels
from mindseye.randomness import keys, uniforms

__all__ = ["LEAST", "PLACES", "Coco", "sentence_of"]

PLACES = 20
LEAST = 5
"""How often a word must occur in the training captions."""

SOURCES = ("annotations", "sheets")
SPLIT_SEED = 0


@lru_cache(maxsize=8)
def sentence_of(words: tuple[str, ...]) -> Sentence:
    """The twenty places of a caption of some words.

    >>> sentence_of(("a", "dog")).parse("a dog")
    Caption('a dog')
    """
    return Sentence([Attribute(f"word {i + 1}", [BLANK, *words]) for i in range(PLACES)])


class Coco(Coloured):
    """Photographs, each with one of its captions.

    Arguments:
        images: Bytes `(N, 3, H, W)`.
        captions: What is said of them; everyone has at least one.
        words: The words of the captions, in the order of their codes.
        part: `train`, `validation` or `test`.
        seed: Chooses the order, and the captions.
        source: Where the pictures come from, for people.
    """

    vocabulary = sentence_of(())
    shape = (3, SIDE, SIDE)
    settings = ("side", "words")

    def __init__(
        self,
        images: Tensor,
        captions: Captions,
        words: tuple[str, ...],
        part: str = "train",
        *,
        seed: int = 0,
        source: str = "sheets",
    ):
        self.vocabulary, self.captions = sentence_of(words), captions
        self.counts = torch.bincount(captions.owner, minlength=len(images))
        self.first = self.counts.cumsum(0) - self.counts
        labels = Labels.full(captions.codes[self.first])
        super().__init__(images, labels, checked_part(part, self.parts), seed=seed, source=source)

    @staticmethod
    def resolved(source: str, folder: str | Path | None = None) -> str:
        """What is read: `annotations`, or `sheets` where no pictures of the authors are."""
        if source not in ("auto", *SOURCES):
            message = f"`source={source!r}` is not known; expected {listed([*SOURCES, 'auto'])}."
            raise UsageError(message, did_you_mean(source, SOURCES))
        if source != "auto":
            return source
        searched = places(folder, "coco")
        if find([INDEX], searched) and not annotations_in(searched):
            return "sheets"
        return "annotations"

    @classmethod
    def read(
        cls,
        source: str,
        part: str,
        folder: str | Path | None = None,
        *,
        side: int = 0,
        words: tuple[str, ...] = (),
        seed: int = 0,
    ) -> Self:
        """A part of COCO, its pictures `side` pixels wide and high; 0 for 32.

        The words of captions are those that are given, or found if there are none.
        """
        checked_part(part, cls.parts)
        source = cls.resolved(source, folder)
        album = _album(source, folder)
        rows = _rows(album.ids, part)
        words = words or _words(album)
        captions = coded(album.told(rows), words, PLACES)
        images = album.images(side or SIDE)[rows]
        return cls(images, captions, words, part, seed=seed, source=source)

    @classmethod
    def words_at(cls, source: str, folder: str | Path | None = None) -> tuple[str, ...]:
        """The words of the training captions, the most frequent first."""
        return _words(_album(cls.resolved(source, folder), folder))

    def facts(self) -> dict[str, Any]:
        """What there is, and which words and captions are not whole."""
        left_out, cut = self.captions.left_out, self.captions.cut
        return super().facts() | {
            "captions": len(self.captions.codes),
            "words": len(self.vocabulary.attributes[0].values) - 1,
            "words left out": int(left_out.sum()),
            "of captions": int((left_out > 0).sum()),
            "captions cut": int((cut > 0).sum()),
        }

    def to(self, device: torch.device | str) -> Self:
        """Move the pictures."""
        self.captions = self.captions.to(device)
        self.counts, self.first = self.counts.to(device), self.first.to(device)
        return super().to(device)

    def _said(self, index: Tensor) -> Labels:
        """One caption for every number, another each time a picture is seen."""
        source = index % self.count
        u = uniforms(keys(self.seed, index, f"captions {self.part}"), 1)[:, 0]
        chosen = self.first[source] + (u * self.counts[source]).long()
        return Labels.full(self.captions.codes[chosen])

    def _fits(self, said: Labels) -> Tensor:
        """Which pictures have a caption with all the words said, whatever their places."""
        words = said.codes[said.observed & (said.codes > 0)]
        has = (self.captions.codes[:, :, None] == words).any(1).all(1)  # (C,)
        return torch.isin(torch.arange(self.count, device=has.device), self.captions.owner[has])


def _album(source: str, folder: str | Path | None) -> Album:
    """All described pictures of a source."""
    searched = places(folder, "coco")
    if source == "sheets":
        return read_sheets(the_file("MS COCO", [INDEX], searched))
    return read_annotations(the_annotations(searched))


def _rows(ids: Tensor, part: str) -> Tensor:
    """The images of a part, sorted: they are divided in an order drawn by their numbers."""
    order = uniforms(keys(SPLIT_SEED, ids, "coco"), 1)[:, 0].argsort(stable=True)
    train, validation = round(0.85 * len(ids)), round(0.90 * len(ids))
    edges = {
        "train": (0, train),
        "validation": (train, validation),
        "test": (validation, len(ids)),
    }
    start, stop = edges[part]
    return order[start:stop].sort().values


def _words(album: Album) -> tuple[str, ...]:
    """The words of the captions of images to train on."""
    train = album.told(_rows(album.ids, "train"))
    if words := common_words(chain.from_iterable(train), LEAST):
        return words
    raise DataError(
        f"no word occurs {LEAST} times in the captions of {len(train)} training images.",
        "Give more of them.",
    )
