"""How fast pictures are rendered: MNIST-A, also by loops over Pillow, and Two Objects.

MNIST-A is drawn in batches and one digit at a time. Every contestant draws labels, geometry, grey
picture and binary pixels. One loop draws geometry from truncated Gaussians, as the batched renderer
does; the other draws until a draw fits, as the paper's authors do. Rounds take turns, so that a
busy machine slows all of them alike.

Two Objects is drawn at its own 112 by 112, by one thread of a CPU and by a GPU where there is one.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import NormalDist
from typing import NamedTuple
from unittest.mock import patch

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from mindseye.data import MnistA, Sources, TwoObjects, mnist_a, sources
from mindseye.randomness import keys

BATCHES = (64, 256, 1024)
ROUND, LOOP = 2048, 128
"""Pictures in a round: of a contestant in batches, of a loop."""
SCENES, GPU_BATCHES = 64, (2048, 4096)
"""Pictures of Two Objects in a round: of a CPU, of a GPU."""
ENOUGH = {"cpu": 30, "cuda": 20_000}
"""How many of them a second each should draw."""
BICUBIC = Image.Resampling.BICUBIC


def main() -> None:
    options = _options()
    torch.set_num_threads(options.threads)
    digits = sources(options.source)
    speeds = measure(contestants(digits), options.rounds)
    report = {
        "torch": torch.__version__,
        "threads": options.threads,
        "sources": len(digits.images),
        "pictures_per_second": speeds,
        "difference_of_ink": difference(digits, n=1000),
        "two_objects": two_objects(options.rounds),
    }
    show(report)
    if options.json:
        options.json.write_text(json.dumps(report, indent=2) + "\n")


def contestants(digits: Sources) -> dict[str, tuple[int, Callable[[int], object]]]:
    """By name: how many pictures there are in a round, and what draws them."""
    data = MnistA(digits)
    images = [Image.fromarray(image) for image in digits.images.numpy()]

    def batches(size: int, number: int) -> None:
        for step in range(number * ROUND // size, (number + 1) * ROUND // size):
            data.batch(step, size)

    return {
        **{f"batches of {size}": (ROUND, partial(batches, size)) for size in BATCHES},
        "Pillow, truncated draws": (LOOP, partial(loop, images, truncated)),
        "Pillow, until a draw fits": (LOOP, partial(loop, images, until_it_fits)),
    }


def measure(
    contestants: dict[str, tuple[int, Callable[[int], object]]], rounds: int
) -> dict[str, float]:
    """Pictures per second: the median of rounds, after one that does not count."""
    seconds = {name: [] for name in contestants}
    for number in range(rounds + 1):
        for name, (_, draw) in contestants.items():
            start = time.perf_counter()
            draw(number)
            seconds[name].append(time.perf_counter() - start)
    return {
        name: size / statistics.median(seconds[name][1:]) for name, (size, _) in contestants.items()
    }


def show(report: dict) -> None:
    speeds = report["pictures_per_second"]
    fair, authors = list(speeds)[-2:]
    print(f"torch {report['torch']}, {report['threads']} threads, {report['sources']:,} digits\n")
    print(f"{'':27}pictures/s   {'× ' + fair:>25}   {'× ' + authors:>27}")
    for name, speed in speeds.items():
        print(f"{name:27}{speed:10,.0f}{speed / speeds[fair]:28.1f}{speed / speeds[authors]:30.1f}")
    smooth, rough = report["difference_of_ink"].values()
    print(f"\nDifference from Pillow: {smooth:.1%} of the ink, {rough:.1%} with one kernel width")
    print("\nTwo Objects, 112 × 112      pictures/s")
    for name, speed in report["two_objects"].items():
        enough = ENOUGH[name.split(",")[0]]
        print(
            f"{name:27}{speed:10,.0f}   at least {enough:,}: {'yes' if speed >= enough else 'no'}"
        )


# Two Objects


def two_objects(rounds: int) -> dict[str, float]:
    """Pictures per second of one thread, and of batches on a GPU."""

    def batches(data: TwoObjects, size: int, number: int) -> None:
        data.batch(number, size)
        if data.every.is_cuda:
            torch.cuda.synchronize()

    one = {"cpu, one thread": (SCENES, partial(batches, TwoObjects(), SCENES))}
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    speeds = measure(one, rounds)
    torch.set_num_threads(threads)
    if torch.cuda.is_available():
        data = TwoObjects().to("cuda")
        many = {
            f"cuda, batches of {size}": (size, partial(batches, data, size)) for size in GPU_BATCHES
        }
        speeds |= measure(many, rounds)
    return speeds


# A loop over Pillow


class Place(NamedTuple):
    scale: float
    angle: float
    centre: Callable[[int], tuple[int, int]]
    """Row and column, counted from 1, for a box of some side."""


def loop(images: list[Image.Image], place: Callable[..., Place], seed: int) -> np.ndarray:
    draw, noise = random.Random(seed), np.random.default_rng(seed)
    pictures = []
    for _ in range(LOOP):
        labels = draw.randrange(2), draw.randrange(3), draw.randrange(4)
        grey = drawn(draw.choice(images), place(draw, *labels))
        pictures.append(noise.random(grey.shape, np.float32) < grey)
    return np.stack(pictures).astype(np.float32)[:, None]


def drawn(image: Image.Image, place: Place) -> np.ndarray:
    """The authors' procedure: rotate, shrink, paste."""
    turned = image.rotate(place.angle, BICUBIC, expand=True)
    side = int(turned.width * place.scale)
    turned.thumbnail((side, side), BICUBIC)
    row, column = place.centre(side)
    canvas = Image.new("L", (64, 64))
    canvas.paste(turned, (column - side // 2 - 1, row - side // 2 - 1))
    return np.asarray(canvas, np.float32) / 255


def truncated(draw: random.Random, size: int, orientation: int, location: int) -> Place:
    def within(mean: float, std: float, low: float, high: float) -> float:
        gauss = NormalDist(mean, std)
        below, above = gauss.cdf(low), gauss.cdf(high)
        return gauss.inv_cdf(below + draw.random() * (above - below))

    def centre(side: int) -> tuple[int, int]:
        half = side // 2 + 1
        means = 12 + 40 * (location // 2), 12 + 40 * (location % 2)
        row, column = (int(within(mean, 4, 1 + half, 65 - half)) for mean in means)
        return row, column

    angle = 0 if orientation == 1 else within(45 * (orientation - 1), 10, -90, 90)
    return Place(within(0.9 - 0.3 * size, 0.1, 0.4, 1), angle, centre)


def until_it_fits(draw: random.Random, size: int, orientation: int, location: int) -> Place:
    def within(mean: float, std: float, low: float, high: float) -> float:
        while not low <= (value := draw.gauss(mean, std)) <= high:
            pass
        return value

    def centre(side: int) -> tuple[int, int]:
        half = side // 2 + 1
        while True:
            row = int(draw.gauss(12 + 40 * (location // 2), 4))
            column = int(draw.gauss(12 + 40 * (location % 2), 4))
            if 1 + half <= min(row, column) and max(row, column) <= 64 - half:
                return row, column

    angle = 0 if orientation == 1 else within(45 * (orientation - 1), 10, -90, 90)
    return Place(within(0.9 - 0.3 * size, 0.1, 0.4, 1), angle, centre)


# Do they draw the same?


def difference(digits: Sources, n: int) -> dict[str, float]:
    """The mean share of a picture's ink by which the renderer and Pillow differ, grey."""
    index = torch.arange(n)
    images = digits.images[index * 7919 % len(digits.images)]
    codes = torch.stack([index % 10, index % 2, index // 2 % 3, index // 6 % 4], 1)
    geometry = mnist_a.place(codes, keys(0, index))
    cases = zip(images, *geometry, strict=True)
    theirs = torch.from_numpy(np.stack([_theirs(*case) for case in cases]))[:, None]
    smooth = mnist_a._smooth
    with patch.object(mnist_a, "_smooth", lambda sources, s: smooth(sources, torch.ones_like(s))):
        rough = mnist_a.render(images, geometry)
    ours = mnist_a.render(images, geometry)
    return {
        "kernel as wide as the scale asks": _apart(ours, theirs),
        "of one width": _apart(rough, theirs),
    }


def _theirs(image: Tensor, scale: Tensor, angle: Tensor, row: Tensor, column: Tensor) -> np.ndarray:
    place = Place(float(scale), float(angle), lambda side: (int(row) + 1, int(column) + 1))
    return drawn(Image.fromarray(image.numpy()), place)


def _apart(ours: Tensor, theirs: Tensor) -> float:
    return float(((ours - theirs).abs().sum((1, 2, 3)) / theirs.sum((1, 2, 3))).mean())


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure how fast pictures are rendered.")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--source", default="auto", help="mnist, digits or auto")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    return parser.parse_args()


if __name__ == "__main__":
    main()
