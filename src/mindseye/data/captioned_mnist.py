r"""MNIST with captions: one digit or two on a canvas of 60 by 60, and a sentence about them.

`captioned-mnist` has one digit, and says which it is and in which corner it stands:

    the digit three is at the bottom left of the image

`captioned-pairs` has two, and says how the first stands to the second:

    the digit three is to the left of the digit seven

Digits are neither scaled nor turned. The box of a digit is its 28 by 28 source, put at whole
pixels: row and column of its first pixel are uniform,

- one digit: 0 to 8 at the top or left, 24 to 32 at the bottom or right;
- two digits, along the axis spoken of: 0 to 2 for the one, 30 to 32 for the other, so that boxes
  never overlap; across it: a base of 6 to 26 that both share, and -6 to 6 of each on its own.

A pair is described by two captions: what is to the left of something has it to its right.
Therefore `compositional` holds out whole pairs, both captions of each: of the 200 combinations of
an axis and two digits 170 are seen in training, 10 are kept for validation and 20 for the test. Of
the 40 captions of one digit they are 34, 2 and 4.

Pixels are binarised by their own noise, each with the probability of its grey value: picture $i$ is
the same picture whenever it is drawn.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from mindseye.captions import Sentence
from mindseye.concepts import Attribute, Concept
from mindseye.data.batch import Batch
from mindseye.data.canvas import paste, portions
from mindseye.data.handwriting import Handwriting, sources_of
from mindseye.data.sources import Sources
from mindseye.data.splits import combinations, compositional_split
from mindseye.labels import Labels
from mindseye.randomness import keys, keys_of_each, pixel_uniforms, uniforms

__all__ = [
    "PAIR_SENTENCE",
    "SENTENCE",
    "Boxes",
    "Captioned",
    "CaptionedMnist",
    "CaptionedPairs",
    "pairs_of",
    "render",
]

CANVAS, SOURCE = 60, 28

DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
CORNERS = ("top left", "top right", "bottom left", "bottom right")
RELATIONS = ("to the left of", "to the right of", "above", "below")

FIGURES = tuple((str(i), word) for i, word in enumerate(DIGITS))
FILLERS = ("a", "an", "at", "in", "on", "and", "it", "there", "that", "this", "stands", "number",
           "corner", "canvas", "picture")  # fmt: skip

SENTENCE = Sentence(
    [Attribute("digit", DIGITS), Attribute("place", CORNERS)],
    FILLERS,
    (
        *FIGURES,
        *((f"upper {side}", f"top {side}") for side in ("left", "right")),
        *((f"lower {side}", f"bottom {side}") for side in ("left", "right")),
    ),
    "the digit {digit} is at the {place} of the image",
)
"""The two places of a caption of one digit."""

PAIR_SENTENCE = Sentence(
    [
        Attribute("first digit", DIGITS),
        Attribute("relation", RELATIONS),
        Attribute("second digit", DIGITS),
    ],
    (*FILLERS, "to", "of"),
    (
        *FIGURES,
        *((words, "to the left of") for words in ("left", "left of", "left from")),
        *((words, "to the right of") for words in ("right", "right of", "right from")),
        *((words, "above") for words in ("over", "on top of")),
        *((words, "below") for words in ("under", "beneath")),
    ),
    "the digit {first digit} is {relation} the digit {second digit}",
)
"""The three places of a caption of two digits."""


class Boxes(NamedTuple):
    """Where the digits of pictures are; every field int64 `(B, n)`, a column for each digit."""

    digit: Tensor
    """What they are, 0 to 9."""
    row: Tensor
    """The first row of each one's box."""
    column: Tensor
    """The first column."""


def render(sources: Tensor, row: Tensor, column: Tensor, key: Tensor | None = None) -> Tensor:
    """Put digits uint8 `(B, n, 28, 28)` on canvases `(B, 1, 60, 60)`, binarised by `key` `(B,)`.

    Without keys the canvases hold the grey values themselves, the probabilities of ink. Where boxes
    overlap, the last covers the others.
    """
    canvas = torch.zeros(len(sources), 1, CANVAS, CANVAS, device=sources.device)
    for part in portions(canvas):
        ink = sources[part].float() / 255
        if key is not None:
            ink = pixel_uniforms(key[part], ink[0].numel()).view_as(ink).lt_(ink)
        for box, down, right in zip(
            ink.unbind(1), row[part].unbind(1), column[part].unbind(1), strict=True
        ):
            paste(box.contiguous(), canvas[part], down, right)
    return canvas


class Captioned(Handwriting):
    """Digits and a caption, rendered where and when they are asked for.

    Arguments:
        sources: The digits to draw.
        part: `train`, `validation`, `test` or `observer`: which sources, and in a compositional
            split which captions.
        compositional: Whether captions are divided too.
        split_seed: Chooses the division.
        replications: How many pictures there are for every source, on average; 0 for no end of
            them.
        seed: Chooses captions, sources, places and noise.
    """

    shape = (1, CANVAS, CANVAS)
    settings = ("compositional", "split_seed", "replications")
    many: int
    """How many digits a picture has."""
    numbers: int
    """How many uniform numbers place them."""

    def __init__(
        self,
        sources: Sources,
        part: str = "train",
        *,
        compositional: bool = False,
        split_seed: int = 0,
        replications: int = 0,
        seed: int = 0,
    ):
        own = sources_of(sources, part, split_seed)
        every = combinations(self.vocabulary.sizes)
        if compositional and part != "observer":
            every = self.held_out(part, split_seed)
        super().__init__(own, part, every=every, replications=replications, seed=seed)
        self._check_digits(torch.arange(10))

    @classmethod
    def held_out(cls, part: str, split_seed: int = 0) -> Tensor:
        """The captions of a part of a compositional split, `(M, K)`."""
        return compositional_split(cls.vocabulary.sizes, part, split_seed)

    @classmethod
    @abstractmethod
    def placed(cls, codes: Tensor, u: Tensor) -> Boxes:
        """Where the digits of captions `codes` `(B, K)` are, at uniform numbers `u`."""

    def examples(self, index: Tensor) -> Batch[Labels]:
        """The pictures of some indices: the same alone or together."""
        key = keys(self.seed, index, self.part)
        u = uniforms(key, 1 + self.many + self.numbers)
        codes = self.every[(u[:, 0] * len(self.every)).long()]
        return Batch(self._pictures(codes, u[:, 1:], key), Labels.full(codes))

    def pictures_of_each(self, concepts: Sequence[Concept], n: int, seeds: Sequence[int]) -> Tensor:
        """The pictures of every caption with its seed, all at once, `(Q, n, 1, 60, 60)`."""
        grid = keys_of_each(seeds, n, f"real {self.part}", self.images.device)
        key = grid.flatten()
        u = uniforms(key, 1 + self.many + self.numbers)
        codes = self._drawn(concepts, u[:, 0].view_as(grid)).flatten(0, 1)
        return self._pictures(codes, u[:, 1:], key).unflatten(0, grid.shape)

    def _pictures(self, codes: Tensor, u: Tensor, key: Tensor) -> Tensor:
        """The pictures of captions, at uniform numbers and with the noise of keys."""
        boxes = self.placed(codes, u[:, self.many :])
        source = self._source_of(boxes.digit, u[:, : self.many])
        images = self.images.index_select(0, source.flatten()).unflatten(0, source.shape)
        return render(images, boxes.row, boxes.column, key)


class CaptionedMnist(Captioned):
    """One digit and the corner it stands in."""

    vocabulary = SENTENCE
    many, numbers = 1, 2

    @classmethod
    def placed(cls, codes: Tensor, u: Tensor) -> Boxes:
        """Where the digits of captions `(B, 2)` are, at uniform numbers `(B, 2)`."""
        digit, corner = codes.split(1, dim=1)
        row, column = _whole(u, 9).split(1, dim=1)
        return Boxes(digit, row + 24 * (corner // 2), column + 24 * (corner % 2))


class CaptionedPairs(Captioned):
    """Two digits and how they stand to each other.

    A picture is that of its pair: both captions of a pair have the same pictures.
    """

    vocabulary = PAIR_SENTENCE
    many, numbers = 2, 5

    @classmethod
    def held_out(cls, part: str, split_seed: int = 0) -> Tensor:
        """The captions of a part of a compositional split, `(M, 3)`: both of each of its pairs."""
        own = compositional_split(_PAIRS, part, split_seed)
        every = combinations(cls.vocabulary.sizes)
        return every[torch.isin(pairs_of(every) @ _WEIGHT, own @ _WEIGHT)]

    @classmethod
    def placed(cls, codes: Tensor, u: Tensor) -> Boxes:
        """Where the digits of captions `(B, 3)` are, at uniform numbers `(B, 5)`."""
        pair = pairs_of(codes)
        far = torch.arange(2, device=u.device)  # the one on the left or above is near
        along = _whole(u[:, :2], 3) + 30 * far
        across = _whole(u[:, 2:3], 21) + _whole(u[:, 3:], 13)  # 6 to 26, and -6 to 6
        vertical = pair[:, :1].bool()
        row, column = torch.where(vertical, along, across), torch.where(vertical, across, along)
        return Boxes(pair[:, 1:], row, column)


_PAIRS = (2, 10, 10)
_WEIGHT = torch.tensor([100, 10, 1])


def pairs_of(codes: Tensor) -> Tensor:
    """The pairs that captions `(B, 3)` speak of, `(B, 3)`: axis, left or upper digit, the other.

    The axis is 0 for side by side, 1 for one above the other.

    >>> three_left_of_seven, seven_right_of_three = [3, 0, 7], [7, 1, 3]
    >>> pairs_of(torch.tensor([three_left_of_seven, seven_right_of_three])).tolist()
    [[0, 3, 7], [0, 3, 7]]
    """
    first, relation, second = codes.unbind(1)
    near, far = torch.where(
        relation % 2 == 0, torch.stack([first, second]), torch.stack([second, first])
    )
    return torch.stack([relation // 2, near, far], 1)


def _whole(u: Tensor, n: int) -> Tensor:
    """Whole numbers 0 to n - 1 of uniform ones."""
    return (u * n).long()
