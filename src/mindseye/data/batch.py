"""What a data set gives, and what training and evaluation ask of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import torch
from torch import Tensor

from mindseye.concepts import Concept, Vocabulary
from mindseye.labels import Labels
from mindseye.pieces import Pieces

__all__ = ["ENDLESS", "Batch", "Dataset"]

ENDLESS = 2**40
"""The count of a data set whose pictures never come to an end."""


Said = TypeVar("Said", Labels, Pieces)


class Batch(NamedTuple, Generic[Said]):
    """Pictures and their descriptions: words, or the parts that wholes are made of."""

    x: Tensor
    """Pictures, float32 in [0, 1], `(B, C, H, W)`."""

    y: Said
    """What is known about them."""


class Dataset(Protocol):
    """Pictures with descriptions; every method is a pure function of its arguments."""

    vocabulary: Vocabulary
    shape: tuple[int, int, int]
    parts: tuple[str, ...]
    count: int
    """How many different pictures the part has; `ENDLESS` for no end of them."""

    def batch(self, step: int | Tensor, size: int, count: int = 1) -> Batch[Labels]:
        """Training batch number `step`, or `count` from there on, one behind the other."""
        ...

    def examples(self, index: Tensor) -> Batch[Labels]:
        """The pictures of some indices: the same alone or together."""
        ...

    def pictures_of(self, concept: Concept, n: int, seed: int) -> Tensor:
        """Real pictures of a concept, whatever it leaves open drawn as the data draws it."""
        ...

    def pictures_of_each(self, concepts: Sequence[Concept], n: int, seeds: Sequence[int]) -> Tensor:
        """The pictures of every concept with its seed, all at once, `(Q, n, C, H, W)`."""
        ...

    def mean(self) -> Tensor:
        """The mean picture of the part before it is binarised, float32 of `shape`."""
        ...

    def facts(self) -> dict[str, Any]:
        """What it holds, for people."""
        ...

    def to(self, device: torch.device | str) -> Dataset:
        """The same data on another device."""
        ...
