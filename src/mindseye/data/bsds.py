r"""Patches of natural images: 8 by 8 pixels of BSDS300, as 63 real numbers.

The protocol is that of RNADE. Images are made grey, in whole numbers 0 to 255. A patch is taken at
a random place; uniform noise $u ∈ (0, 1)$ is added to every pixel $g$, which spreads whole numbers
to real ones; then the mean of the patch is subtracted and its last pixel, which follows from the
others, is left out:

$$ x_i = v_i - \frac{1}{64} \sum_{j=1}^{64} v_j, \quad v_i = \frac{g_i + u_i}{256}, \quad i < 64. $$

Patches to train on are of 180 of the 200 training images, those of validation of the other 20,
chosen by `split_seed`, and those of the test of the 100 test images. They are cut where and when
they are asked for; the paper tests on the first million.

References:
    RNADE: The real-valued neural autoregressive density-estimator,
    Uria, Murray and Larochelle, 2013
    https://arxiv.org/abs/1306.0186
    A Database of Human Segmented Natural Images, Martin et al., 2001
    https://www2.eecs.berkeley.edu/Research/Projects/CS/vision/bsds/
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from mindseye.concepts import Concept, Vocabulary
from mindseye.data.averages import mean_picture
from mindseye.data.batch import ENDLESS, Batch
from mindseye.data.epochs import positions
from mindseye.data.places import places, the_file
from mindseye.data.splits import checked_part, set_apart
from mindseye.errors import DataError, UsageError
from mindseye.files import explained
from mindseye.labels import Labels
from mindseye.randomness import integers, keys, keys_of_each, pixel_uniforms

__all__ = ["VOCABULARY", "Bsds", "patches", "read_images", "seen", "unseen"]

SIDE = 8
VALIDATION = 20
COUNTS = {"validation": 1000, "test": 1_000_000}
"""How many patches the paper has of a part."""

CONTRAST = 0.6
"""How far apart black and white are where patches are looked at: few reach further."""

FILES = ("BSDS300-images.zip", "BSDS300", "images")
LARGEST = 2**24

VOCABULARY = Vocabulary([])
"""Nothing is said of patches."""


class Bsds:
    """Patches of grey images.

    Arguments:
        images: Grey images, uint8, each `(H, W)`.
        part: `train`, `validation` or `test`, which tells their noise apart.
        seed: Chooses places and noise.
    """

    vocabulary = VOCABULARY
    shape = (SIDE**2 - 1, 1, 1)
    parts = ("train", "validation", "test")
    settings = ("split_seed",)
    real = True  # its numbers may be negative: they are no levels of grey

    def __init__(self, images: Sequence[Tensor], part: str = "train", *, seed: int = 0):
        if not images or min(min(image.shape) for image in images) < SIDE:
            raise UsageError(f"`part={part!r}` needs images of at least {SIDE} by {SIDE} pixels.")
        self.part, self.seed = part, seed
        heights, widths = torch.tensor([image.shape for image in images]).unbind(1)
        sizes, room = heights * widths, (heights - SIDE + 1) * (widths - SIDE + 1)
        self.pixels = torch.cat([image.reshape(-1) for image in images])
        self.widths, self.starts = widths, sizes.cumsum(0) - sizes
        self.ends = room.cumsum(0)  # of the places of patches, image by image
        self.begins = self.ends - room
        self.places = int(self.ends[-1])
        self.count = COUNTS.get(part, ENDLESS)

    @staticmethod
    def resolved(source: str, folder: str | Path | None = None) -> str:
        """What is read: `files`."""
        if source not in ("auto", "files"):
            raise UsageError(f"`source={source!r}` is not known; expected 'files' or 'auto'.")
        return "files"

    @classmethod
    def read(
        cls,
        source: str,
        part: str,
        folder: str | Path | None = None,
        *,
        split_seed: int = 0,
        seed: int = 0,
    ) -> Self:
        """A part of BSDS300, from its zip file or its folder."""
        checked_part(part, cls.parts)
        cls.resolved(source, folder)
        path = the_file("BSDS300", FILES, places(folder, "bsds", "bsds300"))
        images = read_images(path, "test" if part == "test" else "train")
        if part != "test":
            stay, apart = set_apart(len(images), VALIDATION, split_seed)
            images = [images[i] for i in (stay if part == "train" else apart).tolist()]
        return cls(images, part, seed=seed)

    def batch(self, step: int | Tensor, size: int, count: int = 1) -> Batch[Labels]:
        """Training batch number `step`: patches of random places with fresh noise."""
        rows = positions(step, size, count, self.pixels.device)
        return self._patches(keys(self.seed, rows, "order"))

    def examples(self, index: Tensor) -> Batch[Labels]:
        """The patches of some indices: the same alone or together."""
        return self._patches(keys(self.seed, index, self.part))

    def pictures_of(self, concept: Concept, n: int, seed: int) -> Tensor:
        """Real patches."""
        return self.pictures_of_each([concept], n, [seed])[0]

    def pictures_of_each(self, concepts: Sequence[Concept], n: int, seeds: Sequence[int]) -> Tensor:
        """The patches of every seed, `(Q, n, 63, 1, 1)`; nothing can be said of them."""
        key = keys_of_each(seeds, n, f"real {self.part}", self.pixels.device)
        return self._patches(key.flatten()).x.unflatten(0, key.shape)

    @staticmethod
    def seen(x: Tensor) -> Tensor:
        """Patches as pictures to look at."""
        return seen(x)

    def mean(self) -> Tensor:
        """The mean patch, nearly: that of many examples."""
        return mean_picture(self.examples, self.count, self.pixels.device)

    def facts(self) -> dict[str, Any]:
        """How many images and places there are, and how many patches are usual."""
        return {
            "source": "files",
            "images": len(self.widths),
            "places": self.places,
            "patches": "endless" if self.count == ENDLESS else self.count,
        }

    def to(self, device: torch.device | str) -> Self:
        """Move the images; patches are cut where they are."""
        for name in ("pixels", "widths", "starts", "begins", "ends"):
            setattr(self, name, getattr(self, name).to(device))
        return self

    def _patches(self, key: Tensor) -> Batch[Labels]:
        """Patches whose places and noise are drawn by keys."""
        grey = self._grey(integers(key, self.places))
        noisy = (grey + pixel_uniforms(key, SIDE**2)) / 256
        x = (noisy - noisy.mean(1, keepdim=True))[:, :-1, None, None]
        return Batch(x, Labels.full(torch.zeros(len(x), 0, dtype=torch.int64, device=x.device)))

    def _grey(self, place: Tensor) -> Tensor:
        """The pixels of the patches at some places, row by row, `(B, 64)`."""
        image = torch.searchsorted(self.ends, place, right=True)
        width = self.widths[image]
        inside, across = place - self.begins[image], width - SIDE + 1
        first = self.starts[image] + inside // across * width + inside % across
        lines = torch.arange(SIDE, device=place.device)
        index = first[:, None, None] + lines[:, None] * width[:, None, None] + lines  # (B, 8, 8)
        return self.pixels[index.view(-1, SIDE**2)]


def patches(x: Tensor) -> Tensor:
    """The patches `(..., 1, 8, 8)` of 63 numbers `(..., 63)` or `(..., 63, 1, 1)`.

    The last pixel is what makes the mean zero: minus the sum of the others.

    >>> patches(torch.ones(2, 63, 1, 1))[0, 0, 7]
    tensor([  1.,   1.,   1.,   1.,   1.,   1.,   1., -63.])
    """
    flat = x[..., 0, 0] if x.shape[-2:] == (1, 1) else x
    if flat.shape[-1] != SIDE**2 - 1:
        raise UsageError(f"`x` has the shape {tuple(x.shape)}; expected 63 numbers a patch.")
    whole = torch.cat([flat, -flat.sum(-1, keepdim=True)], -1)
    return whole.unflatten(-1, (1, SIDE, SIDE))


def seen(x: Tensor) -> Tensor:
    """Pictures `(..., 1, 8, 8)` in [0, 1] of patches `(..., 63, 1, 1)`: grey is their mean.

    >>> seen(torch.zeros(63, 1, 1))[0, 0, :2]
    tensor([0.5000, 0.5000])
    """
    return (patches(x) / CONTRAST + 0.5).clamp(0, 1)


def unseen(pictures: Tensor) -> Tensor:
    """The patches `(..., 63, 1, 1)` of pictures `(..., 1, 8, 8)`."""
    flat = pictures.flatten(-3) * CONTRAST
    return (flat - flat.mean(-1, keepdim=True))[..., :-1, None, None]


def read_images(path: Path, half: str) -> list[Tensor]:
    """The grey images of BSDS300's `train` or `test` half, in the order of their names.

    Arguments:
        path: The zip file, or the folder that holds `train` and `test`, directly or in `images`.
        half: Which half.
    """
    read = _zipped if path.is_file() else _loose
    images = [_grey_image(name, data) for name, data in read(path, half)]
    wanted = {"train": 200, "test": 100}[half]
    if len(images) != wanted:
        message = f"{path} has {len(images)} jpg images of `{half}`; expected {wanted}."
        raise DataError(message, "Fetch BSDS300-images again.")
    return images


def _zipped(path: Path, half: str) -> Iterator[tuple[str, bytes]]:
    with explained(path):
        try:
            with zipfile.ZipFile(path) as archive:
                for name in sorted(archive.namelist()):
                    if name.endswith(".jpg") and f"/{half}/" in f"/{name}":
                        if archive.getinfo(name).file_size > LARGEST:
                            raise DataError(f"{path}: {name} is too large for an image of BSDS300.")
                        yield f"{path}: {name}", archive.read(name)
        except (zipfile.BadZipFile, zlib.error, EOFError) as error:
            message = f"{path} is not a whole zip file ({error})."
            raise DataError(message, "Fetch it again.") from error


def _loose(path: Path, half: str) -> Iterator[tuple[str, bytes]]:
    folder = path / "images" / half if (path / "images" / half).is_dir() else path / half
    for file in sorted(folder.glob("*.jpg")):
        with explained(file):
            yield str(file), file.read_bytes()


def _grey_image(name: str, data: bytes) -> Tensor:
    try:
        with Image.open(io.BytesIO(data), formats=["JPEG"]) as image:
            return torch.from_numpy(np.array(image.convert("L")))
    except (OSError, ValueError, Image.DecompressionBombError) as error:
        raise DataError(f"{name} is not a whole jpg image ({error}).", "Fetch it again.") from error
