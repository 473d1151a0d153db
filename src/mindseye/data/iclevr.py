"""i-CLEVR with two objects: colours and shapes are known, sizes and materials left open.

Read are sheets of pictures and an index of what they show:

    iclevr_2obj_0.jpg to iclevr_2obj_4.jpg: 40 rows of 32 pictures, 128 wide and 96 high
    iclevr_index.npz: color, shape, color_names, shape_names, centroid_xy

How the objects stand to each other is not written and is taken from where they are seen: the first
is left of the second if its middle is at least 4 pixels further left, and in front of it if it is
as much lower. An axis on which they are nearer is not spoken of; where both are, the picture is
left out. The rows of the index are divided as the sources of other data sets are.

A picture is resized whole to a square, so its aspect is not kept. It takes 37 632 bytes of memory
at the side 112, 226 MB in all; while a sheet is decoded, 0.8 GB more.

References:
    Tell, Draw, and Repeat: Generating and Modifying Images Based on Continual Linguistic
    Instruction, El-Nouby et al., 2019
    https://arxiv.org/abs/1811.09845
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Self

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import interpolate

from mindseye.data.npz import Npz
from mindseye.data.places import places, the_file
from mindseye.data.scenes import COLOURS, SHAPES
from mindseye.data.splits import checked_part, source_split
from mindseye.data.telling import SIDE, Paired, Pairs
from mindseye.errors import DataError, did_you_mean
from mindseye.pictures import read_pixels

__all__ = ["IClevr", "read_pairs", "read_tiles"]

INDEX = "iclevr_index.npz"
ROWS, COLUMNS = 40, 32
HEIGHT, WIDTH = 96, 128
NEAR = 4
"""Pixels; objects that are nearer on an axis are not told apart on it."""


class IClevr(Paired):
    """i-CLEVR's pictures of two objects, with one of their captions at a time."""

    @classmethod
    def read(
        cls,
        source: str,
        part: str,
        folder: str | Path | None = None,
        *,
        side: int = 0,
        seed: int = 0,
    ) -> Self:
        """A part from the sheets of a folder."""
        checked_part(part, cls.parts)
        cls.resolved(source, folder)
        path = the_file("i-CLEVR", [INDEX], places(folder, "iclevr"))
        pairs = read_pairs(path)
        index = source_split(len(pairs.holds), part)
        index = index[pairs.holds[index].any(1)]
        return cls(read_tiles(path.parent, index, side or SIDE), pairs.of(index), part, seed=seed)


def read_pairs(path: Path) -> Pairs:
    """The first two objects of every row of the index."""
    file = Npz(path)
    colour = _codes(file, "color", COLOURS, None)
    count = len(colour)
    shape = _codes(file, "shape", SHAPES, count)
    middle = torch.from_numpy(file.read("centroid_xy", "real", (count, 3, 2)).astype(np.float64))
    inside = (middle >= 0) & (middle <= torch.tensor([WIDTH, HEIGHT]))
    if not inside.all():
        raise DataError(f"{path}: `centroid_xy` has places outside {WIDTH} x {HEIGHT} pixels.")
    open_ = torch.zeros_like(colour)
    codes = torch.stack([open_, colour, open_, shape], 2)  # (N, 2, 4)
    known = torch.tensor([False, True, False, True]).expand(codes.shape)
    return Pairs(codes, known, _stands(middle[:, 0] - middle[:, 1]))


def read_tiles(folder: Path, index: Tensor, side: int) -> Tensor:
    """The pictures of some rows, which are sorted, as bytes `(M, 3, side, side)`.

    Arguments:
        folder: Where the sheets are.
        index: The rows, int64 `(M,)`.
        side: The side of a picture in pixels.
    """
    found = [torch.zeros(0, 3, side, side, dtype=torch.uint8)]
    sheets, at = index // (ROWS * COLUMNS), index % (ROWS * COLUMNS)
    for number in sheets.unique().tolist():
        tiles = _sheet(folder / f"iclevr_2obj_{number}.jpg")
        found += [_small(tiles[some], side) for some in at[sheets == number].split(128)]
    return torch.cat(found)


def _codes(file: Npz, name: str, words: Sequence[str], count: int | None) -> Tensor:
    """What two objects of every row have, by its place among our words, int64 `(N, 2)`."""
    number = file.read(name, "integer", (count, 3)).astype(np.int64)
    names = [str(each) for each in file.read(f"{name}_names", "text", (None,))]
    for each in names:
        if each not in words:
            message = f"{file.path}: `{name}_names` has {each!r}, which is not a word of CLEVR."
            raise DataError(message, did_you_mean(each, words))
    if number.size and not 0 <= number.min() <= number.max() < len(names):
        raise DataError(f"{file.path}: `{name}` has numbers outside 0 to {len(names) - 1}.")
    codes = np.array([words.index(each) for each in names], np.int64)
    return torch.from_numpy(codes[number[:, :2]])


def _stands(step: Tensor) -> Tensor:
    """Left, right, front and behind, bool `(N, 4)`, by the way from the second to the first."""
    x, y = step.unbind(1)
    return torch.stack([x <= -NEAR, x >= NEAR, y >= NEAR, y <= -NEAR], 1)


def _sheet(path: Path) -> Tensor:
    """The pictures of a sheet, row by row, bytes `(1280, 3, 96, 128)`."""
    whole = read_pixels(path, (3, ROWS * HEIGHT, COLUMNS * WIDTH))
    tiles = torch.from_numpy(whole).view(3, ROWS, HEIGHT, COLUMNS, WIDTH)
    return tiles.permute(1, 3, 0, 2, 4).flatten(0, 1)


def _small(tiles: Tensor, side: int) -> Tensor:
    """Pictures resized whole, as bytes."""
    small = interpolate(tiles.float(), (side, side), mode="bicubic", antialias=True)
    return small.round().clamp(0, 255).byte()
