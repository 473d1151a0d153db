r"""Images from captions with attention (Mansimov, Parisotto, Ba and Salakhutdinov, 2016).

Recipes `DATA/MODEL[-SIZE]`, with DATA `captioned-mnist`, `captioned-pairs` (one digit or two, and
`-comp` with combinations held out), `two-objects` or `coco`, and MODEL

| model      | what                                                                            |
|------------|---------------------------------------------------------------------------------|
| `align`    | alignDRAW: strokes, with attention over words and places                        |
| `noalign`  | the same, told the whole sentence at every stroke                               |
| `draw`     | the same, told nothing: DRAW                                                    |
| `dense`    | a VAE of dense layers that is given the sentence                                |
| `conv`     | a VAE of convolutions that is given the sentence                                |
| `align-sharp` | the sharpener of an `align`, which is held still                             |
| `observer` | who judges; of two digits it is told how they stand to each other               |

`mindseye sharpen RUN` gives any of them a sharpener: it begins with the weights of a run.

Sizes: none is that of the authors' code, 32 strokes, memories of 300 and latents of 150 for digits,
550 and 275 for COCO. `fast` is for one GPU and minutes, `lean` for two CPU cores, `tiny` for tests.
Adam stands for their RMSProp.

References:
    Generating Images from Captions with Attention, Mansimov, Parisotto, Ba and Salakhutdinov, 2016
    https://arxiv.org/abs/1511.02793
"""

from __future__ import annotations

from dataclasses import replace

from mindseye.data import Data
from mindseye.papers.model import Model
from mindseye.papers.recipe import Recipe, recipe
from mindseye.papers.sharpening import sharpening
from mindseye.training import Training

__all__ = ["DATA", "SIZES"]

DATA = {
    "captioned-mnist": Data("captioned-mnist"),
    "captioned-mnist-comp": Data("captioned-mnist", compositional=True),
    "captioned-pairs": Data("captioned-pairs"),
    "captioned-pairs-comp": Data("captioned-pairs", compositional=True),
    "two-objects": Data("two-objects"),
    "coco": Data("coco"),
}

_PAPER = Training(
    steps=150_000,
    batch_size=100,
    learning_rate=1e-3,
    clip=1000.0,
    log_every=500,
    checkpoint_every=10_000,
)
_FAST = Training(
    steps=16_000,
    batch_size=256,
    learning_rate=2e-3,
    warmup=500,
    schedule="cosine",
    ema=0.999,
    clip=1000.0,
    log_every=500,
    checkpoint_every=4000,
)
_LEAN = Training(
    steps=4500,
    batch_size=64,
    learning_rate=2e-3,
    warmup=200,
    schedule="cosine",
    ema=0.995,
    clip=1000.0,
    log_every=50,
    checkpoint_every=500,
)
_TINY = Training(steps=12, batch_size=8, learning_rate=1e-3, log_every=4)

SIZES = {"": _PAPER, "fast": _FAST, "lean": _LEAN, "tiny": _TINY}
"""How a model is trained."""

_LONGER = {("captioned-mnist", "lean"): 12_000, ("captioned-pairs", "lean"): 30_000}
"""Steps, where a data set has some of its own: digits are legible later than bounds are good."""

_DRAWING = {
    "": Model("draw", latent=150, strokes=32, hidden=300, window=8, language=128),
    "fast": Model("draw", latent=32, strokes=16, hidden=256, window=10, language=64),
    "lean": Model("draw", latent=16, strokes=8, hidden=128, window=8, language=32),
    "tiny": Model("draw", latent=3, strokes=2, hidden=8, window=4, language=4),
}
_AT_ONCE = {
    "": Model("captioned", latent=100, language=128),
    "fast": Model("captioned", latent=100, language=64),
    "lean": Model("captioned", latent=50, language=32),
    "tiny": Model("captioned", latent=3, width=4, hidden=8, language=4),
}
_OWN: dict[tuple[str, str], dict[str, int]] = {
    ("coco", ""): {"latent": 275, "hidden": 550, "window": 9},
    ("captioned-pairs", "lean"): {"hidden": 256, "window": 10},
}
"""Where a data set has sizes of its own. Narrow memories combine what they have seen of 34 captions
of one digit; of the 340 of two digits they learn too little."""

_OBSERVERS = {
    "": Training(steps=20_000, batch_size=100, learning_rate=1e-3, log_every=500),
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
        steps=1500, batch_size=64, learning_rate=2e-3, warmup=100, schedule="cosine", log_every=50
    ),
    "tiny": _TINY,
}

_ABOUT = {
    "": "as in the authors' code",
    "fast": "for one GPU and minutes",
    "lean": "for two CPU cores",
    "tiny": "for tests",
}
_METHODS = {
    "align": ("draw", "align", "alignDRAW: strokes, with attention over words and places"),
    "noalign": ("draw", "noalign", "DRAW that is told the whole sentence at every stroke"),
    "draw": ("draw", "alone", "DRAW, which is told nothing"),
    "dense": ("captioned", "dense", "A VAE of dense layers that is given the sentence"),
    "conv": ("captioned", "smooth", "A VAE of convolutions that is given the sentence"),
}
_SIDES = {"lean": 48, "tiny": 16}


def _data(name: str, size: str) -> Data:
    """A data set at the size: of the rendered world smaller pictures where there is no GPU."""
    side = _SIDES.get(size, 0) if name == "two-objects" else 0
    return replace(DATA[name], side=side)


def _training(data: Data, size: str) -> Training:
    """How a model is trained: the same for all of a data set."""
    longer = _LONGER.get((data.name, size))
    return replace(SIZES[size], steps=longer) if longer else SIZES[size]


def _model(kind: str, networks: str, size: str, data: Data) -> Model:
    """A model of the size; colours are bytes, digits are bits."""
    made = (_DRAWING if kind == "draw" else _AT_ONCE)[size]
    if kind == "draw" and (data.name, size) in _OWN:
        made = replace(made, **_OWN[data.name, size])
    likelihood = "bernoulli" if data.shape[0] == 1 else "quantised-normal-shared"
    return replace(made, networks=networks, likelihood=likelihood)


for _name in DATA:
    for _size, _about in _ABOUT.items():
        _end, _own = f"{'-' if _size else ''}{_size}", _data(_name, _size)
        for _method, (_kind, _networks, _what) in _METHODS.items():
            _made = recipe(
                Recipe(
                    f"{_name}/{_method}{_end}",
                    f"{_what}, {_about}.",
                    _own,
                    _model(_kind, _networks, _size, _own),
                    ("draw",),
                    {},
                    _training(_own, _size),
                )
            )
            if _method == "align":
                recipe(replace(sharpening(_made), name=f"{_name}/align-sharp{_end}"))
        if _name in ("captioned-mnist", "captioned-pairs"):
            recipe(
                Recipe(
                    f"{_name}/observer{_end}",
                    f"Who judges pictures of {_name}, {_about}.",
                    _own,
                    Model("observer", "strong", width={"tiny": 4, "lean": 12}.get(_size, 32)),
                    ("classify",),
                    {},
                    _OBSERVERS[_size],
                )
            )
