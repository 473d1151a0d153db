"""The pictures and captions of MS COCO, as two layouts of files hold them.

`sheets` is a folder of pictures of 32 by 32 that were made small before. `coco32_captions.npz` says
what they show, `image_id` and one `caption` of each. The pictures are tiles of `coco32_0.jpg` and
so on, 64 by 64 a sheet, row by row in the order of the index.

`annotations` is the layout of the authors: `captions_val2017.json`, alone or in a folder
`annotations`, and the pictures it names in `val2017`, `images/val2017` or `images`. It has the
lists `images` (`id`, `file_name`) and `annotations` (`image_id`, `caption`), several captions for
an image. Other files of the form `captions_*.json` whose pictures are there are read too. Pictures
are squeezed to squares, once: the result is kept in the user's cache.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from mindseye.data.npz import Npz
from mindseye.data.places import cache
from mindseye.data.records import Record
from mindseye.data.thumbnails import thumbnails
from mindseye.data.tiles import read_tiles
from mindseye.errors import DataError, UsageError
from mindseye.files import read_json
from mindseye.grammar import shown

__all__ = [
    "INDEX",
    "SIDE",
    "Album",
    "annotations_in",
    "read_annotations",
    "read_sheets",
    "the_annotations",
]

INDEX = "coco32_captions.npz"
"""The file that says what the sheets show."""

SIDE = 32
"""Side of a tile, and of a picture where nothing else is asked for."""

TILES = 64
"""Tiles along a side of a sheet."""


class Album(NamedTuple):
    """Described pictures, ordered by their numbers; they are read when they are asked for."""

    ids: Tensor
    """The number that COCO gives each, int64 `(N,)`."""

    captions: Sequence[Sequence[str]]
    """What was said of each."""

    images: Callable[[int], Tensor]
    """All of them at a side in pixels, uint8 `(N, 3, side, side)`."""

    def told(self, rows: Tensor) -> list[Sequence[str]]:
        """What was said of some of them."""
        return [self.captions[int(row)] for row in rows]


# Sheets


def read_sheets(path: Path) -> Album:
    """The pictures of an index; the sheets lie beside it."""
    index = Npz(path)
    ids = torch.from_numpy(index.read("image_id", "integer", (None,)).astype("int64"))
    captions = index.read("caption", "text", (len(ids),))
    if not len(ids):
        raise DataError(f"{path}: `image_id` is empty.")
    ids, order = ids.sort()
    if len(twice := ids[1:][ids.diff() == 0]):
        raise DataError(f"{path}: `image_id` has {int(twice[0])} twice.")
    return Album(
        ids, [[str(captions[i])] for i in order.tolist()], partial(_sheeted, path.parent, order)
    )


def _sheeted(folder: Path, order: Tensor, side: int) -> Tensor:
    if side > SIDE:
        raise UsageError(
            f"`side={side}` is more than the {SIDE} pixels of the sheets.",
            "Larger pictures are made of `source=annotations` only.",
        )
    sheets = partial(_sheet, folder)
    return read_tiles(sheets, len(order), side, along=TILES, tile=SIDE)[order]


def _sheet(folder: Path, number: int) -> Path:
    return folder / f"coco32_{number}.jpg"


# Annotations


def annotations_in(places: Sequence[Path]) -> dict[Path, Path]:
    """The caption files of the first place that has any, each with the folder of its pictures.

    Files with a folder of their own are read; where none has one, all go by `images`.
    """
    for place in places:
        files, shared = _caption_files(place), place / "images"
        own = {path: folder for path in files if (folder := _folder(place, path))}
        if own or (files and shared.is_dir()):
            return own or dict.fromkeys(files, shared)
    return {}


def the_annotations(places: Sequence[Path]) -> dict[Path, Path]:
    """What `annotations_in` finds, or an error that says what to put where."""
    if files := annotations_in(places):
        return files
    lonely = next((path for place in places for path in _caption_files(place)), None)
    if lonely:
        name = _pictures(lonely)
        raise DataError(
            f"{lonely} is without its pictures.", f"Put them into the folder {name} or images."
        )
    raise DataError(
        f"MS COCO was not found in {', '.join(map(str, places))}.",
        "Put captions_val2017.json and the folder val2017 of its pictures there, or"
        f" {INDEX} and its sheets, or set MINDSEYE_DATA to their folder.",
    )


def read_annotations(files: Mapping[Path, Path]) -> Album:
    """The pictures that caption files describe.

    Arguments:
        files: Every file, and the folder of its pictures.
    """
    pictures: dict[int, Path] = {}
    captions: dict[int, list[str]] = {}
    for path, folder in files.items():
        document = Record(str(path), read_json(path))
        own = {number: folder / name for number, name in _images(path, document).items()}
        if twice := sorted(own.keys() & pictures.keys()):
            raise DataError(f"{path}: image {twice[0]} is in another file too.")
        pictures |= own
        captions |= _captions(path, document, own)
    ids = sorted(captions)  # a picture of which nothing is said is left out
    if not ids:
        raise DataError(f"{', '.join(map(str, files))} has no captions.")
    return Album(
        torch.tensor(ids),
        [captions[number] for number in ids],
        partial(thumbnails, [pictures[number] for number in ids], folder=cache("coco")),
    )


def _caption_files(place: Path) -> list[Path]:
    return sorted([*place.glob("captions_*.json"), *place.glob("annotations/captions_*.json")])


def _pictures(path: Path) -> str:
    """What the folder of a caption file's pictures is called."""
    return path.stem.removeprefix("captions_")


def _folder(place: Path, path: Path) -> Path | None:
    """Where the pictures of one caption file are."""
    folders = (place / _pictures(path), place / "images" / _pictures(path))
    return next((folder for folder in folders if folder.is_dir()), None)


def _images(path: Path, document: Record) -> dict[int, str]:
    """The names of the pictures of a file, by their numbers."""
    names: dict[int, str] = {}
    for n, each in enumerate(document.value("images", list)):
        record = Record(f"{path}: image {n}", each)
        number = _number(record, "id")
        if number in names:
            record.refuse("id", f"is {number}, as that of another image is")
        names[number] = record.name("file_name")
    return names


def _captions(path: Path, document: Record, own: Mapping[int, Any]) -> dict[int, list[str]]:
    """The captions of a file, by the numbers of its pictures."""
    captions: dict[int, list[str]] = {}
    for n, each in enumerate(document.value("annotations", list)):
        record = Record(f"{path}: annotation {n}", each)
        number = _number(record, "image_id")
        if number not in own:
            record.refuse("image_id", f"is {number}, which is no image of the file")
        captions.setdefault(number, []).append(record.value("caption", str))
    return captions


def _number(record: Record, name: str) -> int:
    """A field that is a whole number."""
    if not record.has(name):
        record.refuse(name, "is missing")
    number = record.values[name]
    if type(number) is not int or not 0 <= number < 2**63:
        record.refuse(name, f"is {shown(number)}; expected a whole number")
    return number
