r"""What a decoder says about pixels: $p(x \mid z) = \prod_i p(x_i \mid z)$ in six forms.

| likelihood          | a pixel is                  | what a decoder gives for it           |
|---------------------|-----------------------------|---------------------------------------|
| `Pixels`            | 0 or 1                      | log odds                              |
| `BetaPixels`        | in [0, 1]                   | log odds of the mean                  |
| `NormalPixels`      | any number                  | mean, log standard deviation          |
| `ComponentNormal`   | any number                  | the same of every component           |
| `QuantisedNormal`   | one of $n$ levels in [0, 1] | mean, log standard deviation          |
| `QuantisedLogistic` | one of $n$ levels in [0, 1] | mean, log scale                       |

A quantised likelihood is the mass that a density puts on the interval around a level; the first
and the last interval have no outer end. So it is a probability, in nats a picture of $n$ levels,
and comparable between models. Components are those along `axes`. Log-likelihoods are sums over the
last three dimensions, in float32.

References:
    PixelCNN++, Salimans et al., 2017
    https://arxiv.org/abs/1701.05517
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.distributions import Bernoulli, Beta, Distribution, Independent, Normal
from torch.nn.functional import logsigmoid
from torch.types import _size

from mindseye.distributions.axes import Axes
from mindseye.distributions.normal import ONE
from mindseye.kernels import wanted

__all__ = [
    "LEVELS",
    "BetaPixels",
    "ComponentNormal",
    "NormalPixels",
    "Pixels",
    "QuantisedLogistic",
    "QuantisedNormal",
]

LEVELS = 256
"""Grey levels of a byte."""


class Pixels(Independent):
    """Pictures `(C, H, W)` whose pixels are 0 or 1, or the probability of a 1.

    Arguments:
        logits: Log odds of every pixel, `(..., C, H, W)`.
    """

    def __init__(self, logits: Tensor):
        super().__init__(Bernoulli(logits=logits, validate_args=False), 3, validate_args=False)
        self.logits = logits

    def log_prob(self, value: Tensor) -> Tensor:
        """The log-likelihood of pictures, summed in float32; `value` may lack leading sizes."""
        if wanted(value):
            from mindseye.kernels.bernoulli import BernoulliLogProb

            return BernoulliLogProb.apply(self.logits, value)
        return super().log_prob(value)


class BetaPixels(Distribution):
    r"""Pictures of numbers in [0, 1], each pixel a Beta distribution of a given concentration.

    $α = s σ(h)$ and $β = s\,(1 - σ(h))$: the mean is $σ(h)$, and $s$ says how narrow it is. Pixels
    at the very ends, where the density may be infinite, are moved in by `END`.

    Arguments:
        logits: Log odds h of the means, `(..., C, H, W)`.
        concentration: s; that of Cremer and Kushman (2018) is 100.
    """

    has_rsample = False
    END = 1e-5

    def __init__(self, logits: Tensor, concentration: float = 100.0):
        self.logits, self.concentration = logits.float(), concentration
        super().__init__(logits.shape[:-3], logits.shape[-3:], validate_args=False)

    @property
    def mean(self) -> Tensor:
        """The expected picture."""
        return self.logits.sigmoid()

    def log_prob(self, value: Tensor) -> Tensor:
        """The log density of pictures, summed over the last three dimensions."""
        s, h = self.concentration, self.logits
        alpha, beta = s * h.sigmoid(), s * (-h).sigmoid()
        x = value.clamp(self.END, 1 - self.END)
        each = (alpha - 1) * x.log() + (beta - 1) * torch.log1p(-x)
        # log Γ(α) = log Γ(1 + α) - log α, which is finite for any h
        each = each - torch.lgamma(1 + alpha) - torch.lgamma(1 + beta)
        each = each + logsigmoid(h) + logsigmoid(-h)
        constant = math.lgamma(s) + 2 * math.log(s)
        return each.sum((-3, -2, -1)) + math.prod(self.event_shape) * constant

    @torch.no_grad()
    def sample(self, sample_shape: _size = ONE) -> Tensor:
        """Draws."""
        mean = self.mean.expand(self._extended_shape(torch.Size(sample_shape)))
        s = self.concentration
        return Beta(s * mean, s * (1 - mean), validate_args=False).sample()


class NormalPixels(Independent):
    """Pictures of real numbers, each pixel a normal of its own.

    Arguments:
        loc: Means, `(..., C, H, W)`.
        log_scale: Logarithms of the standard deviations, of a shape that expands to it.
    """

    def __init__(self, loc: Tensor, log_scale: Tensor):
        scale = log_scale.exp().expand_as(loc)
        super().__init__(Normal(loc, scale, validate_args=False), 3, validate_args=False)

    def at(self, noise: Tensor) -> Tensor:
        """The pictures of standard normal noise `(..., C, H, W)`."""
        return self.mean + self.stddev * noise


class ComponentNormal(Distribution):
    """Pictures whose components along some axes are normals, each of its own.

    Arguments:
        loc: Means of the components, `(..., C, H, W)`.
        log_scale: Logarithms of their standard deviations, of a shape that expands to it.
        axes: What the components are.
    """

    has_rsample = False

    def __init__(self, loc: Tensor, log_scale: Tensor, axes: Axes):
        self.components, self.axes = NormalPixels(loc, log_scale), axes
        super().__init__(loc.shape[:-3], loc.shape[-3:], validate_args=False)

    @property
    def mean(self) -> Tensor:
        """The expected picture."""
        return self.axes.picture(self.components.mean)

    def log_prob(self, value: Tensor) -> Tensor:
        """The log density of pictures `(..., C, H, W)`."""
        return self.components.log_prob(self.axes.components(value)) - self.axes.log_volume

    @torch.no_grad()
    def sample(self, sample_shape: _size = ONE) -> Tensor:
        """Draws."""
        return self.axes.picture(self.components.sample(torch.Size(sample_shape)))

    def at(self, noise: Tensor) -> Tensor:
        """The pictures of standard normal noise `(..., C, H, W)`."""
        return self.axes.picture(self.components.at(noise))


class _Quantised(Distribution):
    """The mass of a density on the intervals around `levels` evenly spaced numbers of [0, 1]."""

    has_rsample = False

    def __init__(self, loc: Tensor, log_scale: Tensor, levels: int = LEVELS):
        self.loc, self.log_scale, self.levels = loc, log_scale.expand_as(loc), levels
        super().__init__(loc.shape[:-3], loc.shape[-3:], validate_args=False)

    @property
    def mean(self) -> Tensor:
        """The centre of the density, within [0, 1]: near the mean unless it is wide."""
        return self.loc.clamp(0, 1)

    def log_prob(self, value: Tensor) -> Tensor:
        """The log mass of the intervals that pictures of levels lie in."""
        half = 0.5 / (self.levels - 1)
        inverse = (-self.log_scale).exp()
        low, high = (value - half - self.loc) * inverse, (value + half - self.loc) * inverse
        first, last = value < half, value > 1 - half
        inside = self._log_mass(low, high)
        ends = torch.where(first, self._log_below(high), self._log_below(-low))
        return torch.where(first | last, ends, inside).sum((-3, -2, -1))

    @torch.no_grad()
    def sample(self, sample_shape: _size = ONE) -> Tensor:
        """Draws, rounded to levels."""
        noise = self._noise(self._extended_shape(torch.Size(sample_shape)))
        drawn = self.loc + self.log_scale.exp() * noise
        return (drawn.clamp(0, 1) * (self.levels - 1)).round() / (self.levels - 1)

    def _log_below(self, x: Tensor) -> Tensor:
        """The log of the standard density's mass below x."""
        raise NotImplementedError

    def _log_mass(self, low: Tensor, high: Tensor) -> Tensor:
        """The log of its mass between two numbers, the first below the second."""
        raise NotImplementedError

    def _noise(self, shape: _size) -> Tensor:
        """Draws from the standard density."""
        raise NotImplementedError


class QuantisedNormal(_Quantised):
    """Pictures of levels by normals.

    Arguments:
        loc: Means, `(..., C, H, W)`.
        log_scale: Logarithms of the standard deviations, of a shape that expands to it.
        levels: How many levels there are between 0 and 1, both included.
    """

    def _log_below(self, x: Tensor) -> Tensor:
        return torch.special.log_ndtr(x)

    def _log_mass(self, low: Tensor, high: Tensor) -> Tensor:
        # In the upper half both ends are mirrored, where the logarithms are far apart and exact.
        mirrored = low + high > 0
        a, b = torch.where(mirrored, -high, low), torch.where(mirrored, -low, high)
        upper, lower = self._log_below(b), self._log_below(a)
        return upper + _log1mexp(upper - lower)

    def _noise(self, shape: _size) -> Tensor:
        return torch.randn(shape, dtype=self.loc.dtype, device=self.loc.device)


class QuantisedLogistic(_Quantised):
    """Pictures of levels by logistic densities.

    Arguments:
        loc: Means, `(..., C, H, W)`.
        log_scale: Logarithms of the scales, of a shape that expands to it.
        levels: How many levels there are between 0 and 1, both included.
    """

    def _log_below(self, x: Tensor) -> Tensor:
        return logsigmoid(x)

    def _log_mass(self, low: Tensor, high: Tensor) -> Tensor:
        # σ(b) - σ(a) = σ(b) σ(-a) (1 - e^(a - b)): nothing cancels.
        return logsigmoid(high) + logsigmoid(-low) + _log1mexp(high - low)

    def _noise(self, shape: _size) -> Tensor:
        u = torch.rand(shape, dtype=self.loc.dtype, device=self.loc.device).clamp_min(2.0**-24)
        return u.log() - torch.log1p(-u)


def _log1mexp(x: Tensor) -> Tensor:
    """log(1 - e^-x) for x > 0, exact at both ends."""
    small = x < math.log(2)
    near = torch.log(-torch.expm1(-torch.where(small, x, 1.0)))
    return torch.where(small, near, torch.log1p(-torch.exp(-torch.where(small, 1.0, x))))
