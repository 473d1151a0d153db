r"""Pictures that are stored: in memory as bytes, seen once an epoch, binarised as asked.

Number $n$ of a part of $N$ pictures is picture $n \bmod N$, seen for the $⌊n / N⌋$-th time. Its
pixels are drawn by its number, so they are drawn anew in every epoch; and the first $N$ numbers of
a test set are the same pictures for ever.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import torch
from torch import Tensor

from mindseye.concepts import Concept, Vocabulary
from mindseye.data.batch import Batch
from mindseye.data.binarising import binarised, grey
from mindseye.data.epochs import positions, shuffled
from mindseye.errors import UsageError
from mindseye.labels import Labels, encode
from mindseye.randomness import integers, keys, keys_of_each

__all__ = ["Stored"]


class Stored:
    """A part of a stored data set; a data set of its own sets the vocabulary and reads the files.

    Arguments:
        images: Grey values, uint8 `(N, H, W)`.
        codes: What they show, int64 `(N, K)`; nothing where that is not known at all.
        part: The name of the part, which tells its noise from that of other parts.
        known: Which descriptions are given, bool `(N,)`; all of them by default.
        described: The share of every batch that is drawn from those pictures; 0 to leave it to
            chance.
        binarise: `dynamic`, `static` or `none`.
        seed: Chooses order and noise.
        static_seed: Chooses the noise that is drawn once, whatever `seed` is.
        source: Where the pictures come from, for people.
    """

    vocabulary: ClassVar[Vocabulary]
    shape: ClassVar[tuple[int, int, int]] = (1, 28, 28)
    parts: ClassVar[tuple[str, ...]] = ("train", "validation", "test")

    def __init__(
        self,
        images: Tensor,
        codes: Tensor | None,
        part: str,
        *,
        known: Tensor | None = None,
        described: float = 0.0,
        binarise: str = "dynamic",
        seed: int = 0,
        static_seed: int = 0,
        source: str = "",
    ):
        if not len(images):
            raise UsageError(f"`part={part!r}` has no pictures; give more than a few.")
        self.images, self.count = images.contiguous(), len(images)
        self.shows = codes is not None
        nothing = torch.zeros(self.count, len(self.vocabulary), dtype=torch.int64)
        self.codes = nothing if codes is None else codes
        every = torch.full((self.count,), self.shows)
        self.known = every if known is None else known & every
        self.known_index, self.share = self.known.nonzero()[:, 0], described  # (M,)
        if described and not len(self.known_index):
            raise UsageError(
                f"`described={described}` of a batch cannot be drawn: no description is known.",
                "Give some with `labels` or `labelled`, or leave it at 0.",
            )
        self.part, self.binarise, self.source = part, binarise, source
        self.seed, self.static_seed = seed, static_seed

    def batch(self, step: int | Tensor, size: int, count: int = 1) -> Batch[Labels]:
        """Training batch number `step`, or `count` from there on: every picture once an epoch.

        Where a share of it is `described`, those rows come first, and their pictures have epochs of
        their own.
        """
        few, device = round(self.share * size), self.images.device
        rest = shuffled(positions(step, size - few, count, device), self.count, self.seed)
        if not few:
            return self.examples(rest)
        known = self._known(positions(step, few, count, device))
        both = [known.view(count, few), rest.view(count, size - few)]
        return self.examples(torch.cat(both, 1).flatten())

    def examples(self, index: Tensor) -> Batch[Labels]:
        """The pictures of some numbers: the same alone or together."""
        source = index % len(self.images)
        codes = self.codes[source]
        said = self._said(source, index)[:, None].expand(codes.shape)
        return Batch(self._pixels(source, index), Labels(codes, said))

    def pictures_of(self, concept: Concept, n: int, seed: int) -> Tensor:
        """Real pictures of a concept: those of the part that fit it."""
        return self.pictures_of_each([concept], n, [seed])[0]

    def pictures_of_each(self, concepts: Sequence[Concept], n: int, seeds: Sequence[int]) -> Tensor:
        """The pictures of every concept with its seed, all at once, `(Q, n, C, H, W)`."""
        key = keys_of_each(seeds, n, f"real {self.part}", self.images.device)
        fits = [self._fitting(concept) for concept in concepts]
        pairs = zip(fits, key, strict=True)
        source = torch.cat([fit[integers(some, len(fit))] for fit, some in pairs])
        return self._drawn(source, key.flatten()).unflatten(0, key.shape)

    def mean(self) -> Tensor:
        """The mean grey picture of the part, float32 of `shape`."""
        total = self.images.sum(0, dtype=torch.int64)
        return (total / (255 * len(self.images))).float().view(self.shape)

    def facts(self) -> dict[str, Any]:
        """Where the pictures come from, how many there are, and how many are described."""
        return {
            "source": self.source,
            "pictures": len(self.images),
            "described": int(self.known.sum()),
            "binarised": self.binarise,
        }

    def to(self, device: torch.device | str) -> Self:
        """Move the pictures."""
        for name in ("images", "codes", "known", "known_index"):
            setattr(self, name, getattr(self, name).to(device))
        return self

    def _known(self, position: Tensor) -> Tensor:
        """Numbers of the pictures at some positions of the sequence over those that are known.

        They are negative: no picture of the other sequence has the same pixels drawn for it.
        """
        turn = shuffled(position, len(self.known_index), ~self.seed)
        epoch = turn // len(self.known_index)
        return self.known_index[turn % len(self.known_index)] - (1 + epoch) * self.count

    def _said(self, source: Tensor, index: Tensor) -> Tensor:
        """Whether the descriptions of some pictures are known, `(B,)`: the same in every epoch."""
        return self.known[source]

    def _pixels(self, source: Tensor, index: Tensor) -> Tensor:
        """The pixels of sources, drawn by the number of the picture, or of the source."""
        if self.binarise == "dynamic":
            return self._drawn(source, keys(self.seed, index, self.part))
        return self._drawn(source, keys(self.static_seed, source, f"static {self.part}"))

    def _drawn(self, source: Tensor, key: Tensor) -> Tensor:
        """The pixels of sources, drawn by keys if they are drawn at all."""
        if self.binarise == "none":
            return grey(self.images, source)
        return binarised(self.images, source, key)

    def _fitting(self, concept: Concept) -> Tensor:
        """The sources that a concept describes."""
        said = encode([concept], self.images.device)
        fits = ((self.codes == said.codes) | ~said.observed).all(1).nonzero()[:, 0]
        if concept.level and not self.shows:
            raise UsageError(f"`source={self.source!r}` does not say what its pictures show.")
        if not len(fits):
            raise UsageError(f"`part={self.part!r}` has no source of {concept}.")
        return fits
