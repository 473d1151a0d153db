"""Pictures of two objects, of which one caption is said at a time.

The first object may be to the left of the second or in front of it, and the second may come first:
up to four captions are true of one picture. Which of them is said is drawn for every number, so a
picture is described in all its ways as the epochs go by. An axis on which the objects hardly differ
is not spoken of.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple, Self

import torch
from torch import Tensor

from mindseye.data.coloured import Coloured
from mindseye.data.scenes import SENTENCE
from mindseye.errors import UsageError
from mindseye.labels import Labels
from mindseye.randomness import keys, uniforms

__all__ = ["SIDE", "Paired", "Pairs", "drawn"]

SIDE = 112
"""Side of a picture in pixels, unless another is asked for."""


class Pairs(NamedTuple):
    """What is known of two objects in every picture."""

    codes: Tensor
    """Size, colour, material and shape of either, int64 `(N, 2, 4)`; 0 where they are not known."""

    known: Tensor
    """Which of these are known, bool `(N, 2, 4)`."""

    holds: Tensor
    """Whether the first stands left, right, front, behind of the second, bool `(N, 4)`."""

    def of(self, index: Tensor) -> Pairs:
        """Those of some pictures."""
        return Pairs(self.codes[index], self.known[index], self.holds[index])

    def to(self, device: torch.device | str) -> Pairs:
        """The same on another device."""
        return Pairs(*(each.to(device) for each in self))

    def turned(self) -> Pairs:
        """The second object first: what was left of it has it to the right."""
        opposite = self.holds.unflatten(1, (2, 2)).flip(2).flatten(1)
        return Pairs(self.codes.flip(1), self.known.flip(1), opposite)

    def labels(self) -> Labels:
        """Their descriptions, how they stand left open."""
        nothing = torch.zeros_like(self.codes[:, 0, 0])
        return Labels(_sentence(self.codes, nothing), _sentence(self.known, nothing.bool()))

    def fit(self, said: Labels) -> Tensor:
        """Which of them one caption is true of in this order, bool `(N,)`."""
        codes, asked = (torch.stack([x[:, :4], x[:, 5:]], 1) for x in said)  # (1, 2, 4)
        alike = (((self.codes == codes) & self.known) | ~asked).flatten(1).all(1)
        relation, spoken = said.codes[0, 4], said.observed[0, 4]
        return alike & torch.where(spoken, self.holds[:, relation], self.holds.any(1))


def drawn(pairs: Pairs, key: Tensor) -> Labels:
    """One of the true captions of every picture, drawn by its key; all are as likely.

    >>> things = torch.tensor([[[0, 1, 0, 0], [1, 2, 1, 1]]])
    >>> holds = torch.tensor([[True, False, False, False]])
    >>> pair = Pairs(things, torch.ones_like(things).bool(), holds)
    >>> drawn(pair, keys(0, torch.tensor([0]))).codes
    tensor([[0, 1, 0, 0, 0, 1, 2, 1, 1]])
    >>> drawn(pair, keys(0, torch.tensor([5]))).codes
    tensor([[1, 2, 1, 1, 1, 0, 1, 0, 0]])
    """
    other = pairs.turned()
    true = torch.cat([pairs.holds, other.holds], 1)  # (B, 8)
    rank = (uniforms(key, 1)[:, 0] * true.sum(1)).long()
    chosen = (true.cumsum(1) <= rank[:, None]).sum(1)  # where the true one of this rank is
    first = (chosen < 4)[:, None, None]
    codes = torch.where(first, pairs.codes, other.codes)
    known = torch.where(first, pairs.known, other.known)
    spoken = torch.ones_like(chosen, dtype=torch.bool)
    return Labels(_sentence(codes, chosen % 4), _sentence(known, spoken))


class Paired(Coloured):
    """A part of a data set of two objects; one of its own reads the files.

    Arguments:
        images: Bytes `(N, 3, H, W)`.
        pairs: The two objects of each; some relation must hold.
        part: The name of the part, which tells its draws from those of other parts.
        seed: Chooses the order, and the captions.
        source: Where the pictures come from, for people.
    """

    vocabulary = SENTENCE
    shape = (3, SIDE, SIDE)
    parts = ("train", "validation", "test", "observer")
    settings = ("side",)

    def __init__(
        self, images: Tensor, pairs: Pairs, part: str, *, seed: int = 0, source: str = "files"
    ):
        super().__init__(images, pairs.labels(), part, seed=seed, source=source)
        self.pairs = pairs

    @staticmethod
    def resolved(source: str, folder: str | Path | None = None) -> str:
        """What is read: `files`."""
        if source not in ("auto", "files"):
            raise UsageError(f"`source={source!r}` is not known; expected 'files' or 'auto'.")
        return "files"

    def to(self, device: torch.device | str) -> Self:
        """Move the pictures."""
        self.pairs = self.pairs.to(device)
        return super().to(device)

    def _said(self, index: Tensor) -> Labels:
        """One true caption for every number, another in every epoch."""
        key = keys(self.seed, index, f"told {self.part}")
        return drawn(self.pairs.of(index % self.count), key)

    def _fits(self, said: Labels) -> Tensor:
        """Which pictures one caption is true of, whichever object it begins with."""
        return self.pairs.fit(said) | self.pairs.turned().fit(said)


def _sentence(things: Tensor, relation: Tensor) -> Tensor:
    """The nine places `(B, 9)` of what is said of the objects `(B, 2, 4)` and between them."""
    return torch.cat([things[:, 0], relation[:, None], things[:, 1]], 1)
