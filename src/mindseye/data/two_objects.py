r"""Two Objects: CLEVR's world with two things on the table, and a sentence of nine words.

The paper's data set was never published. Here every picture is rendered when it is asked for, from
its words and a key: colours, sizes, materials and shapes of both objects and how they stand to each
other are uniform over the 36 864 captions, places, turns, camera and lamps are the key's.

`compositional` holds out kinds of objects: of the 96 combinations of size, colour, material and
shape, 81 are seen in training, 5 are kept for validation and 10 for the test. A picture of those
parts has a kind that training never showed.

References:
    On the Importance of Learning Aggregate Posteriors in Multimodal Variational Autoencoders,
    Cremer and Kushman, 2018
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor

from mindseye.captions import Sentence
from mindseye.concepts import Concept
from mindseye.data.averages import mean_picture
from mindseye.data.batch import ENDLESS, Batch
from mindseye.data.camera import View
from mindseye.data.looks import ICLEVR
from mindseye.data.raycast import render
from mindseye.data.scenes import KINDS, SENTENCE
from mindseye.data.splits import PARTS, checked_part, combinations, compositional_split
from mindseye.data.worlds import NUMBERS, staged
from mindseye.errors import UsageError, did_you_mean, listed
from mindseye.labels import Labels, encode
from mindseye.randomness import integers, keys, keys_of_each, uniforms

__all__ = ["TwoObjects", "kinds_of"]

SIDE = 112

ROOM = {"cpu": 2**31, "cuda": 2**35}
"""Bytes that kept pictures may take; where they would take more, each is rendered every time."""

VIEWS = {"rendered": View(SIDE, SIDE), "wide": View(SIDE, SIDE, 0.343, 4 / 3, ICLEVR)}
"""By source: CLEVR's world, and i-CLEVR's, squeezed into a square as its resized pictures are."""

_KIND = tuple(len(words) for words in KINDS)


class TwoObjects:
    """Two objects and nine words, rendered where and when they are asked for.

    Arguments:
        part: `train`, `validation`, `test` or `observer`: whose keys, and in a compositional split
            whose kinds of objects.
        source: `rendered`, or `wide` for the view of i-CLEVR, 4 : 3, and its look.
        compositional: Whether kinds of objects are held out.
        split_seed: Chooses them.
        replications: How many pictures there are for every caption, on average; 0 for no end of
            them. If there is an end, each is rendered once and kept as bytes: on a GPU all of them
            at the beginning, on a CPU each when it is first asked for.
        side: Pixels in both directions; 0 for 112.
        seed: Chooses captions and scenes.
    """

    vocabulary: Sentence = SENTENCE
    shape = (3, SIDE, SIDE)
    parts = PARTS
    settings = ("compositional", "split_seed", "replications", "side")

    def __init__(
        self,
        part: str = "train",
        *,
        source: str = "rendered",
        compositional: bool = False,
        split_seed: int = 0,
        replications: int = 0,
        side: int = 0,
        seed: int = 0,
    ):
        self.part, self.seed = checked_part(part, self.parts), seed
        source, side = self.resolved(source), side or self.shape[1]
        self.shape = (3, side, side)
        self.view = VIEWS[source]._replace(height=side, width=side)
        self.source = source
        self.every = combinations(self.vocabulary.sizes)  # (M, 9)
        if compositional and part != "observer":
            self.every = self.every[self._own(part, split_seed)]
        self.count = len(self.every) * replications or ENDLESS
        self.kept: Tensor | None = None
        self.drawn: Tensor | None = None

    @classmethod
    def read(cls, source: str, part: str, folder: str | Path | None = None, **options: Any) -> Self:
        """A part; there are no files to read."""
        return cls(part, source=source, **options)

    @staticmethod
    def resolved(source: str, folder: str | None = None) -> str:
        """The view that a source means."""
        source = "rendered" if source == "auto" else source
        if source not in VIEWS:
            raise UsageError(
                f"`source={source!r}` is not known; expected {listed(VIEWS)}.",
                did_you_mean(source, VIEWS),
            )
        return source

    @classmethod
    def held_out(cls, part: str, split_seed: int) -> Tensor:
        """The captions of a compositional split's validation or test, `(M, 9)`."""
        return cls(part, compositional=True, split_seed=split_seed).every

    def batch(self, step: int | Tensor, size: int, count: int = 1) -> Batch[Labels]:
        """Training batch number `step`: pictures drawn at random with replacement."""
        rows = step * size + torch.arange(count * size, device=self.every.device)
        index = integers(keys(self.seed, rows, "order"), self.count)
        if self.count == ENDLESS or self._bytes > ROOM[self.every.device.type]:
            return self.examples(index)
        kept = self._all() if self.every.is_cuda else self._once(index)
        return Batch(kept.index_select(0, index).float() / 255, self._said(index))

    def examples(self, index: Tensor) -> Batch[Labels]:
        """The pictures of some indices: the same alone or together."""
        u = uniforms(keys(self.seed, index, self.part), 1 + NUMBERS)
        codes = self.every[(u[:, 0] * len(self.every)).long()]
        return Batch(_in_bytes(self._drawn(codes, u[:, 1:])).float() / 255, Labels.full(codes))

    def pictures_of(self, concept: Concept, n: int, seed: int) -> Tensor:
        """Real pictures of a caption, what it leaves open uniform."""
        return self.pictures_of_each([concept], n, [seed])[0]

    def pictures_of_each(self, concepts: Sequence[Concept], n: int, seeds: Sequence[int]) -> Tensor:
        """The pictures of every caption with its seed, all at once, `(Q, n, 3, H, W)`."""
        key = keys_of_each(seeds, n, f"real {self.part}", self.every.device)
        said, places = encode(concepts, self.every.device), len(self.vocabulary)
        u = uniforms(key.flatten(), places + NUMBERS)
        sizes = torch.tensor(self.vocabulary.sizes, device=u.device)
        codes, observed = (each.repeat_interleave(n, 0) for each in said)
        codes = torch.where(observed, codes, (u[:, :places] * sizes).long())
        pictures = _in_bytes(self._drawn(codes, u[:, places:])).float() / 255
        return pictures.unflatten(0, key.shape)

    def mean(self) -> Tensor:
        """The mean picture, nearly: that of many examples."""
        return mean_picture(self.examples, self.count, self.every.device)

    def facts(self) -> dict[str, Any]:
        """How many captions and pictures there are."""
        return {
            "captions": len(self.every),
            "pictures": "endless" if self.count == ENDLESS else self.count,
            "size": f"{self.view.width} x {self.view.height}",
            "view": self.source,
        }

    def to(self, device: torch.device | str) -> Self:
        """Render on another device."""
        self.every = self.every.to(device)
        return self

    def _said(self, index: Tensor) -> Labels:
        """The captions of some indices."""
        u = uniforms(keys(self.seed, index, self.part), 1)[:, 0]
        return Labels.full(self.every[(u * len(self.every)).long()])

    def _all(self) -> Tensor:
        """All pictures as bytes, rendered once: on a GPU there is room for them."""
        if self.kept is None:
            index = torch.arange(self.count, device=self.every.device)
            self.kept = torch.cat([_in_bytes(self.examples(some).x) for some in index.split(2048)])
        return self.kept

    def _once(self, index: Tensor) -> Tensor:
        """A place for every picture as bytes, in which those of some indices are."""
        if self.kept is None or self.drawn is None:
            with torch.inference_mode(False):
                self.kept = torch.empty(self.count, *self.shape, dtype=torch.uint8)
                self.drawn = torch.zeros(self.count, dtype=torch.bool)
        new = index[~self.drawn[index]].unique()
        if len(new):
            self.kept[new] = _in_bytes(self.examples(new).x)
            self.drawn[new] = True
        return self.kept

    @property
    def _bytes(self) -> int:
        """What all pictures take."""
        return self.count * math.prod(self.shape)

    def _drawn(self, codes: Tensor, u: Tensor) -> Tensor:
        """The pictures of captions, at uniform numbers."""
        return render(staged(kinds_of(codes), codes[:, 4], u, self.view), self.view)

    def _own(self, part: str, split_seed: int) -> Tensor:
        """Which captions are a part's: all kinds seen, or at least one that training never saw."""
        first, second = kinds_of(self.every).unbind(1)
        seen, own = (_among(split_seed, each) for each in ("train", part))
        if part == "train":
            return seen(first) & seen(second)
        return (own(first) & (seen(second) | own(second))) | (seen(first) & own(second))


def _in_bytes(pictures: Tensor) -> Tensor:
    """Pictures as files would hold them."""
    return (255 * pictures).round().byte()


def kinds_of(codes: Tensor) -> Tensor:
    """Size, colour, material and shape of both objects, `(B, 2, 4)`, of captions `(B, 9)`."""
    return torch.stack([codes[:, :4], codes[:, 5:]], 1)


def _among(split_seed: int, part: str) -> Any:
    """A test of whether kinds `(B, 4)` belong to a part."""
    own = compositional_split(_KIND, part, split_seed)
    weight = torch.tensor([_KIND[1] * _KIND[2] * _KIND[3], _KIND[2] * _KIND[3], _KIND[3], 1])
    return lambda kinds: torch.isin((kinds * weight).sum(1), (own * weight).sum(1))
