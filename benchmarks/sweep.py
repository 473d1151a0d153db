"""What a sweep gains: N models by one command, beside N commands one after another.

Everything counts, from the start of the first process to the end of the last: imports, data,
kernels, capture, training, checkpoints.

    python benchmarks/sweep.py
    python benchmarks/sweep.py --recipe mnist-a/jmvae --models 4 --set steps=2000
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from mindseye.papers import get_recipe
from mindseye.provenance import provenance

MAIN = "from mindseye.cli import main; main()"


def main() -> None:
    options = _options()
    recipe = get_recipe(options.recipe).with_settings(dict(_pair(text) for text in options.set))
    pictures = options.models * recipe.training.steps * recipe.training.batch_size
    report = {"provenance": provenance(options.device), "recipe": recipe.to_json()}
    report |= {"models": options.models, "pictures": pictures}
    seconds: dict[str, float] = {}
    for way, took in measured(options):
        seconds[way] = took
        gain = seconds["commands"] / took
        rate = f"{pictures / took:9.0f} pictures/s"
        print(f"{way:8} {took:6.1f} s {rate}, ratio {gain:.2f}", flush=True)
        if options.json:
            options.json.write_text(json.dumps(report | {"seconds": seconds}, indent=2) + "\n")


def measured(options: argparse.Namespace) -> Iterator[tuple[str, float]]:
    """Each way of training N models and its seconds, as soon as they are known."""
    yield "commands", one_after_another(options)
    yield "sweep", swept(options)


def one_after_another(options: argparse.Namespace) -> float:
    """Seconds of N calls of `mindseye train`."""
    with tempfile.TemporaryDirectory() as folder:
        seeds = [f"seed={seed}" for seed in range(options.models)]
        return sum(_timed("train", options, folder, "--set", seed) for seed in seeds)


def swept(options: argparse.Namespace) -> float:
    """Seconds of one call of `mindseye sweep`."""
    with tempfile.TemporaryDirectory() as folder:
        seeds = f"seed=0..{options.models - 1}"
        return _timed("sweep", options, folder, "--over", seeds)


def _timed(command: str, options: argparse.Namespace, folder: str, *more: str) -> float:
    changes = [word for text in options.set for word in ("--set", text)]
    where = ["--runs", str(Path(folder) / "runs"), "--device", options.device]
    started = time.perf_counter()
    subprocess.run(
        [sys.executable, "-c", MAIN, command, options.recipe, *changes, *where, *more],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    return time.perf_counter() - started


def _pair(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    return name, value


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--recipe", default="mnist-a/telbo-fast", help="what to train")
    parser.add_argument("--models", type=int, default=3, help="how many")
    parser.add_argument("--set", action="append", default=[], help="change a field, as `mindseye`")
    parser.add_argument("--device", default="cuda", help="cpu or cuda")
    parser.add_argument("--json", type=Path, help="write the figures there")
    return parser.parse_args()


if __name__ == "__main__":
    main()
