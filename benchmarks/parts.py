"""How fast wholes and their parts are learnt, beside plain loops over padded wholes.

All contestants take the same steps of the same model on the same batches of 1 to K parts: the bound
of `compvae`, its gradient, clipping and Adam.

- ours: the parts of all wholes as rows of one tensor, on a GPU ten steps captured as one graph;
- padded: every whole padded to K parts and masked, step by step, as torch is usually written;
- one by one: the same for one whole at a time, the gradients of a batch added up.

Before the clock starts, the padded bound must be ours: without noise they are the same numbers.
The promise: on a GPU, at least 5 times the steps of the loop over wholes one by one.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import torch
from torch import Tensor
from torch.nn.functional import pad

from mindseye.data import Batch
from mindseye.distributions.normal import soft_bounded
from mindseye.models import ImprintVAE
from mindseye.objectives import compvae
from mindseye.papers import Recipe, get_recipe
from mindseye.pieces import Pieces
from mindseye.runs.making import batches, data_of, fresh
from mindseye.training import train

ENOUGH = 5
BLOCK = 50
"""Steps of ours between two looks at the clock."""


def main() -> None:
    options = _options()
    torch.set_num_threads(options.threads)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    size = options.size or ("fast" if device == "cuda" else "lean")
    rows = [
        compare(f"{data}/compvae-{size}", device, options.rounds) for data in ("sines", "sites")
    ]
    report = {
        "torch": torch.__version__,
        "device": device,
        "threads": options.threads,
        "rows": rows,
    }
    for row in rows:
        print(f"{row['recipe']}, batches of {row['batch_size']}, up to {row['most']} parts")
        for name, seconds in row["milliseconds"].items():
            print(f"  {name:12} {seconds:10.2f} ms a step, {row['times'][name]:6.1f} times ours")
        print(f"  bounds differ by {row['difference_of_bounds']:.1e}")
    if options.json:
        options.json.write_text(json.dumps(report, indent=2) + "\n")


def compare(name: str, device: str, rounds: int) -> dict:
    """The figures of one recipe."""
    recipe = get_recipe(name)
    rhythm = {"steps": 10**6, "log_every": BLOCK, "checkpoint_every": 10**6, "growth": 0}
    recipe = replace(recipe, training=replace(recipe.training, beta_warmup=0, **rhythm))
    data = data_of(recipe, device, None)
    drawn = batches(recipe, data)
    some = [drawn(number) for number in range(4)]
    model = fresh(recipe, device, data)
    assert isinstance(model, ImprintVAE)
    apart = difference(model, some[0])
    each = {
        "ours": (ours(recipe, device), BLOCK),
        "padded": (steps(recipe, device, some, padded_bound), 1),
        "one by one": (steps(recipe, device, some, one_by_one), 1),
    }
    found = {who: statistics.median(timed(*loop, rounds)) for who, loop in each.items()}
    return {
        "recipe": name,
        "batch_size": recipe.training.batch_size,
        "most": data.most,
        "milliseconds": {who: 1e3 * seconds for who, seconds in found.items()},
        "times": {who: seconds / found["ours"] for who, seconds in found.items()},
        "enough": found["one by one"] / found["ours"] >= ENOUGH,
        "difference_of_bounds": apart,
    }


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


Bounded = Callable[[ImprintVAE, Batch[Pieces]], Tensor]


def steps(recipe: Recipe, device: str, some: list[Batch[Pieces]], bound: Bounded) -> Iterator[None]:
    """A loop as it is usually written, a step at a time."""
    model = fresh(recipe, device, data_of(recipe, device, None))
    assert isinstance(model, ImprintVAE)
    adam = torch.optim.Adam(model.parameters(), lr=1e-4)
    for batch in iter(lambda: some[0], None):
        adam.zero_grad()
        (-bound(model, batch)).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), recipe.training.clip)
        adam.step()
        if device == "cuda":
            torch.cuda.synchronize()
        yield


def padded_bound(model: ImprintVAE, batch: Batch[Pieces]) -> Tensor:
    """The mean bound of a batch, its wholes padded to as many parts as the largest has."""
    return padded(model, batch).mean()


def one_by_one(model: ImprintVAE, batch: Batch[Pieces]) -> Tensor:
    """The same, whole after whole, each padded to as many parts as the largest has."""
    x, y = batch.x, batch.y
    most, sizes = int(y.sizes.max()), y.sizes.tolist()
    parts = zip(y.codes.split(sizes), y.places.split(sizes), strict=True)
    each = [
        padded(model, Batch(x[i : i + 1], Pieces(codes, places, y.sizes[i : i + 1])), most)
        for i, (codes, places) in enumerate(parts)
    ]
    return torch.cat(each).mean()


def padded(model: ImprintVAE, batch: Batch[Pieces], most: int = 0) -> Tensor:
    """The bound of every whole, by tensors `(B, K, ...)` and a mask."""
    x, y = batch.x, batch.y
    sizes = y.sizes.tolist()
    most = most or max(sizes)
    codes = torch.stack([pad(each, (0, most - len(each))) for each in y.codes.split(sizes)])
    places = torch.stack([pad(p, (0, 0, 0, most - len(p))) for p in y.places.split(sizes)])
    mask = (torch.arange(most, device=x.device) < y.sizes[:, None])[..., None].float()
    seen = model.seen(x)
    q_z = model.q_z(seen)
    z = q_z.rsample()
    loc, scale, rho, log_left = posterior(model, seen, z, codes, places, mask)
    noise = torch.randn_like(loc) * mask
    w = loc + scale * (noise - rho * noise.sum(1, keepdim=True))
    left = model.imprint(codes.flatten(), places.flatten(0, 1), w.flatten(0, 1))
    total = (left.view(*codes.shape, -1) * mask).sum(1)
    each = scale.log() + (1 + math.log(2 * math.pi)) / 2
    entropy = (each * mask).sum((1, 2)) + log_left.sum(-1)
    kl_w = -entropy - (log_prior(model, codes, w) * mask[..., 0]).sum(1)
    kl_z = -q_z.entropy() - model.p_z(total).log_prob(z)
    return model.p_x(z, total).log_prob(x) - kl_w - kl_z


def log_prior(model: ImprintVAE, codes: Tensor, w: Tensor) -> Tensor:
    """log p(w_i|l_i) of every part, padded ones too, `(B, K)`."""
    rows = codes.flatten()
    alone = Pieces(rows, w.new_zeros(len(rows), 0), torch.ones_like(rows))
    return model.p_w(alone, model.groups(alone)).log_prob(w.flatten(0, 1)).view(codes.shape)


def posterior(
    model: ImprintVAE, seen: Tensor, z: Tensor, codes: Tensor, places: Tensor, mask: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Means, deviations, rho and log(1 - sum of rho) of q(w), padded."""
    said, gate = (
        label(codes.flatten(), places.flatten(0, 1)).view(*codes.shape, -1)
        for label in (model.label_q, model.gate)
    )
    if model.noisy:
        said = said + torch.randn_like(said)
    h = model.told(torch.cat([seen, z], -1))[:, None] * gate + said
    if model.kin:
        own = said * gate * mask
        h = h + model.kin(gate * (own.sum(1, keepdim=True) - own))
    for block in model.blocks:
        told = block.says(h) * mask
        others = told.sum(1, keepdim=True) - told
        h = block.becomes(torch.cat([h, block.heard(others)], -1))
    loc, log_scale, logits = model.posterior_w(h).chunk(3, -1)
    logits = logits.masked_fill(mask == 0, -torch.inf)
    with_one = torch.cat([logits, torch.zeros_like(logits[:, :1])], 1)
    log_left = -with_one.logsumexp(1)
    return loc, soft_bounded(log_scale).exp(), (logits + log_left[:, None]).exp(), log_left


@torch.no_grad()
def difference(model: ImprintVAE, batch: Batch[Pieces]) -> float:
    """The largest difference of the bounds of wholes, ours and padded, without noise."""
    quiet = {"randn": torch.zeros, "randn_like": torch.zeros_like}
    with patch.multiple(torch, **quiet), patch("torch.distributions.Normal.rsample", _still):
        one, other = compvae(model, batch.x, batch.y).value, padded(model, batch)
    return float(((one - other) / one.abs()).abs().max())


def _still(q: torch.distributions.Normal, shape: torch.Size) -> Tensor:
    return q.mean.expand(*shape, *q.mean.shape)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--size", default="", help="fast, lean or tiny")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", type=Path, help="write the figures here")
    return parser.parse_args()


if __name__ == "__main__":
    main()
