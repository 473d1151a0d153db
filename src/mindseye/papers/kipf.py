r"""Graph auto-encoders (Kipf and Welling, 2016), and one that is asked about links it cannot see.

Recipes `GRAPH/MODEL[-tiny]` for the graphs `cora`, `citeseer` and `graph`, your own, with MODEL

| model    | what                                                                              |
|----------|-----------------------------------------------------------------------------------|
| `gae`    | the auto-encoder: two graph convolutions, 32 and 16 wide, inner products          |
| `vgae`   | the same with a posterior and a prior                                             |
| `masked` | ours: half of the links are hidden in every step, and it is asked about these     |
| `large`  | the same in mini-batches of links and five neighbours a node, for large graphs    |

The first two are as in the authors' code: Adam with a rate of 0.01, 200 steps over the whole graph
and all its pairs, no dropout. `--set featureless=true` leaves the features out.

A link that is seen need not be foretold: an auto-encoder is asked in training what it was just
told, and then about pairs of which it was told nothing. `masked` is asked about nothing but what it
does not see. It carries features two hops far before it computes with them, drops most of them, and
reads products of two latents by a small network. Its bound is that of `vgae`.

References:
    Variational Graph Auto-Encoders, Kipf and Welling, 2016
    https://arxiv.org/abs/1611.07308
    What's Behind the Mask: Understanding Masked Graph Modeling for Graph Autoencoders,
    Li et al., 2023
    https://arxiv.org/abs/2205.10053
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from mindseye.data import Data
from mindseye.papers.model import Model
from mindseye.papers.recipe import Recipe, recipe
from mindseye.training import Training

__all__ = ["BETA", "GRAPHS", "METHODS"]

GRAPHS = {"cora": "Cora", "citeseer": "Citeseer", "graph": "a graph of your own"}
"""The data sets, and what they are called."""


class Method(NamedTuple):
    """What is trained, and how."""

    about: str
    model: Model
    objective: str
    weights: Mapping[str, float]
    training: Training
    data: Mapping[str, float | int] = {}


_PAPER = Training(steps=200, batch_size=1, learning_rate=0.01, log_every=20, checkpoint_every=100)
_MASKED = replace(_PAPER, steps=300, learning_rate=5e-3, schedule="cosine")
_LINEAR = Model("graph", "linear", latent=128)

METHODS = {
    "gae": Method("The graph auto-encoder", Model("graph", "gcn", latent=16), "gae", {}, _PAPER),
    "vgae": Method(
        "The variational graph auto-encoder", Model("graph", "gcn", latent=16), "vgae", {}, _PAPER
    ),
    "masked": Method(
        "A variational graph auto-encoder that is asked about hidden links",
        _LINEAR,
        "vgae",
        {"beta": 1.0},
        _MASKED,
        {"masked": 0.5},
    ),
    "large": Method(
        "The same in mini-batches",
        replace(_LINEAR, latent=32, hidden=32),
        "vgae",
        {"beta": 1.0},
        replace(_MASKED, steps=2000, batch_size=1024, log_every=50, checkpoint_every=500),
        {"masked": 0.5, "fanout": 5},
    ),
}
"""The models, by what a recipe calls them."""

BETA = {"citeseer": 5.0}
"""What the divergence of `masked` weighs where it is not 1, chosen on validation links."""

for _graph, _title in GRAPHS.items():
    for _name, _method in METHODS.items():
        _made = Recipe(
            f"{_graph}/{_name}",
            f"{_method.about}, of {_title}.",
            Data(_graph, **_method.data),  # pyright: ignore[reportArgumentType]
            _method.model,
            (_method.objective,),
            {name: BETA.get(_graph, weight) for name, weight in _method.weights.items()},
            _method.training,
        )
        recipe(_made)
        _few = {"training.steps": "6", "training.log_every": "3", "latent": "4"}
        _few |= {"model.hidden": "8"} | ({"batch_size": "16"} if _name == "large" else {})
        _tiny = replace(_made, name=f"{_made.name}-tiny", about=f"{_method.about}, for tests.")
        recipe(_tiny.with_settings(_few))
