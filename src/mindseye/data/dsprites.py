"""dSprites: all 737 280 pictures of three shapes in six sizes, forty turns and 32 by 32 places.

Every factor is known and independent of the others, so it shows whether a model finds them apart.
The published file is read where it is found; where it is not, pictures are drawn by the rule in
`mindseye.data.sprites`, a reconstruction that is very near. Nothing is held out: `train`,
`validation` and `test` hold the same pictures, in other orders. Orientations 0 and 39 are one turn
apart, and their pictures the same.

References:
    dSprites: Disentanglement testing Sprites dataset, Matthey, Higgins, Hassabis and Lerchner, 2017
    https://github.com/google-deepmind/dsprites-dataset
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor

from mindseye.concepts import Attribute, Concept, Vocabulary
from mindseye.data.averages import mean_picture
from mindseye.data.batch import Batch
from mindseye.data.epochs import positions, shuffled
from mindseye.data.packed import AT_ONCE, bits_of, packed, unpacked
from mindseye.data.places import cache, find, places, the_file
from mindseye.data.splits import checked_part
from mindseye.data.sprites import SIZES, render
from mindseye.errors import UsageError, did_you_mean, listed
from mindseye.labels import Labels, encode
from mindseye.randomness import integers, keys, keys_of_each, uniforms

__all__ = ["FILE", "VOCABULARY", "DSprites", "codes_of_row", "row_of_codes"]

FILE = "dsprites_ndarray_co1sh3sc6or40x32y32_64x64.npz"

VOCABULARY = Vocabulary(
    [
        Attribute("shape", ["square", "ellipse", "heart"]),
        Attribute("scale", ["0.5", "0.6", "0.7", "0.8", "0.9", "1.0"]),
        Attribute("orientation", [str(j) for j in range(40)]),
        Attribute("x", [str(k) for k in range(32)]),
        Attribute("y", [str(k) for k in range(32)]),
    ]
)


def codes_of_row(row: Tensor) -> Tensor:
    """The codes `(B, 5)` of rows `(B,)` of the published file.

    >>> codes_of_row(torch.tensor([0, 1, 737_279]))
    tensor([[ 0,  0,  0,  0,  0],
            [ 0,  0,  0,  0,  1],
            [ 2,  5, 39, 31, 31]])
    """
    sizes, steps = _sizes(row.device)
    return row[:, None] // steps % sizes


def row_of_codes(codes: Tensor) -> Tensor:
    """The rows `(B,)` of the published file that codes `(B, 5)` have."""
    return (codes * _sizes(codes.device)[1]).sum(1)


class DSprites:
    """Sprites with their five factors.

    Picture number $i$ is the one at place $i$ of an order that is mixed once for all, so that the
    first ones are a fair sample.

    Arguments:
        bits: The published pictures `(737280, 512)`, or nothing to draw them.
        part: `train`, `validation` or `test`: another order of the same pictures.
        split_seed: Chooses the pictures whose factors are known.
        labelled: The share of pictures whose factors are known.
        seed: Chooses the batches.
    """

    vocabulary = VOCABULARY
    shape = (1, 64, 64)
    parts = ("train", "validation", "test")
    settings = ("split_seed", "labelled")
    count = math.prod(SIZES)

    def __init__(
        self,
        bits: Tensor | None = None,
        part: str = "train",
        *,
        split_seed: int = 0,
        labelled: float = 1.0,
        seed: int = 0,
    ):
        self.part, self.seed = checked_part(part, self.parts), seed
        self.split_seed, self.labelled = split_seed, labelled
        self.bits, self.device = bits, torch.device("cpu")
        self.drawn: Tensor | None = None

    @staticmethod
    def resolved(source: str, folder: str | Path | None = None) -> str:
        """Where the pictures come from: `file`, or `rendered` where it is not found."""
        names = ["file", "rendered", "auto"]
        if source not in names:
            message = f"`source={source!r}` is not known; expected {listed(names)}."
            raise UsageError(message, did_you_mean(source, names))
        if source == "auto":
            return "file" if find([FILE], places(folder, "dsprites")) else "rendered"
        return source

    @classmethod
    def read(cls, source: str, part: str, folder: str | Path | None = None, **options: Any) -> Self:
        """A part of the published file, packed on first use, or of its reconstruction."""
        checked_part(part, cls.parts)
        if cls.resolved(source, folder) == "rendered":
            return cls(None, part, **options)
        path = the_file("dSprites", [FILE], places(folder, "dsprites"))
        return cls(packed(path, cache("dsprites")), part, **options)

    def batch(self, step: int | Tensor, size: int, count: int = 1) -> Batch[Labels]:
        """Training batch number `step`: pictures drawn at random with replacement."""
        rows = positions(step, size, count, self.device)
        return self.examples(integers(keys(self.seed, rows, f"order {self.part}"), self.count))

    def examples(self, index: Tensor) -> Batch[Labels]:
        """The pictures of some numbers: the same alone or together."""
        codes = self.codes_of(index)
        u = uniforms(keys(self.split_seed, row_of_codes(codes), "known"), 1)
        return Batch(self.pictures(codes), Labels(codes, (u < self.labelled).expand(codes.shape)))

    def codes_of(self, index: Tensor) -> Tensor:
        """The factors `(B, 5)` of the pictures of some numbers `(B,)`."""
        return codes_of_row(shuffled(index % self.count, self.count, 0))

    def index_of(self, codes: Tensor) -> Tensor:
        """The numbers `(B,)` of the pictures with some factors `(B, 5)`."""
        return shuffled(row_of_codes(codes), self.count, 0, back=True)

    def pictures(self, codes: Tensor) -> Tensor:
        """The pictures with some factors int64 `(B, 5)`, float32 `(B, 1, 64, 64)`."""
        bits = self.drawn if self.bits is None else self.bits
        return render(codes) if bits is None else unpacked(bits[row_of_codes(codes)])

    def pictures_of(self, concept: Concept, n: int, seed: int) -> Tensor:
        """Real pictures of a concept, open factors uniform."""
        return self.pictures_of_each([concept], n, [seed])[0]

    def pictures_of_each(self, concepts: Sequence[Concept], n: int, seeds: Sequence[int]) -> Tensor:
        """The pictures of every concept with its seed, all at once, `(Q, n, 1, 64, 64)`."""
        key = keys_of_each(seeds, n, f"real {self.part}", self.device)
        u = uniforms(key.flatten(), len(SIZES)).unflatten(0, key.shape)
        drawn = (u * _sizes(self.device)[0]).long()  # (Q, n, 5)
        said, observed = (each[:, None] for each in encode(concepts, self.device))
        codes = torch.where(observed, said, drawn)
        return self.pictures(codes.flatten(0, 1)).unflatten(0, key.shape)

    def mean(self) -> Tensor:
        """The mean picture, nearly: that of many examples."""
        return mean_picture(self.examples, self.count, self.device)

    def facts(self) -> dict[str, Any]:
        """Where the pictures come from, and how many there are."""
        return {
            "source": "rendered, a reconstruction" if self.bits is None else "the published file",
            "pictures": self.count,
            "held out": "none, every part holds all pictures",
        }

    def to(self, device: torch.device | str) -> Self:
        """Move the pictures, or draw them there: a GPU draws all of them once."""
        self.device = torch.device(device)
        if self.bits is not None:
            self.bits = self.bits.to(device)
        else:
            self.drawn = _drawn(self.device, self.count) if self.device.type == "cuda" else None
        return self


@lru_cache
def _drawn(device: torch.device, count: int) -> Tensor:
    """The first pictures of the published order as bits, 512 bytes each, which are kept."""
    rows = torch.arange(count, device=device)
    return torch.cat([bits_of(render(codes_of_row(part))) for part in rows.split(AT_ONCE)])


@lru_cache
def _sizes(device: torch.device) -> tuple[Tensor, Tensor]:
    """How many values each factor has, and how far apart its values are in the published file."""
    sizes = torch.tensor(SIZES)
    return sizes.to(device), (math.prod(SIZES) // sizes.cumprod(0)).to(device)
