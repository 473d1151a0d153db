"""Sheets of small pictures: square tiles of one size, row by row, in numbered files."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

from mindseye.errors import DataError
from mindseye.pictures import read_pixels, resized

__all__ = ["read_tiles"]


def read_tiles(
    sheet: Callable[[int], Path], count: int, side: int, *, along: int, tile: int
) -> Tensor:
    """The first `count` tiles of some sheets, uint8 `(N, 3, side, side)`.

    Arguments:
        sheet: The file of every number, from 0.
        count: How many tiles there are; the last sheet may have room for more.
        side: Side of a picture, up to that of a tile; smaller ones are means of boxes.
        along: How many tiles a sheet has in either direction.
        tile: Side of a tile.
    """
    *sheets, beyond = map(sheet, range(1 + math.ceil(count / along**2)))
    if beyond.exists():
        message = f"{beyond} is one sheet too many: the index has {count} pictures."
        raise DataError(message, "Sheets and index must be of one copy.")
    images = torch.empty(count, 3, side, side, dtype=torch.uint8)
    for path, some in zip(sheets, images.split(along**2), strict=True):
        some.copy_(_tiles(path, side, along, tile)[: len(some)])
    return images


def _tiles(path: Path, side: int, along: int, tile: int) -> Tensor:
    """All tiles of a sheet, row by row."""
    pixels = read_pixels(path, (3, along * tile, along * tile))
    if side != tile:  # edges of tiles are edges of boxes: no tile runs into its neighbour
        pixels = resized(pixels, along * side, along * side, "box")
    grid = torch.from_numpy(pixels).view(3, along, side, along, side)
    return grid.permute(1, 3, 0, 2, 4).flatten(0, 1)
