"""The pictures and attributes of CelebA, as two layouts of files hold them.

`sheets` is a folder of pictures of 64 by 64 that were cut out before. `celeba64_index.npz` says
what they show: `attr_names`, and for each of `train`, `val` and `test` the numbers of the pictures
(`train_image_no`) and their attributes (`train_attr`, -1 or 1). The pictures themselves are tiles
of `celeba64_train_00.jpg` and so on, 32 by 32 a sheet, row by row in the order of the index.

`aligned` is the layout of the authors: a folder `img_align_celeba` of pictures of 178 by 218, and
beside it `list_attr_celeba.txt` and `list_eval_partition.txt`, gzipped or not. The square of 148
pixels around the face is cut out and resized. That takes minutes for all 202 599, so the result is
kept in the user's cache, under a name that tells the files.
"""

from __future__ import annotations

import gzip
import hashlib
import math
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from mindseye.data.npz import Npz
from mindseye.data.places import the_file
from mindseye.data.tiles import read_tiles
from mindseye.errors import DataError, UsageError
from mindseye.files import explained, write_pieces
from mindseye.pictures import read_pixels, resized

__all__ = [
    "ATTRIBUTES",
    "SIDE",
    "Faces",
    "listed_attributes",
    "read_aligned",
    "read_sheets",
    "sheet_attributes",
]

ATTRIBUTES = (
    "Bald", "Bangs", "Black_Hair", "Blond_Hair", "Brown_Hair", "Bushy_Eyebrows", "Eyeglasses",
    "Gray_Hair", "Heavy_Makeup", "Male", "Mouth_Slightly_Open", "Mustache", "Pale_Skin",
    "Receding_Hairline", "Smiling", "Straight_Hair", "Wavy_Hair", "Wearing_Hat",
)  # fmt: skip
"""The attributes that are read, by the names CelebA gives them."""

SIDE = 64
"""Side of a tile, and of a picture where nothing else is asked for."""

TILES = 32
"""Tiles along a side of a sheet."""

LEFT, TOP, CROP = 15, 35, 148
"""Where the square around the face begins in an aligned picture, and its side."""

ALIGNED = (3, 218, 178)
SHEET_NAMES = {"train": "train", "validation": "val", "test": "test"}
NUMBERS = {"train": "0", "validation": "1", "test": "2"}
MAX_TEXT = 256 * 2**20
AGAIN = "It may be truncated: fetch it again."


class Faces(NamedTuple):
    """Pictures of faces and what they show."""

    images: Tensor
    """Colours, uint8, `(N, 3, H, W)`."""

    attributes: Tensor
    """Which of `ATTRIBUTES` are present, bool, `(N, 18)`."""

    def of(self, index: Tensor) -> Faces:
        """Some of them."""
        return Faces(self.images[index], self.attributes[index])


# Sheets


def read_sheets(path: Path, part: str, side: int = SIDE) -> Faces:
    """The faces of an official part, cut out of its sheets.

    Arguments:
        path: The index; the sheets lie beside it.
        part: `train`, `validation` or `test`.
        side: Side of a picture, up to 64; smaller ones are means of boxes.
    """
    if side > SIDE:
        raise UsageError(
            f"`side={side}` is more than the {SIDE} pixels of the sheets.",
            "Larger pictures are made of `source=aligned` only.",
        )
    attributes = sheet_attributes(path, part)
    sheet = f"celeba64_{SHEET_NAMES[part]}_{{:02d}}.jpg".format
    images = read_tiles(
        lambda n: path.with_name(sheet(n)), len(attributes), side, along=TILES, tile=SIDE
    )
    return Faces(images, attributes)


def sheet_attributes(path: Path, part: str) -> Tensor:
    """The attributes of an official part of the index, bool `(N, 18)`."""
    index, name = Npz(path), SHEET_NAMES[part]
    count = len(index.read(f"{name}_image_no", "integer", (None,)))
    if not count:
        raise DataError(f"{path}: `{name}_image_no` is empty.")
    names = [str(each) for each in index.read("attr_names", "text", (None,))]
    table = index.read(f"{name}_attr", "integer", (count, len(names)))
    chosen = table[:, _columns(f"{path}: `attr_names`", names)]
    if not np.isin(chosen, (-1, 1)).all():
        raise DataError(f"{path}: `{name}_attr` has other numbers than -1 and 1.")
    return torch.from_numpy(chosen == 1)


# Aligned pictures


def read_aligned(folder: Path, part: str, side: int, cached: Path) -> Faces:
    """The faces of an official part, cut out of the pictures of the authors.

    Arguments:
        folder: The folder of pictures; the two lists lie beside it.
        part: `train`, `validation` or `test`.
        side: Side of a picture, up to 148.
        cached: The folder where the result is, or is put.
    """
    if side > CROP:
        raise UsageError(f"`side={side}` is more than the {CROP} pixels around a face.")
    names = _names(_list(folder, "list_eval_partition.txt"), part)
    attributes = listed_attributes(_list(folder, "list_attr_celeba.txt"), names)
    return Faces(_faces(folder, names, side, cached / f"aligned-{part}-{side}"), attributes)


def listed_attributes(path: Path, names: Sequence[str]) -> Tensor:
    """The attributes that a list gives to pictures of these names, bool `(N, 18)`."""
    lines = _text(path).splitlines()
    if len(lines) < 2 or lines[0].strip() != str(len(lines) - 2):
        raise DataError(f"{path} does not begin with how many lines it has.", AGAIN)
    every, wanted, rows = lines[1].split(), set(names), {}
    columns = [1 + column for column in _columns(str(path), every)]
    for words in map(str.split, lines[2:]):
        if len(words) != 1 + len(every):
            line = " ".join(words)[:20]
            raise DataError(f"{path}: '{line}…' is not a name and {len(every)} numbers.", AGAIN)
        if words[0] in wanted:
            rows[words[0]] = _row(path, words, columns)
    if missing := next((name for name in names if name not in rows), ""):
        raise DataError(f"{path} has no line of {missing}.", AGAIN)
    return torch.tensor([rows[name] for name in names], dtype=torch.bool)


def _row(path: Path, words: list[str], columns: list[int]) -> list[bool]:
    chosen = [words[column] for column in columns]
    if not {"-1", "1"}.issuperset(chosen):
        raise DataError(f"{path}: {words[0]} has other attributes than -1 and 1.")
    return [word == "1" for word in chosen]


def _names(path: Path, part: str) -> list[str]:
    """The names of the pictures that a list gives to a part."""
    pairs = [line.split() for line in _text(path).splitlines()]
    for pair in pairs:
        if len(pair) != 2 or "/" in pair[0]:
            raise DataError(
                f"{path} has the line {' '.join(pair)[:60]!r}; expected '000001.jpg 0'."
            )
        if pair[1] not in NUMBERS.values():
            raise DataError(f"{path}: {pair[0]} is of part {pair[1][:20]!r}; expected 0, 1 or 2.")
    names = [name for name, number in pairs if number == NUMBERS[part]]
    if not names:
        raise DataError(f"{path} has no pictures of `{part}`.", AGAIN)
    return names


def _faces(folder: Path, names: Sequence[str], side: int, stem: Path) -> Tensor:
    """The faces of some pictures, uint8 `(N, 3, side, side)`, mapped from a file made once."""
    shape = (len(names), 3, side, side)
    made = stem.with_name(f"{stem.name}-{_digest(folder, names)}.bytes")
    if not (made.is_file() and made.stat().st_size == math.prod(shape)):
        write_pieces(made, _cut(folder, names, side))
    with explained(made):
        pixels = np.memmap(made, np.uint8, mode="c", shape=shape)  # never written back
    return torch.from_numpy(pixels)


def _digest(folder: Path, names: Sequence[str]) -> str:
    """Tells the pictures: their names and how large their files are."""
    digest = hashlib.sha256()
    for name in names:
        with explained(folder / name):
            digest.update(f"{name} {(folder / name).stat().st_size}\n".encode())
    return digest.hexdigest()[:16]


def _cut(folder: Path, names: Sequence[str], side: int) -> Iterator[bytes]:
    for name in names:
        pixels = read_pixels(folder / name, ALIGNED)
        square = pixels[:, TOP : TOP + CROP, LEFT : LEFT + CROP]
        yield resized(square, side, side, "lanczos").tobytes()


# Both


def _columns(where: str, names: Sequence[str]) -> list[int]:
    """Where the attributes stand among those of CelebA."""
    if missing := [name for name in ATTRIBUTES if name not in names]:
        raise DataError(f"{where} has no attribute {missing[0]!r}.", "Is it CelebA's own file?")
    return [names.index(name) for name in ATTRIBUTES]


def _list(folder: Path, name: str) -> Path:
    return the_file("A list of CelebA", [name, f"{name}.gz"], [folder.parent])


def _text(path: Path) -> str:
    """The text of a file, gzipped or not."""
    with explained(path):
        try:
            with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
                data = file.read(MAX_TEXT + 1)
            if len(data) > MAX_TEXT:
                raise DataError(f"{path} is too large for a list of CelebA.")
            return data.decode("ascii")
        except (gzip.BadGzipFile, EOFError, zlib.error, UnicodeDecodeError) as error:
            raise DataError(f"{path} is not a whole list ({error}).", AGAIN) from error
