r"""Normalising flows: standard normal noise $\varepsilon$ sent through a map that can be undone.

$$
z = f(\varepsilon, y), \qquad
\log q(z \mid y) = \log \mathcal{N}(\varepsilon; 0, I) + \log \left| \det
\frac{\partial \varepsilon}{\partial z} \right|, \quad \varepsilon = f^{-1}(z, y) .
$$

Draws and densities are exact. Means, variances and divergences have no closed form: the moments
here are estimates, and `kl_divergence` knows nothing of flows.

References:
    Variational Inference with Normalizing Flows, Rezende and Mohamed, 2015
    https://arxiv.org/abs/1505.05770
"""

from __future__ import annotations

import math
from typing import Protocol

import torch
from torch import Tensor
from torch.distributions import Distribution
from torch.types import _size

from mindseye.distributions.normal import ONE, DiagonalNormal
from mindseye.randomness import keys, normals

__all__ = ["Base", "Flow", "Invertible", "RelativeFlow", "fixed_noise"]

FAR = 1e6
"""Latents farther out have the density of this place, so that it is finite everywhere."""

FARTHEST = 1e15
"""Noise is taken as no farther out than this, where its square is finite still."""

DRAWS = 512
"""How many noise vectors the moments are estimated from."""


class Invertible(Protocol):
    """A map of noise `(..., D)` to latents, and back; `mindseye.networks.Couplings` is one."""

    def forward(self, noise: Tensor, context: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The latents of noise, and log |det dz/dnoise|."""
        ...

    def inverse(self, z: Tensor, context: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The noise of latents, and log |det dnoise/dz|."""
        ...


class Base(Protocol):
    """Where a flow begins instead of a standard normal; `Autoregression` is one."""

    def at(self, noise: Tensor) -> Tensor:
        """What it makes of standard normal noise `(..., D)`."""
        ...

    def noise_of(self, value: Tensor) -> Tensor:
        """The noise of that."""
        ...

    def log_prob(self, value: Tensor) -> Tensor:
        """Its log density."""
        ...


class Flow(Distribution):
    """What an invertible map makes of standard normal noise, or of another base.

    It is computed in float32 at least, also where autocast rounds to fewer digits.

    Arguments:
        couplings: The map.
        context: What it is conditioned on, `(..., C)`, a distribution for each; None for one alone.
        size: D.
        device: Where it draws; the context's if there is one.
        base: Where it begins; a standard normal if nothing is said. Draws get no gradient in it.
    """

    has_rsample = True

    def __init__(
        self,
        couplings: Invertible,
        context: Tensor | None = None,
        *,
        size: int,
        device: torch.device | str | None = None,
        base: Base | None = None,
    ):
        given = torch.empty(0, device=device) if context is None else context
        self.dtype = torch.promote_types(given.dtype, torch.float32)
        self.device, self.couplings, self.base = given.device, couplings, base
        self.context = None if context is None else context.to(self.dtype)
        super().__init__(given.shape[:-1], torch.Size([size]), validate_args=False)

    def rsample(self, sample_shape: _size = ONE) -> Tensor:
        """Draws that are differentiable in the map and in the context."""
        shape = self._extended_shape(sample_shape)
        return self.at(torch.randn(shape, dtype=self.dtype, device=self.device))

    def rsample_with_log_prob(self) -> tuple[Tensor, Tensor]:
        """A draw and its log density, for the price of the draw."""
        noise = torch.randn(self._extended_shape(), dtype=self.dtype, device=self.device)
        with torch.autocast(self.device.type, enabled=False):
            noise = self.base.at(noise) if self.base else noise
            z, log_det = self.couplings.forward(noise, self.context)
            return z, self._log_base(noise) - log_det

    def at(self, noise: Tensor) -> Tensor:
        """The latents of standard normal noise `(..., D)`; leading sizes broadcast."""
        with torch.autocast(self.device.type, enabled=False):
            noise = noise.to(self.dtype)
            noise = self.base.at(noise) if self.base else noise
            return self.couplings.forward(noise, self.context)[0]

    def noise_of(self, value: Tensor) -> Tensor:
        """The noise of latents `(..., D)`: what `at` makes them of."""
        with torch.autocast(self.device.type, enabled=False):
            noise, _ = self.couplings.inverse(value.to(self.dtype), self.context)
            return self.base.noise_of(noise) if self.base else noise

    def log_prob(self, value: Tensor) -> Tensor:
        """The log density of latents `(..., D)`; finite for finite ones, however far out."""
        with torch.autocast(self.device.type, enabled=False):  # bfloat16 has no digits for this
            near = value.to(self.dtype).clamp(-FAR, FAR)
            noise, log_det = self.couplings.inverse(near, self.context)
            return self._log_base(noise.clamp(-FARTHEST, FARTHEST)) + log_det

    @property
    def mean(self) -> Tensor:
        """The mean of 512 draws of fixed noise: an estimate, exact if the map is affine."""
        return self._draws().mean(0)

    @property
    def variance(self) -> Tensor:
        """The variance of 512 draws of fixed noise: an estimate; `stddev` is its root.

        It is exact if the map is affine in each coordinate by itself.
        """
        return self._draws().var(0, correction=0)

    def __repr__(self) -> str:
        return f"Flow(size={self.event_shape[0]}, batch_shape={tuple(self.batch_shape)})"

    def _log_base(self, noise: Tensor) -> Tensor:
        return self.base.log_prob(noise) if self.base else _log_normal(noise)

    def _draws(self) -> Tensor:
        """The latents of the fixed noise, `(512, ..., D)`."""
        noise = fixed_noise(self.event_shape[0], self.device)
        return self.at(noise.view(DRAWS, *[1] * len(self.batch_shape), -1))


class RelativeFlow(Distribution):
    r"""How latents differ from a normal, by a flow: a draw of it in units of the normal.

    $$
    z = \mu + \sigma f(\varepsilon, y), \qquad \log q(z \mid y) =
    \log q_f\Big( \frac{z - \mu}{\sigma} \,\Big|\, y \Big) - \sum \log \sigma .
    $$

    Where the map is a permutation, as it is at first, it is the normal.

    Arguments:
        normal: The normal, of batch shape `(B,)`.
        flow: The flow, of as many coordinates and the same batch shape.
    """

    has_rsample = True

    def __init__(self, normal: DiagonalNormal, flow: Flow):
        self.normal, self.flow = normal, flow
        super().__init__(normal.batch_shape, normal.event_shape, validate_args=False)

    def rsample(self, sample_shape: _size = ONE) -> Tensor:
        """Draws that are differentiable in the normal, in the map and in the context."""
        return self.normal.at(self.flow.rsample(sample_shape))

    def at(self, noise: Tensor) -> Tensor:
        """The latents of standard normal noise `(..., D)`; leading sizes broadcast."""
        return self.normal.at(self.flow.at(noise))

    def noise_of(self, value: Tensor) -> Tensor:
        """The noise of latents `(..., D)`: what `at` makes them of."""
        return self.flow.noise_of(self.normal.noise_of(value))

    def log_prob(self, value: Tensor) -> Tensor:
        """The log density of latents `(..., D)`."""
        apart = self.normal.noise_of(value)
        return self.flow.log_prob(apart) - self.normal.stddev.log().sum(-1)

    @property
    def mean(self) -> Tensor:
        """The mean, estimated as that of the flow is."""
        return self.normal.at(self.flow.mean)

    @property
    def variance(self) -> Tensor:
        """The variance, estimated as that of the flow is; `stddev` is its root."""
        return self.normal.variance * self.flow.variance

    def __repr__(self) -> str:
        shape = tuple(self.batch_shape)
        return f"RelativeFlow(size={self.event_shape[0]}, batch_shape={shape})"


def _log_normal(noise: Tensor) -> Tensor:
    """The log density of standard normal noise `(..., D)`."""
    return -(noise.square().sum(-1) + noise.shape[-1] * math.log(2 * math.pi)) / 2


def fixed_noise(size: int, device: torch.device) -> Tensor:
    """Noise and its mirror image, of mean 0 and variance 1 in every coordinate, `(512, D)`."""
    half = normals(keys(0, torch.arange(DRAWS // 2, device=device), "moments"), size)
    half = half / half.square().mean(0).sqrt()
    return torch.cat([half, -half])
