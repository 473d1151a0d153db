r"""JMVAE-agg: experts fitted to the aggregate of partial descriptions too, and to nothing else.

$$
J = \mathrm{elbo}_{1, \lambda, 1}(x, y)
- \alpha\, \mathrm{KL}(q(z \mid x, y) \,\|\, q(z \mid x))
- \alpha\, \mathbb{E}_\mathcal{O}\left[
\mathrm{KL}(\bot\, q(z \mid x, y) \,\|\, q(z \mid y_\mathcal{O})) \right]
$$

It differs from JMVAE in two ways, both ours.

$\mathcal{O}$ is a random subset of the words in a share `drop` of the examples, all of them in the
rest. Averaged over the pictures that fit $y_\mathcal{O}$, the last divergence is least where
$q(z \mid y_\mathcal{O})$ has the moments of their aggregate, as far as a product of experts can; an
expert that was only ever trained beside all the others has no reason to be right without them.

$\bot$ stops the gradient: the experts follow the joint posterior, which does not bend to them. So
$p(x \mid z)$, $p(y \mid z)$ and $q(z \mid x, y)$ are trained as if there were no experts.

At `drop = 0` the value is that of `jmvae`, and only the gradient differs.

References:
    Joint Multimodal Learning with Deep Generative Models, Suzuki et al., 2017
    https://arxiv.org/abs/1611.01891
    Generative Models of Visually Grounded Imagination, Vedantam et al., 2018, A.1
    https://arxiv.org/abs/1705.10762
"""

from __future__ import annotations

from typing import Any

from torch import Tensor

from mindseye.models.joint import JointModel
from mindseye.objectives.bound import Bound
from mindseye.objectives.jmvae import pulled
from mindseye.objectives.registry import objective

__all__ = ["jmvae_agg"]


@objective("jmvae-agg", fits="q_x q_y q_xy", cite="suzuki2017 vedantam2018")
def jmvae_agg(
    vae: JointModel,
    x: Tensor,
    y: Any,
    *,
    lam: float = 50.0,
    alpha: float = 1.0,
    beta: float = 1.0,
    drop: float = 0.5,
) -> Bound:
    """The joint bound less α times the divergences of q(z|x) and of experts of random subsets."""
    return pulled(vae, x, y, lam=lam, alpha=alpha, beta=beta, drop=drop, bends=False)
