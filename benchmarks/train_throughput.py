"""How fast models train on a GPU: steps and pictures a second, beside eager steps and the floor.

The floor is arithmetic: the multiplications and additions of one step (forward and backward of the
plain networks, counted by torch) at the rate of a large bfloat16 matrix product, measured here. For
every recipe the whole of training is timed, records, checks and rendering included: captured steps
as `mindseye train` takes them, and eager ones as with `--no-compile`. The first stretch, in which
kernels are compiled, chosen and captured, is reported apart.

    python benchmarks/train_throughput.py
    python benchmarks/train_throughput.py --recipe mnist-a/jmvae --batch 64 --profile
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Generator
from contextlib import closing
from itertools import islice, pairwise
from pathlib import Path

import torch
from torch.utils.flop_counter import FlopCounterMode

from mindseye.data import Batch
from mindseye.labels import Labels
from mindseye.papers import Recipe, get_recipe
from mindseye.provenance import provenance
from mindseye.training import Record, train

CASES = [
    ("mnist-a/telbo", 64),
    ("mnist-a/jmvae", 64),
    ("mnist-a/bivcca", 64),
    ("mnist-a/telbo-fast", 256),
    ("mnist-a/telbo-fast", 512),
    ("mnist-a/telbo-fast", 1024),
    ("mnist-a/jmvae-fast", 1024),
]
STRETCH = 200
"""Steps between two records."""


def main() -> None:
    options = _options()
    if not torch.cuda.is_available():
        raise SystemExit("no CUDA device; benchmarks/training.py measures the CPU.")
    cases = [(options.recipe, options.batch)] if options.recipe else CASES
    peak = matrix_rate()
    print(f"bfloat16 matrix product: {peak / 1e12:.0f} TFLOP/s")
    rows = [measure(name, batch, peak, options) for name, batch in cases]
    rows.append({"rendering": rendering(options.source)})
    if options.json:
        report = {"provenance": provenance("cuda"), "peak": peak, "rows": rows}
        options.json.write_text(json.dumps(report, indent=2) + "\n")


def measure(name: str, batch: int, peak: float, options: argparse.Namespace) -> dict:
    """Steps a second of a recipe, and what part of the floor's that is."""
    recipe = get_recipe(name).with_settings(
        {"batch_size": str(batch), "log_every": str(STRETCH), "checkpoint_every": "1000000",
         "source": options.source, "training.steps": "1000000"}
    )  # fmt: skip
    floor = peak / flops(recipe)
    row: dict = {"recipe": name, "batch": batch, "floor": floor}
    for kind in ("captured", "eager") if options.eager else ("captured",):
        first, rate = speed(recipe, options.stretches, captured=kind == "captured")
        row[kind] = {"steps_per_second": rate, "pictures_per_second": rate * batch, "first": first}
        print(
            f"{name:24} batch {batch:5} {kind:8} {rate:7.1f} steps/s {rate * batch:9.0f} pictures/s"
            f" {rate / floor:6.1%} of {floor:.0f}; first {STRETCH} steps {first:.1f} s",
            flush=True,
        )
    if options.profile:
        profile(recipe)
    return row


def speed(recipe: Recipe, stretches: int, *, captured: bool) -> tuple[float, float]:
    """Seconds of the first stretch, and the median rate of the others."""
    seconds = [time.perf_counter()]
    with closing(training(recipe, captured=captured)) as steps:
        for _ in islice(steps, stretches + 1):
            torch.cuda.synchronize()
            seconds.append(time.perf_counter())
    first, *times = [after - before for before, after in pairwise(seconds)]
    return first, STRETCH / statistics.median(times)


def training(recipe: Recipe, *, captured: bool) -> Generator[Record]:
    """The training of a recipe, with everything that `mindseye train` does but saving."""
    data = recipe.data.open("train").to("cuda")
    model = recipe.build().to("cuda").to(memory_format=torch.channels_last)
    size = recipe.training.batch_size
    return train(
        model,
        recipe.bounds,
        lambda number, count=1: data.batch(number, size, count),
        recipe.training,
        decayed=model.decayed(),
        compiled=captured,
    )


def flops(recipe: Recipe) -> float:
    """Operations of a step, from two small batches: they grow linearly."""
    few, more = (_counted(recipe, size) for size in (2, 4))
    return few + (more - few) / 2 * (recipe.training.batch_size - 2)


def _counted(recipe: Recipe, size: int) -> float:
    model = recipe.build().train()
    sizes = torch.tensor(model.vocabulary.sizes)
    codes = (torch.rand(size, len(sizes)) * sizes).long()
    batch = Batch((torch.rand(size, *model.shape) < 0.1).float(), Labels.full(codes))
    with FlopCounterMode(display=False) as counter:
        recipe.bounds[0](model, batch, 1.0).value.mean().backward()
    return float(counter.get_total_flops())


def matrix_rate(side: int = 8192) -> float:
    """Operations a second of a large product of random matrices."""
    a, b = (torch.randn(side, side, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    return 2 * side**3 / _timed(lambda: a @ b, 10)


def rendering(source: str, size: int = 16_384) -> dict:
    """Pictures of MNIST-A a second."""
    data = get_recipe("mnist-a/telbo-fast").with_settings({"source": source}).data.open("train")
    data = data.to("cuda")
    rate = size / _timed(lambda: data.batch(0, size), 5)
    print(f"rendering: {rate / 1e6:.2f} M pictures/s, {size} at a time")
    return {"batch": size, "pictures_per_second": rate}


def profile(recipe: Recipe) -> None:
    """The kernels of a step, by time."""
    from torch.profiler import ProfilerActivity

    recipe = recipe.with_settings({"log_every": "20"})

    with closing(training(recipe, captured=True)) as steps:
        next(steps)
        with torch.profiler.profile(activities=[ProfilerActivity.CUDA]) as found:
            next(steps)
    few = recipe.training.log_every
    events = sorted(found.key_averages(), key=lambda e: -e.device_time_total)
    total = sum(e.device_time_total for e in events) / few
    print(f"{sum(e.count for e in events) / few:.0f} kernels, {total:.0f} us a step")
    for event in events[:50]:
        time_, count = event.device_time_total / few, event.count / few
        print(f"  {time_:7.1f} us {count:6.1f} x  {event.key[:110]}")


def _timed(work, repeats: int) -> float:
    """Median seconds of some work on the device, after a warm-up."""
    times = []
    for i in range(repeats + 3):
        torch.cuda.synchronize()
        start = time.perf_counter()
        work()
        torch.cuda.synchronize()
        if i >= 3:
            times.append(time.perf_counter() - start)
    return statistics.median(times)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--recipe", help="one recipe instead of all")
    parser.add_argument("--batch", type=int, default=64, help="its batch size")
    parser.add_argument("--stretches", type=int, default=6, help="timed stretches of 200 steps")
    parser.add_argument("--source", default="auto", help="digits to draw: mnist or digits")
    parser.add_argument("--no-eager", dest="eager", action="store_false", help="captured only")
    parser.add_argument("--profile", action="store_true", help="list the kernels of a step")
    parser.add_argument("--json", type=Path, help="write the figures there")
    return parser.parse_args()


if __name__ == "__main__":
    main()
