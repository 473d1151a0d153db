r"""β-TCVAE: the divergence from the prior in three parts, each with its own weight.

$$
\mathbb{E}_{q(z \mid x)}[\log p(x \mid z)] - \alpha\, I_q(n; z)
- \beta\, \mathrm{KL}\Big(q(z) \,\Big\|\, \prod_j q(z_j)\Big)
- \gamma \sum_j \mathrm{KL}(q(z_j) \,\|\, p(z_j))
$$

The second divergence is the total correlation: at $\beta > 1$ the dimensions are pushed to be
independent, and what z says about the picture is not punished for it, as it is in a β-VAE. The
aggregate posterior q(z) is estimated from the batch, with stratified sampling in `tcvae` and with
weighted sampling in `tcvae_mws`: see `surgery`. All parts are taken at the same draw of z, so at
$\alpha = \beta = \gamma = 1$ they telescope, whatever the estimator, to the bound

$$ \log p(x \mid z) + \log p(z) - \log q(z \mid x). $$

At other weights the value is no bound of the evidence, and the terms are biased: in a batch far
smaller than the data set the neighbours of a narrow posterior are missing. Stratified sampling then
finds q(z) too small, more so than every $q(z_j)$: the total correlation it reports may be negative,
and $\beta$ rewards that. What weighted sampling reports is too large, besides the constant
$(D - 1) \log N$. Ten dimensions, five of which carry 5.9 nats together, with a total correlation of
0.14, are said to have -2.5 and 2.3 (less the constant) with a batch of 64, -0.4 and 0.6 with one of
1024, both for N = 737,280. To report the parts, take `decomposed`.

References:
    Isolating Sources of Disentanglement in Variational Autoencoders, Chen et al., 2018
    https://arxiv.org/abs/1802.04942
"""

from __future__ import annotations

from typing import Any

from torch import Tensor

from mindseye.objectives.bound import Bound
from mindseye.objectives.registry import objective
from mindseye.objectives.surgery import PictureModel, Split, stratified, taken_apart, weighted

__all__ = ["tcvae", "tcvae_mws"]


@objective("tcvae", fits="q_x", cite="chen2018 esmaeili2018", trains="joint vae", cools=True)
def tcvae(
    vae: PictureModel,
    x: Tensor,
    y: Any = None,
    *,
    alpha: float = 1.0,
    beta: float = 6.0,
    gamma: float = 1.0,
    size: float = 737_280.0,
) -> Bound:
    """β-TCVAE with minibatch-stratified sampling; words are ignored.

    Arguments:
        vae: The model.
        x: A batch of pictures, at least 2.
        y: Not read.
        alpha: The weight of I(n; z).
        beta: The weight of the total correlation.
        gamma: The weight of the dimensions' divergences.
        size: The number of training pictures, N; that of dSprites if nothing is said.
    """
    log_px, kl, split = taken_apart(vae, x, size, stratified)
    return _weighed(log_px, kl, split, alpha, beta, gamma)


@objective("tcvae-mws", fits="q_x", cite="chen2018", trains="joint vae", cools=True)
def tcvae_mws(
    vae: PictureModel,
    x: Tensor,
    y: Any = None,
    *,
    alpha: float = 1.0,
    beta: float = 6.0,
    gamma: float = 1.0,
    size: float = 737_280.0,
) -> Bound:
    """β-TCVAE with minibatch-weighted sampling; everything else is as in `tcvae`."""
    log_px, kl, split = taken_apart(vae, x, size, weighted)
    return _weighed(log_px, kl, split, alpha, beta, gamma)


def _weighed(
    log_px: Tensor, kl: Tensor, split: Split, alpha: float, beta: float, gamma: float
) -> Bound:
    """The likelihood less the weighted parts of the divergence."""
    information, correlation = split.mutual_information, split.total_correlation
    penalty = alpha * information + beta * correlation + gamma * split.dimension_kl
    terms = {
        "log_px_qx": log_px,
        "kl_qx_p": kl,
        "mutual_information": information,
        "total_correlation": correlation,
        "dimension_kl": split.dimension_kl,
    }
    return Bound(log_px - penalty, terms)
