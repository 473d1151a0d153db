r"""Atomic symbols: one Gaussian per full description, and what a partial one means among them.

Given $q(z \mid y) = \mathcal{N}(\mu_y, \sigma_y^2)$ for every combination $y$ of values, a partial
description $y_\mathcal{O}$ fits several of them. Their equal mixture is no Gaussian; its belief is
the Gaussian with the mixture's mean and variance,

$$
\mu = \mathbb{E}_{y \supseteq y_\mathcal{O}}[\mu_y], \qquad
\sigma^2 = \mathbb{E}_{y \supseteq y_\mathcal{O}}[\sigma_y^2]
+ \mathrm{Var}_{y \supseteq y_\mathcal{O}}[\mu_y] ,
$$

the nearest Gaussian $q$ in $\mathrm{KL}(\text{mixture} \,\|\, q)$. Where nothing is said there is
no symbol, and the belief is the prior.
"""

from __future__ import annotations

import torch
from torch import Tensor

from mindseye.distributions.normal import DiagonalNormal, diagonal_normal
from mindseye.labels import Labels

__all__ = ["moment_matched"]


def moment_matched(loc: Tensor, log_scale: Tensor, labels: Labels) -> DiagonalNormal:
    """The normal with the mean and variance of the symbols that fit each description, `(B, D)`.

    Arguments:
        loc: Means of all symbols, `(V_1, …, V_K, D)`.
        log_scale: Logarithms of their standard deviations, of the same shape.
        labels: The descriptions.

    >>> loc = torch.tensor([-1.0, 1.0])[:, None]  # two symbols, of width 1
    >>> both = Labels(torch.tensor([[0, 1]]), torch.tensor([[True, False]]))
    >>> belief = moment_matched(loc.expand(1, 2, 1), torch.zeros(1, 2, 1), both)
    >>> belief.mean, belief.variance
    (tensor([[0.]]), tensor([[2.0000]]))
    """
    mean, variance = loc, (2 * log_scale).exp()
    for axis in range(loc.ndim - 1):
        mean, variance = _with_open(mean, variance, axis)
    place = torch.where(labels.observed, labels.codes, -1).unbind(-1)  # open comes last
    said = labels.observed.any(-1, keepdim=True)
    log_scale = variance[place].log() / 2
    return diagonal_normal(torch.where(said, mean[place], 0.0), torch.where(said, log_scale, 0.0))


def _with_open(mean: Tensor, variance: Tensor, axis: int) -> tuple[Tensor, Tensor]:
    """Put the moments of an equal mixture along an attribute behind those of its values."""
    centre = mean.mean(axis, keepdim=True)
    spread = variance.mean(axis, keepdim=True) + mean.var(axis, correction=0, keepdim=True)
    return torch.cat([mean, centre], axis), torch.cat([variance, spread], axis)
