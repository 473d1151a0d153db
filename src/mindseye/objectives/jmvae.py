r"""JMVAE: the joint bound, with both single readers pulled towards the joint one.

$$
J = \mathrm{elbo}_{1, \lambda, 1}(x, y)
- \alpha \left[ \mathrm{KL}(q(z \mid x, y) \,\|\, q(z \mid y))
+ \mathrm{KL}(q(z \mid x, y) \,\|\, q(z \mid x)) \right]
$$

Averaged over the pictures of one description, the first divergence fits $q(z \mid y)$ to the
aggregate of their posteriors: see `aggregate`. At $\alpha = 0$ it is `joint_elbo`.

The weight `drop`, 0 in the papers, is ours: in that share of the examples q(z|y) is given a random
subset $\mathcal{O}$ of the words. At $\alpha = 1$, $\beta = 0$ and without the reader of pictures
every example is then a bound of what was not said given what was,

$$
\log p(x, y \mid y_\mathcal{O}) \ge \mathbb{E}_{q(z \mid x, y)}[\log p(x \mid z)
+ \log p(y \mid z)] - \mathrm{KL}(q(z \mid x, y) \,\|\, q(z \mid y_\mathcal{O})),
$$

in which q(z|y_O) is the prior: latents are laid out so that products of experts have pictures.

References:
    Joint Multimodal Learning with Deep Generative Models, Suzuki et al., 2017
    https://arxiv.org/abs/1611.01891
    Generative Models of Visually Grounded Imagination, Vedantam et al., 2018, section 4
    https://arxiv.org/abs/1705.10762
"""

from __future__ import annotations

from typing import Any

from torch import Tensor
from torch.distributions import kl_divergence

from mindseye.distributions import detached
from mindseye.models.joint import JointModel
from mindseye.objectives.bound import Bound
from mindseye.objectives.elbo import bound_under
from mindseye.objectives.registry import objective
from mindseye.objectives.telbo import with_words_left_out
from mindseye.streams import side_by_side

__all__ = ["jmvae", "pulled"]


@objective("jmvae", fits="q_x q_y q_xy", cite="suzuki2017 vedantam2018")
def jmvae(
    vae: JointModel,
    x: Tensor,
    y: Any,
    *,
    lam: float = 50.0,
    alpha: float = 1.0,
    beta: float = 1.0,
    drop: float = 0.0,
) -> Bound:
    """The joint bound less α times the divergences of the joint posterior from the single ones."""
    return pulled(vae, x, y, lam=lam, alpha=alpha, beta=beta, drop=drop, bends=True)


def pulled(
    vae: JointModel,
    x: Tensor,
    y: Any,
    *,
    lam: float,
    alpha: float,
    beta: float,
    drop: float,
    bends: bool,
) -> Bound:
    """The bound of `jmvae`; unless the joint posterior bends, its experts follow it alone."""
    said = with_words_left_out(y, drop)
    q, q_y, q_x = side_by_side(lambda: vae.q_xy(x, y), lambda: vae.q_y(said), lambda: vae.q_x(x))
    joint = bound_under(q, vae, x, y, name="qxy", lam=lam, beta=beta)
    kl_qy, kl_qx = kl_divergence(q if bends else detached(q), q_y), kl_divergence(q, q_x)
    terms = {"kl_qxy_qy": kl_qy, "kl_qxy_qx": kl_qx}
    return Bound(joint.value - alpha * (kl_qy + kl_qx), joint.terms | terms)
