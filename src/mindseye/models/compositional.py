"""What can be composed with: the interface that models of wholes and their parts share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import torch
from torch import Tensor, nn

from mindseye.distributions import NormalPixels, PartMixtures, RelativeFlow
from mindseye.distributions.correlated import CorrelatedNormals, PartNormals, floored
from mindseye.distributions.normal import DiagonalNormal, diagonal_normal, loc_and_log_scale
from mindseye.groups import Groups
from mindseye.networks.wholes import Label
from mindseye.parts import Kit
from mindseye.pieces import Pieces

__all__ = ["LEAST", "Compositional", "WholesVAE"]

LEAST = {True: 0.001, False: 0.005}
"""The smallest deviations of p, of curves and of pictures."""


class Compositional(nn.Module, ABC):
    """A model of wholes by their parts: a latent for each part, a sum, one for the whole."""

    vocabulary: Kit
    shape: tuple[int, int, int]
    latent: int
    """Size of z."""
    part: int
    """Size of the latent of a part."""
    summed: int
    """Size of what parts are summed as."""

    @property
    @abstractmethod
    def tags(self) -> int:
        """How many numbers tell parts of one category apart in the posterior."""

    @abstractmethod
    def p_w(self, y: Pieces, groups: Groups) -> PartNormals | PartMixtures:
        """p(w_i|l_i) of all parts of a batch."""

    def total(self, w: Tensor, y: Pieces, groups: Groups) -> Tensor:
        """w~ of the latents `(N, part)` of parts, `(B, summed)`: their sum, if nothing else."""
        return groups.totals(w)

    @abstractmethod
    def moved(self, w: Tensor, here: Pieces, there: Pieces) -> Tensor:
        """The latents `(n, part)` of a part of one place, at another."""

    @abstractmethod
    def p_z(self, total: Tensor) -> DiagonalNormal | RelativeFlow:
        """p(z|w~), of sums `(B, summed)`."""

    @abstractmethod
    def p_x(self, z: Tensor, total: Tensor) -> NormalPixels:
        """p(x|z,w~)."""

    @abstractmethod
    def seen(self, x: Tensor) -> Tensor:
        """What both posteriors are told of wholes `(B, C, H, W)`: they are read once."""

    @abstractmethod
    def q_z(self, seen: Tensor) -> DiagonalNormal:
        """q(z|x), by what is seen in x."""

    @abstractmethod
    def q_w(
        self, seen: Tensor, z: Tensor, y: Pieces, groups: Groups, noise: Tensor | None = None
    ) -> CorrelatedNormals:
        """q({w_i}|x,z,{l_i}).

        Arguments:
            seen: What is seen in the wholes.
            z: Their latents.
            y: Their parts.
            groups: Which parts belong to which whole.
            noise: What tells parts of one category apart, `(N, ...)`; drawn if not given.
        """

    @staticmethod
    def groups(y: Pieces) -> Groups:
        """Which parts belong to which whole."""
        return Groups.of(y.sizes, len(y.codes))


class WholesVAE(Compositional):
    """What VAEs of wholes have in common: how they read and write, and what they believe of z.

    Arguments:
        kit: What parts there are.
        shape: Channels, height and width of a whole; a curve has height 1.
        latent: Size of z.
    """

    read: nn.Module
    """Of wholes, what both posteriors are told."""
    write: Any
    """Of w~ and z, means and log variances."""
    prior_z: nn.Module
    posterior_z: nn.Module
    label_q: Label
    """What a part is called, to those who infer its latent."""

    def __init__(self, kit: Kit, shape: tuple[int, int, int], latent: int):
        super().__init__()
        self.vocabulary, self.shape, self.latent = kit, shape, latent
        self.curve = shape[1] == 1
        self.least, self.noisy = LEAST[self.curve], not kit.axes

    def p_z(self, total: Tensor) -> DiagonalNormal:
        """p(z|w~), of sums `(B, summed)`."""
        loc, log_variance = self.prior_z(self._gist(total)).float().chunk(2, -1)
        return diagonal_normal(loc, floored(log_variance, self.least) / 2)

    def p_x(self, z: Tensor, total: Tensor) -> NormalPixels:
        """p(x|z,w~); the channels of a pixel have one deviation."""
        mean, log_variance = (each.float() for each in self.write(total, z))
        log_scale = floored(log_variance, self.least) / 2
        return NormalPixels(mean, log_scale.expand_as(mean))

    def q_z(self, seen: Tensor) -> DiagonalNormal:
        """q(z|x), by what is seen in x."""
        return diagonal_normal(*loc_and_log_scale(self.posterior_z(seen)))

    @property
    def tags(self) -> int:
        """How many numbers tell parts of one category apart in the posterior."""
        return self.label_q.size

    @property
    @abstractmethod
    def decoders(self) -> list[nn.Module]:
        """The generative half."""

    def _called(self, y: Pieces, noise: Tensor | None) -> Tensor:
        """What parts are called, `(N, tags)`, those of one category told apart by noise."""
        said = self.label_q(y.codes, y.places)
        if not self.noisy:
            return said
        return said + (torch.randn_like(said) if noise is None else noise)

    def _gist(self, total: Tensor) -> Tensor:
        """What z is foretold by: the sum, if nothing else."""
        return total
