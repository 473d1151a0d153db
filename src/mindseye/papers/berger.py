r"""Wholes and their parts (Berger and Sebag, 2020).

Recipes `DATA/compvae[-SIZE]`, with DATA

| data    | what                                                                       |
|---------|----------------------------------------------------------------------------|
| `sines` | curves of up to 16 sine waves, added and bent                              |
| `sites` | pictures of up to 8 coloured sites that run into each other                |
| `loads` | days of a street of up to 16 households, under one sky and one transformer |

Sizes: none is the paper's, its networks and 500 000 steps of 256 wholes. `fast` is for one GPU and
minutes, `lean` for two CPU cores, `tiny` for tests: their parts leave imprints (`models.imprint`).
The number of parts grows as training goes on.

`DATA/compvae-wide[-SIZE]` of sines and sites has the paper's networks at every size, to compare
with; those of curves are narrower where they must be small, those of pictures cannot be.

References:
    From abstract items to latent spaces to observed data and back: Compositional Variational
    Auto-Encoder, Berger and Sebag, 2020
    https://arxiv.org/abs/2001.07910
"""

from __future__ import annotations

from dataclasses import replace

from mindseye.data import Data
from mindseye.papers.model import Model
from mindseye.papers.recipe import Recipe, recipe
from mindseye.training import Training

__all__ = ["SIZES"]

_PAPER = Training(
    steps=500_000,
    batch_size=256,
    learning_rate=1e-4,
    schedule="halving",
    adam_betas=(0.5, 0.9),
    growth=3000,
    clip=1e6,
    precision="float32",
    log_every=1000,
    checkpoint_every=25_000,
)
_FAST = Training(
    steps=60_000,
    batch_size=512,
    learning_rate=1e-3,
    warmup=500,
    schedule="cosine",
    growth=1500,
    ema=0.999,
    clip=1e4,
    precision="float32",
    log_every=1000,
    checkpoint_every=20_000,
)
_LEAN = replace(
    _FAST,
    steps=6000,
    batch_size=64,
    learning_rate=2e-3,
    growth=200,
    warmup=100,
    log_every=100,
    checkpoint_every=1000,
)
_TINY = Training(steps=12, batch_size=8, learning_rate=1e-3, growth=4, log_every=4)

_OURS = Model("comp", "imprint", latent=2, likelihood="normal")

SIZES = {
    "": (replace(_OURS, networks="paper", latent=256), _PAPER),
    "fast": (_OURS, _FAST),
    "lean": (replace(_OURS, hidden=128), _LEAN),
    "tiny": (replace(_OURS, hidden=16), _TINY),
}
"""The model and how it is trained."""

_DATA = {
    "sines": "Curves of sine waves",
    "sites": "Pictures of coloured sites",
    "loads": "Days of a street of households",
}

_OTHERWISE = {
    ("sites", "fast"): {"cooling": 20_000},
    ("sites", "lean"): {"steps": 16_000, "cooling": 6000, "learning_rate": 1e-3},
    ("loads", "fast"): {"beta_warmup": 8000},
    ("loads", "lean"): {"beta_warmup": 1000},
    ("sites-wide", "lean"): {"steps": 4000},
}
"""How some are trained: divergences of sites cool first, so that what is said is learnt before what
latents could tell; those of loads rise, so that parts tell what they can before the day does."""

_PLAIN = {"learning_rate": 3e-4}
_WIDE = {
    "": (_PAPER, {}),
    "fast": (replace(_FAST, batch_size=256, **_PLAIN), {}),
    "lean": (
        replace(_LEAN, steps=2000, batch_size=32, growth=90, **_PLAIN),
        {"latent": 16, "hidden": 128},
    ),
    "tiny": (_TINY, {"latent": 4, "hidden": 16}),
}
"""How the paper's networks are trained, and what is smaller in them; lean ones about as long as
ours, which are many times faster."""

_ABOUT = {
    "": "as in the paper",
    "fast": "for one GPU and minutes",
    "lean": "for two CPU cores",
    "tiny": "for tests",
}


_HOW = {"": "", "-wide": ", with the paper's networks"}


def _ours(data: str, size: str) -> tuple[Model, Training]:
    """A model of a size, and how it is trained; the paper's own if the size has no name."""
    model, training = SIZES[size]
    if data == "loads" and size:
        model = replace(model, latent=3, width=4)  # the weather of a day; luck and hours of a part
    if data == "sites" and not size:
        model = replace(model, latent=1024)
    return model, replace(training, **_OTHERWISE.get((data, size), {}))


def _wide(data: str, size: str) -> tuple[Model, Training]:
    """The paper's networks, smaller where they can be."""
    training, less = _WIDE[size]
    narrow = {"width": 64} if less and data == "sines" else {}
    training = replace(training, **_OTHERWISE.get((f"{data}-wide", size), {}))
    return replace(_ours(data, "")[0], **less, **narrow), training


for _size, _about in _ABOUT.items():
    _dash = "-" if _size else ""
    for _data, _what in _DATA.items():
        for _family, _of in {"": _ours, "-wide": _wide}.items():
            if _family and _data == "loads":
                continue
            _model, _training = _of(_data, _size)
            recipe(
                Recipe(
                    f"{_data}/compvae{_family}{_dash}{_size}",
                    f"{_what} and their parts, {_about}{_HOW[_family]}.",
                    Data(_data),
                    _model,
                    ("compvae",),
                    {},
                    _training,
                )
            )
