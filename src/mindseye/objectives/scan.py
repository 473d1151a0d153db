r"""SCAN: a VAE of words, grounded in a latent space that was learnt from pictures alone.

The first stage is the β-VAE of pictures, `image_elbo` with $\beta_x > 1$. The second fits
$p(y \mid z)$ and $q(z \mid y)$, with everything about pictures held still:

$$
J = \mathbb{E}_{q(z \mid y)}[\gamma \log p(y \mid z)]
- \beta_y\, \mathrm{KL}(q(z \mid y) \,\|\, p(z))
- \alpha\, \mathrm{KL}(q(z \mid x) \,\|\, q(z \mid y))
$$

The last divergence has the picture first, so $q(z \mid y)$ has to cover the posteriors of all
pictures of $y$: averaged over them it fits the aggregate (see `aggregate`), as in JMVAE. SCAN's
authors call its weight λ and take 10, with $\beta_y = \gamma = 1$. At $\alpha = 0$ this is
`words_elbo`.

$\beta_x$ is the weight `beta` of the first stage and $\beta_y$ is `beta_y` here, since one recipe
has both. The warm-up belongs to the first.

To SCAN a description is one atomic symbol: `JointVAE(words="atomic")`. With factorised words
$q(z \mid y)$ is the product of experts instead, which has an opinion on combinations it never saw.

Two parts of SCAN are not here: the denoising autoencoder whose features its β-VAE is scored by, and
the module that learns to recombine concepts.

References:
    SCAN: Learning Hierarchical Compositional Visual Concepts, Higgins et al., 2018
    https://arxiv.org/abs/1707.03389
    Generative Models of Visually Grounded Imagination, Vedantam et al., 2018, section 4
    https://arxiv.org/abs/1705.10762
"""

from __future__ import annotations

from typing import Any

from torch import Tensor
from torch.distributions import kl_divergence

from mindseye.models.joint import JointModel, frozen
from mindseye.objectives.bound import Bound
from mindseye.objectives.registry import objective

__all__ = ["scan"]


@objective("scan", fits="q_y", cite="higgins2017scan vedantam2018")
def scan(
    vae: JointModel,
    x: Tensor,
    y: Any,
    *,
    gamma: float = 1.0,
    alpha: float = 10.0,
    beta_y: float = 1.0,
) -> Bound:
    """elbo(y) less α times the divergence of q(z|x), which is given, from q(z|y)."""
    with frozen(vae.image_readers):  # p(x|z) does not occur
        q_x = vae.q_x(x)
    q = vae.q_y(y)
    log_py = vae.p_y(q.rsample()).log_prob(y)
    kl, kl_qx = kl_divergence(q, vae.prior), kl_divergence(q_x, q)
    terms = {"log_py_qy": log_py, "kl_qy_p": kl, "kl_qx_qy": kl_qx}
    return Bound(gamma * log_py - beta_y * kl - alpha * kl_qx, terms)
