r"""A density of one coordinate after another, each a mixture of normals given those before it.

$$
q(z) = \prod_d q(z_d \mid z_{<d}), \qquad
q(z_d \mid z_{<d}) = \sum_k \pi_{dk}\, \mathcal{N}(z_d; \mu_{dk}, \sigma_{dk}) , \quad
\pi, \mu, \sigma \text{ of } z_{<d} .
$$

A map that can be undone sends one normal to one connected thing, and thousands of clusters with
nothing between them are not one: it leaves bridges. A mixture has none to leave, and is the better
base of a flow.

It is a map of noise as well, $\varepsilon_d = \Phi^{-1}(F_d(z_d \mid z_{<d}))$ with $F_d$ the
distribution function of the mixture. The way back is found by halving intervals: the quantile of a
mixture lies between those of its normals.

References:
    MADE: Masked Autoencoder for Distribution Estimation, Germain et al., 2015
    https://arxiv.org/abs/1502.03509
    On the Importance of Learning Aggregate Posteriors in Multimodal Variational Autoencoders,
    Cremer and Kushman, 2018 (the aggregate that is learnt)
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Protocol

import torch
from torch import Tensor
from torch.distributions import Distribution
from torch.types import _size

from mindseye.distributions.flow import FAR, fixed_noise
from mindseye.distributions.normal import ONE

__all__ = ["Autoregression", "Mixtures"]

HALVINGS = 40
"""How often an interval is halved: next to its normals what is left of it has no digits."""

FAINTEST = 1e-300
"""Shares are taken as no smaller than this, where their quantiles are finite."""


class Mixtures(Protocol):
    """Log weights, means and log deviations; `mindseye.networks.Autoregressive` says them."""

    size: int

    def forward(self, z: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Those of all coordinates, `(..., D, K)`."""
        ...

    def one_by_one(self, z: Tensor) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """Those of each coordinate in turn, `(..., K)`."""
        ...


class Autoregression(Distribution):
    """The density that mixtures of one coordinate after another make.

    It is computed in float32 at least, also where autocast rounds to fewer digits. A density is one
    pass of the network, a draw one for each coordinate; draws get no gradient.

    Arguments:
        mixtures: Who says them.
        device: Where it draws.
    """

    def __init__(self, mixtures: Mixtures, *, device: torch.device | str | None = None):
        self.mixtures, self.device = mixtures, torch.empty(0, device=device).device
        super().__init__(ONE, torch.Size([mixtures.size]), validate_args=False)

    def sample(self, sample_shape: _size = ONE) -> Tensor:
        """Draws."""
        return self.at(torch.randn(self._extended_shape(sample_shape), device=self.device))

    def log_prob(self, value: Tensor) -> Tensor:
        """The log density of latents `(..., D)`; finite for finite ones, however far out."""
        with torch.autocast(self.device.type, enabled=False):
            z = _precise(value).clamp(-FAR, FAR)
            weight, mean, log_scale = self.mixtures.forward(z)
            apart = (z[..., None] - mean) * torch.exp(-log_scale)
            each = weight - log_scale - (apart.square() + math.log(2 * math.pi)) / 2
            return each.logsumexp(-1).sum(-1)

    @torch.no_grad()
    def at(self, noise: Tensor) -> Tensor:
        """The latents of standard normal noise `(..., D)`; leading sizes broadcast."""
        with torch.autocast(self.device.type, enabled=False):
            noise = _precise(noise)
            z = torch.zeros_like(noise)
            for d, said in enumerate(self.mixtures.one_by_one(z)):
                z[..., d] = _quantile(noise[..., d].double(), *(each.double() for each in said))
            return z

    @torch.no_grad()
    def noise_of(self, value: Tensor) -> Tensor:
        """The noise of latents `(..., D)`: what `at` makes them of."""
        with torch.autocast(self.device.type, enabled=False):
            z = _precise(value)
            said = (each.double() for each in self.mixtures.forward(z))
            below, above = (each.clamp(min=FAINTEST) for each in _shares(z.double(), *said))
            low, high = torch.special.ndtri(below), -torch.special.ndtri(above)
            return torch.where(below < above, low, high).to(z.dtype)

    @property
    def mean(self) -> Tensor:
        """The mean of 512 draws of fixed noise: an estimate."""
        return self._draws().mean(0)

    @property
    def variance(self) -> Tensor:
        """The variance of 512 draws of fixed noise: an estimate; `stddev` is its root."""
        return self._draws().var(0, correction=0)

    def __repr__(self) -> str:
        return f"Autoregression(size={self.event_shape[0]})"

    def _draws(self) -> Tensor:
        """The latents of the fixed noise, `(512, D)`."""
        return self.at(fixed_noise(self.event_shape[0], self.device))


def _precise(value: Tensor) -> Tensor:
    """Points in float32 at least."""
    return value.to(torch.promote_types(value.dtype, torch.float32))


def _quantile(noise: Tensor, weight: Tensor, mean: Tensor, log_scale: Tensor) -> Tensor:
    """Where as much of mixtures is below as there is of a standard normal below the noise."""
    each = mean + noise[..., None] * log_scale.exp()
    low, high = each.amin(-1), each.amax(-1)
    left, right = _below(noise), _below(-noise)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        below, above = _shares(middle, weight, mean, log_scale)
        # Of the two tails the thinner one has the digits.
        further = torch.where(noise < 0, below < left, above > right)
        low, high = torch.where(further, middle, low), torch.where(further, high, middle)
    return (low + high) / 2


def _shares(z: Tensor, weight: Tensor, mean: Tensor, log_scale: Tensor) -> tuple[Tensor, Tensor]:
    """How much of mixtures is below some values `(...)`, and how much above."""
    apart = (z[..., None] - mean) * torch.exp(-log_scale)
    share = weight.exp()
    return (share * _below(apart)).sum(-1), (share * _below(-apart)).sum(-1)


def _below(noise: Tensor) -> Tensor:
    """How much of a standard normal is below; far out too, where ndtr of torch says 0."""
    return torch.erfc(noise * -math.sqrt(0.5)) / 2
