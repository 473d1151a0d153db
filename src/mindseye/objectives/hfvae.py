r"""HFVAE: total correlation between groups of latents, and inside each, with weights of their own.

With the empirical distribution $q(x)$ of N pictures, the paper's bound has four terms,

$$
\mathbb{E}\Big[ \underbrace{\log \tfrac{p(x \mid z)}{p(x)}}_{1}
- \underbrace{\log \tfrac{q(z \mid x)}{q(z)}}_{2} \Big]
- \underbrace{\mathrm{KL}(q(x) \,\|\, p(x))}_{3} - \underbrace{\mathrm{KL}(q(z) \,\|\, p(z))}_{4},
$$

and the last one is split twice: into the correlation A between the groups $z_g$ and what is left in
each; and that into the correlation (i) inside a group and the divergences (ii) of its dimensions.
Terms 1 and 3 make $\mathbb{E}[\log p(x \mid z)]$ up to the constant $\log N$, and a prior with
independent dimensions has no correlations of its own. So with weights $\alpha$ on 2, $\beta$ on A
and $\gamma$ on (i) it is

$$
\mathbb{E}_{q(z \mid x)}[\log p(x \mid z)] - \alpha\, I_q(n; z)
- \beta\, \mathrm{KL}\Big(q(z) \,\Big\|\, \prod_g q(z_g)\Big)
- \gamma \sum_g \mathrm{KL}\Big(q(z_g) \,\Big\|\, \prod_{j \in g} q(z_j)\Big)
- \sum_j \mathrm{KL}(q(z_j) \,\|\, p(z_j)).
$$

At $\alpha = \beta = \gamma = 1$ it telescopes to the evidence lower bound. With as many groups as
dimensions it is `tcvae`; with one group too, with $\gamma$ for its $\beta$. `hfvae` estimates q(z)
from the batch as the paper does, by stratified sampling, `hfvae_mws` by weighted sampling: see
`surgery`.

References:
    Structured Disentangled Representations, Esmaeili et al., 2018
    https://arxiv.org/abs/1804.02086
"""

from __future__ import annotations

from typing import Any

from torch import Tensor

from mindseye.objectives.bound import Bound
from mindseye.objectives.registry import objective
from mindseye.objectives.surgery import PictureModel, Split, stratified, taken_apart, weighted

__all__ = ["hfvae", "hfvae_mws"]


@objective("hfvae", fits="q_x", cite="esmaeili2018", trains="joint vae", cools=True)
def hfvae(
    vae: PictureModel,
    x: Tensor,
    y: Any = None,
    *,
    alpha: float = 1.0,
    beta: float = 6.0,
    gamma: float = 1.0,
    groups: float = 2,
    size: float = 737_280.0,
) -> Bound:
    """HFVAE with minibatch-stratified sampling; words are ignored.

    Arguments:
        vae: The model.
        x: A batch of pictures, at least 2.
        y: Not read.
        alpha: The weight of I(n; z).
        beta: The weight of the total correlation between groups.
        gamma: The weight of the total correlation inside groups.
        groups: How many groups the dimensions are in, side by side and as equal as they can be.
        size: The number of training pictures, N; that of dSprites if nothing is said.
    """
    log_px, kl, split = taken_apart(vae, x, size, stratified, groups)
    return _weighed(log_px, kl, split, alpha, beta, gamma)


@objective("hfvae-mws", fits="q_x", cite="esmaeili2018 chen2018", trains="joint vae", cools=True)
def hfvae_mws(
    vae: PictureModel,
    x: Tensor,
    y: Any = None,
    *,
    alpha: float = 1.0,
    beta: float = 6.0,
    gamma: float = 1.0,
    groups: float = 2,
    size: float = 737_280.0,
) -> Bound:
    """HFVAE with minibatch-weighted sampling; everything else is as in `hfvae`."""
    log_px, kl, split = taken_apart(vae, x, size, weighted, groups)
    return _weighed(log_px, kl, split, alpha, beta, gamma)


def _weighed(
    log_px: Tensor, kl: Tensor, split: Split, alpha: float, beta: float, gamma: float
) -> Bound:
    """The likelihood less the weighted parts of the divergence."""
    correlations = beta * split.between + gamma * split.within
    penalty = alpha * split.mutual_information + correlations + split.dimension_kl
    terms = {
        "log_px_qx": log_px,
        "kl_qx_p": kl,
        "mutual_information": split.mutual_information,
        "correlation_between": split.between,
        "correlation_within": split.within,
        "dimension_kl": split.dimension_kl,
    }
    return Bound(log_px - penalty, terms)
