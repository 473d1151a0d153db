r"""Semi-supervised deep generative models (Kingma et al., 2014; Narayanaswamy et al., 2017).

Recipes `mnist/MODEL[-SIZE]` for MNIST of which 100 digits are named, ten of each, with MODEL

| model      | what                                                                            |
|------------|---------------------------------------------------------------------------------|
| `m2`       | M2 of Kingma et al.: dense networks, every digit scored, 50 latents             |
| `dgm`      | Narayanaswamy et al.: the same networks, importance-weighted where y is known   |
| `dgm-conv` | ours: y is read by convolutions, alike in pictures moved and turned a little    |

`--set labels=1000` names more of them. A quarter of every batch is drawn from the named digits. The
divergence of `dgm-conv` weighs β = 3: at 1 the manner keeps the digit too, and a decoder that need
not look at y draws another digit than is said one time in eight; with 3 it is one in thirty, and
digits of validation are read no worse.

Sizes: none is long, 300 000 steps at a constant rate. `fast` is for one GPU and a minute or
two, `lean` for two CPU cores and minutes, with smaller networks; `tiny` is for tests.

References:
    Learning Disentangled Representations with Semi-Supervised Deep Generative Models,
    Narayanaswamy et al., 2017
    https://arxiv.org/abs/1706.00400
    Semi-Supervised Learning with Deep Generative Models, Kingma et al., 2014
    https://arxiv.org/abs/1406.5298
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from mindseye.data import Data
from mindseye.papers.model import Model
from mindseye.papers.recipe import Recipe, recipe
from mindseye.training import Training

__all__ = ["DATA", "METHODS", "SIZES"]

DATA = Data("mnist", labels=100, described=0.25)
"""A hundred named digits, of which a quarter of every batch is drawn."""


class Method(NamedTuple):
    """What is trained, and by what."""

    about: str
    networks: str
    objective: str
    weights: Mapping[str, float]


METHODS = {
    "m2": Method("M2 of Kingma et al.", "dense", "m2", {"alpha": 50.0}),
    "dgm": Method(
        "The semi-supervised model of Narayanaswamy et al.",
        "dense",
        "semi-dgm",
        {"alpha": 50.0, "samples": 8.0},
    ),
    "dgm-conv": Method(
        "The same with convolutions that read a moved picture alike",
        "conv",
        "semi-dgm",
        {"alpha": 50.0, "beta": 3.0, "consistency": 20.0, "sharpen": 2.0},
    ),
}
"""The models, by what a recipe calls them."""

SIZES = {
    "": Training(
        steps=300_000,
        batch_size=200,
        learning_rate=3e-4,
        log_every=1000,
        checkpoint_every=50_000,
        precision="float32",
    ),
    "fast": Training(
        steps=15_000,
        batch_size=200,
        learning_rate=1e-3,
        warmup=500,
        schedule="cosine",
        ema=0.999,
        log_every=500,
        checkpoint_every=10_000,
    ),
    "lean": Training(
        steps=2000,
        batch_size=200,
        learning_rate=2e-3,
        warmup=100,
        schedule="cosine",
        ema=0.99,
        log_every=50,
        checkpoint_every=500,
    ),
    "tiny": Training(steps=60, batch_size=8, learning_rate=2e-3, log_every=20),
}
_ABOUT = {
    "": "long, in the manner of the papers",
    "fast": "for one GPU and minutes",
    "lean": "for two CPU cores and minutes",
    "tiny": "for tests",
}
_MODEL = Model("semi", latent=50)
_SMALLER = {
    "lean": {"latent": 16, "width": 12, "hidden": 128},
    "tiny": {"latent": 4, "width": 4, "hidden": 16},
}

for _name, _method in METHODS.items():
    for _size, _about in _ABOUT.items():
        recipe(
            Recipe(
                f"mnist/{_name}{'-' if _size else ''}{_size}",
                f"{_method.about}, {_about}.",
                DATA,
                replace(_MODEL, networks=_method.networks, **_SMALLER.get(_size, {})),
                (_method.objective,),
                _method.weights,
                SIZES[_size],
            )
        )
