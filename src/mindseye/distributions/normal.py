r"""Diagonal normals over $\mathbb{R}^D$, one event per row.

All are `torch.distributions`, so `kl_divergence` knows them. Argument checks are off: they read
every tensor back to the host, and the networks' scales are positive by construction.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.distributions import (
    Distribution,
    Independent,
    MultivariateNormal,
    Normal,
    kl_divergence,
    register_kl,
)
from torch.types import _size

from mindseye.kernels import wanted

__all__ = [
    "ONE",
    "DiagonalNormal",
    "detached",
    "diagonal_normal",
    "loc_and_log_scale",
    "soft_bounded",
    "standard_normal",
]


ONE = torch.Size()
"""The shape of a single draw."""


class DiagonalNormal(Independent):
    """A normal with independent coordinates.

    Arguments:
        loc: Means, `(..., D)`.
        scale: Standard deviations, `(..., D)`.
    """

    def __init__(self, loc: Tensor, scale: Tensor):
        super().__init__(Normal(loc, scale, validate_args=False), 1, validate_args=False)

    def rsample(self, sample_shape: _size = ONE) -> Tensor:
        """Draws that are differentiable in mean and deviation; in few launches on a GPU."""
        if wanted(self.mean):
            noise = torch.randn(self._extended_shape(sample_shape), device=self.mean.device)
            return torch.addcmul(self.mean, self.stddev, noise)
        return super().rsample(sample_shape)

    def at(self, noise: Tensor) -> Tensor:
        """The latents of standard normal noise `(..., D)`; leading sizes broadcast."""
        return self.mean + self.stddev * noise

    def noise_of(self, value: Tensor) -> Tensor:
        """The noise of latents `(..., D)`: what `at` makes them of."""
        return (value - self.mean) / self.stddev

    def log_prob(self, value: Tensor) -> Tensor:
        """The log density, summed over the coordinates; in one launch on a GPU."""
        if wanted(value) and value.dtype == self.mean.dtype == torch.float32:
            from mindseye.kernels.gaussian import LogDensity

            return LogDensity.apply(value, self.mean, self.stddev)
        return super().log_prob(value)

    def expand(self, batch_shape: _size, _instance: None = None) -> Independent:
        """A view with a larger batch."""
        return Independent(self.base_dist, 1, validate_args=False).expand(batch_shape)


@register_kl(DiagonalNormal, DiagonalNormal)
def _divergence(p: DiagonalNormal, q: DiagonalNormal) -> Tensor:
    """KL(p || q), `(B,)`."""
    if wanted(p.mean) and p.mean.ndim == 2:
        from mindseye.kernels.gaussian import Divergence

        return Divergence.apply(p.mean, p.stddev, q.mean, q.stddev)
    return kl_divergence(p.base_dist, q.base_dist).sum(-1)


def diagonal_normal(loc: Tensor, log_scale: Tensor) -> DiagonalNormal:
    """The normal with mean `loc` and standard deviation `exp(log_scale)`, both `(B, D)`."""
    return DiagonalNormal(loc, log_scale.exp())


def standard_normal(like: Tensor) -> DiagonalNormal:
    """The prior N(0, I) with the shape, type and device of a tensor."""
    zero = torch.zeros_like(like)
    return DiagonalNormal(zero, zero + 1)


def detached(q: Distribution) -> Distribution:
    """The same normal as a constant: no gradient flows back into what made it."""
    if isinstance(q, MultivariateNormal):
        return MultivariateNormal(q.loc.detach(), scale_tril=q.scale_tril.detach())
    return diagonal_normal(q.mean.detach(), q.stddev.detach().log())


def loc_and_log_scale(features: Tensor) -> tuple[Tensor, Tensor]:
    """A network's last layer `(..., 2D)` as means and bounded log standard deviations, float32."""
    if wanted(features):
        from mindseye.kernels.gaussian import Bounded

        return Bounded.apply(features, LOW, HIGH)
    loc, log_scale = features.float().chunk(2, -1)
    return loc, soft_bounded(log_scale)


LOW, HIGH = -7.0, 3.0
"""The ends of log standard deviations."""


def soft_bounded(log_scale: Tensor, low: float = LOW, high: float = HIGH) -> Tensor:
    r"""Squeeze log standard deviations smoothly into (`low`, `high`), leaving those near 0 alone.

    $$ s \mapsto h \tanh(s / h), \qquad h = \text{high if } s > 0 \text{ else } {-\text{low}} $$

    A network that has run away to $\log\sigma = 40$ would otherwise overflow the KL in one step.
    The ends leave room for all that is meant: $e^{-7}$ is a thousandth of the prior's width, and an
    expert of width $e^3$ has a four-hundredth of the prior's say.
    """
    return torch.where(
        log_scale > 0, high * torch.tanh(log_scale / high), -low * torch.tanh(log_scale / -low)
    )
