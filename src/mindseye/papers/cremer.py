r"""Aggregate posteriors in vision-language VAEs (Cremer and Kushman, 2018).

Recipes `DATA/MODEL[-SIZE]`, with DATA `two-objects`, `two-objects-comp` (kinds of objects held
out), `celeba-words` or `one-object`, and MODEL

| model            | what                                                                      |
|------------------|---------------------------------------------------------------------------|
| `vlvae`          | pictures and captions behind one latent, inferred from the picture        |
| `vlvae-joint`    | the same, inferred from the picture and its caption                       |
| `vlvae-agg`      | flows fitted to the aggregate posteriors of a trained `vlvae`             |
| `vlvae-mix`      | the same, q(z) with an autoregressive base: ours                          |
| `vlvae-true`     | a flow fitted to the true posterior of its captions                       |
| `observer`       | who judges: of Two Objects it is told the relation                        |

Those with flows begin with the weights of another run, a `vlvae`: `mindseye aggregate RUN` makes
them of any.

Sizes: none is the paper's, 400 000 steps of 20 pictures. `fast` is for one GPU and minutes: larger
batches, fewer of them, and no layers at full resolution. `lean` is for a CPU and an hour, with
pictures of 48 pixels; `tiny` is for tests.

Settings that the paper leaves out are those of the authors' code: the weights of the likelihoods
(0.02 and 200 for Two Objects, 0.1 and 100 for CelebA), the path derivative, 500 hidden units.

References:
    On the Importance of Learning Aggregate Posteriors in Multimodal Variational Autoencoders,
    Cremer and Kushman, 2018
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from mindseye.data import Data
from mindseye.papers.model import Model
from mindseye.papers.recipe import Recipe, recipe
from mindseye.training import Training

__all__ = ["DATA", "NORMALS", "SIZES", "WEIGHTS", "flows"]

DATA = {
    "celeba": Data("celeba"),
    "two-objects": Data("two-objects"),
    "two-objects-comp": Data("two-objects", compositional=True),
    "celeba-words": Data("celeba-words"),
    "one-object": Data("one-object"),
}

WEIGHTS: Mapping[str, Mapping[str, float]] = {
    "two-objects": {"w_x": 0.02, "w_y": 200.0},
    "celeba-words": {"w_x": 0.1, "w_y": 100.0},
    "one-object": {"w_x": 0.02, "w_y": 200.0},
}
"""Of the likelihoods of pictures and captions, by data set: those of the authors' code."""

SHARPER = {"fast": 0.05, "lean": 0.25, "tiny": 0.05}
"""The weight of Two Objects' pictures at the shorter sizes: at 0.02 small things come last. Chosen
by the words that are right in reconstructions of validation pictures; a small picture has fewer
pixels, so that each of them weighs more."""

KEPT = {"fast": 6, "lean": 4}
"""Pictures of Two Objects for every caption: they are rendered once, kept and seen often."""

_PAPER = Training(
    steps=400_000,
    batch_size=20,
    learning_rate=4e-4,
    beta_warmup=20_000,
    log_every=1000,
    checkpoint_every=20_000,
    precision="float32",
)
_FAST = Training(
    steps=36_000,
    batch_size=64,
    learning_rate=1e-3,
    warmup=500,
    schedule="cosine",
    beta_warmup=1500,
    ema=0.999,
    clip=20_000.0,
    log_every=1000,
    checkpoint_every=12_000,
)
_LEAN = Training(
    steps=36_000,
    batch_size=32,
    learning_rate=1e-3,
    warmup=500,
    schedule="cosine",
    beta_warmup=1500,
    ema=0.999,
    clip=20_000.0,
    log_every=200,
    checkpoint_every=2000,
)
_TINY = Training(steps=12, batch_size=8, learning_rate=1e-3, log_every=4)

SIZES = {"": _PAPER, "fast": _FAST, "lean": _LEAN, "tiny": _TINY}
"""How a vlvae is trained."""

_FLOWS = {
    "": replace(_PAPER, steps=100_000, beta_warmup=0, batch_size=64),
    "fast": replace(
        _FAST, steps=48_000, batch_size=1024, beta_warmup=0, precision="float32", clip=100.0
    ),
    "lean": replace(_LEAN, steps=8000, batch_size=256, beta_warmup=0, clip=100.0),
    "tiny": replace(_TINY, log_every=12),  # one record: of so few the rest is noise
}
_OBSERVERS = {
    "": Training(steps=150_000, batch_size=20, learning_rate=2e-4, log_every=1000),
    "fast": Training(
        steps=4000,
        batch_size=256,
        learning_rate=2e-3,
        warmup=500,
        schedule="cosine",
        ema=0.999,
        log_every=500,
    ),
    "lean": Training(
        steps=5000,
        batch_size=64,
        learning_rate=2e-3,
        warmup=100,
        schedule="cosine",
        ema=0.999,
        log_every=200,
    ),
    "tiny": _TINY,
}
_MODELS = {
    "": Model("vlvae", "residual", latent=50),
    "fast": Model("vlvae", "folded", latent=50),
    "lean": Model("vlvae", "folded", latent=24, width=16, hidden=256),
    "tiny": Model("vlvae", "folded", latent=4, width=4, hidden=16),
}

FEW, NARROW = 20, 256
"""Fewer latents than these are learnt sooner, by networks of such a width."""

MANY, SEEN = 100_000, 60
"""Of fewer pictures than these, flows that are wide or see each more often than so know every one
by heart. Chosen by log q(z|y) of validation faces, best at 60 of 10, 30, 60 and 120 times."""

PICTURES = {"celeba-words": 28_155}
"""Training pictures of data that are few."""

NORMALS = 16
"""Of a coordinate of the autoregressive base of q(z)."""

_HIDDEN = {"": 256, "fast": 1024, "lean": 256, "tiny": 16}
_SIDES = {"lean": 48, "tiny": 16}

_ABOUT = {
    "": "as in the paper",
    "fast": "for one GPU and minutes",
    "lean": "for a CPU and an hour",
    "tiny": "for tests",
}
_METHODS = {
    "vlvae": "Pictures and captions behind one latent, inferred from the picture",
    "vlvae-joint": "The same, inferred from the picture and its caption",
}
_TARGETS = {
    "vlvae-agg": ("aggregate", "Flows fitted to the aggregate posteriors of a vlvae"),
    "vlvae-mix": (
        "aggregate",
        "The same flows, that of q(z) with an autoregressive base",
    ),
    "vlvae-true": ("true-posterior", "A flow fitted to the true posterior of a vlvae's captions"),
}


def flows(size: str, latent: int, pictures: int | None = None) -> tuple[Training, int]:
    """How flows of so many latents are trained, and how wide their networks are.

    Arguments:
        size: One of `SIZES`.
        latent: D.
        pictures: Of how many the posteriors are read; None for as many as one likes.
    """
    training, width = _FLOWS[size], _HIDDEN[size]
    if size == "fast" and latent < FEW:
        training, width = replace(training, steps=8000), NARROW
    if not size or pictures is None or pictures >= MANY:
        return training, width
    enough = max(1, SEEN * pictures // training.batch_size)
    return replace(training, steps=min(enough, training.steps)), min(width, NARROW)


def _data(name: str, size: str) -> Data:
    """A data set at the size."""
    kept = KEPT.get(size, 0) if DATA[name].name == "two-objects" else 0
    return replace(DATA[name], side=_SIDES.get(size, 0), replications=kept)


def _model(name: str, size: str) -> Model:
    """Who draws a data set at the size; where one thing is one point, two latents are all."""
    made = _MODELS[size]
    return replace(made, latent=2) if name == "one-object" else made


def _weights(name: str, size: str) -> Mapping[str, float]:
    sharper = {"w_x": SHARPER[size]} if size and name == "two-objects" else {}
    return {**WEIGHTS[name], **sharper}


for _name in [name for name in DATA if name != "celeba"]:
    for _size, _about in _ABOUT.items():
        _end, _own = f"{'-' if _size else ''}{_size}", _data(_name, _size)
        _of = _model(_name, _size)
        for _method, _what in _METHODS.items():
            _inference = "joint" if _method == "vlvae-joint" else "marginal"
            recipe(
                Recipe(
                    f"{_name}/{_method}{_end}",
                    f"{_what}, {_about}.",
                    _own,
                    replace(_of, inference=_inference),
                    ("vlvae",),
                    _weights(_own.name, _size),
                    SIZES[_size],
                )
            )
        for _method, (_objective, _what) in _TARGETS.items():
            _few = PICTURES.get(_name) if _objective == "aggregate" else None
            _training, _hidden = flows(_size, _of.latent, _few)
            if _objective == "true-posterior":  # it sees no pictures and is learnt sooner
                _training = replace(_training, steps=_training.steps // 3)
            recipe(
                Recipe(
                    f"{_name}/{_method}{_end}",
                    f"{_what}, {_about}.",
                    _own,
                    replace(
                        _of,
                        flow=6,
                        flow_hidden=_hidden,
                        normals=NORMALS if _method == "vlvae-mix" else 0,
                        reads="q_x",
                    ),
                    (_objective,),
                    {},
                    _training,
                )
            )

OBSERVERS = {"two-objects": "attentive", "celeba": "strong"}
"""Who judges what: of two objects anywhere an attentive observer is sure after half of the steps
that a strong one takes, and before long surer."""

for _name in OBSERVERS:
    for _size, _about in _ABOUT.items():
        recipe(
            Recipe(
                f"{_name}/observer{'-' if _size else ''}{_size}",
                f"Who judges pictures of {_name}, {_about}.",
                _data(_name, _size),
                Model("observer", OBSERVERS[_name], width={"tiny": 4, "lean": 16}.get(_size, 32)),
                ("classify",),
                {},
                _OBSERVERS[_size],
            )
        )
