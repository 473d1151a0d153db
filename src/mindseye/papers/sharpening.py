"""A sharpener for any trained model that paints: the recipe of a run becomes that of the game."""

from __future__ import annotations

from dataclasses import replace

from mindseye.errors import UsageError, listed
from mindseye.objectives import get_objective
from mindseye.papers.recipe import Recipe, Refit
from mindseye.training import Training

__all__ = ["SIZES", "WIDTHS", "sharpening"]

_PAPER = Training(
    steps=100_000,
    batch_size=100,
    learning_rate=2e-4,
    adam_betas=(0.5, 0.99),
    ema=0.999,
    log_every=500,
    checkpoint_every=10_000,
    precision="float32",
)
_FAST = replace(
    _PAPER,
    steps=6000,
    batch_size=128,
    learning_rate=5e-4,
    warmup=200,
    schedule="cosine",
    checkpoint_every=2000,
)
_LEAN = replace(
    _FAST,
    steps=700,
    batch_size=32,
    learning_rate=1e-3,
    warmup=50,
    ema=0.99,
    log_every=50,
    checkpoint_every=500,
)
_TINY = Training(steps=12, batch_size=8, learning_rate=1e-3, log_every=4)

SIZES = {"": _PAPER, "fast": _FAST, "lean": _LEAN, "tiny": _TINY}
"""How a sharpener is trained; in a game Adam had better forget the past soon."""

WIDTHS = {"": 128, "fast": 64, "lean": 16, "tiny": 4}
"""Channels of its networks; the authors' have 128."""


def sharpening(recipe: Recipe, width: int = 0) -> Recipe:
    """The recipe of a sharpener beside the model of another recipe.

    How it is trained is decided by the size at the end of the name.

    >>> from mindseye.papers.recipe import get_recipe
    >>> made = sharpening(get_recipe("captioned-mnist/align-lean"))
    >>> made.name, made.model.sharpen, made.training.steps
    ('captioned-mnist/align-lean-sharp', 16, 700)

    Arguments:
        recipe: Of a run whose model is trained.
        width: Channels of the sharpener's networks; 0 for those of the size.
    """
    trains = get_objective("sharpen").trains
    if recipe.model.sharpen:
        raise UsageError(
            f"{recipe.name} has a sharpener already.", "Give one to the run that it began with."
        )
    if recipe.model.kind not in trains:
        raise UsageError(
            f"a sharpener cannot stand beside a model of `kind={recipe.model.kind!r}`; expected"
            f" {listed(trains)}.",
            "It needs a model that paints pictures of captions, such as captioned-mnist/align.",
        )
    size = next((s for s in SIZES if s and recipe.name.endswith(f"-{s}")), "")
    return replace(
        recipe,
        name=f"{recipe.name}-sharp",
        about=f"A sharpener of what {recipe.name} paints.",
        model=replace(recipe.model, sharpen=width or WIDTHS[size]),
        objectives=("sharpen",),
        weights={},
        training=replace(SIZES[size], seed=recipe.training.seed),
        refit=Refit(),
        start="",
    )
