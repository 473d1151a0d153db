r"""Importance Weighted Autoencoders (Burda, Grosse and Salakhutdinov, ICLR 2016).

Recipes `DATA/OBJECTIVE[-SIZE]`, with DATA mnist or omniglot and OBJECTIVE

| objective  | what                                                              |
|------------|-------------------------------------------------------------------|
| `vae`      | one layer of 50 latents, 200-200 tanh units each way              |
| `iwae`     | the same, by the importance-weighted bound of k = 50 draws        |
| `vae-2l`   | two layers, 100 and 50 latents, 200-200 and 100-100 units         |
| `iwae-2l`  | the same, by the importance-weighted bound                        |

`--set k=5` changes the draws. `bsds/vae` and `bsds/iwae` model patches of natural pictures by
normals along learnt axes, of learnt deviations (the lecture of Salakhutdinov quotes the results),
with SiLU, as contrasts are large numbers and tanh ends.

Sizes: none is the paper's own schedule, 3280 epochs of batch 20, Adam with ε = 1e-4 and a step size
that falls from 1e-3 to 1e-4 in eight stages. `fast` reaches the same nats on one GPU in two to
six minutes, with larger batches and steps; `lean` shows the effect on two CPU cores, with 5 draws
where the paper has 50; `tiny` is for tests.

References:
    https://arxiv.org/abs/1509.00519
    The Neural Autoregressive Distribution Estimator for real values (the protocol of patches),
    Uria, Murray and Larochelle, 2013
    https://arxiv.org/abs/1306.0186
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from mindseye.data import Data
from mindseye.papers.model import Model
from mindseye.papers.recipe import Recipe, recipe
from mindseye.training import Training

__all__ = ["MODELS", "SIZES"]

MODELS = {
    "": Model("vae", "tanh", latent=50),
    "-2l": Model("deep", "tanh", latents=(100, 50), units=(200, 100)),
}
"""The two architectures of the paper, by what they add to a recipe's name."""

TRAINING_PICTURES = {"mnist": 59_600, "omniglot": 23_000}
EPOCHS = 3280
"""3⁰ + 3¹ + … + 3⁷."""

SIZES = {
    "": Training(
        batch_size=20,
        learning_rate=1e-3,
        schedule="powers",
        adam_eps=1e-4,
        log_every=3000,
        checkpoint_every=60_000,
        precision="float32",
    ),
    "fast": Training(
        steps=300_000,
        batch_size=250,
        learning_rate=2e-3,
        warmup=1000,
        schedule="cosine",
        adam_eps=1e-4,
        log_every=2000,
        checkpoint_every=50_000,
    ),
    "lean": Training(
        steps=12_000,
        batch_size=100,
        learning_rate=2e-3,
        warmup=200,
        schedule="cosine",
        adam_eps=1e-4,
        log_every=200,
        checkpoint_every=4000,
    ),
    "tiny": Training(steps=60, batch_size=8, learning_rate=2e-3, log_every=20),
}
_ABOUT = {
    "": "by the schedule of the paper",
    "fast": "for one GPU and minutes",
    "lean": "for two CPU cores and minutes",
    "tiny": "for tests",
}
_BOUNDS = {"vae": {"k": 1.0}, "iwae": {"k": 50.0}}
_MOST = {"lean": 5.0, "tiny": 3.0}
_LAYERS = {"": "one layer of latents", "-2l": "two layers of latents"}


def _small(model: Model) -> Model:
    """The same architecture, for tests."""
    if model.kind == "deep":
        return replace(model, latents=(6, 4), units=(16, 12))
    return replace(model, latent=5, width=16)


def _fewer(weights: Mapping[str, float], size: str) -> Mapping[str, float]:
    """The draws that a size has time for."""
    return {"k": min(weights["k"], _MOST.get(size, math.inf))}


def _schedule(data: str, size: str) -> Training:
    """How long and how fast; the paper's own schedule is counted in epochs."""
    if size == "fast" and data == "omniglot":  # fewer pictures are seen as often in half the steps
        return replace(SIZES[size], steps=150_000)
    if size:
        return SIZES[size]
    return replace(SIZES[size], steps=EPOCHS * TRAINING_PICTURES[data] // 20)


for _data in TRAINING_PICTURES:
    for _layers, _model in MODELS.items():
        for _name, _weights in _BOUNDS.items():
            for _size, _about in _ABOUT.items():
                recipe(
                    Recipe(
                        f"{_data}/{_name}{_layers}{'-' if _size else ''}{_size}",
                        f"{_name.upper()} with {_LAYERS[_layers]}, {_about}.",
                        Data(_data),
                        _small(_model) if _size == "tiny" else _model,
                        (_name,),
                        _fewer(_weights, _size),
                        _schedule(_data, _size),
                    )
                )

_PATCHES = Model("vae", "silu", latent=50, likelihood="independent-normal")
_PATCH_SIZES = {
    "": replace(SIZES[""], steps=3_000_000),
    "fast": replace(SIZES["fast"], batch_size=500, steps=60_000, precision="float32"),
    "lean": SIZES["lean"],
    "tiny": SIZES["tiny"],
}

for _name, _weights in _BOUNDS.items():
    for _size, _about in _ABOUT.items():
        recipe(
            Recipe(
                f"bsds/{_name}{'-' if _size else ''}{_size}",
                f"{_name.upper()} of patches of natural pictures, {_about}.",
                Data("bsds"),
                _small(_PATCHES) if _size == "tiny" else _PATCHES,
                (_name,),
                _fewer(_weights, _size),
                _PATCH_SIZES[_size],
            )
        )
