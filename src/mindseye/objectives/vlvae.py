r"""The bound of the vision-language VAE.

$$
\mathcal{L} = \mathbb{E}_{q(z \mid x)}\left[ w_x \log p(x \mid z) + w_y \log p(y \mid z) \right]
- β\, \mathrm{KL}(q(z \mid x) \,\|\, p(z))
$$

(eq. 2 of the paper with the weights of its section 5.3.1, which the authors' code has as
$w_x = 0.02$, $w_y = 200$ for Two Objects and $0.1$, $100$ for CelebA). Under joint inference
$q(z \mid x, y)$ stands for $q(z \mid x)$.

The divergence is estimated at the draw, with $\log q$ at parameters that get no gradient: the
path-derivative estimator, whose noise vanishes as $q$ becomes the posterior. Pictures are moved
within their grey level by uniform noise, so that a density of pixels means something.

References:
    On the Importance of Learning Aggregate Posteriors in Multimodal Variational Autoencoders,
    Cremer and Kushman, 2018
    Sticking the Landing, Roeder et al., 2017
    https://arxiv.org/abs/1703.09194
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from mindseye.distributions import BetaPixels, detached
from mindseye.models.vlvae import VLVAE
from mindseye.objectives.bound import Bound
from mindseye.objectives.registry import objective
from mindseye.streams import side_by_side

__all__ = ["dequantised", "vlvae_bound"]


@objective("vlvae", fits="q_x", cite="cremer2018", trains="vlvae")
def vlvae_bound(
    vae: VLVAE, x: Tensor, y: Any, *, w_x: float = 1.0, w_y: float = 1.0, beta: float = 1.0
) -> Bound:
    """The weighted bound of pictures and captions under q(z|x), or under q(z|x,y)."""
    x = dequantised(x)
    q = vae.q_xy(x, y)
    z = q.rsample()
    meant = vae.meant(z)
    log_px, log_py = side_by_side(
        lambda: BetaPixels(vae.image_decoder(meant)).log_prob(x),
        lambda: vae.caption_decoder(meant).log_prob(y),
    )
    kl = detached(q).log_prob(z) - vae.prior.log_prob(z)
    terms = {"log_px_qx": log_px, "log_py_qx": log_py, "kl_qx_p": kl}
    return Bound(w_x * log_px + w_y * log_py - beta * kl, terms)


def dequantised(x: Tensor, levels: int = 256) -> Tensor:
    """Pictures of levels in [0, 1], each pixel moved to a random place of its level."""
    return (x * (levels - 1) + torch.rand_like(x)) / levels
