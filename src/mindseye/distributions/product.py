r"""Products of Gaussian experts: each word votes for a region of latent space.

Given experts $q(z \mid y_k) = \mathcal{N}(\mu_k, \sigma_k^2)$ for the observed words
$k \in \mathcal{O}$ and the prior $p(z) = \mathcal{N}(0, I)$, which is always one of the experts,

$$
q(z \mid y_\mathcal{O}) \propto p(z) \prod_{k \in \mathcal{O}} q(z \mid y_k)
= \mathcal{N}(\mu, \sigma^2), \quad
\sigma^{-2} = 1 + \sum_{k \in \mathcal{O}} \sigma_k^{-2}, \quad
\mu = \sigma^2 \sum_{k \in \mathcal{O}} \sigma_k^{-2} \mu_k .
$$

References:
    Generative Models of Visually Grounded Imagination, Vedantam et al., 2018, section 2
    https://arxiv.org/abs/1705.10762
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.distributions import Normal

from mindseye.distributions.normal import DiagonalNormal
from mindseye.kernels import wanted

__all__ = ["ProductOfExperts"]


class ProductOfExperts(DiagonalNormal):
    r"""The product of the observed experts and the standard normal.

    It is a diagonal normal, so `kl_divergence`, `rsample` and `log_prob` are exact. Precisions are
    added as logarithms: an expert of width $e^{-50}$ or $e^{50}$ is as safe as any other.

    Arguments:
        loc: Means of the experts, `(B, K, D)`.
        log_scale: Logarithms of their standard deviations, `(B, K, D)`.
        observed: Which experts speak, bool, `(B, K)`.

    >>> loc, log_scale = torch.ones(1, 2, 3), torch.zeros(1, 2, 3)
    >>> both = ProductOfExperts(loc, log_scale, torch.tensor([[True, True]]))
    >>> both.mean  # two experts at 1 and the prior at 0, all of width 1
    tensor([[0.6667, 0.6667, 0.6667]])
    >>> ProductOfExperts(loc, log_scale, torch.tensor([[False, False]])).stddev
    tensor([[1., 1., 1.]])
    """

    def __init__(self, loc: Tensor, log_scale: Tensor, observed: Tensor):
        self.observed = observed
        self._experts = loc, log_scale
        super().__init__(*_multiplied(loc, log_scale, observed))

    @property
    def experts(self) -> Normal:
        """What every word says by itself, observed or not, `(B, K, D)`."""
        loc, log_scale = self._experts
        return Normal(loc, log_scale.exp(), validate_args=False)


def _multiplied(loc: Tensor, log_scale: Tensor, observed: Tensor) -> tuple[Tensor, Tensor]:
    """The mean and the standard deviation of the product, each `(B, D)`."""
    if wanted(loc) and loc.ndim == 3:
        from mindseye.kernels.words import Product

        return Product.apply(loc, log_scale, observed)
    log_precision = (-2 * log_scale).masked_fill(~observed[..., None], -torch.inf)  # (B, K, D)
    prior = torch.zeros_like(log_precision[..., :1, :])
    total = torch.cat([prior, log_precision], -2).logsumexp(-2)  # (B, D)
    share = (log_precision - total[..., None, :]).exp()  # each expert's share of the precision
    return (share * loc).sum(-2), (-total / 2).exp()
