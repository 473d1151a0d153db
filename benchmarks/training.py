"""How fast the training loop is, beside a bare loop written by hand for this one model.

Both train the same networks on the same batches (drawn beforehand) with the same fused Adam, the
same clipping and the same moving average, or none; the bare loop knows nothing of distributions,
records, random streams or checks. First they take a few steps each and must arrive at the same
weights. Then blocks of steps take turns, each loop first in every other round, and a round gives
one ratio. A block of ours ends with a record, a check of all numbers and a copy of the state; with
`lean` that is five times as often as in a real run.

The promise is for networks worth training, `lean`: at most 5 % slower than by hand. `tiny` draws 8
pictures a step with 8 channels and shows the fixed cost of a step instead: it is that of making
distributions, about half a millisecond.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from mindseye.data import Batch
from mindseye.distributions.normal import soft_bounded
from mindseye.models import JointVAE
from mindseye.papers import Recipe, get_recipe
from mindseye.training import Training, train

RECIPES = {"mnist-a/telbo-lean": 20, "mnist-a/telbo-tiny": 100}
"""Steps in a block."""
LAM, GAMMA = 50.0, 50.0
BATCHES = 20


def main() -> None:
    options = _options()
    torch.set_num_threads(options.threads)
    rows = [row for name in RECIPES for row in compare(name, options)]
    report = {"torch": torch.__version__, "threads": options.threads, "rows": rows}
    show(report)
    if options.json:
        options.json.write_text(json.dumps(report, indent=2) + "\n")


def compare(name: str, options: argparse.Namespace) -> Iterator[dict]:
    """The figures of a recipe without and with a moving average."""
    contest = contest_of(name, RECIPES[name], options.source)
    for ema in (0.0, contest.recipe.training.ema):
        one = contest.with_average(ema)
        apart, (ours, by_hand) = difference(one), measure(one, options.rounds)
        yield {
            "recipe": name,
            "ema": ema,
            "milliseconds": 1e3 * statistics.median(ours),
            "milliseconds_by_hand": 1e3 * statistics.median(by_hand),
            "ratio": statistics.median(a / b for a, b in zip(ours, by_hand, strict=True)),
            "difference_of_weights": apart,
        }


@dataclass(frozen=True)
class Contest:
    """What both loops are given."""

    recipe: Recipe
    batches: list[Batch]
    block: int

    def with_average(self, ema: float) -> Contest:
        training = replace(self.recipe.training, ema=ema)
        return replace(self, recipe=replace(self.recipe, training=training))

    def batch(self, step: int) -> Batch:
        return self.batches[step % len(self.batches)]

    def model(self) -> JointVAE:
        torch.manual_seed(0)
        model = self.recipe.build().to(memory_format=torch.channels_last)
        assert isinstance(model, JointVAE)
        return model


def contest_of(name: str, block: int, source: str, batch_size: int = 0) -> Contest:
    """A contest over a recipe, with its own batch size or another."""
    recipe = get_recipe(name).with_settings({"source": source})
    size = batch_size or recipe.training.batch_size
    rhythm = {"steps": 10**6, "log_every": block, "checkpoint_every": block, "batch_size": size}
    recipe = replace(
        recipe,
        training=replace(recipe.training, **rhythm),
        weights={"lam": LAM, "gamma": GAMMA},
    )
    data = recipe.data.open()
    batches = [data.batch(step, size) for step in range(BATCHES)]
    return Contest(recipe, batches, block)


def measure(
    contest: Contest, rounds: int, clock: Callable[[], float] = time.perf_counter
) -> tuple[list[float], list[float]]:
    """Seconds a step of both loops in every round by a clock, after one that does not count."""
    loops = ours(contest, contest.model()), by_hand(contest, contest.model())
    seconds: tuple[list[float], list[float]] = [], []
    for number in range(rounds + 1):
        for i in (0, 1) if number % 2 else (1, 0):
            start = clock()
            next(loops[i])
            seconds[i].append((clock() - start) / contest.block)
    return seconds[0][1:], seconds[1][1:]


def difference(contest: Contest, steps: int = 5) -> float:
    """The largest difference of two weights after a few steps of each loop."""
    contest = replace(contest, block=steps)
    rhythm = replace(contest.recipe.training, log_every=steps, checkpoint_every=steps)
    contest = replace(contest, recipe=replace(contest.recipe, training=rhythm))
    models = contest.model(), contest.model()
    next(ours(contest, models[0]))
    torch.manual_seed(contest.recipe.training.seed)
    next(by_hand(contest, models[1]))
    pairs = zip(models[0].parameters(), models[1].parameters(), strict=True)
    return max((a - b).abs().max().item() for a, b in pairs)


def ours(contest: Contest, model: JointVAE) -> Iterator[object]:
    """Records of the project's own loop, one a block."""
    recipe = contest.recipe
    return train(model, recipe.bounds, contest.batch, recipe.training, decayed=model.decayed())


# By hand


def by_hand(contest: Contest, model: JointVAE) -> Iterator[Tensor]:
    """The mean loss of every block of a loop written for this model alone."""
    options = contest.recipe.training
    adam, decoders = optimiser(model, options), Decoders(model)
    parameters = list(model.parameters())
    weights = [tensor for tensor in model.state_dict().values() if tensor.is_floating_point()]
    average = [tensor.clone() for tensor in weights]
    model.train()
    total = torch.zeros(())
    for step in count():
        x, y = contest.batch(step)
        loss = negative_telbo(model, decoders, x, y.codes)
        adam.zero_grad()
        loss.backward()
        if options.clip:
            nn.utils.clip_grad_norm_(parameters, options.clip)
        for group in adam.param_groups:
            group["lr"] = options.rate(step)
        adam.step()
        if options.ema:
            torch._foreach_lerp_(average, weights, 1 - min(options.ema, (1 + step) / (10 + step)))
        total += loss.detach()
        if (step + 1) % contest.block == 0:
            yield total / contest.block
            total = torch.zeros(())


def optimiser(model: JointVAE, options: Training) -> torch.optim.Adam:
    decayed = model.decayed() if options.weight_decay else []
    free = [p for p in model.parameters() if all(p is not d for d in decayed)]
    groups = [{"params": free}]
    if decayed:
        groups.append({"params": decayed, "weight_decay": options.weight_decay})
    return torch.optim.Adam(groups, betas=options.adam_betas, eps=options.adam_eps, fused=True)


def negative_telbo(model: JointVAE, decoders: Decoders, x: Tensor, codes: Tensor) -> Tensor:
    """Minus the mean TELBO in plain tensor operations."""
    joint = negative_elbo(model, gaussian(model.joint_encoder(x, codes)), codes, LAM, x)
    decoders.hold(still=True)
    image = negative_elbo(model, gaussian(model.image_encoder(x)), None, 0.0, x)
    product = multiplied(*gaussian(model.label_encoder(codes)))
    words = negative_elbo(model, product, codes, GAMMA, None)
    decoders.hold(still=False)
    return (joint + image + words) / len(x)


def negative_elbo(
    model: JointVAE,
    belief: tuple[Tensor, Tensor],
    codes: Tensor | None,
    weight: float,
    x: Tensor | None,
) -> Tensor:
    """Minus the sum of the bounds of a batch, by one sample."""
    mean, log_std = belief
    std = log_std.exp()
    z = mean + std * torch.randn_like(mean)
    loss = 0.5 * (mean.square() + std.square() - 1).sum() - log_std.sum()
    if x is not None:
        pixels = model.image_decoder(z)
        loss = loss + F.binary_cross_entropy_with_logits(pixels, x, reduction="sum")
    if codes is not None:
        logits = model.label_decoder(z.expand(codes.shape[1], *z.shape))
        for k, size in enumerate(model.vocabulary.sizes):
            nats = F.cross_entropy(logits[k, :, :size], codes[:, k], reduction="sum")
            loss = loss + weight * nats
    return loss


def gaussian(features: Tensor) -> tuple[Tensor, Tensor]:
    mean, log_std = features.chunk(2, -1)
    return mean, soft_bounded(log_std)


def multiplied(mean: Tensor, log_std: Tensor) -> tuple[Tensor, Tensor]:
    """The product of all experts and the prior."""
    precision = (-2 * log_std).exp()
    total = 1 + precision.sum(1)
    return (precision * mean).sum(1) / total, -0.5 * total.log()


class Decoders:
    """The generative half, whose gradients and statistics can be held still."""

    def __init__(self, model: JointVAE):
        parts = [part for decoder in model.decoders for part in decoder.modules()]
        self.weights = [w for decoder in model.decoders for w in decoder.parameters()]
        self.norms = [part for part in parts if isinstance(part, nn.BatchNorm2d)]

    def hold(self, *, still: bool) -> None:
        for weight in self.weights:
            weight.requires_grad_(not still)
        for norm in self.norms:
            norm.track_running_stats = not still


def show(report: dict) -> None:
    print(f"torch {report['torch']}, {report['threads']} threads\n")
    heads = f"{'EMA':>6} {'ms a step':>10} {'by hand':>10} {'ratio':>7} {'weights differ by':>18}"
    print(f"{'':20} {heads}")
    for row in report["rows"]:
        print(
            f"{row['recipe']:20} {row['ema']:6} {row['milliseconds']:10.2f}"
            f" {row['milliseconds_by_hand']:10.2f} {row['ratio']:7.3f}"
            f" {row['difference_of_weights']:18.1e}"
        )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure the training loop beside a bare one.")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--source", default="digits", help="mnist, digits or auto")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    return parser.parse_args()


if __name__ == "__main__":
    main()
