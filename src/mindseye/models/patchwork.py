"""A model of patches, seen as one of pictures: 63 numbers around 0 as 8 by 8 pixels in [0, 1]."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.distributions import Distribution

from mindseye.data.bsds import SIDE, seen, unseen
from mindseye.distributions import ComponentNormal, NormalPixels
from mindseye.distributions.normal import DiagonalNormal
from mindseye.labels import Labels
from mindseye.models.vae import VAE

__all__ = ["Patchwork"]

NOTHING = -10.0
"""The log deviation of pictures that are meant as they are."""


class Patchwork(nn.Module):
    """What a model of patches draws, to be looked at; pictures are read as patches.

    Arguments:
        model: A model of 63 numbers a patch.
    """

    factorised = True

    def __init__(self, model: VAE):
        super().__init__()
        self.model, self.latent, self.vocabulary = model, model.latent, model.vocabulary
        self.shape, self.numbers = (1, SIDE, SIDE), SIDE**2 - 1
        self.likelihood = model.likelihood

    @property
    def prior(self) -> Distribution:
        """p(z)."""
        return self.model.prior

    def p_x(self, z: Tensor) -> NormalPixels:
        """The expected patches of latents `(..., D)` as pictures, with no noise."""
        means = seen(self.model.p_x(z).mean)
        return NormalPixels(means, torch.full_like(means, NOTHING))

    def noisy(self, rows: Tensor) -> Tensor:
        """Drawn patches as pictures, of rows of a latent and the noise of its 63 numbers."""
        z, noise = rows.split([self.latent, self.numbers], -1)
        p = self.model.p_x(z)
        if not isinstance(p, NormalPixels | ComponentNormal):
            return seen(p.mean)
        return seen(p.at(noise.view_as(p.mean)))

    def q_x(self, x: Tensor) -> Distribution:
        """q(z|x) of pictures `(B, 1, 8, 8)`."""
        return self.model.q_x(unseen(x))

    def q_y(self, y: Labels) -> DiagonalNormal:
        """The prior, whatever is said."""
        return self.model.q_y(y)
