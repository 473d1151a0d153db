r"""Variational Autoencoders: A Review (Garg et al.), sections 2 to 4: its table and its pictures.

| row          | what the review shows                                                          |
|--------------|--------------------------------------------------------------------------------|
| `vae-STEPS`  | Table 1: the bound of a VAE on MNIST after so many iterations                  |
| `beta-vae`   | Table 2: latents of a β-VAE on dSprites, traversed                             |
| `semi`       | Figures 2 to 4: reconstructions, latents in two dimensions, samples of one y   |

The review does not say how its VAE is built. Recipes `mnist/review[-SIZE]` have two dense layers of
512 units each way and 20 latents; rows are trained for parts of its steps, so smaller sizes have
fewer. The other rows are recipes of `higgins` and `narayanaswamy`.
"""

from __future__ import annotations

from dataclasses import replace

from mindseye.data import Data
from mindseye.papers.ledgers import Column, Entry, Ledger
from mindseye.papers.model import Model
from mindseye.papers.recipe import Recipe, recipe
from mindseye.papers.tables import table
from mindseye.training import Training

__all__ = ["VAE_REVIEW"]

PRINTED = {1000: "146.9", 2000: "128.7", 42_000: "12.8", 46_000: "105.2"}
"""The negative bound by iterations, as it was printed; 12.8 must be a slip of the pen."""

_MODEL = Model("vae", "dense", latent=20)
_TRAINING = Training(steps=46_000, batch_size=64, learning_rate=1e-3, log_every=500)
_SIZES = {
    "": (_MODEL, _TRAINING),
    "fast": (_MODEL, _TRAINING),
    "lean": (replace(_MODEL, width=200), replace(_TRAINING, steps=4600)),
    "tiny": (replace(_MODEL, latent=3, width=16), replace(_TRAINING, steps=46, batch_size=8)),
}

for _size, (_model, _training) in _SIZES.items():
    recipe(
        Recipe(
            f"mnist/review{'-' if _size else ''}{_size}",
            f"The VAE of the review, {_training.steps} steps of {_training.batch_size} pictures.",
            Data("mnist"),
            _model,
            ("elbo",),
            {},
            _training,
        )
    )

VAE_REVIEW = table(
    Ledger(
        name="vae-review",
        title="Tables 1 and 2 and Figures 2 to 4 of Variational Autoencoders: A Review, by Garg, "
        "Gupta, Taneja, Shrivastava and Lal",
        about="The negative bound in nats on the test set, as the review prints it by iterations "
        "(its table calls them epochs, and its 12.8 cannot be meant: no model of MNIST has it). "
        "How its VAE was built is not said. Small sizes have a tenth of the iterations or fewer; "
        "the steps of every run are below. Of dSprites it says that five of six factors were "
        "found, one of which, colour, does not vary; factors found are those that at least one "
        "latent votes for most often (FactorVAE's votes).",
        rows=(
            *(
                Entry(
                    f"vae-{steps}",
                    f"VAE, {steps} iterations",
                    "mnist/review",
                    {},
                    {"loss": printed},
                    part=steps / _TRAINING.steps,
                )
                for steps, printed in PRINTED.items()
            ),
            Entry("beta-vae", "β-VAE on dSprites", "dsprites/beta-vae", {}, {"found": "5"}),
            Entry("semi", "semi-supervised, 100 labels", "mnist/dgm", {"labels": "100"}),
        ),
        columns=(
            Column("loss", "-elbo"),
            Column("rate", "rate"),
            Column("found", "factors found", 1),
            Column("accuracy", "accuracy, %"),
        ),
        scorer="review",
        asked={"pictures": 10_000, "points": 10_000},
        pictures=(
            "samples of digits",
            "traversals of sprites",
            "reconstructions of words",
            "embedding of words",
            "classes of words",
        ),
        quick_rows=("vae-1000", "vae-46000", "beta-vae", "semi"),
        quick_asked={"pictures": 1000, "points": 1000},
        tiny_asked={"pictures": 50, "points": 40},
    )
)
