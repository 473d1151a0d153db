r"""A VAE that is told how many nats its latents may carry.

$$
\mathbb{E}_{q(z \mid x)}[\log p(x \mid z)]
- \gamma\, \big| \mathrm{KL}(q(z \mid x) \,\|\, p(z)) - C \big|
$$

The capacity $C$ rises in training from 0 to its end value, and with it the number of factors that
are worth a latent; the loop scales the weight `capacity`, this function takes it as it comes. The
paper writes the divergence of one picture; here, as in disentanglement_lib, it is the mean over the
batch: the pictures of a data set may need different numbers of nats, and only their mean is held at
$C$. As $|\cdot|$ is convex, the value is never below the mean of the picture by picture one.

References:
    Understanding Disentangling in β-VAE, Burgess et al., 2018, Eq. 8
    https://arxiv.org/abs/1804.03599
"""

from __future__ import annotations

from typing import Any

from torch import Tensor
from torch.distributions import kl_divergence

from mindseye.objectives.bound import Bound
from mindseye.objectives.registry import objective
from mindseye.objectives.surgery import PictureModel

__all__ = ["capacity_bound"]


@objective("capacity", fits="q_x", cite="burgess2018", trains="joint vae")
def capacity_bound(
    vae: PictureModel, x: Tensor, y: Any = None, *, gamma: float = 1000.0, capacity: float = 25.0
) -> Bound:
    """log p(x|z) less γ times the distance of the batch's mean divergence from C, in nats.

    Arguments:
        vae: The model.
        x: A batch of pictures.
        y: Not read.
        gamma: The weight of the distance.
        capacity: C, a number or a tensor of no dimensions.
    """
    q = vae.q_x(x)
    log_px = vae.p_x(q.rsample()).log_prob(x)
    kl = kl_divergence(q, vae.prior)
    distance = (kl.mean() - capacity).abs()  # one for all pictures
    return Bound(log_px - gamma * distance, {"log_px_qx": log_px, "kl_qx_p": kl})
