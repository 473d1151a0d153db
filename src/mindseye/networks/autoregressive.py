r"""A density of one coordinate after another, each a mixture of normals given those before.

$$
q(z) = \prod_d q(z_d \mid z_{<d}), \qquad
q(z_d \mid z_{<d}) = \sum_k \pi_{dk}\, \mathcal{N}(z_d; \mu_{dk}, \sigma_{dk}) , \quad
\pi, \mu, \sigma \text{ of } z_{<d} .
$$

A map that can be undone sends one normal to one connected thing, and thousands of clusters with
nothing between them are not one: it leaves bridges. A mixture has none to leave.

One network says all parameters at once. Its weights are masked, so that what it says of a
coordinate reads only those before it; between first and last layer are residual blocks whose units
each belong to a coordinate. So a density is one pass, and a draw one pass a coordinate.

It is a map of noise as well, $\varepsilon_d = \Phi^{-1}(F_d(z_d \mid z_{<d}))$ with $F_d$ the
distribution function of the mixture, which is found the other way by halving intervals: the
quantile of a mixture lies between those of its normals.

References:
    MADE: Masked Autoencoder for Distribution Estimation, Germain et al., 2015
    https://arxiv.org/abs/1502.03509
    Autoregressive Energy Machines, Nash and Durkan, 2019 (masked residual blocks)
    https://arxiv.org/abs/1904.05626
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import elu, linear

from mindseye.networks.dense import initialised
from mindseye.networks.unrounded import Unrounded

__all__ = ["Autoregressive"]

WIDEST = 7.0
"""The end of the log deviation of a normal, in both directions."""

HALVINGS = 40
"""How often an interval is halved: what is left of it has no digits in float32."""

FAINTEST = 1e-300
"""Probabilities are taken as no smaller than this, where their quantiles are finite."""


class Autoregressive(Unrounded, nn.Module):
    """The map of latents `(..., D)` to noise, and back, of an autoregressive mixture of normals.

    Arguments:
        size: D.
        hidden: Width of the network.
        normals: Normals of a coordinate, K.
        blocks: Residual blocks.
    """

    def __init__(self, size: int, hidden: int = 256, normals: int = 16, blocks: int = 2):
        super().__init__()
        self.size, self.normals = size, normals
        inputs, units = torch.arange(1, size + 1), torch.arange(hidden) % size
        outputs = torch.arange(size).repeat_interleave(3 * normals)
        self.first = _Masked(inputs, units)
        self.blocks = nn.ModuleList(
            nn.ModuleList([_Masked(units, units), _Masked(units, units)]) for _ in range(blocks)
        )
        self.last = _Masked(units, outputs)
        self._begin()

    def parameters_of(self, z: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Log weights, means and log deviations of all coordinates' normals, `(..., D, K)`."""
        return self._mixture(self.last(self._features(z)).unflatten(-1, (self.size, -1)))

    def log_prob(self, z: Tensor) -> Tensor:
        """log q(z), `(...)`."""
        weight, mean, log_scale = self.parameters_of(z)
        apart = (z[..., None] - mean) * torch.exp(-log_scale)
        each = weight - log_scale - (apart.square() + math.log(2 * math.pi)) / 2
        return each.logsumexp(-1).sum(-1)

    @torch.no_grad()
    def forward(self, noise: Tensor, context: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The latents that noise becomes, and log |det dz/dnoise|; nothing gets a gradient."""
        z = torch.zeros_like(noise)
        for d in range(self.size):
            z[..., d] = _quantile(noise[..., d], *self._normals(z, d))
        return z, _log_normal(noise) - self.log_prob(z)

    @torch.no_grad()
    def inverse(self, z: Tensor, context: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The noise that became some latents, and log |det dnoise/dz|; nothing gets a gradient."""
        below, above = _shares(z.double(), *(each.double() for each in self.parameters_of(z)))
        low, high = (torch.special.ndtri(each.clamp(min=FAINTEST)) for each in (below, above))
        noise = torch.where(below < above, low, -high).to(z.dtype)
        return noise, self.log_prob(z) - _log_normal(noise)

    @property
    def learnt(self) -> bool:
        """Whether it says of any coordinate what it did not begin with."""
        return bool(self.last.weight.any())

    def extra_repr(self) -> str:
        """The sizes of latents and mixtures."""
        return f"size {self.size}, normals {self.normals}"

    def _features(self, z: Tensor) -> Tensor:
        """What the last layer reads, `(..., H)`."""
        h = self.first(z)
        for one, two in (tuple(block.children()) for block in self.blocks):
            h = h + two(elu(one(elu(h))))
        return elu(h)

    def _normals(self, z: Tensor, d: int) -> tuple[Tensor, ...]:
        """What is said of one coordinate, in float64, `(..., K)`."""
        rows = slice(3 * self.normals * d, 3 * self.normals * (d + 1))
        said = linear(self._features(z), self.last.seen[rows], self.last.bias[rows])
        return tuple(each.double() for each in self._mixture(said))

    def _mixture(self, said: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Log weights, means and log deviations, of what the last layer says `(..., 3 K)`."""
        logits, mean, raw = said.unflatten(-1, (3, self.normals)).unbind(-2)
        return logits.log_softmax(-1), mean, WIDEST * torch.tanh(raw / WIDEST)

    @torch.no_grad()
    def _begin(self) -> None:
        """Begin with a standard normal, nearly: normals side by side, as wide as they are apart."""
        bias = self.last.bias
        if bias.is_meta:
            return
        nn.init.zeros_(self.last.weight)
        middle = (torch.arange(self.normals, dtype=torch.float64) + 0.5) / self.normals
        bias = bias.view(self.size, 3, self.normals)
        bias[:, 1] = torch.special.ndtri(middle).to(bias)
        bias[:, 2] = -0.5 * math.log(self.normals)


class _Masked(nn.Linear):
    """A dense layer in which a unit reads only those whose number is not above its own.

    The numbers are saved with the weights: a model is built without numbers before it is loaded.
    """

    read: Tensor
    units: Tensor

    def __init__(self, read: Tensor, units: Tensor):
        super().__init__(len(read), len(units))
        initialised(self)
        self.register_buffer("read", read)
        self.register_buffer("units", units[:, None])

    @property
    def seen(self) -> Tensor:
        """The weights, 0 where nothing may be read."""
        return self.weight * (self.read <= self.units)

    def forward(self, input: Tensor) -> Tensor:
        return linear(input, self.seen, self.bias)


def _shares(z: Tensor, weight: Tensor, mean: Tensor, log_scale: Tensor) -> tuple[Tensor, Tensor]:
    """How much of mixtures is below some values `(...)`, and how much above."""
    apart = (z[..., None] - mean) * torch.exp(-log_scale)
    share = weight.exp()
    ndtr = torch.special.ndtr
    return (share * ndtr(apart)).sum(-1), (share * ndtr(-apart)).sum(-1)


def _quantile(noise: Tensor, weight: Tensor, mean: Tensor, log_scale: Tensor) -> Tensor:
    """Where as much of mixtures is below as there is of a standard normal below the noise."""
    each = mean + noise.double()[..., None] * log_scale.exp()
    low, high = each.amin(-1), each.amax(-1)
    left, right = torch.special.ndtr(noise.double()), torch.special.ndtr(-noise.double())
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        below, above = _shares(middle, weight, mean, log_scale)
        # Of the two tails the thinner one has the digits.
        further = torch.where(noise < 0, below < left, above > right)
        low, high = torch.where(further, middle, low), torch.where(further, high, middle)
    return ((low + high) / 2).to(noise.dtype)


def _log_normal(noise: Tensor) -> Tensor:
    """The log density of standard normal noise `(..., D)`."""
    return -(noise.square().sum(-1) + noise.shape[-1] * math.log(2 * math.pi)) / 2
