"""A convolutional ladder VAE: what a few million weights of today reach on the data of IWAE.

Recipes `mnist/ladder[-SIZE]`: six layers of latents, maps of 7 by 7 and of 4 by 4, read and written
by residual networks of 64 channels, 1.8 million weights; free bits hold the layers open. Sizes:
none trains for long, `fast` for minutes on one GPU; `lean`, with 16 channels and three layers, is
for two CPU cores, and `tiny` for tests.

References:
    Ladder Variational Autoencoders, Sønderby et al., 2016
    https://arxiv.org/abs/1602.02282
    Improved Variational Inference with Inverse Autoregressive Flow, Kingma et al., 2016
    https://arxiv.org/abs/1606.04934
"""

from __future__ import annotations

from dataclasses import replace

from mindseye.data import Data
from mindseye.papers.model import Model
from mindseye.papers.recipe import Recipe, recipe
from mindseye.training import Training

__all__ = ["SIZES"]

_FAST = Training(
    steps=60_000,
    batch_size=256,
    learning_rate=1e-3,
    warmup=500,
    schedule="cosine",
    ema=0.9995,
    log_every=500,
    checkpoint_every=10_000,
)
SIZES = {
    "": (Model("ladder"), replace(_FAST, steps=250_000), "for long"),
    "fast": (Model("ladder"), _FAST, "for one GPU and minutes"),
    "lean": (
        Model("ladder", width=16, latents=(4, 4, 8)),
        replace(_FAST, steps=3000, batch_size=32, warmup=100, ema=0.999, log_every=100),
        "for two CPU cores and minutes",
    ),
    "tiny": (
        Model("ladder", width=4, latents=(2, 3)),
        Training(steps=20, batch_size=8, learning_rate=1e-3, log_every=10),
        "for tests",
    ),
}

for _size, (_model, _training, _about) in SIZES.items():
    recipe(
        Recipe(
            f"mnist/ladder{'-' if _size else ''}{_size}",
            f"A convolutional ladder VAE, {_about}.",
            Data("mnist"),
            _model,
            ("ladder",),
            {"free": 0.5},
            _training,
        )
    )
