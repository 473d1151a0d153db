"""How much a sweep gains: N models trained together on one GPU, beside one after another.

Every model takes the same steps, with its own seed, records and checks included. The first record
of a model comes after kernels were compiled, chosen and captured; time counts from the moment when
all models have had theirs. One after another is the sum of the times of N models that have the GPU
for themselves.

    python benchmarks/sweep.py
    python benchmarks/sweep.py --recipe mnist-a/jmvae --batch 64 --stretches 10
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import torch

from mindseye.papers import Recipe, get_recipe
from mindseye.provenance import provenance
from mindseye.runs import Run, create, train_together
from mindseye.sweeps import grid

COUNTS = (1, 2, 4, 8)
STRETCH = 200
"""Steps between two records."""


def main() -> None:
    options = _options()
    if not torch.cuda.is_available():
        raise SystemExit("no CUDA device; on a CPU models take turns and a sweep gains nothing.")
    recipe = _recipe(options)
    with tempfile.TemporaryDirectory() as folder:
        rows = measure(recipe, options.stretches, Path(folder))
    if options.json:
        report = {"provenance": provenance("cuda"), "recipe": recipe.to_json(), "rows": rows}
        options.json.write_text(json.dumps(report, indent=2) + "\n")


def measure(recipe: Recipe, stretches: int, folder: Path) -> list[dict]:
    """The seconds of N models, both ways."""
    recipes = grid(recipe, {"seed": [str(seed) for seed in range(max(COUNTS))]})
    alone = [timed([create(each, folder / "alone")], stretches) for each in recipes]
    rows = []
    for count in COUNTS:
        group = [create(each, folder / f"{count}-together") for each in recipes[:count]]
        together, apart = timed(group, stretches), sum(alone[:count])
        pictures = count * stretches * STRETCH * recipe.training.batch_size
        rows.append({"models": count, "together": together, "apart": apart, "pictures": pictures})
        print(
            f"{recipe.name} batch {recipe.training.batch_size}: {count} models together"
            f" {pictures / together:9.0f} pictures/s, one after another"
            f" {pictures / apart:9.0f} pictures/s, ratio {apart / together:.2f}",
            flush=True,
        )
    return rows


def timed(group: Sequence[Run], stretches: int) -> float:
    """Seconds that some models take for so many stretches each, after the first of all."""
    records, started = dict.fromkeys(group, 0), 0.0
    with closing(train_together(group, "cuda")) as work:
        for run, record in work:
            if record.kind != "train":
                continue
            records[run] += 1
            if not started and min(records.values()) == 1:
                started = time.perf_counter()
            if min(records.values()) == 1 + stretches:
                return time.perf_counter() - started
    raise SystemExit("training ended before its time; the numbers ran away.")


def _recipe(options: argparse.Namespace) -> Recipe:
    """The recipe without an end and without checkpoints."""
    settings = {
        "batch_size": str(options.batch),
        "source": options.source,
        "log_every": str(STRETCH),
        "checkpoint_every": "1000000",
        "training.steps": "1000000",
    }
    return get_recipe(options.recipe).with_settings(settings)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--recipe", default="mnist-a/telbo-fast", help="what to train")
    parser.add_argument("--batch", type=int, default=256, help="its batch size")
    parser.add_argument("--stretches", type=int, default=5, help="timed stretches of 200 steps")
    parser.add_argument("--source", default="auto", help="digits to draw: mnist or digits")
    parser.add_argument("--json", type=Path, help="write the figures there")
    return parser.parse_args()


if __name__ == "__main__":
    main()
