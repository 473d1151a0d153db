"""Data sets whose pictures are drawn from handwritten digits, where and when they are asked for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor

from mindseye.concepts import Concept, Vocabulary
from mindseye.data.averages import mean_picture
from mindseye.data.batch import ENDLESS, Batch
from mindseye.data.sources import Sources, resolved, sources
from mindseye.data.splits import PARTS, combinations, source_split
from mindseye.errors import UsageError
from mindseye.labels import Labels, encode
from mindseye.randomness import integers, keys

__all__ = ["Handwriting", "sources_of"]


def sources_of(sources: Sources, part: str, split_seed: int = 0) -> Sources:
    """The digits that belong to a part alone."""
    index = source_split(len(sources.images), part, split_seed)
    return Sources(sources.images[index], sources.digits[index])


class Handwriting(ABC):
    """A part of a data set drawn from digits; one of its own says what is drawn.

    Arguments:
        sources: The digits of the part.
        part: The name of the part, which tells its draws from those of other parts.
        every: The combinations of codes that its pictures have, `(M, K)`.
        replications: How many pictures of every source there are; 0 for no end of them.
        seed: Chooses whatever is drawn.
    """

    vocabulary: Vocabulary
    shape: tuple[int, int, int]
    parts = PARTS
    resolved = staticmethod(resolved)

    def __init__(
        self, sources: Sources, part: str, *, every: Tensor, replications: int = 0, seed: int = 0
    ):
        if not len(sources.images):
            raise UsageError(f"`part={part!r}` has no source digits; give more than a few sources.")
        self.images, self.digits = sources.images.contiguous(), sources.digits
        self.every, self.part, self.seed = every, part, seed
        self.count = len(self.images) * replications or ENDLESS
        self.shelves = _shelved(self.digits)

    @classmethod
    def read(cls, source: str, part: str, folder: str | Path | None = None, **options: Any) -> Self:
        """A part rendered from the digits of a name: mnist, digits or auto."""
        return cls(sources(source, folder), part, **options)

    @abstractmethod
    def examples(self, index: Tensor) -> Batch[Labels]:
        """The pictures of some indices: the same alone or together."""

    @abstractmethod
    def pictures_of_each(self, concepts: Sequence[Concept], n: int, seeds: Sequence[int]) -> Tensor:
        """The pictures of every concept with its seed, all at once, `(Q, n, 1, H, W)`."""

    def batch(self, step: int | Tensor, size: int, count: int = 1) -> Batch[Labels]:
        """Training batch number `step`: pictures drawn at random with replacement."""
        rows = step * size + torch.arange(count * size, device=self.images.device)
        return self.examples(integers(keys(self.seed, rows, "order"), self.count))

    def pictures_of(self, concept: Concept, n: int, seed: int) -> Tensor:
        """Real pictures of a concept: sources of the part, open attributes uniform."""
        return self.pictures_of_each([concept], n, [seed])[0]

    def facts(self) -> dict[str, Any]:
        """How many sources, combinations and pictures there are, and of which digits."""
        return {
            "sources": len(self.images),
            "combinations": len(self.every),
            "pictures": "endless" if self.count == ENDLESS else self.count,
            "sources of each digit": " ".join(
                map(str, self.digits.bincount(minlength=10).tolist())
            ),
        }

    def mean(self) -> Tensor:
        """The mean picture, nearly: that of many examples."""
        return mean_picture(self.examples, self.count, self.images.device)

    def to(self, device: torch.device | str) -> Self:
        """Move the sources; pictures are rendered where the sources are."""
        for name in ("images", "digits", "every"):
            setattr(self, name, getattr(self, name).to(device))
        self.shelves = tuple(each.to(device) for each in self.shelves)
        return self

    def _drawn(self, concepts: Sequence[Concept], u: Tensor) -> Tensor:
        """A combination of every concept for each of its uniform numbers `(Q, n)`, `(Q, n, K)`."""
        every = combinations(self.vocabulary.sizes).to(u.device)
        fits = self._fitting(concepts, every)  # (Q, M)
        chosen = fits.sort(dim=1, descending=True, stable=True).indices  # those that fit come first
        number = (u * fits.sum(1, keepdim=True)).long()
        return every[chosen.gather(1, number)]

    def _fitting(self, concepts: Sequence[Concept], every: Tensor) -> Tensor:
        """Which combinations concepts allow, `(Q, M)`: a split's own where it has any."""
        codes, observed = (each[:, None] for each in encode(concepts, every.device))
        fits = ((every == codes) | ~observed).all(2)
        own = fits & (every[:, None] == self.every).all(2).any(1)
        return torch.where(own.any(1, keepdim=True), own, fits)

    def _source_of(self, digit: Tensor, u: Tensor) -> Tensor:
        """A source of every digit asked for, uniform."""
        order, starts, counts = self.shelves
        return order[starts[digit] + (u * counts[digit]).long()]

    def _check_digits(self, digit: Tensor) -> None:
        """Refuse digits of which there is no source."""
        if missing := sorted(set(digit.flatten().tolist()) - set(self.digits.tolist())):
            raise UsageError(f"`part={self.part!r}` has no source of digit {missing[0]}.")


def _shelved(digits: Tensor) -> tuple[Tensor, ...]:
    """Sources digit by digit `(N,)`, where those of each digit begin and how many they are."""
    counts = torch.bincount(digits, minlength=10)
    return digits.argsort(stable=True), counts.cumsum(0) - counts, counts
