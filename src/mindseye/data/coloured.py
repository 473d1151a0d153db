"""Stored colour pictures: in memory as bytes, seen once an epoch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import torch
from torch import Tensor

from mindseye.concepts import Concept, Vocabulary
from mindseye.data.batch import Batch
from mindseye.data.epochs import positions, shuffled
from mindseye.errors import UsageError
from mindseye.labels import Labels, encode
from mindseye.randomness import integers, keys_of_each

__all__ = ["Coloured"]


class Coloured:
    """A part of a data set of colour pictures; one of its own reads the files.

    Number n of a part of N pictures is picture n mod N, seen for the ⌊n / N⌋-th time.

    Arguments:
        images: Bytes `(N, C, H, W)`.
        labels: What they show; what is not known is left open.
        part: The name of the part, which tells its draws from those of other parts.
        seed: Chooses the order, and whatever is drawn.
        source: Where the pictures come from, for people.
    """

    vocabulary: Vocabulary
    parts: ClassVar[tuple[str, ...]] = ("train", "validation", "test")

    def __init__(
        self, images: Tensor, labels: Labels, part: str, *, seed: int = 0, source: str = ""
    ):
        if not len(images):
            raise UsageError(f"`part={part!r}` has no pictures; give more than a few.")
        self.images, self.labels, self.count = images.contiguous(), labels, len(images)
        self.shape: tuple[int, int, int] = tuple(images.shape[1:])  # pyright: ignore[reportAttributeAccessIssue]
        self.part, self.seed, self.source = part, seed, source

    def batch(self, step: int | Tensor, size: int, count: int = 1) -> Batch[Labels]:
        """Training batch number `step`, or `count` from there on: every picture once an epoch."""
        position = positions(step, size, count, self.images.device)
        return self.examples(shuffled(position, self.count, self.seed))

    def examples(self, index: Tensor) -> Batch[Labels]:
        """The pictures of some numbers: the same alone or together."""
        return Batch(self._pixels(index % self.count), self._said(index))

    def pictures_of(self, concept: Concept, n: int, seed: int) -> Tensor:
        """Real pictures of a concept: those of the part that fit it."""
        return self.pictures_of_each([concept], n, [seed])[0]

    def pictures_of_each(self, concepts: Sequence[Concept], n: int, seeds: Sequence[int]) -> Tensor:
        """The pictures of every concept with its seed, all at once, `(Q, n, C, H, W)`."""
        key = keys_of_each(seeds, n, f"real {self.part}", self.images.device)
        fits = [self._fitting(concept) for concept in concepts]
        pairs = zip(fits, key, strict=True)
        source = torch.cat([fit[integers(some, len(fit))] for fit, some in pairs])
        return self._pixels(source).unflatten(0, key.shape)

    def mean(self) -> Tensor:
        """The mean picture of the part, float32 of `shape`."""
        sums = [some.sum(0, dtype=torch.int64) for some in self.images.split(4096)]
        return (torch.stack(sums).sum(0) / (255 * self.count)).float()

    def facts(self) -> dict[str, Any]:
        """Where the pictures come from, how many there are and how large."""
        _, height, width = self.shape
        return {"source": self.source, "pictures": self.count, "size": f"{width} x {height}"}

    def to(self, device: torch.device | str) -> Self:
        """Move the pictures."""
        self.images, self.labels = self.images.to(device), self.labels.to(device)
        return self

    def _pixels(self, source: Tensor) -> Tensor:
        return self.images.index_select(0, source).float().div_(255)

    def _said(self, index: Tensor) -> Labels:
        """What is said of the pictures of some numbers."""
        source = index % self.count
        return Labels(self.labels.codes[source], self.labels.observed[source])

    def _fitting(self, concept: Concept) -> Tensor:
        """The pictures that a concept describes."""
        fits = self._fits(encode([concept], self.images.device)).nonzero()[:, 0]
        if not len(fits):
            raise UsageError(f"`part={self.part!r}` has no picture of {concept}.")
        return fits

    def _fits(self, said: Labels) -> Tensor:
        """Which pictures one description is true of, bool `(N,)`."""
        own = self.labels
        return (((own.codes == said.codes) & own.observed) | ~said.observed).all(1)
