r"""The triple ELBO: one joint bound, and two that only fit the inference networks.

$$
\mathcal{L} = \mathrm{elbo}_{1, \lambda, 1}(x, y; \theta, \phi)
+ \mathrm{elbo}_{1, 1}(x; \phi_x) + \mathrm{elbo}_{\gamma, 1}(y; \phi_y)
$$

The last two are evaluated with the decoders $\theta$ held still: maximising them over $\phi_x$
alone is minimising $\mathrm{KL}(q(z \mid x) \,\|\, p(z \mid x))$, and likewise for words. The
divergence $\mathrm{KL}(q(z \mid y) \,\|\, p(z))$ keeps $q(z \mid y)$ broad, which is what gives
TELBO its coverage.

The paper never leaves a word out while it trains: what $q(z \mid y_\mathcal{O})$ says about a
partial description follows from the product of experts alone. `drop` is our addition: in that share
of the examples $\mathrm{elbo}(y)$ becomes $\mathrm{elbo}(y_\mathcal{O})$ for a random subset of the
words, which fits the experts to partial descriptions too. 0 is the paper.

The authors' code takes the mean of the three bounds, this is their sum; under Adam the two differ
only in the relative weight of the regulariser.

References:
    Generative Models of Visually Grounded Imagination, Vedantam et al., 2018, section 2
    https://arxiv.org/abs/1705.10762
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.distributions import kl_divergence

from mindseye.labels import Labels
from mindseye.models.joint import JointModel, frozen
from mindseye.objectives.bound import Bound
from mindseye.objectives.elbo import image_elbo, joint_elbo, words_elbo
from mindseye.objectives.registry import objective
from mindseye.streams import side_by_side

__all__ = ["semi_supervised", "telbo", "unimodal_bounds", "with_words_left_out"]


@objective("telbo", fits="q_x q_y q_xy", cite="vedantam2018")
def telbo(
    vae: JointModel,
    x: Tensor,
    y: Any,
    *,
    lam: float = 50.0,
    gamma: float = 50.0,
    beta: float = 1.0,
    drop: float = 0.0,
) -> Bound:
    """The three bounds at once."""
    joint, unimodal = side_by_side(
        lambda: joint_elbo(vae, x, y, lam=lam, beta=beta),
        lambda: unimodal_bounds(vae, x, y, gamma=gamma, beta=beta, drop=drop),
    )
    return Bound(joint.value + unimodal.value, joint.terms | unimodal.terms)


@objective("unimodal", fits="q_x q_y", cite="vedantam2018")
def unimodal_bounds(
    vae: JointModel,
    x: Tensor,
    y: Any,
    *,
    gamma: float = 50.0,
    beta: float = 1.0,
    drop: float = 0.0,
) -> Bound:
    """elbo(x) + elbo(y) for q(z|x) and q(z|y) only: the second stage, after the joint model."""
    said = with_words_left_out(y, drop)
    with frozen(vae.decoders):
        image, words = side_by_side(
            lambda: image_elbo(vae, x, beta=beta),
            lambda: words_elbo(vae, said, gamma=gamma, beta=beta),
        )
    return Bound(image.value + words.value, image.terms | words.terms)


@objective("semi", fits="q_x q_y q_xy", cite="vedantam2018")
def semi_supervised(
    vae: JointModel,
    x: Tensor,
    y: Any,
    *,
    lam: float = 50.0,
    gamma: float = 50.0,
    beta: float = 1.0,
) -> Bound:
    """The TELBO where a picture has its words, elbo(x) for p(x|z) and q(z|x) where it has none.

    This is footnote 2 of the paper. A picture whose words are not all known counts as unlabelled.
    With every picture labelled it is the TELBO; with none it is `image_elbo`.
    """
    labelled = y.observed.all(-1)
    q_xy, q_x = vae.q_xy(x, y), vae.q_x(x)
    z = torch.where(labelled[:, None], q_xy.rsample(), q_x.rsample())
    kl = torch.where(labelled, kl_divergence(q_xy, vae.prior), kl_divergence(q_x, vae.prior))
    log_px = vae.p_x(z).log_prob(x)
    log_py = torch.where(labelled, vae.p_y(z).log_prob(y), 0.0)
    terms = {"log_px_q": log_px, "log_py_q": log_py, "kl_q_p": kl}
    unimodal = unimodal_bounds(vae, x, y, gamma=gamma, beta=beta)
    fitted = torch.where(labelled, unimodal.value, 0.0)
    return Bound(log_px + lam * log_py - beta * kl + fitted, terms | unimodal.terms)


def with_words_left_out(y: Any, share: float) -> Any:
    """Leave words out of a share of the labels; how many are kept is uniform from none to all.

    At a share of 0 it is `y` itself, which then need not be labels.
    """
    if not share:
        return y
    rows = torch.rand(len(y.codes), 2, device=y.codes.device)
    keep = torch.where(rows[:, :1] < share, rows[:, 1:], 1.0)  # the chance of every word to stay
    return Labels(y.codes, y.observed & (torch.rand_like(keep.expand(y.codes.shape)) < keep))
