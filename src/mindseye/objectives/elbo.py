r"""The evidence lower bound, for a picture, for words, and for both.

With weights $\lambda$ on a likelihood and $\beta$ on the divergence (Eq. 1 and the one after it),

$$
\mathrm{elbo}_{\lambda, \beta}(x) =
\mathbb{E}_{q(z \mid x)}[\lambda \log p(x \mid z)] - \beta\, \mathrm{KL}(q(z \mid x) \,\|\, p(z)),
$$
$$
\mathrm{elbo}_{1, \lambda, \beta}(x, y) =
\mathbb{E}_{q(z \mid x, y)}[\log p(x \mid z) + \lambda \log p(y \mid z)]
- \beta\, \mathrm{KL}(q(z \mid x, y) \,\|\, p(z)).
$$

Expectations take one sample, divergences are exact. At $\lambda = \beta = 1$ each is below the log
evidence by the divergence of q from the true posterior. $\beta > 1$ alone is the β-VAE
(Higgins et al., 2017).

References:
    Generative Models of Visually Grounded Imagination, Vedantam et al., 2018
    https://arxiv.org/abs/1705.10762
"""

from __future__ import annotations

from typing import Any

from torch import Tensor
from torch.distributions import Distribution, kl_divergence

from mindseye.models.joint import JointModel
from mindseye.objectives.bound import Bound
from mindseye.objectives.registry import objective
from mindseye.streams import side_by_side

__all__ = ["bound_under", "image_elbo", "joint_elbo", "words_elbo"]


@objective("elbo", fits="q_x", cite="kingma2014 higgins2017", trains="joint vae factor", cools=True)
def image_elbo(
    vae: JointModel, x: Tensor, y: Any = None, *, lam: float = 1.0, beta: float = 1.0
) -> Bound:
    """elbo(x): the VAE of pictures alone; words are ignored."""
    q = vae.q_x(x)
    log_px = vae.p_x(q.rsample()).log_prob(x)
    kl = kl_divergence(q, vae.prior)
    return Bound(lam * log_px - beta * kl, {"log_px_qx": log_px, "kl_qx_p": kl})


def words_elbo(vae: JointModel, y: Any, *, gamma: float = 1.0, beta: float = 1.0) -> Bound:
    """elbo(y): the VAE of words alone."""
    q = vae.q_y(y)
    log_py = vae.p_y(q.rsample()).log_prob(y)
    kl = kl_divergence(q, vae.prior)
    return Bound(gamma * log_py - beta * kl, {"log_py_qy": log_py, "kl_qy_p": kl})


@objective("jvae", fits="q_xy", cite="vedantam2018")
def joint_elbo(vae: JointModel, x: Tensor, y: Any, *, lam: float = 1.0, beta: float = 1.0) -> Bound:
    """elbo(x, y): the joint model alone; nothing reads pictures or words by themselves yet."""
    return bound_under(vae.q_xy(x, y), vae, x, y, name="qxy", lam=lam, beta=beta)


def bound_under(
    q: Distribution, vae: JointModel, x: Tensor, y: Any, *, name: str, lam: float, beta: float
) -> Bound:
    """The bound of picture and words under any posterior; `name` labels its terms."""
    z = q.rsample()
    log_px, log_py = side_by_side(lambda: vae.p_x(z).log_prob(x), lambda: vae.p_y(z).log_prob(y))
    kl = kl_divergence(q, vae.prior)
    terms = {f"log_px_{name}": log_px, f"log_py_{name}": log_py, f"kl_{name}_p": kl}
    return Bound(log_px + lam * log_py - beta * kl, terms)
