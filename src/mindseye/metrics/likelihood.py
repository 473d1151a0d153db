r"""How probable a model finds pictures, and what it spends on saying so; all in nats.

- `log_evidence`: $\log \frac1k \sum_i p(x, z_i) / q(z_i \mid x)$, a lower bound of $\log p(x)$ in
  expectation that rises with $k$; with $k = 5000$ it is what papers call the likelihood.
- `rate_distortion`: the rate $\mathrm{KL}(q(z \mid x) \,\|\, p(z))$ and the distortion
  $-\mathbb{E}_q \log p(x \mid z)$, whose sum is $-\mathrm{elbo}(x)$.
- `activities`: $\mathrm{Var}_x\, \mathbb{E}_{q(z \mid x)}[z_u]$ of every unit; a unit is active if
  that is above 0.01 (Burda et al., 2016).

Draws are made in portions and summed in float64, so that memory does not grow with $k$: 5000 draws
for 10 000 pictures of MNIST take less than 2 GB. There is no loop over pictures.

References:
    Importance Weighted Autoencoders, Burda, Grosse and Salakhutdinov, 2016
    https://arxiv.org/abs/1509.00519
    Fixing a Broken ELBO, Alemi et al., 2018
    https://arxiv.org/abs/1711.00464
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import starmap
from typing import Any, NamedTuple

import torch
from torch import Tensor

from mindseye.errors import UsageError
from mindseye.objectives.iwae import LatentModel

__all__ = [
    "ACTIVE",
    "RateDistortion",
    "Units",
    "activities",
    "log_evidence",
    "rate_distortion",
    "units",
]

ACTIVE = 0.01
"""The least activity of an active unit."""

ROOM = 2**26
"""Pixels of all draws that are decoded at once: a quarter of a gigabyte in float32."""


class RateDistortion(NamedTuple):
    """What a code costs and what it loses, in nats a picture, each `(N,)`."""

    rate: Tensor
    distortion: Tensor


class Units(NamedTuple):
    """The units of a layer, each `(D,)`."""

    mean: Tensor
    """E[z_u] over pictures."""
    activity: Tensor
    """The variance over pictures of E[z_u|x]."""


@torch.no_grad()
def log_evidence(
    model: LatentModel,
    x: Tensor,
    k: int = 5000,
    *,
    seed: int = 0,
    room: int = ROOM,
    progress: Callable[[int, int], None] | None = None,
) -> Tensor:
    """The importance-weighted estimate of log p(x) of pictures `(N, ...)`, float64 `(N,)`.

    Arguments:
        model: On its device; pictures are brought there.
        x: The pictures.
        k: Draws for every picture.
        seed: Chooses the draws.
        room: Pixels that are decoded at once; memory is in proportion.
        progress: Called with the draws that are done and those there are.
    """
    _check(x, k)
    found, done, total = [], 0, k * len(x)
    with _seeded(seed, x):
        wide = max(x[0].numel(), getattr(model, "widest", 0))
        for part in x.split(max(1, room // wide)):
            q, most = model.q_x(part), max(1, room // (wide * len(part)))
            sums = torch.full((len(part),), -math.inf, dtype=torch.float64, device=part.device)
            for start in range(0, k, most):
                count = min(most, k - start)
                log_w = _weights(model, q, part, count).double()
                sums = torch.logaddexp(sums, log_w.logsumexp(0))
                done += count * len(part)
                if progress:
                    progress(done, total)
            found.append(sums - math.log(k))
    return torch.cat(found)


@torch.no_grad()
def rate_distortion(
    model: LatentModel, x: Tensor, k: int = 16, *, seed: int = 0, room: int = ROOM
) -> RateDistortion:
    """Rate and distortion of pictures `(N, ...)`, over k draws each."""
    _check(x, k)
    rates, distortions = [], []
    with _seeded(seed, x):
        wide = max(x[0].numel(), getattr(model, "widest", 0))
        for part in x.split(max(1, room // (k * wide))):
            q = model.q_x(part)
            z = q.rsample((k,))
            rates.append((q.log_prob(z) - model.prior.log_prob(z)).double().mean(0))
            distortions.append(-model.p_x(z).log_prob(part).double().mean(0))
    return RateDistortion(torch.cat(rates), torch.cat(distortions))


@torch.no_grad()
def units(model: LatentModel, x: Tensor, samples: int = 64, *, seed: int = 0) -> tuple[Units, ...]:
    """What the units of every layer say on average, and how much that depends on the picture.

    Expectations over draws have noise, whose variance is no activity. So each is found twice, of
    half the draws: the covariance of the two is the variance of what they share, without a bias.

    Arguments:
        model: On its device.
        x: The pictures, `(N, ...)`.
        samples: Draws of a layer that the expectation of the next is over, twice half of them.
        seed: Chooses them.
    """
    _check(x, samples)
    halves, half = ([], []), max(1, samples // 2)
    with _seeded(seed, x):
        for part in x.split(1000):
            q = model.q_x(part)
            for parts in halves:
                parts.append(q.means(half) if hasattr(q, "means") else (q.mean,))
    one, two = (
        [torch.cat(means).double() for means in zip(*parts, strict=True)] for parts in halves
    )
    return tuple(starmap(_of_halves, zip(one, two, strict=True)))


def activities(
    model: LatentModel, x: Tensor, samples: int = 64, *, seed: int = 0
) -> tuple[Tensor, ...]:
    """The variance over pictures of every unit's expectation, `(D_l,)` for every layer."""
    return tuple(layer.activity for layer in units(model, x, samples, seed=seed))


def _of_halves(one: Tensor, two: Tensor) -> Units:
    """Mean and activity of units from two estimates `(N, D)` of what they say of N pictures."""
    shared = (one - one.mean(0)) * (two - two.mean(0))
    activity = shared.sum(0) / max(1, len(shared) - 1)
    return Units((one + two).mean(0) / 2, activity.clamp_min(0))


def _weights(model: LatentModel, q: Any, x: Tensor, count: int) -> Tensor:
    """Log weights of some draws, `(count, B)`; in one pass, if the model has one."""
    if weights := getattr(model, "weights", None):
        return weights(x, count, q).log_w
    z = q.rsample((count,))
    return model.p_x(z).log_prob(x) + model.prior.log_prob(z) - q.log_prob(z)


@contextmanager
def _seeded(seed: int, x: Tensor) -> Iterator[None]:
    """Draw from a stream of one's own; the caller's is left as it was."""
    with torch.random.fork_rng(devices=[x.device] if x.is_cuda else []):
        torch.manual_seed(seed)
        yield


def _check(x: Tensor, k: int) -> None:
    if k < 1:
        raise UsageError(f"`k={k}` is too few; expected 1 or more draws.")
    if not len(x):
        raise UsageError("`x` holds no picture.")
