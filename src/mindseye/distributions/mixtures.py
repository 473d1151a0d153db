r"""Mixtures of normals over the elements of sets: what parts of a kind are like.

$$ p(w_i) = \sum_m \pi_{im}\, \mathcal{N}(w_i; \mu_{im}, \operatorname{diag} \sigma_{im}^2) . $$

The elements are independent of each other. What parts have of their own need not be normal: a wave
of any phase and of amplitude near 1 is a ring, and a normal has its most in the middle.

A draw is a map of normal noise, of one number more than there are coordinates: the first chooses
the normal, by its own distribution function, and the others are the draw of that.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.distributions import Distribution, kl_divergence
from torch.types import _size

from mindseye.distributions.correlated import CorrelatedNormals, PartNormals, summed
from mindseye.distributions.normal import ONE
from mindseye.groups import Groups

__all__ = ["PartMixtures", "divergence"]


class PartMixtures(Distribution):
    """Independent mixtures of normals, of the elements of sets.

    Arguments:
        logits: Logarithms of the shares, up to a constant, `(N, M)`.
        loc: Means, `(N, M, D)`.
        scale: Standard deviations, `(N, M, D)`.
        groups: Which of the N rows belong to which of the B sets.

    >>> groups, one = Groups.of(torch.tensor([2]), rows=2), torch.ones(2, 2, 1)
    >>> p = PartMixtures(torch.zeros(2, 2), torch.tensor([[[-3.0], [3.0]]] * 2), one, groups)
    >>> p.mean[:, 0], p.variance[:, 0]
    (tensor([0., 0.]), tensor([10., 10.]))
    >>> p.at(torch.tensor([[-1.0, 0.5], [1.0, 0.5]]))[:, 0]
    tensor([-2.5000,  3.5000])
    """

    def __init__(self, logits: Tensor, loc: Tensor, scale: Tensor, groups: Groups):
        self.dtype = torch.promote_types(loc.dtype, torch.float32)
        self.log_shares = logits.to(self.dtype).log_softmax(-1)
        self.loc, self.scale, self.groups = loc.to(self.dtype), scale.to(self.dtype), groups
        super().__init__(groups.sizes.shape, loc.shape[-1:], validate_args=False)

    @property
    def chances(self) -> int:
        """Numbers of noise that a row is drawn by."""
        return self.loc.shape[-1] + 1

    def at(self, noise: Tensor) -> Tensor:
        """The latents of standard normal noise, `(..., N, D + 1)` to `(..., N, D)`."""
        noise = noise.to(self.dtype)
        upto = self.log_shares.exp().cumsum(-1)[:, :-1]  # the last one has what is left
        chosen = (torch.special.ndtr(noise[..., :1]) > upto).sum(-1)  # (..., N)
        rows = torch.arange(len(self.loc), device=self.loc.device)
        return torch.addcmul(self.loc[rows, chosen], self.scale[rows, chosen], noise[..., 1:])

    @torch.no_grad()
    def sample(self, sample_shape: _size = ONE) -> Tensor:
        """Draws `(..., N, D)`; which normal they are of has no gradient."""
        shape = (*sample_shape, len(self.loc), self.chances)
        return self.at(torch.randn(shape, dtype=self.dtype, device=self.loc.device))

    def log_prob(self, value: Tensor) -> Tensor:
        """The log density of every set, `(..., B)`."""
        with torch.autocast(self.loc.device.type, enabled=False):
            apart = (value[..., None, :].to(self.dtype) - self.loc) / self.scale
            each = self.log_shares - (apart.square() / 2 + self.scale.log()).sum(-1)
            constant = self.loc.shape[-1] * math.log(2 * math.pi) / 2
            return summed(each.logsumexp(-1, keepdim=True) - constant, self.groups)

    @property
    def mean(self) -> Tensor:
        """The mean of every row, `(N, D)`."""
        return self._average(self.loc)

    @property
    def variance(self) -> Tensor:
        """The variance of every row, `(N, D)`."""
        return self._average(self.scale.square() + self.loc.square()) - self.mean.square()

    def _average(self, values: Tensor) -> Tensor:
        return (self.log_shares.exp()[..., None] * values).sum(-2)

    def __repr__(self) -> str:
        rows, normals, size = self.loc.shape
        sets = self.batch_shape[0]
        return f"PartMixtures(sets={sets}, rows={rows}, normals={normals}, size={size})"


def divergence(q: CorrelatedNormals, p: PartNormals | PartMixtures, w: Tensor) -> Tensor:
    """KL(q || p) of every set, `(B,)`; of mixtures estimated by the draw `w` of q."""
    if isinstance(p, PartNormals):
        return kl_divergence(q, p)
    return -q.entropy() - p.log_prob(w)
