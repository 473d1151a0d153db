"""What networks cost on a CPU: how the pair `lean` was chosen for people without a GPU.

A step of training, with the drawing of its 64 pictures, is timed for every pair of networks and two
objectives; rounds take turns, and ratios are taken within a round. TELBO runs the image decoder
twice a step, JMVAE once. Beside the two pairs that come with the package there are candidates that
do not: the paper's decoder made narrow behind the lean encoder, and the paper's encoder before the
lean decoder.

What decides is resolution: at 64 by 64 a layer has 16 times the positions it has at 16 by 16. The
lean pair folds four by four pixels into channels before its first layer and unfolds them after its
last. `--train 400` also compares what the pairs have learnt after so many steps of the lean recipe.
A DCGAN decoder of width 64 takes half the multiply-adds and learns more slowly; one of width 128 is
level with the folded decoder in both.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from unittest.mock import patch

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from mindseye.data import Dataset
from mindseye.models import JointVAE
from mindseye.networks import NETWORKS, ImageNetworks
from mindseye.papers import Model, Recipe, get_recipe
from mindseye.training import Training, train

BATCH, QUARTER = 64, 15 * 60
OBJECTIVES = ("telbo", "jmvae")
LEAN, PAPER = NETWORKS["lean"], NETWORKS["paper"]


def lean_encoder(shape: tuple[int, int, int], width: int) -> nn.Module:
    del width  # the decoder's; the encoder stays as it is in `lean`
    return LEAN.encoder(shape, LEAN.width)


PAIRS: dict[str, ImageNetworks] = {
    "paper": PAPER,
    "lean": LEAN,
    "lean + DCGAN 64": replace(LEAN, encoder=lean_encoder, decoder=PAPER.decoder, width=64),
    "lean + DCGAN 128": replace(LEAN, encoder=lean_encoder, decoder=PAPER.decoder, width=128),
    "paper + folded 64": replace(LEAN, encoder=PAPER.encoder),
}


def main() -> None:
    options = _options()
    torch.set_num_threads(options.threads)
    contestants = [Contestant(pair, goal, options.source) for pair in PAIRS for goal in OBJECTIVES]
    seconds = measure(contestants, options.rounds)
    report = {
        "torch": torch.__version__,
        "threads": options.threads,
        "batch": BATCH,
        "rows": [row(one, seconds[i], seconds) for i, one in enumerate(contestants)],
        "learnt": {
            pair: learnt(pair, options.train, options.source)
            for pair in PAIRS
            if options.train and pair != "paper"
        },
    }
    show(report)
    if options.json:
        options.json.write_text(json.dumps(report, indent=2) + "\n")


class Contestant:
    """A pair of networks in training."""

    def __init__(self, pair: str, goal: str, source: str):
        self.pair, self.goal = pair, goal
        recipe = get_recipe(f"mnist-a/{goal}-lean").with_settings({"source": source})
        training = Training(steps=10**6, batch_size=BATCH, log_every=1, checkpoint_every=10**6)
        recipe = replace(recipe, model=Model(networks=pair), training=training)
        self.model = built(recipe)
        self.parameters = sum(p.numel() for p in self.model.parameters())
        self.records = self._training(recipe, recipe.data.open())
        self.multiply_adds = self._multiply_adds()
        self.steps = 1 if self.multiply_adds > 10**9 else 5
        """In a round."""

    def _training(self, recipe: Recipe, data: Dataset) -> Iterator[object]:
        batch = partial(data.batch, size=BATCH)
        return train(self.model, recipe.bounds, batch, recipe.training)

    def _multiply_adds(self) -> int:
        """Of a picture in a step, forward and backward; counted in the first step."""
        with FlopCounterMode(display=False) as counter:
            next(self.records)
        return counter.get_total_flops() // 2 // BATCH

    def round(self) -> float:
        """Seconds a step."""
        start = time.perf_counter()
        for _ in range(self.steps):
            next(self.records)
        return (time.perf_counter() - start) / self.steps


def measure(contestants: list[Contestant], rounds: int) -> list[list[float]]:
    """Seconds a step of every contestant in every round, after one that does not count."""
    table = [[one.round() for one in contestants] for _ in range(rounds + 1)]
    return [list(column) for column in zip(*table[1:], strict=True)]


def learnt(pair: str, steps: int, source: str) -> float:
    """The TELBO in nats, averaged over fresh pictures, after some steps of the lean recipe."""
    changes = {"source": source, "steps": str(steps), "warmup": str(steps // 8)}
    recipe = get_recipe("mnist-a/telbo-lean").with_settings(changes)
    recipe, data = replace(recipe, model=Model(networks=pair)), recipe.data.open()
    torch.manual_seed(0)
    model = built(recipe)
    batch = partial(data.batch, size=BATCH)
    for _ in train(model, recipe.bounds, batch, recipe.training, decayed=model.decayed()):
        pass  # the model ends with its averaged weights
    (bound,) = recipe.bounds
    with torch.no_grad():
        values = [bound(model, batch(step), 1.0).value for step in range(steps, steps + 10)]
    return torch.cat(values).mean().item()


def built(recipe: Recipe) -> JointVAE:
    """The model of a recipe whose networks may be a candidate."""
    with patch.dict(NETWORKS, PAIRS):
        model = recipe.build().to(memory_format=torch.channels_last)
    assert isinstance(model, JointVAE)
    return model


def row(one: Contestant, seconds: list[float], every: list[list[float]]) -> dict:
    """The figures of a contestant; its ratio is to `lean` with the TELBO."""
    base = every[list(PAIRS).index("lean") * len(OBJECTIVES)]
    step = statistics.median(seconds)
    return {
        "networks": one.pair,
        "objective": one.goal,
        "parameters": one.parameters,
        "multiply_adds": one.multiply_adds,
        "milliseconds": 1e3 * step,
        "ratio": statistics.median(a / b for a, b in zip(seconds, base, strict=True)),
        "pictures_in_a_quarter_of_an_hour": round(QUARTER / step) * BATCH,
    }


def show(report: dict) -> None:
    print(f"torch {report['torch']}, {report['threads']} threads, batches of {report['batch']}\n")
    heads = f"{'weights':>12} {'multiply-adds':>14} {'ms a step':>10} {'× lean':>7}"
    print(f"{'':19}{'':6}{heads} {'pictures in 15 min':>19}")
    for row in report["rows"]:
        print(
            f"{row['networks']:19}{row['objective']:6}{row['parameters']:12,}"
            f" {row['multiply_adds'] / 1e6:12.1f} M {row['milliseconds']:10.1f}"
            f" {row['ratio']:7.2f} {row['pictures_in_a_quarter_of_an_hour']:19,}"
        )
    for pair, bound in report["learnt"].items():
        print(f"{pair:19} bound after training {bound:8.1f} nats")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure what networks cost on a CPU.")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--train", type=int, default=0, metavar="STEPS", help="compare bounds too")
    parser.add_argument("--source", default="digits", help="mnist, digits or auto")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    return parser.parse_args()


if __name__ == "__main__":
    main()
