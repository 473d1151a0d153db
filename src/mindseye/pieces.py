"""Multisets of parts as tensors: the one place where parts become numbers.

The parts of $B$ wholes stand one behind the other, whole after whole; nothing is padded.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from mindseye.errors import UsageError
from mindseye.parts import Kit, Part, Parts

__all__ = ["Pieces", "decode_parts", "encode_parts"]


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


def encode_parts(many: Sequence[Parts], device: torch.device | str = "cpu") -> Pieces:
    """Tensors of some wholes of one kit.

    >>> kit = Kit(["red", "blue"], axes=("x", "y"))
    >>> encode_parts([kit.parse("blue@0.5,-1"), kit.parse("red@0,0; blue@0.25,0")])
    Pieces(codes=tensor([1, 0, 1]),
           places=tensor([[ 0.5000, -1.0000], [ 0.0000,  0.0000], [ 0.2500,  0.0000]]),
           sizes=tensor([1, 2]))
    """
    kits = {parts.kit for parts in many}
    if len(kits) > 1:
        raise UsageError(f"`many` are parts of {len(kits)} kits; expected one.")
    codes = torch.tensor([code for parts in many for code in parts.codes], dtype=torch.int64)
    axes = sum(len(kit.axes) for kit in kits)
    values = [value for parts in many for place in parts.places for value in place]
    places = torch.tensor(values, dtype=torch.float32).reshape(len(codes), axes)
    sizes = torch.tensor([len(parts) for parts in many], dtype=torch.int64)
    return Pieces(codes, places, sizes).to(device)


def decode_parts(kit: Kit, pieces: Pieces) -> list[Parts]:
    """The wholes that some tensors stand for; places are the shortest decimals that give them.

    >>> kit = Kit(["red", "blue"], axes=("x", "y"))
    >>> decode_parts(kit, encode_parts([kit.parse("red@0.1,-0.7"), kit.parts([])]))
    [Parts('red@0.1,-0.7'), Parts('')]
    """
    codes, sizes = pieces.codes.tolist(), pieces.sizes.tolist()
    if sum(sizes) != len(codes) or len(codes) != len(pieces.places):
        rows = f"{len(codes)} codes and {len(pieces.places)} places"
        raise UsageError(f"`sizes` has {sum(sizes)} parts; `pieces` has {rows}.")
    if wrong := [code for code in codes if not 0 <= code < len(kit.names)]:
        raise UsageError(f"`codes` has {wrong[0]}; expected 0 to {len(kit.names) - 1}.")
    bounds = {np.float32(bound): bound for bound in (kit.low, kit.high)}  # as they were written
    rows = iter(
        Part(kit.names[code], tuple(bounds.get(value, float(str(value))) for value in place))
        for code, place in zip(codes, pieces.places.detach().cpu().numpy(), strict=True)
    )
    return [kit.parts(islice(rows, size)) for size in sizes]
