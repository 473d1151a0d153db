r"""BiVCCA: both single readers must explain the picture and the words.

$$
\begin{aligned}
J &= \mu \left( \mathbb{E}_{q(z \mid x)}[\log p(x \mid z) + \lambda \log p(y \mid z)]
 - \mathrm{KL}(q(z \mid x) \,\|\, p(z)) \right) \\
&+ (1 - \mu) \left( \mathbb{E}_{q(z \mid y)}[\log p(x \mid z) + \lambda \log p(y \mid z)]
 - \mathrm{KL}(q(z \mid y) \,\|\, p(z)) \right)
\end{aligned}
$$

The second row asks latents drawn from the words to give *every* picture that goes with them, so the
decoder learns their mean: imagined pictures are blurred. There is no q(z|x,y).

References:
    Deep Variational Canonical Correlation Analysis, Wang et al., 2016
    https://arxiv.org/abs/1610.03454
    Generative Models of Visually Grounded Imagination, Vedantam et al., 2018, section 4
    https://arxiv.org/abs/1705.10762
"""

from __future__ import annotations

from typing import Any

from torch import Tensor

from mindseye.models.joint import JointModel
from mindseye.objectives.bound import Bound
from mindseye.objectives.elbo import bound_under
from mindseye.objectives.registry import objective
from mindseye.streams import side_by_side

__all__ = ["bivcca"]


@objective("bivcca", fits="q_x q_y", cite="wang2016 vedantam2018")
def bivcca(
    vae: JointModel,
    x: Tensor,
    y: Any,
    *,
    lam: float = 50.0,
    mu: float = 0.7,
    beta: float = 1.0,
) -> Bound:
    """μ times the bound under q(z|x) and 1 - μ times the bound under q(z|y)."""
    image, words = side_by_side(
        lambda: bound_under(vae.q_x(x), vae, x, y, name="qx", lam=lam, beta=beta),
        lambda: bound_under(vae.q_y(y), vae, x, y, name="qy", lam=lam, beta=beta),
    )
    return Bound(mu * image.value + (1 - mu) * words.value, image.terms | words.terms)
