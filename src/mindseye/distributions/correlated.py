r"""Normals over the elements of sets, which may know of each other: the parts of a whole.

A set has $K$ elements with latents $w_1, \dots, w_K \in \mathbb{R}^D$. Coordinates are independent
of each other; within one, the elements share their noise $\varepsilon_i \sim \mathcal{N}(0, 1)$:

$$
w_i = \mu_i + \sigma_i \Big( \varepsilon_i - \rho_i \sum_k \varepsilon_k \Big), \qquad
\rho_i = \frac{e^{r_i}}{1 + \sum_k e^{r_k}} .
$$

So $w \sim \mathcal{N}(\mu, \Delta S S^\top \Delta)$ with $\Delta = \operatorname{diag} \sigma$ and
$S = I - \rho 1^\top$. All is closed by the Sherman-Morrison formula, since $\rho_i > 0$ and
$\sum_i \rho_i < 1$:

$$
|S| = 1 - \sum_i \rho_i = \Big( 1 + \sum_i e^{r_i} \Big)^{-1}, \qquad
S^{-1} = I + \frac{\rho 1^\top}{|S|} = I + e^r 1^\top .
$$

A picture shows the sum of its parts and hides who gave what. Elements that lean against each other
can say so: where all $\sigma_i$ are one $\sigma$, the sum has the variance $\sigma^2 K |S|^2$,
which falls to nothing as $\sum_i \rho_i \to 1$, and every element remains uncertain by itself.

References:
    From abstract items to latent spaces to observed data and back: Compositional Variational
    Auto-Encoder, Berger and Sebag, 2020, appendix C
    https://arxiv.org/abs/2001.07910
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.distributions import Distribution, register_kl
from torch.nn import functional as F
from torch.types import _size

from mindseye.distributions.normal import ONE
from mindseye.groups import Groups

__all__ = ["CorrelatedNormals", "PartNormals", "floored", "summed"]

TIGHTEST = 30.0
"""Noise is read off latents by logits of at most this: no float has the digits for a tighter set,
and its square is finite still."""


class _Parts(Distribution):
    """What both kinds have in common: standard noise that is mixed, stretched and moved.

    Its values are the rows of all sets, and it has a density for every set: draws are `(..., N, D)`
    and log densities `(..., B)`. It is computed in float32 at least, also where autocast rounds to
    fewer digits.
    """

    has_rsample = True
    log_det: Tensor
    """The logarithm of how much mixing shrinks volumes, `(B,)`."""

    def __init__(self, loc: Tensor, scale: Tensor, groups: Groups):
        self.dtype = torch.promote_types(loc.dtype, torch.float32)
        self.loc, self.scale, self.groups = loc.to(self.dtype), scale.to(self.dtype), groups
        super().__init__(groups.sizes.shape, loc.shape[-1:], validate_args=False)

    def rsample(self, sample_shape: _size = ONE) -> Tensor:
        """Draws that are differentiable in all parameters."""
        return self.at(self._drawn(sample_shape))

    def rsample_with_log_prob(self, sample_shape: _size = ONE) -> tuple[Tensor, Tensor]:
        """Draws and their log densities, which need no noise read off latents."""
        noise = self._drawn(sample_shape)
        return self.at(noise), self._log_density(noise)

    def at(self, noise: Tensor) -> Tensor:
        """The latents of standard normal noise `(..., N, D)`."""
        with self._exactly():
            return self.loc + self.scale * self._mixed(noise.to(self.dtype))

    def log_prob(self, value: Tensor) -> Tensor:
        """The log density of every set, `(..., B)`."""
        with self._exactly():
            apart = (value.to(self.dtype) - self.loc) / self.scale
            return self._log_density(self._unmixed(apart))

    def entropy(self) -> Tensor:
        """The entropy of every set in nats, `(B,)`."""
        with self._exactly():
            each = self.scale.log() + (1 + math.log(2 * math.pi)) / 2
            return summed(each, self.groups) + self.log_det

    @property
    def mean(self) -> Tensor:
        """The mean of every row, `(N, D)`."""
        return self.loc

    def __repr__(self) -> str:
        rows, size = self.loc.shape
        return f"{type(self).__name__}(sets={self.batch_shape[0]}, rows={rows}, size={size})"

    def _mixed(self, noise: Tensor) -> Tensor:
        """S times noise."""
        raise NotImplementedError

    def _unmixed(self, apart: Tensor) -> Tensor:
        """The noise that mixing makes this of."""
        raise NotImplementedError

    def _drawn(self, sample_shape: _size) -> Tensor:
        """Standard normal noise, one number for every row and coordinate."""
        shape = (*sample_shape, *self.loc.shape)
        return torch.randn(shape, dtype=self.dtype, device=self.loc.device)

    def _log_density(self, noise: Tensor) -> Tensor:
        """The log density of the latents of some noise, `(..., B)`."""
        with self._exactly():
            each = -(noise.square() + math.log(2 * math.pi)) / 2 - self.scale.log()
            return summed(each, self.groups) - self.log_det

    def _exactly(self) -> torch.autocast:
        """Without autocast: bfloat16 has no digits for this."""
        return torch.autocast(self.loc.device.type, enabled=False)


class PartNormals(_Parts):
    """Independent normals of the elements of sets.

    Arguments:
        loc: Means, `(N, D)`.
        scale: Standard deviations, `(N, D)`.
        groups: Which of the N rows belong to which of the B sets.

    >>> groups = Groups.of(torch.tensor([1, 3]), rows=4)
    >>> PartNormals(torch.zeros(4, 2), torch.ones(4, 2), groups).entropy()
    tensor([2.8379, 8.5136])
    """

    def __init__(self, loc: Tensor, scale: Tensor, groups: Groups):
        super().__init__(loc, scale, groups)
        self.log_det = self.loc.new_zeros(groups.sizes.shape)

    @property
    def chances(self) -> int:
        """Numbers of noise that a row is drawn by."""
        return self.loc.shape[-1]

    @property
    def stddev(self) -> Tensor:
        """The standard deviation of every row, `(N, D)`."""
        return self.scale

    @property
    def variance(self) -> Tensor:
        """The variance of every row, `(N, D)`."""
        return self.scale.square()

    def _mixed(self, noise: Tensor) -> Tensor:
        return noise

    def _unmixed(self, apart: Tensor) -> Tensor:
        return apart


class CorrelatedNormals(_Parts):
    r"""Normals of the elements of sets that lean against each other.

    Arguments:
        loc: Means, `(N, D)`.
        scale: Deviations before mixing, $\sigma$, `(N, D)`.
        logits: How strongly each leans, $r$, `(N, D)`; at $-\infty$ elements are independent.
        groups: Which of the N rows belong to which of the B sets.

    >>> groups, zero = Groups.of(torch.tensor([3]), rows=3), torch.zeros(3, 1)
    >>> q = CorrelatedNormals(zero, zero + 1, zero, groups)
    >>> q.rho[:, 0]
    tensor([0.2500, 0.2500, 0.2500])
    >>> q.variance[:, 0], q.total_variance[:, 0]  # independent ones had 3 in all
    (tensor([0.6875, 0.6875, 0.6875]), tensor([0.1875]))
    """

    def __init__(self, loc: Tensor, scale: Tensor, logits: Tensor, groups: Groups):
        super().__init__(loc, scale, groups)
        self.logits = logits.to(self.dtype)
        with self._exactly():
            self.rho, log_rest = _shares(self.logits, groups)
            self.log_det = log_rest.sum(-1)

    @property
    def variance(self) -> Tensor:
        r"""The variance of every row by itself, $\sigma^2 (1 - 2 \rho + K \rho^2)$, `(N, D)`."""
        size = self.groups.spread(self.groups.sizes[:, None].to(self.dtype))
        mixed = (1 - self.rho).square() + (size - 1) * self.rho.square()
        return self.scale.square() * mixed

    @property
    def total_variance(self) -> Tensor:
        r"""The variance of the sum over every set, `(B, D)`.

        $$ \sum_i w_i = \sum_i \mu_i + \sum_i \Big( \sigma_i - \sum_k \sigma_k \rho_k \Big)
        \varepsilon_i $$
        """
        lean = self.groups.totals(self.scale * self.rho)
        return self.groups.totals((self.scale - self.groups.spread(lean)).square())

    def covariance(self, index: int) -> Tensor:
        """The covariances of the elements of one set, `(D, K, K)`; it waits for the device."""
        rows = self.groups.owner == index
        scale, rho = self.scale[rows].T, self.rho[rows].T
        root = scale.diag_embed() - (scale * rho)[..., None]
        with self._exactly():
            return root @ root.mT

    def _mixed(self, noise: Tensor) -> Tensor:
        return noise - self.rho * _shared(noise, self.groups)

    def _unmixed(self, apart: Tensor) -> Tensor:
        return apart + self.logits.clamp(max=TIGHTEST).exp() * _shared(apart, self.groups)


@register_kl(PartNormals, PartNormals)
@register_kl(CorrelatedNormals, PartNormals)
def _divergence(q: PartNormals | CorrelatedNormals, p: PartNormals) -> Tensor:
    r"""KL(q || p) of every set, `(B,)`, equation 9 summed over the coordinates.

    $$ \frac{1}{2} \sum_i \left( \log \frac{s_i^2}{\sigma_i^2} + \frac{(\mu_i - m_i)^2}{s_i^2}
    + \frac{\sigma_i^2 (1 - 2 \rho_i + K \rho_i^2)}{s_i^2} - 1 \right) - \log \Big( 1 - \sum_i
    \rho_i \Big) $$

    As printed, the equation lacks the half before the variances and the $-1$.
    """
    with q._exactly():
        far = ((q.loc - p.loc) / p.scale).square()
        wide = q.variance / p.scale.square()
        each = (p.scale / q.scale).log() + (far + wide - 1) / 2
        return summed(each, q.groups) - q.log_det


def floored(log_variance: Tensor, least: float) -> Tensor:
    r"""Keep log variances smoothly above that of the deviation `least`, in float32 at least.

    $$ v \mapsto \operatorname{ELU}(v - c - 1) + 1 + c, \qquad c = 2 \log \text{least} $$

    From $c + 1$ on they are left alone.
    """
    c = 2 * math.log(least)
    v = log_variance.to(torch.promote_types(log_variance.dtype, torch.float32))
    return F.elu(v - (c + 1)) + 1 + c


def _shares(logits: Tensor, groups: Groups) -> tuple[Tensor, Tensor]:
    """Every row's rho, `(N, D)`, and log(1 - sum of rho) of every set, `(B, D)`."""
    top = torch.segment_reduce(
        logits.detach(), "max", lengths=groups.sizes, axis=0, unsafe=True, initial=0
    )  # the largest of a set's logits and of 0, the logit of the rest
    each = (logits - groups.spread(top)).exp()
    total = (-top).exp() + groups.totals(each)
    return each / groups.spread(total), -top - total.log()


def _shared(values: Tensor, groups: Groups) -> Tensor:
    """Every row's sum over its set, `(..., N, D)`."""
    rows = values.movedim(-2, 0)
    return groups.spread(groups.totals(rows)).movedim(0, -2)


def summed(values: Tensor, groups: Groups) -> Tensor:
    """Sums over the coordinates and elements of every set: `(..., N, D)` to `(..., B)`."""
    return groups.totals(values.movedim(-2, 0)).sum(-1).movedim(0, -1)
