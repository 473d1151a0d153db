"""The FactorVAE: a VAE that keeps the discriminator of its total correlation.

References:
    Disentangling by Factorising, Kim and Mnih, 2018
    https://arxiv.org/abs/1802.05983
"""

from __future__ import annotations

from itertools import pairwise

from torch import Tensor, nn

from mindseye.concepts import Vocabulary
from mindseye.models.likelihood import Shape
from mindseye.models.vae import VAE

__all__ = ["Discriminator", "FactorVAE"]


class FactorVAE(VAE):
    """A VAE, and a discriminator of its latents, which has decays of its own in Adam.

    Arguments:
        shape: Channels, height and width of a picture.
        latent: D, the size of z.
        networks: Which pair of image networks, a key of `NETWORKS`.
        width: Channels or units of the pair; its default if 0.
        hidden: Width of the dense layers between encoder and belief; the pair's default if 0.
        likelihood: What a pixel is, one of `LIKELIHOODS`.
        vocabulary: What can be said about the pictures, which is nothing by default.
        units: Width of the discriminator's six layers.
    """

    def __init__(
        self,
        shape: Shape,
        latent: int = 10,
        networks: str = "plain",
        width: int = 0,
        hidden: int = 0,
        likelihood: str = "bernoulli",
        vocabulary: Vocabulary | None = None,
        units: int = 1000,
    ):
        super().__init__(shape, latent, networks, width, hidden, likelihood, vocabulary)
        self.discriminator = Discriminator(latent, units)

    def opponents(self) -> list[nn.Parameter]:
        """What plays against the rest."""
        return list(self.discriminator.parameters())


class Discriminator(nn.Sequential):
    """Six layers of leaky ReLU, and two logits: the aggregate posterior's, and its product's.

    Arguments:
        latent: Size of the latent.
        units: Width of the layers.
    """

    def __init__(self, latent: int, units: int):
        layers: list[nn.Module] = []
        for before, after in pairwise([latent, *[units] * 6]):
            layers += [nn.Linear(before, after), nn.LeakyReLU(0.2)]
        super().__init__(*layers, nn.Linear(units, 2))

    def forward(self, input: Tensor) -> Tensor:
        """Map `(B, D)` to `(B, 2)`."""
        return super().forward(input)
