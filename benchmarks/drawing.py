"""How fast strokes are learnt: a whole drawing captured, beside the loop as it is usually written.

All contestants take the same steps of alignDRAW, 32 strokes on pictures of 60 by 60 by default: the
bound, its gradient, clipping and Adam.

- ours: the package's own loop; on a GPU ten whole steps, all strokes unrolled, are one graph;
- eager: the same model, a step at a time, in float32;
- by the book: what is usually written: filter banks by exponentials and sums, words compared anew
  at every stroke, picture and error read apart, one divergence a stroke.

Before the clock starts the bounds of the last two must be the same numbers, with noise left out.
The promise: on a GPU ours takes at least 5 times the steps of the eager loop.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import torch
from torch import Tensor
from torch.distributions import Normal, kl_divergence

from mindseye.data import Batch
from mindseye.distributions.normal import loc_and_log_scale
from mindseye.labels import Labels
from mindseye.models import Draw
from mindseye.networks.windows import Aim
from mindseye.objectives import draw
from mindseye.papers import Recipe, get_recipe
from mindseye.runs.making import batches, data_of, fresh
from mindseye.training import train

ENOUGH = 5


def main() -> None:
    options = _options()
    torch.set_num_threads(options.threads)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    size = options.size or ("fast" if device == "cuda" else "lean")
    block = 50 if device == "cuda" else 5
    recipe = get_recipe(f"captioned-mnist/align-{size}")
    rhythm = {"steps": 10**6, "log_every": block, "checkpoint_every": 10**6}
    recipe = replace(
        recipe,
        data=replace(recipe.data, source=options.source),
        model=replace(recipe.model, strokes=options.strokes),
        training=replace(recipe.training, **rhythm),
    )
    data = data_of(recipe, device, None)
    batch = data.batch(0, recipe.training.batch_size)
    model = fresh(recipe, device, data)
    assert isinstance(model, Draw)
    apart = difference(model, batch)
    each = {
        "ours": (ours(recipe, device), block),
        "eager": (steps(recipe, device, batch, lambda m, b: draw(m, b.x, b.y).value.mean()), 1),
        "by the book": (steps(recipe, device, batch, lambda m, b: by_the_book(m, b).mean()), 1),
    }
    found = {who: statistics.median(timed(*loop, options.rounds)) for who, loop in each.items()}
    report = {
        "torch": torch.__version__,
        "device": torch.cuda.get_device_name() if device == "cuda" else "cpu",
        "threads": options.threads,
        "recipe": recipe.name,
        "strokes": options.strokes,
        "batch_size": recipe.training.batch_size,
        "milliseconds": {who: 1e3 * seconds for who, seconds in found.items()},
        "times": {who: seconds / found["ours"] for who, seconds in found.items()},
        "enough": found["eager"] / found["ours"] >= ENOUGH,
        "difference_of_bounds": apart,
    }
    print(f"{recipe.name}, {options.strokes} strokes, batches of {recipe.training.batch_size}")
    for name, seconds in report["milliseconds"].items():
        print(f"  {name:12} {seconds:10.2f} ms a step, {report['times'][name]:6.2f} times ours")
    print(f"  bounds differ by {apart:.1e}")
    if options.json:
        options.json.write_text(json.dumps(report, indent=2) + "\n")


def timed(loop: Iterator[None], block: int, rounds: int) -> Iterator[float]:
    """Seconds a step, after a round that does not count."""
    next(loop)
    for _ in range(rounds):
        start = time.perf_counter()
        next(loop)
        yield (time.perf_counter() - start) / block


def ours(recipe: Recipe, device: str) -> Iterator[None]:
    """The training loop of the package, a block at a time."""
    data = data_of(recipe, device, None)
    model = fresh(recipe, device, data)
    loop = train(model, recipe.bounds, batches(recipe, data), recipe.training, compiled=True)
    for record in loop:
        if record.kind == "train":
            yield


def steps(
    recipe: Recipe,
    device: str,
    batch: Batch[Labels],
    bound: Callable[[Draw, Batch[Labels]], Tensor],
) -> Iterator[None]:
    """A loop as it is usually written, a step at a time."""
    model = fresh(recipe, device, data_of(recipe, device, None))
    assert isinstance(model, Draw)
    adam = torch.optim.Adam(model.parameters(), lr=1e-4)
    while True:
        adam.zero_grad()
        (-bound(model, batch)).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), recipe.training.clip)
        adam.step()
        if device == "cuda":
            torch.cuda.synchronize()
        yield


def by_the_book(model: Draw, batch: Batch[Labels]) -> Tensor:
    """The bound of every picture, written line by line as in the paper."""
    x, y = batch
    assert model.listener is not None
    assert model.alignment is not None
    heard = model.listener(y)
    canvas = model.start.expand(len(x), *model.shape)
    known, read = model.generator.begin(x), model.reader.begin(x)
    kl = x.new_zeros(len(x))
    for _ in range(model.strokes):
        error = x - torch.sigmoid(canvas)
        rows, columns, strength = filters(model.look, known.h)
        glimpses = [strength * (rows @ each[:, 0] @ columns.mT).flatten(1) for each in (x, error)]
        read = model.reader(torch.cat([*glimpses, known.h], -1), read)
        loc, log_scale = loc_and_log_scale(model.posterior(read.h))
        q = Normal(loc, log_scale.exp())
        p_loc, p_log_scale = torch.tanh(model.prior_of(known.h)).chunk(2, -1)
        kl = kl + kl_divergence(q, Normal(p_loc, p_log_scale.exp())).sum(-1)
        words, state = model.alignment.words(heard.states), model.alignment.state(known.h)
        scores = model.alignment.score(torch.tanh(words + state[:, None]))[..., 0]
        weights = scores.masked_fill(~heard.present, -1e30).softmax(-1)
        said = (weights[..., None] * heard.states).sum(1)
        known = model.generator(torch.cat([q.rsample(), said], -1), known)
        rows, columns, strength = filters(model.point, known.h)
        patch_ = model.patch(known.h).view(-1, model.window, model.window)
        canvas = canvas + ((rows.mT @ patch_ @ columns) / strength[..., None])[:, None]
    odds = torch.distributions.Bernoulli(logits=canvas)
    return odds.log_prob(x).sum((1, 2, 3)) - kl


def filters(aim: Aim, state: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Rows, columns and strength of a window, by exponentials and their sums."""
    across, down, variance, spacing, strength = torch.nn.Linear.forward(aim, state).split(1, -1)
    _, height, width = aim.shape
    apart = (max(height, width) - 1) / (aim.size - 1) * spacing.exp()
    steps_ = torch.arange(aim.size, device=state.device) - (aim.size - 1) / 2
    banks = []
    for middle, length in ((down, height), (across, width)):
        centres = (length - 1) / 2 * (middle + 1) + steps_ * apart
        pixel = torch.arange(length, device=state.device)
        weights = torch.exp(-((pixel - centres[..., None]) ** 2) / (2 * variance.exp()[..., None]))
        banks.append(weights / (weights.sum(-1, keepdim=True) + 1e-8))
    return banks[0], banks[1], strength.exp()


@torch.no_grad()
def difference(model: Draw, batch: Batch[Labels]) -> float:
    """The largest difference of the bounds of pictures, ours and by the book, without noise."""
    with patch("torch.distributions.Normal.rsample", _still):
        one, other = draw(model, batch.x, batch.y).value, by_the_book(model, batch)
    return float(((one - other) / one.abs()).abs().max())


def _still(q: Normal, shape: torch.Size = torch.Size()) -> Tensor:  # noqa: B008
    return q.mean.expand(*shape, *q.mean.shape)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--size", default="", help="fast, lean or tiny")
    parser.add_argument("--strokes", type=int, default=32)
    parser.add_argument("--source", default="auto", help="mnist or digits")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", type=Path, help="write the figures here")
    return parser.parse_args()


if __name__ == "__main__":
    main()
