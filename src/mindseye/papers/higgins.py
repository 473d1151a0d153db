r"""Disentangling dSprites: the β-VAE (Higgins et al., ICLR 2017) and what came after it.

Recipes `dsprites/NAME[-SIZE]`, all with ten latents and Bernoulli pixels:

| name       | what is raised                                                                      |
|------------|-------------------------------------------------------------------------------------|
| `vae`      | the bound itself, β = 1                                                             |
| `beta-vae` | the same with β = 4 on the divergence                                               |
| `capacity` | the divergence is held, γ = 1000, at a capacity that rises to 25 nats               |
| `factor`   | the total correlation by a discriminator, γ = 10                                    |
| `tcvae`    | the total correlation by stratified sampling, β = 3                                 |
| `hfvae`    | the same between five groups of two latents, β = 3, and γ = 2 inside each of them   |

Sizes: none is the literature's schedule, 300 000 steps of 64 pictures at a low rate, with `plain`
networks. `fast` is for one GPU and minutes, `lean`, with half as many channels, for two CPU cores
and minutes, and too short for good scores; `tiny` is for tests. `fast` and `lean` learn at a higher
rate, and there x and y are soon folded over four latents, two each, which no weight on the
divergence undoes. So they cool: the divergence begins about a hundred times as heavy, where most
latents are silent. As it falls, what pays most for a nat is found first, x and y and then the size,
each by a latent of its own. Those that are left wake up later to shape and orientation, if the
networks are `smooth`; units of ReLU do not.

FactorVAE cuts its batch in two, half for each player, so it has batches of twice the size. The
capacity rises over the first third of the steps.

Chen et al. have β = 6 with batches of 2048. Of the 128 pictures of `fast` the total correlation is
estimated too roughly for that: it becomes negative, and the factors stay mixed. Kim and Mnih have γ
up to 40, for 300 000 steps; with 35, `fast` scatters the orientation over five latents.

References:
    β-VAE: Learning Basic Visual Concepts with a Constrained Variational Framework, Higgins et al.,
    2017, https://openreview.net/forum?id=Sy2fzU9gl
    Understanding Disentangling in β-VAE, Burgess et al., 2018, https://arxiv.org/abs/1804.03599
    Disentangling by Factorising, Kim and Mnih, 2018, https://arxiv.org/abs/1802.05983
    Isolating Sources of Disentanglement in Variational Autoencoders, Chen et al., 2018
    https://arxiv.org/abs/1802.04942
    Structured Disentangled Representations, Esmaeili et al., 2018
    https://arxiv.org/abs/1804.02086
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from mindseye.data import Data
from mindseye.papers.model import Model
from mindseye.papers.recipe import Recipe, recipe
from mindseye.training import Training

__all__ = ["METHODS", "SIZES"]

PICTURES = 737_280.0


class Method(NamedTuple):
    """What a name stands for."""

    about: str
    objective: str
    weights: Mapping[str, float]
    kind: str = "vae"
    rate: float = 5e-4
    """Adam's step size in the literature's schedule."""


METHODS = {
    "vae": Method("VAE", "elbo", {"beta": 1.0}),
    "beta-vae": Method("β-VAE with β = 4", "elbo", {"beta": 4.0}),
    "capacity": Method(
        "VAE held at a capacity that rises to 25 nats",
        "capacity",
        {"gamma": 1000.0, "capacity": 25.0},
    ),
    "factor": Method("FactorVAE with γ = 10", "factor", {"gamma": 10.0}, "factor", 1e-4),
    "tcvae": Method("β-TCVAE with β = 3", "tcvae", {"beta": 3.0, "size": PICTURES}),
    "hfvae": Method(
        "HFVAE with five groups of two latents",
        "hfvae",
        {"beta": 3.0, "gamma": 2.0, "groups": 5.0, "size": PICTURES},
    ),
}
"""The six methods of the table."""

MODEL = Model("vae", "plain", latent=10)
SMOOTH = replace(MODEL, networks="smooth")

SIZES = {
    "": (
        MODEL,
        Training(
            steps=300_000,
            batch_size=64,
            learning_rate=5e-4,
            log_every=1000,
            checkpoint_every=50_000,
            precision="float32",
        ),
    ),
    "fast": (
        SMOOTH,
        Training(
            steps=60_000,
            batch_size=128,
            learning_rate=1e-3,
            warmup=1000,
            schedule="cosine",
            cooling=10_000,
            log_every=1000,
            checkpoint_every=20_000,
        ),
    ),
    "lean": (
        replace(SMOOTH, width=16),
        Training(
            steps=8000,
            batch_size=64,
            learning_rate=1e-3,
            warmup=100,
            schedule="cosine",
            cooling=3000,
            log_every=100,
            checkpoint_every=1000,
        ),
    ),
    "tiny": (
        replace(SMOOTH, latent=3, width=4),
        Training(steps=30, batch_size=8, learning_rate=2e-3, log_every=10),
    ),
}
_ABOUT = {
    "": "for as long as in the literature",
    "fast": "for one GPU and minutes",
    "lean": "for two CPU cores and minutes",
    "tiny": "for tests",
}


def _training(name: str, size: str) -> Training:
    """How long and how fast a method is trained."""
    training = SIZES[size][1]
    if not size:
        training = replace(training, learning_rate=METHODS[name].rate)
    if name == "factor":
        training = replace(training, batch_size=2 * training.batch_size)
        if size == "fast":  # two players want smaller steps than one
            training = replace(training, learning_rate=training.learning_rate / 2)
    if name == "capacity":
        training = replace(training, beta_warmup=training.steps // 3, cooling=0)
    return training


def _weights(name: str, size: str) -> Mapping[str, float]:
    """The weights of a method; three latents have no five groups, nor time for 25 nats."""
    small = {"hfvae": {"groups": 2.0}, "capacity": {"gamma": 10.0, "capacity": 2.0}}
    return {**METHODS[name].weights, **(small.get(name, {}) if size == "tiny" else {})}


for _name, _method in METHODS.items():
    for _size, _about in _ABOUT.items():
        recipe(
            Recipe(
                f"dsprites/{_name}{'-' if _size else ''}{_size}",
                f"{_method.about} on dSprites, {_about}.",
                Data("dsprites"),
                replace(SIZES[_size][0], kind=_method.kind),
                (_method.objective,),
                _weights(_name, _size),
                _training(_name, _size),
            )
        )
