"""Descriptions as tensors: the one place where a concept becomes integers.

A batch of $B$ concepts over $K$ attributes is a pair: `codes` `(B, K)`, the index of each value in
its attribute, and `observed` `(B, K)`, whether the attribute was said at all. A code that was not
said is 0 and means nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from mindseye.concepts import Concept, Vocabulary

__all__ = ["Labels", "decode", "encode"]


class Labels(NamedTuple):
    """A batch of partial attribute assignments."""

    codes: Tensor
    """Value indices, int64, `(B, K)`."""

    observed: Tensor
    """Which of them were said, bool, `(B, K)`."""

    @classmethod
    def full(cls, codes: Tensor) -> Labels:
        """Labels that leave nothing open."""
        return cls(codes, torch.ones_like(codes, dtype=torch.bool))

    def to(self, device: torch.device | str) -> Labels:
        """The same labels on another device."""
        return Labels(self.codes.to(device), self.observed.to(device))


def encode(concepts: Sequence[Concept], device: torch.device | str = "cpu") -> Labels:
    """Tensors of some concepts of one vocabulary.

    >>> from mindseye.concepts import Attribute
    >>> words = Vocabulary([Attribute("size", ["big", "small"]), Attribute("hue", ["red", "blue"])])
    >>> encode([words.parse("blue")])
    Labels(codes=tensor([[0, 1]]), observed=tensor([[False,  True]]))
    """
    rows = [concept.codes for concept in concepts]
    codes = torch.tensor([[code or 0 for code in row] for row in rows], dtype=torch.int64)
    observed = torch.tensor([[code is not None for code in row] for row in rows], dtype=torch.bool)
    return Labels(codes, observed).to(device)


def decode(vocabulary: Vocabulary, labels: Labels) -> list[Concept]:
    """The concepts that some tensors stand for."""
    codes, observed = labels.codes.tolist(), labels.observed.tolist()
    return [
        vocabulary.from_codes([c if o else None for c, o in zip(row, said, strict=True)])
        for row, said in zip(codes, observed, strict=True)
    ]
