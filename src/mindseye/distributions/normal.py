r"""Diagonal normals over $\mathbb{R}^D$, one event per row.

Both are plain `torch.distributions`, so `kl_divergence` knows them. Argument checks are off: they
read every tensor back to the host, and the networks' scales are positive by construction.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.distributions import Independent, Normal

__all__ = ["diagonal_normal", "soft_bounded", "standard_normal"]


def diagonal_normal(loc: Tensor, log_scale: Tensor) -> Independent:
    """The normal with mean `loc` and standard deviation `exp(log_scale)`, both `(B, D)`."""
    return Independent(Normal(loc, log_scale.exp(), validate_args=False), 1, validate_args=False)


def standard_normal(like: Tensor) -> Independent:
    """The prior N(0, I) with the shape, type and device of a tensor."""
    zero = torch.zeros_like(like)
    return Independent(Normal(zero, zero + 1, validate_args=False), 1, validate_args=False)


def soft_bounded(log_scale: Tensor, low: float = -7.0, high: float = 3.0) -> Tensor:
    r"""Squeeze log standard deviations smoothly into (`low`, `high`), leaving those near 0 alone.

    $$ s \mapsto h \tanh(s / h), \qquad h = \text{high if } s > 0 \text{ else } {-\text{low}} $$

    A network that has run away to $\log\sigma = 40$ would otherwise overflow the KL in one step.
    The ends leave room for all that is meant: $e^{-7}$ is a thousandth of the prior's width, and an
    expert of width $e^3$ has a four-hundredth of the prior's say.
    """
    return torch.where(
        log_scale > 0, high * torch.tanh(log_scale / high), -low * torch.tanh(log_scale / -low)
    )
