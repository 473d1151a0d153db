r"""What an average of divergences is made of.

For posteriors $q_n(z) = q(z \mid x_n, y)$ of the $N$ pictures of one description, their aggregate
$\bar q = \frac1N \sum_n q_n$ and any $r(z)$, such as $q(z \mid y)$,

$$
\frac1N \sum_n \mathrm{KL}(q_n \,\|\, r) = \mathrm{KL}(\bar q \,\|\, r) + I(n; z), \qquad
I(n; z) = \log N - \mathbb{E}_{\bar q}\left[ \mathrm{H}(q(n \mid z)) \right].
$$

So minimising JMVAE's divergence over $r$ fits the aggregate. (Eq. 3 of the paper writes the last
expectation under $q(z \mid y)$; the identity holds under $\bar q$.)

References:
    ELBO surgery, Hoffman and Johnson, 2016
    http://approximateinference.org/accepted/HoffmanJohnson2016.pdf
    Generative Models of Visually Grounded Imagination, Vedantam et al., 2018, A.1
    https://arxiv.org/abs/1705.10762
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor
from torch.distributions import Distribution, kl_divergence

__all__ = ["KLSplit", "split_average_kl"]


class KLSplit(NamedTuple):
    """The three sides of the identity, in nats."""

    average_kl: Tensor
    """The mean of KL(q_n || r), exact."""

    aggregate_kl: Tensor
    """KL of the aggregate from r, estimated."""

    mutual_information: Tensor
    """I(n; z), between 0 and log N, estimated from the same samples."""


def split_average_kl(q: Distribution, r: Distribution, samples: int = 256) -> KLSplit:
    """Split the average divergence of `q`, a batch of N distributions, from `r`, a single one.

    Arguments:
        q: N distributions over z, batch shape `(N,)`.
        r: One distribution over z, batch shape `()`.
        samples: Draws from every q_n, S.
    """
    count = q.batch_shape[0]
    z = q.sample(torch.Size([samples]))  # (S, N, D), that is S·N draws from the aggregate
    log_q = q.log_prob(z[:, :, None, :])  # (S, N, N): draw n under every q_m
    log_aggregate = log_q.logsumexp(-1) - math.log(count)
    log_r = r.log_prob(z)
    posterior = log_q.log_softmax(-1)  # log q(n | z)
    entropy = -(posterior.exp() * posterior).sum(-1)
    return KLSplit(
        kl_divergence(q, r).mean(),
        (log_aggregate - log_r).mean(),
        math.log(count) - entropy.mean(),
    )
