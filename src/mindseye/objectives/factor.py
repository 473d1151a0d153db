r"""FactorVAE: the total correlation as a discriminator sees it.

$$
\mathbb{E}_{q(z \mid x)}[\log p(x \mid z)] - \beta\, \mathrm{KL}(q(z \mid x) \,\|\, p(z))
- \gamma\, \mathrm{TC}(z), \qquad
\mathrm{TC}(z) = \mathbb{E}_{q(z)}\Big[\log \frac{q(z)}{\prod_j q(z_j)}\Big]
\approx \mathbb{E}_{q(z)}\Big[\log \frac{D(z)}{1 - D(z)}\Big]
$$

$D(z)$ is the probability that z is a draw of the aggregate posterior $q(z)$, and not of the product
of its marginals. A batch is cut in two. The first half trains the VAE, through a discriminator that
is held still. The second gives draws of the product: each dimension is shuffled over that half by
itself. The discriminator learns from both, as constants, to tell them apart:

$$ \tfrac12 \log D(z) + \tfrac12 \log(1 - D(z')). $$

This reaches the discriminator alone and is part of the value, so one step trains both players. Of
$B$ pictures $\lfloor B / 2 \rfloor$ values come back; the last picture of an odd batch is dropped.
The paper steps the VAE first and the discriminator after it, on two batches; here both step at
once. As there, the discriminator has decays of its own in Adam, `Training.opponent_betas`.

References:
    Disentangling by Factorising, Kim and Mnih, 2018, Eq. 2 and Algorithm 2
    https://arxiv.org/abs/1802.05983
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.distributions import kl_divergence

from mindseye.errors import UsageError
from mindseye.models.joint import frozen
from mindseye.objectives.bound import Bound
from mindseye.objectives.registry import objective
from mindseye.objectives.surgery import PictureModel

__all__ = ["factor", "shuffled"]


@objective("factor", fits="q_x", cite="kim2018", trains="factor", cools=True)
def factor(
    vae: PictureModel, x: Tensor, y: Any = None, *, beta: float = 1.0, gamma: float = 35.0
) -> Bound:
    """FactorVAE and its discriminator; words are ignored.

    Arguments:
        vae: The model. It has a module `discriminator`, from latents `(B, D)` to two logits
            `(B, 2)`: of the aggregate posterior, then of the product of its marginals.
        x: A batch of pictures, at least 2.
        y: Not read.
        beta: The weight of the divergence; 1 in the paper.
        gamma: The weight of the total correlation.
    """
    discriminator, half = _discriminator(vae), _half(x)
    q = vae.q_x(x[:half])
    z = q.rsample()
    log_px, kl = vae.p_x(z).log_prob(x[:half]), kl_divergence(q, vae.prior)
    with frozen([discriminator]):  # it is asked, and does not learn from this
        logits = discriminator(z).to(z)
    correlation = logits[:, 0] - logits[:, 1]  # log D(z) / (1 - D(z))
    with torch.no_grad():
        product = shuffled(vae.q_x(x[half : 2 * half]).rsample())
    told = discriminator(torch.cat([z.detach(), product])).to(z).log_softmax(-1)
    log_told = (told[:half, 0] + told[half:, 1]) / 2
    terms = {
        "log_px_qx": log_px,
        "kl_qx_p": kl,
        "total_correlation": correlation,
        "log_discriminator": log_told,
    }
    return Bound(log_px - beta * kl - gamma * correlation + log_told, terms)


def shuffled(z: Tensor) -> Tensor:
    """Every dimension in an order of its own, `(B, D)`: draws of the product of the marginals."""
    return z.gather(0, torch.rand_like(z).argsort(0))


def _discriminator(vae: PictureModel) -> nn.Module:
    """The second player."""
    module = getattr(vae, "discriminator", None)
    if not isinstance(module, nn.Module):
        raise UsageError(
            f"`factor` trains a model with a module `discriminator`; {type(vae).__name__} has none."
        )
    return module


def _half(x: Tensor) -> int:
    """How many pictures each player gets."""
    if len(x) < 2:
        raise UsageError(
            f"`factor` needs a batch of 2 pictures or more, half for each player; got {len(x)}.",
            "Set a larger batch_size.",
        )
    return len(x) // 2
