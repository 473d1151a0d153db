r"""The bound of the compositional VAE.

$$ \log p(x \mid z, \tilde w) - \mathrm{KL}\Big(q(\{w_i\} \mid x, z, \{\ell_i\}) \,\Big\|\,
   \prod_i p(w_i \mid \ell_i)\Big) - \log \frac{q(z \mid x)}{p(z \mid \tilde w)} $$

for one draw of $z$ and $\{w_i\}$ (eq. 4); the divergence of the parts is in closed form where their
law is normal, that of $z$ is not: $\tilde w$ was drawn given $z$. Its entropy is.

What a whole is like can be kept by the latents of its parts, seen in it, instead of what is said of
them, and by $z$ instead of the parts: both are learnt sooner. So there are two ways to begin:

- while $\beta$ rises to 1 (`training.beta_warmup`) the parts are cheap and $z$ is dear: the bound
  is lowered by $d\,(1 - \beta)$ times the divergence of $z$;
- while a heat $h$ falls to 1 (`training.cooling`) all latents are dear, and $z$ is $d$ times
  dearer: the bound is lowered by $(h - 1)\,(\mathrm{KL}_w + d\, \mathrm{KL}_z)$. What is said is
  learnt first, then how parts differ from it, then what is left for the whole.

The first is for wholes whose parts share something that could tell all the rest, such as a day; the
second for those that what is said determines nearly. The gradient of the price of $z$ does not
reach the parts, or they would learn to tell the noise of $z$. In the end nothing of this is left.

References:
    From abstract items to latent spaces to observed data and back: Compositional Variational
    Auto-Encoder, Berger and Sebag, 2020
    https://arxiv.org/abs/2001.07910
"""

from __future__ import annotations

from torch import Tensor

from mindseye.distributions import divergence
from mindseye.models.compositional import Compositional
from mindseye.objectives.bound import Bound
from mindseye.objectives.registry import objective
from mindseye.pieces import Pieces

__all__ = ["compvae"]


@objective("compvae", fits="q_w", cite="berger2020 kingma2014", trains="comp", cools=True)
def compvae(
    model: Compositional, x: Tensor, y: Pieces, *, beta: float = 1.0, dear: float = 10.0
) -> Bound:
    """log p(x|z,w~) - beta KL(parts) - log q(z|x) + log p(z|w~), and z dearer at first."""
    seen, groups = model.seen(x), model.groups(y)
    q_z = model.q_z(seen)
    z = q_z.rsample()
    q_w = model.q_w(seen, z, y, groups)
    w = q_w.rsample()
    total = model.total(w, y, groups)
    log_px = model.p_x(z, total).log_prob(x)
    kl_w = divergence(q_w, model.p_w(y, groups), w)
    kl_z = -q_z.entropy() - model.p_z(total).log_prob(z)
    price = -q_z.entropy() - model.p_z(total.detach()).log_prob(z)
    terms = {"log_px_qzw": log_px, "kl_qw_pw": kl_w, "kl_qz_pz": kl_z}
    value = log_px - beta * kl_w - kl_z - dear * (1 - beta) * price
    return Bound(value, terms, kl_w + dear * price)
