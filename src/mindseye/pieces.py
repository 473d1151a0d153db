"""Multisets of parts as tensors: the one place where parts become numbers.

The parts of $B$ wholes stand one behind the other, whole after whole; nothing is padded.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

__all__ = ["Pieces"]


class Pieces(NamedTuple):
    """The parts of a batch of wholes."""

    codes: Tensor
    """Their categories, int64 `(N,)`."""

    places: Tensor
    """Their continuous labels, float32 `(N, A)`; A is 0 where there are none."""

    sizes: Tensor
    """How many parts every whole has, int64 `(B,)`."""

    def to(self, device: torch.device | str) -> Pieces:
        """The same parts on another device."""
        return Pieces(*(each.to(device) for each in self))
