r"""Wholes made of parts: what the data sets share whose descriptions are multisets of parts.

A whole has $K$ parts; part $i$ has a category $l_i$, and where there are axes a place $u_i$, both
uniform. The generator draws numbers that no description tells, $s_i$ of every part and $s_0$ of the
whole, and makes of all of them one observation, whatever the order of the parts:

$$ K ∼ U\{1, …, K_{\max}\}, \quad x = f(\{(l_i, u_i, s_i)\}_{i \le K}, s_0). $$

A CUDA graph wants shapes that never change, and parts are not padded, so the number of parts in a
batch has to be the same in every batch. Numbers of parts are therefore drawn in mirrored pairs:
wholes $2i$ and $2i + 1$ have $K$ and $K_{\max} + 1 - K$ parts. Both are uniform, and a batch of $B$
wholes always has $B (K_{\max} + 1) / 2$ parts.

Part $j$ of a whole and its numbers are hashes of the key of the whole and $j$: a whole is the same
alone and in a batch, and stays as it is where parts are put behind its own.

References:
    From abstract items to latent spaces to observed data and back: Compositional Variational
    Auto-Encoder, Berger and Sebag, 2020
    https://arxiv.org/abs/2001.07910
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import torch
from torch import Tensor

from mindseye.data.averages import mean_picture
from mindseye.data.batch import ENDLESS, Batch
from mindseye.data.epochs import positions
from mindseye.data.splits import checked_part
from mindseye.errors import UsageError
from mindseye.groups import Groups
from mindseye.parts import Kit
from mindseye.pieces import Pieces
from mindseye.randomness import integers, keys, uniforms

__all__ = ["Specifics", "Wholes"]


class Specifics(NamedTuple):
    """What is drawn of a batch of wholes beside their parts."""

    own: Tensor
    """Every part's own numbers, float32 `(N, S)`; which they are, a data set says."""

    shared: Tensor
    """The numbers of the wholes, float32 `(B, G)`; G is 0 where parts share nothing."""


class Wholes(ABC):
    """Wholes and the parts they are made of, drawn where and when they are asked for.

    Arguments:
        part: `train`, `validation` or `test`: whose keys.
        most: The largest number of parts of a whole; 0 for the data set's own.
        seed: Chooses parts, their numbers and the order of the wholes.
    """

    vocabulary: ClassVar[Kit]
    shape: tuple[int, int, int]
    parts = ("train", "validation", "test")
    settings = ("most",)
    count = ENDLESS
    real = False
    usual: ClassVar[int]
    """The largest number of parts, unless another is asked for."""

    reach: ClassVar[float] = 1.0
    """How far from 0 places are, at most."""

    def __init__(self, part: str = "train", *, most: int = 0, seed: int = 0):
        self.part, self.seed = checked_part(part, self.parts), seed
        self.most = _at_least_one(most or self.usual)
        self.device = torch.device("cpu")

    @classmethod
    def read(cls, source: str, part: str, folder: str | Path | None = None, **options: Any) -> Self:
        """A part; there are no files to read."""
        cls.resolved(source)
        return cls(part, **options)

    @staticmethod
    def resolved(source: str, folder: str | None = None) -> str:
        """The one source there is: `generated`."""
        if source not in ("auto", "generated"):
            raise UsageError(f"`source={source!r}` is not known; expected 'generated' or 'auto'.")
        return "generated"

    @abstractmethod
    def render(self, pieces: Pieces, specifics: Specifics) -> Tensor:
        """The wholes of some parts and numbers, `(B, C, H, W)`; nothing is random any more."""

    def batch(
        self, step: int | Tensor, size: int, count: int = 1, most: int | None = None
    ) -> Batch[Pieces]:
        """Training batch number `step`, numbers of parts in mirrored pairs.

        Arguments:
            step: The number of the batch, which may be on the device.
            size: How many wholes it has, an even number.
            count: How many batches, one behind the other: each has as many parts.
            most: The largest number of parts now, as it grows in a curriculum; the usual if None.
        """
        most = self.most if most is None else _at_least_one(most)
        if size % 2:
            raise UsageError(
                f"`size={size}` must be even: numbers of parts are drawn in pairs.",
                f"Take {size + 1}.",
            )
        rows = positions(step, size, count, self.device)
        index = integers(keys(self.seed, rows, "order"), self.count)
        sizes = _mirrored(rows, most, self.seed, f"pairs {self.part}")
        return self._made(index, sizes, count * size // 2 * (most + 1))

    def examples(self, index: Tensor, sizes: Tensor | None = None) -> Batch[Pieces]:
        """The wholes of some indices, the same alone or together.

        Arguments:
            index: Their indices, int64 `(B,)`.
            sizes: How many parts each has, int64 `(B,)`; uniform up to `most` by default.
        """
        if sizes is None:
            sizes = 1 + integers(keys(self.seed, index, f"sizes {self.part}"), self.most)
        return self._made(index, sizes, int(sizes.sum()))

    def wholes_of(self, pieces: Pieces, seed: int, n: int = 1) -> Tensor:
        """Draw `n` wholes of every multiset of parts, `(B, n, C, H, W)`.

        Categories and places are kept, all other numbers drawn. Those of multiset $b$ are the same
        with one `seed`, however many others there are, and so are those of draw $i$.
        """
        device = pieces.sizes.device
        each = torch.arange(len(pieces.sizes), device=device)
        first = keys(seed, each, f"real {self.part}")
        key = keys(seed, first[:, None] + torch.arange(n, device=device), "draws")  # (B, n)
        again = _repeated(pieces, n)
        return self.render(again, self.draw(again, key.flatten())).unflatten(0, key.shape)

    def draw(self, pieces: Pieces, key: Tensor) -> Specifics:
        """The numbers of some parts and of their wholes, whose keys are `(B,)`.

        Those of part $j$ of a whole depend on its key and on $j$, and on no other part.
        """
        own = _keys_of_parts(key, pieces.sizes, len(pieces.codes), "specifics")
        return self.specifics(own, keys(0, key, "shared"))

    def specifics(self, own: Tensor, shared: Tensor) -> Specifics:
        """The numbers of parts, whose keys are `(N,)`, and of wholes, whose keys are `(B,)`."""
        return Specifics(self._own(own), self._shared(shared))

    def alone(self, pieces: Pieces, specifics: Specifics) -> Tensor:
        """The whole that each part would be by itself, its whole's numbers kept, `(N, C, H, W)`."""
        groups = Groups.of(pieces.sizes, len(pieces.codes))
        single = pieces._replace(sizes=torch.ones_like(pieces.codes))
        return self.render(single, specifics._replace(shared=groups.spread(specifics.shared)))

    def mean(self) -> Tensor:
        """The mean whole, nearly: that of many examples."""
        return mean_picture(self.examples, self.count, self.device)

    def facts(self) -> dict[str, Any]:
        """How many parts a whole may have, and of what kinds."""
        _, height, width = self.shape
        return {
            "wholes": "endless",
            "parts": f"1 to {self.most}",
            "kinds of parts": len(self.vocabulary.categories),
            "size": f"{width} x {height}",
        }

    def to(self, device: torch.device | str) -> Self:
        """Draw on another device."""
        self.device = torch.device(device)
        return self

    @abstractmethod
    def _own(self, key: Tensor) -> Tensor:
        """The numbers of parts by their keys, `(N, S)`."""

    def _shared(self, key: Tensor) -> Tensor:
        """The numbers of wholes by their keys, `(B, G)`; none unless a data set has some."""
        return torch.zeros(len(key), 0, device=key.device)

    def _made(self, index: Tensor, sizes: Tensor, rows: int) -> Batch[Pieces]:
        """The wholes of some indices and sizes, which add up to `rows`."""
        key = keys(self.seed, index, self.part)
        u = uniforms(_keys_of_parts(key, sizes, rows, "parts"), 1 + len(self.vocabulary.axes))
        codes = (u[:, 0] * len(self.vocabulary.categories)).long()
        pieces = Pieces(codes, (self.reach * (2 * u[:, 1:] - 1)).float(), sizes)
        return Batch(self.render(pieces, self.draw(pieces, key)), pieces)


def _at_least_one(most: int) -> int:
    """A largest number of parts that can be meant."""
    if most < 1:
        raise UsageError(f"`most={most}` must be at least 1: a whole has parts.")
    return most


def _mirrored(rows: Tensor, most: int, seed: int, stream: str) -> Tensor:
    """Uniform numbers of parts, those of rows 2i and 2i + 1 adding up to `most + 1`, `(B,)`."""
    drawn = 1 + integers(keys(seed, rows // 2, stream), most)
    return torch.where(rows % 2 == 0, drawn, most + 1 - drawn)


def _keys_of_parts(key: Tensor, sizes: Tensor, rows: int, stream: str) -> Tensor:
    """Keys of parts, `(N,)`, by the keys of their wholes, `(B,)`, and their places in them."""
    groups = Groups.of(sizes, rows)
    return keys(0, groups.spread(key) + groups.ranks(), stream)


def _repeated(pieces: Pieces, n: int) -> Pieces:
    """Every whole's parts `n` times, one behind the other."""
    groups = Groups.of(pieces.sizes.repeat_interleave(n), n * len(pieces.codes))
    starts = pieces.sizes.cumsum(0) - pieces.sizes
    rows = starts[groups.owner // n] + groups.ranks()
    return Pieces(pieces.codes[rows], pieces.places[rows], groups.sizes)
