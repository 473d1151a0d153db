r"""CLEVR with two objects: what a scene file says of its pictures, as captions.

Read is what CLEVR's own generator writes, and CLEVR itself:

    scenes/CLEVR_train_scenes.json and scenes/CLEVR_val_scenes.json, or one other json file
    images/train/*.png and images/val/*.png, or images/*.png

CLEVR has three objects and more in every picture; scenes of exactly two are kept here, as the
generator makes them with `--min_objects 2 --max_objects 2`. Of two files, `val` is the test, and
`train` is divided into train, validation and observer, 80 : 5 : 15; one file alone is divided into
all four parts.

How objects stand to each other is what `relationships` says. Where it is missing it is found as the
generator finds it: object $j$ is $R$ of object $i$ if $(p_j - p_i) · d_R > 0.2$, with their places
$p$ (`3d_coords`) and the direction $d_R$ of the camera; and where these are missing too, by how far
they are apart in the picture (`pixel_coords`), lower being in front. A picture whose objects are
near on both axes is left out.

A picture of 480 by 320 pixels is resized whole to a square, so its aspect is not kept. It takes
37 632 bytes of memory at the side 112; all are made small once and kept in the user's cache.

References:
    CLEVR: A Diagnostic Dataset for Compositional Language and Elementary Visual Reasoning,
    Johnson et al., 2017
    https://arxiv.org/abs/1612.06890
    On the Importance of Learning Aggregate Posteriors in Multimodal Variational Autoencoders,
    Cremer and Kushman, 2018
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from operator import mul, sub
from pathlib import Path
from typing import Self

import torch
from torch import Tensor

from mindseye.data.places import cache, places
from mindseye.data.records import Record, Vector
from mindseye.data.scenes import COLOURS, KINDS, MATERIALS, RELATIONS, SHAPES, SIZES
from mindseye.data.splits import checked_part, shuffled_order, source_split
from mindseye.data.telling import SIDE, Paired, Pairs
from mindseye.data.thumbnails import thumbnails
from mindseye.errors import DataError
from mindseye.files import read_json
from mindseye.grammar import shown

__all__ = ["Clevr", "Scene", "Thing", "read_scenes"]

APART = 0.2
"""How far apart objects stand on an axis that is spoken of; the generator's own number."""

PIXELS_APART = 15
"""The same in pixels of a picture 480 wide."""

IN_THE_PICTURE = ((-1.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, -1.0, 0.0))
"""Where left, right, front and behind are in a picture, counted from its top left corner."""

OPPOSITES = {"left": "right", "right": "left", "front": "behind", "behind": "front"}

Related = tuple[tuple[frozenset[int], ...], ...]
"""For each relation and each object, the numbers of the objects that stand so to it."""


@dataclass(frozen=True)
class Thing:
    """An object of a scene."""

    size: str
    colour: str
    material: str
    shape: str

    place: Vector | None = None
    """Where it stands, if that is written."""

    pixel: Vector | None = None
    """Where it is in the picture, from the left and from the top, and how far from the camera."""

    @property
    def codes(self) -> list[int]:
        """The four words by their place in `scenes.KINDS`."""
        words = (self.size, self.colour, self.material, self.shape)
        return [kind.index(word) for kind, word in zip(KINDS, words, strict=True)]


@dataclass(frozen=True)
class Scene:
    """A picture, its objects and how they stand to each other."""

    number: int
    """Where it is in its file, from 0."""

    picture: str
    """The name of its picture's file."""

    split: str
    """What CLEVR says it is for; empty where that is not written."""

    things: tuple[Thing, ...]

    related: Related
    """How they stand to each other."""

    def holds(self, first: int, second: int) -> list[bool]:
        """Whether a thing stands left, right, front, behind of another."""
        return [first in each[second] for each in self.related]


class Clevr(Paired):
    """CLEVR's pictures of two objects, with one of their captions at a time."""

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
        """A part from the files of a folder."""
        checked_part(part, cls.parts)
        cls.resolved(source, folder)
        place, files = _found(folder)
        half = "val" if part == "test" and "val" in files else "train"
        scenes = _of_two(files[half])
        pairs = _pairs(scenes)
        paths = [_picture(place, half, files[half], scene) for scene in scenes]
        index = _rows(len(scenes), part, official="val" in files)
        index = index[pairs.holds[index].any(1)]
        images = thumbnails(paths, side or SIDE, cache("clevr"))[index]
        return cls(images, pairs.of(index), part, seed=seed)


def _found(folder: str | Path | None) -> tuple[Path, dict[str, Path]]:
    """The folder of the data set, and its scene files: `train` and `val`, or all as `train`."""
    searched = places(folder, "clevr", "CLEVR_v1.0")
    for place in searched:
        if files := _files(place):
            return place, files
    raise DataError(
        f"CLEVR was not found in {', '.join(map(str, searched))}.",
        "Put its folders scenes and images there, or set MINDSEYE_DATA to their folder.",
    )


def _files(place: Path) -> dict[str, Path]:
    """The scene files of a folder, if there are any."""
    official = {half: place / "scenes" / f"CLEVR_{half}_scenes.json" for half in ("train", "val")}
    if all(path.is_file() for path in official.values()):
        return official
    if (whole := place / "CLEVR_scenes.json").is_file():  # beside one file a scene
        return {"train": whole}
    loose = sorted(place.glob("scenes/*.json"))
    if not loose and (place / "images").is_dir():
        loose = sorted(place.glob("*.json"))
    if len(loose) > 1:
        message = f"{loose[0].parent} has {len(loose)} json files; expected one."
        raise DataError(message, "Two are read if they are CLEVR_{train,val}_scenes.json.")
    return {"train": loose[0]} if loose else {}


def _of_two(path: Path) -> list[Scene]:
    """The scenes of exactly two objects."""
    every = read_scenes(path)
    scenes = [scene for scene in every if len(scene.things) == 2]
    if not scenes:
        message = f"{path} has {len(every)} scenes, and none of exactly two objects."
        raise DataError(message, "CLEVR's generator makes them: --min_objects 2 --max_objects 2.")
    return scenes


def _pairs(scenes: Sequence[Scene]) -> Pairs:
    codes = torch.tensor([[thing.codes for thing in scene.things] for scene in scenes])
    holds = torch.tensor([scene.holds(0, 1) for scene in scenes])
    return Pairs(codes, torch.ones_like(codes, dtype=torch.bool), holds)


def _rows(count: int, part: str, *, official: bool) -> Tensor:
    """The scenes of a part, sorted."""
    if not official:
        return source_split(count, part)
    train, validation = round(0.80 * count), round(0.85 * count)
    edges = {
        "train": (0, train),
        "validation": (train, validation),
        "observer": (validation, count),
        "test": (0, count),
    }
    start, stop = edges[part]
    return shuffled_order(count, 0, "scenes")[start:stop].sort().values


def _picture(place: Path, half: str, path: Path, scene: Scene) -> Path:
    """The file of a scene's picture."""
    folders = [place / "images" / name for name in dict.fromkeys((scene.split, half, ""))]
    for folder in folders:
        if os.path.isfile(folder / scene.picture):
            return folder / scene.picture
    tried = " or ".join(dict.fromkeys(map(str, folders)))
    raise DataError(
        f"{path}: scene {scene.number}: `image_filename` {shown(scene.picture)} is not in {tried}."
    )


# Scene files


def read_scenes(path: Path) -> list[Scene]:
    """All scenes of a file, of any number of objects; what is wrong in one is named."""
    scenes = Record(str(path), read_json(path)).value("scenes", list)
    return [_scene(Record(f"{path}: scene {n}", each), n) for n, each in enumerate(scenes)]


def _scene(record: Record, number: int) -> Scene:
    objects = record.value("objects", list)
    things = [_thing(Record(f"{record.where}, object {i}", each)) for i, each in enumerate(objects)]
    return Scene(
        number,
        record.name("image_filename"),
        record.name("split") if record.has("split") else "",
        tuple(things),
        _related(record, things),
    )


def _thing(record: Record) -> Thing:
    return Thing(
        record.word("size", SIZES),
        record.word("color", COLOURS),
        record.word("material", MATERIALS),
        record.word("shape", SHAPES),
        record.vector("3d_coords") if record.has("3d_coords") else None,
        record.vector("pixel_coords") if record.has("pixel_coords") else None,
    )


# How objects stand to each other


def _related(record: Record, things: Sequence[Thing]) -> Related:
    """As it is written, or by where they stand, or by where they are seen."""
    if record.has("relationships"):
        return _written(record.part("relationships"), len(things))
    if len(things) < 2:
        return ((frozenset(),) * len(things),) * len(RELATIONS)
    stand = [thing.place for thing in things if thing.place]
    if record.has("directions") and len(stand) == len(things):
        return _apart(stand, _directions(record.part("directions")), APART)
    seen = [thing.pixel for thing in things if thing.pixel]
    if len(seen) < len(things):
        without = "is missing, and not all objects have `3d_coords` (with `directions`)"
        record.refuse("relationships", f"{without} or `pixel_coords`")
    return _apart(seen, IN_THE_PICTURE, PIXELS_APART)


def _written(record: Record, count: int) -> Related:
    """What `relationships` says; of two objects either must say the same of the other."""
    found = {name: _indices(record, name, count) for name in RELATIONS}
    for name, opposite in OPPOSITES.items():
        for i, j in ((i, j) for i, row in enumerate(found[name]) for j in row):
            if i not in found[opposite][j] or j in found[opposite][i]:
                what = f"says that object {j} is {name} of object {i}"
                record.refuse(name, f"{what}, and `{opposite}` does not agree")
    return tuple(found[name] for name in RELATIONS)


def _indices(record: Record, name: str, count: int) -> tuple[frozenset[int], ...]:
    """For every object the others that stand so to it."""
    rows = record.value(name, list)
    if len(rows) != count:
        record.refuse(name, f"has {len(rows)} lists; expected one for each of {count} objects")
    for i, row in enumerate(rows):
        if not isinstance(row, list):
            record.refuse(name, f"has {shown(row)} for object {i}; expected a list")
        for j in row:
            if type(j) is not int or not 0 <= j < count or i == j:
                what = f"has {shown(j)} for object {i}"
                record.refuse(name, f"{what}; expected others of the objects 0 to {count - 1}")
    return tuple(map(frozenset, rows))


def _directions(record: Record) -> list[Vector]:
    """Where left, right, front and behind are, as the camera sees it."""
    found = {name: record.vector(name) for name in RELATIONS}
    for one, other in OPPOSITES.items():
        if max(abs(a + b) for a, b in zip(found[one], found[other], strict=True)) > 1e-3:
            record.refuse(other, f"is not opposite to `{one}`")
    return list(found.values())


def _apart(points: Sequence[Vector], directions: Sequence[Vector], least: float) -> Related:
    """Who lies further than `least` from whom in each direction."""

    def far(point: Vector, other: Vector, direction: Vector) -> bool:
        return sum(map(mul, map(sub, other, point), direction)) > least

    return tuple(
        tuple(frozenset(j for j, q in enumerate(points) if far(p, q, d)) for p in points)
        for d in directions
    )
