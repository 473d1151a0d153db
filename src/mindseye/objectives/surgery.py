r"""The divergence from the prior, taken apart.

For the posteriors $q(z \mid x_n)$ of $N$ pictures and their mean, the aggregate posterior
$q(z) = \frac1N \sum_n q(z \mid x_n)$, a prior with independent dimensions $z_j$, and dimensions
gathered in groups $z_g$,

$$
\frac1N \sum_n \mathrm{KL}(q(z \mid x_n) \,\|\, p(z)) = I(n; z)
+ \mathrm{KL}\Big(q(z) \,\Big\|\, \prod_g q(z_g)\Big)
+ \sum_g \mathrm{KL}\Big(q(z_g) \,\Big\|\, \prod_{j \in g} q(z_j)\Big)
+ \sum_j \mathrm{KL}(q(z_j) \,\|\, p(z_j)):
$$

what z says about the picture, the total correlation between groups and inside them, and how far
every dimension is from its prior. The two correlations add up to $\mathrm{TC}(z)$. `decomposed`
takes the sum over all $N$ pictures. In training there is only a batch of $B$. For a draw z from the
posterior of picture $n$, which is one of them,

$$ q(z) \approx w\, q(z \mid x_n) + w' \sum_{m \ne n} q(z \mid x_m), $$

in the same way for every group and dimension:

- `stratified`: $w = \frac1N$, $w' = \frac{N - 1}{N (B - 1)}$. It is unbiased over the batches that
  hold $n$, and exact at $B = N$. Chen et al. give one of the others a smaller weight; this is the
  mean over which one that is, as Esmaeili et al. have it: it varies less, and does not depend on
  the order of the batch. (The code of Chen et al. gives $w$ to the first picture of the batch.)
- `weighted`: $w = w' = \frac{1}{N B}$. Its mean over batches drawn with replacement is
  $(q(z \mid x_n) + (B - 1)\, q(z)) / (N B)$; at $B = N$ it is too small by the factor $N$ exactly.

The logarithm of an unbiased estimate is too small on average: information is overestimated.

References:
    ELBO surgery, Hoffman and Johnson, 2016
    http://approximateinference.org/accepted/HoffmanJohnson2016.pdf
    Isolating Sources of Disentanglement in Variational Autoencoders, Chen et al., 2018
    https://arxiv.org/abs/1802.04942
    Structured Disentangled Representations, Esmaeili et al., 2018
    https://arxiv.org/abs/1804.02086
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor
from torch.distributions import Distribution, Normal, kl_divergence

from mindseye.errors import UsageError
from mindseye.randomness import keys, normals, uniforms

__all__ = [
    "Estimator",
    "PictureModel",
    "Split",
    "Weights",
    "decomposed",
    "decomposed_draws",
    "split_batch",
    "stratified",
    "taken_apart",
    "weighted",
]


class PictureModel(Protocol):
    """What these objectives ask of a model: one layer of latents behind a picture."""

    @property
    def prior(self) -> Distribution:
        """p(z), of independent dimensions."""
        ...

    def p_x(self, z: Tensor) -> Any:
        """p(x|z)."""
        ...

    def q_x(self, x: Tensor) -> Distribution:
        """q(z|x), a normal of independent dimensions."""
        ...


class Split(NamedTuple):
    """The parts of the divergence, in nats: of every draw, or their means."""

    mutual_information: Tensor
    """I(n; z)."""

    between: Tensor
    """The total correlation between the groups."""

    within: Tensor
    """The total correlation inside the groups, added up."""

    dimension_kl: Tensor
    """The divergence of every dimension from its prior, added up."""

    @property
    def total_correlation(self) -> Tensor:
        """TC(z), whatever the groups are."""
        return self.between + self.within

    @property
    def kl(self) -> Tensor:
        """All of it: log q(z|x) - log p(z) of a draw."""
        return self.mutual_information + self.total_correlation + self.dimension_kl


class Weights(NamedTuple):
    """What the posteriors of a batch count in the estimate of q(z)."""

    own: float
    """That of the picture z was drawn for."""

    other: float
    """Those of the others, each."""


Estimator = Callable[[int, float], Weights]
"""From the sizes of a batch and of the data set to weights."""


def stratified(batch: int, size: float) -> Weights:
    """Minibatch-stratified sampling: unbiased, and exact if the batch is the data set.

    >>> stratified(3, 5)
    Weights(own=0.2, other=0.4)
    """
    _check_sizes(batch, size)
    return Weights(1 / size, (size - 1) / (size * (batch - 1)))


def weighted(batch: int, size: float) -> Weights:
    """Minibatch-weighted sampling: the batch's mean, divided by the size of the data set.

    >>> weighted(4, 5)
    Weights(own=0.05, other=0.05)
    """
    _check_sizes(batch, size)
    return Weights(1 / (size * batch), 1 / (size * batch))


def taken_apart(
    vae: PictureModel, x: Tensor, size: float, estimator: Estimator, groups: float = 1
) -> tuple[Tensor, Tensor, Split]:
    """Of one draw for every picture log p(x|z), the exact divergence, and its parts at the draw."""
    q = vae.q_x(x)
    z = q.rsample()
    split = split_batch(q, vae.prior, z, size, estimator, groups)
    return vae.p_x(z).log_prob(x), kl_divergence(q, vae.prior), split


def split_batch(
    q: Distribution,
    prior: Distribution,
    z: Tensor,
    size: float,
    estimator: Estimator = stratified,
    groups: float = 1,
) -> Split:
    """Take the divergence of a batch apart, `(B,)`; it needs some B·B·D numbers at a time.

    Arguments:
        q: The posteriors, normals of independent dimensions, batch shape `(B,)`.
        prior: p(z), of independent dimensions.
        z: One draw from each posterior, `(B, D)`.
        size: The number of pictures in the data set, N.
        estimator: `stratified` or `weighted`.
        groups: How many groups the dimensions are in, side by side and as equal as they can be.
    """
    own, other = map(math.log, estimator(len(z), size))
    log_weights = z.new_full((len(z), len(z)), other).fill_diagonal_(own)
    return _split(q.log_prob(z), prior.log_prob(z), _log_each(q, z), log_weights, groups)


def decomposed(
    q: Distribution,
    prior: Distribution,
    samples: int,
    *,
    groups: int = 1,
    seed: int = 0,
    block: int = 2**22,
) -> Split:
    """The means of `decomposed_draws`: how the average divergence of a data set is made up."""
    draws = decomposed_draws(q, prior, samples, groups=groups, seed=seed, block=block)
    return Split(*(part.mean() for part in draws))


@torch.no_grad()
def decomposed_draws(
    q: Distribution,
    prior: Distribution,
    samples: int,
    *,
    groups: int = 1,
    seed: int = 0,
    block: int = 2**22,
) -> Split:
    """Take a divergence apart, with q(z) summed over all N pictures, `(M,)`.

    The work is M·N·D densities.

    Arguments:
        q: The posteriors of all pictures, normals of independent dimensions, batch shape `(N,)`.
        prior: p(z), of independent dimensions.
        samples: Draws from q(z), M: as many of each picture as of any other, up to one.
        groups: How many groups the dimensions are in, side by side and as equal as they can be.
        seed: Of the draws.
        block: How many densities may be in memory at a time; no fewer than those of one draw are.
    """
    mean, scale = q.mean, q.stddev  # (N, D)
    count, latent = mean.shape
    which = _pictures(count, samples, seed, mean.device)
    noise = normals(keys(seed, torch.arange(samples, device=mean.device), "draws"), latent)
    z = mean[which] + scale[which] * noise.to(mean)  # (M, D)
    log_own = Normal(mean[which], scale[which], validate_args=False).log_prob(z).sum(-1)
    log_prior = prior.log_prob(z)
    rows = max(1, block // mean.numel())
    blocks = zip(log_own.split(rows), log_prior.split(rows), z.split(rows), strict=True)
    parts = [
        _split(own, p, _log_each(q, some), -math.log(count), groups) for own, p, some in blocks
    ]
    return Split(*map(torch.cat, zip(*parts, strict=True)))


def _split(
    log_own: Tensor, log_prior: Tensor, log_q: Tensor, log_weights: Tensor | float, groups: float
) -> Split:
    """The parts of every draw, `(S,)`, from all log densities, `(D, S, N)`, and their weights."""
    parts = log_q.tensor_split(_check_groups(groups, len(log_q)))
    joint = (log_q.sum(0) + log_weights).logsumexp(-1)  # log q(z)
    alone = (log_q + log_weights).logsumexp(-1).sum(0)  # log ∏ q(z_j)
    together = joint  # log ∏ q(z_g), of one group
    if len(parts) > 1:
        each = torch.stack([part.sum(0) for part in parts])  # (G, S, N)
        together = (each + log_weights).logsumexp(-1).sum(0)
    return Split(log_own - joint, joint - together, together - alone, alone - log_prior)


def _log_each(q: Distribution, z: Tensor) -> Tensor:
    """log q(z_j | x_n): every dimension of every draw under every posterior, `(D, S, N)`."""
    each = Normal(q.mean.T[:, None], q.stddev.T[:, None], validate_args=False)
    return each.log_prob(z.T[:, :, None])


def _pictures(count: int, samples: int, seed: int, device: torch.device) -> Tensor:
    """Which picture each draw is of: round after round, in an order that is drawn once."""
    if samples < 1:
        raise UsageError(f"`samples` (={samples}) must be at least 1.")
    order = uniforms(keys(seed, torch.arange(count, device=device), "pictures"), 1)[:, 0].argsort()
    return order[torch.arange(samples, device=device) % count]


def _check_sizes(batch: int, size: float) -> None:
    """Refuse what has no other pictures in it."""
    if batch < 2:
        raise UsageError(
            f"A batch of {batch} cannot tell how posteriors spread; expected 2 pictures or more.",
            "Set a larger batch_size.",
        )
    if size < 2:
        raise UsageError(
            f"`size` (={size}) must be the number of pictures in the data set, at least 2."
        )


def _check_groups(groups: float, latent: int) -> int:
    """The number of groups, if there can be so many."""
    if groups != int(groups) or not 1 <= groups <= latent:
        raise UsageError(
            f"`groups` (={groups}) must be a whole number from 1 to {latent}, the size of z."
        )
    return int(groups)
