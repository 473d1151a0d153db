r"""Aggregate posteriors: what an average of divergences is made of, and flows that learn it.

For posteriors $q_n(z) = q(z \mid x_n, y)$ of the $N$ pictures of one description, their aggregate
$\bar q = \frac1N \sum_n q_n$ and any $r(z)$, such as $q(z \mid y)$,

$$
\frac1N \sum_n \mathrm{KL}(q_n \,\|\, r) = \mathrm{KL}(\bar q \,\|\, r) + I(n; z), \qquad
I(n; z) = \log N - \mathbb{E}_{\bar q}\left[ \mathrm{H}(q(n \mid z)) \right].
$$

So minimising JMVAE's divergence over $r$ fits the aggregate. (Eq. 3 of the paper writes the last
expectation under $q(z \mid y)$; the identity holds under $\bar q$.)

The other direction, $\mathrm{KL}(q(z \mid y) \,\|\, \bar q)$, keeps $q(z \mid y)$ where there are
pictures of $y$: `words_to_aggregate`. The bound $\mathrm{elbo}(y)$ of the TELBO does not: away from
all pictures $p(y \mid z)$ may be as sure as it likes, and $q(z \mid y)$ goes there.

A flow $q_φ(z \mid y)$ beside a model that is held still can be fitted to either of two things
(Cremer and Kushman, 2018): to the true posterior, by raising

$$ \mathbb{E}_{q_φ(z \mid y)}\left[ \log \frac{p(y \mid z)\, p(z)}{q_φ(z \mid y)} \right]
   \le \log p(y) $$

(`true-posterior`, their eq. 3), or to the aggregate of the posteriors of pictures, by raising
$\mathbb{E}_{q(z \mid x)}[\log q_φ(z \mid y)]$ over pictures and their descriptions (`aggregate`,
their eq. 5); the same draws fit $q_φ(z)$, the aggregate of all pictures. Words may be left out of
descriptions on the way: then $q_φ(z \mid y_\mathcal{O})$ is the aggregate of all pictures that fit.

Of wholes and their parts the belief over $z$ depends on the sum $\tilde w$ of the latents of the
parts, which is inferred too. So `aggregate-parts` raises

$$ \mathbb{E}_{q(z \mid x)\, q(\{w_i\} \mid x, z, \{\ell_i\})}[\log q_φ(z \mid \tilde w)] , $$

and the bound of a whole rises by as much as this is above
$\mathbb{E}[\log p(z \mid \tilde w)]$, which stands beside it in the log.

References:
    On the Importance of Learning Aggregate Posteriors in Multimodal Variational Autoencoders,
    Cremer and Kushman, 2018
    ELBO surgery, Hoffman and Johnson, 2016
    http://approximateinference.org/accepted/HoffmanJohnson2016.pdf
    Generative Models of Visually Grounded Imagination, Vedantam et al., 2018, A.1
    https://arxiv.org/abs/1705.10762
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.distributions import Distribution, kl_divergence
from torch.nn.functional import one_hot

from mindseye.labels import Labels
from mindseye.models.flowing import Flowing
from mindseye.models.flowing_parts import FlowingParts
from mindseye.models.joint import JointModel
from mindseye.objectives.bound import Bound
from mindseye.objectives.registry import objective
from mindseye.objectives.telbo import with_words_left_out
from mindseye.streams import side_by_side

__all__ = [
    "Aggregate",
    "KLSplit",
    "fit_aggregate",
    "fit_aggregate_of_parts",
    "fit_true_posterior",
    "split_average_kl",
    "words_to_aggregate",
]


@objective("aggregate", fits="q_y", cite="cremer2018", trains="joint vae factor vlvae")
def fit_aggregate(model: Flowing, x: Tensor, y: Any, *, drop: float = 0.3) -> Bound:
    """E log q(z|y_O) + E log q(z) under the posteriors of pictures; the model is held still."""
    z = model.posterior(x, y).rsample()  # of numbers without a gradient
    log_words, log_all = side_by_side(
        lambda: model.q_y(with_words_left_out(y, drop)).log_prob(z),
        lambda: model.aggregate.log_prob(z),
    )
    return Bound(log_words + log_all, {"log_qy_qx": log_words, "log_q_qx": log_all})


@objective("aggregate-parts", fits="p_z", cite="cremer2018 berger2020", trains="comp")
def fit_aggregate_of_parts(model: FlowingParts, x: Tensor, y: Any) -> Bound:
    """E log q(z|w~) under the posteriors of wholes and parts; the model is held still."""
    z, total = model.posterior(x, y)
    log_flow = model.p_z(total).log_prob(z)
    log_model = model.base.p_z(total).log_prob(z)
    return Bound(log_flow, {"log_qz_qzw": log_flow, "log_pz_qzw": log_model})


@objective("true-posterior", fits="q_y", cite="cremer2018 vedantam2018", trains="joint vlvae")
def fit_true_posterior(model: Flowing, x: Tensor, y: Any, *, gamma: float = 1.0) -> Bound:
    """elbo(y) under the flow q(z|y); the model is held still, and pictures are not looked at."""
    z, log_q = model.q_y(y).rsample_with_log_prob()
    log_py, log_p = model.p_y(z).log_prob(y), model.prior.log_prob(z)
    terms = {"log_py_qy": log_py, "kl_qy_p": log_q - log_p}
    return Bound(gamma * log_py + log_p - log_q, terms)


class Aggregate:
    """Posteriors of many pictures, and what the pictures show: every description's aggregate.

    Arguments:
        loc: Means, `(N, D)`.
        scale: Standard deviations, `(N, D)`.
        codes: Full descriptions, `(N, K)`.
    """

    def __init__(self, loc: Tensor, scale: Tensor, codes: Tensor):
        self.codes, self.widest = codes, int(codes.max()) + 1
        precision = scale**-2
        constant = -(precision * loc**2 / 2 + scale.log()).sum(-1, keepdim=True)
        constant = constant - loc.shape[-1] * math.log(2 * math.pi) / 2
        # log N(z; loc, scale) is linear in -z²/2, z and 1.
        self.densities = torch.cat([precision, precision * loc, constant], -1).T  # (2D + 1, N)
        self.words = self._words(codes).T.to(loc)  # (K V, N)

    def log_prob(self, z: Tensor, y: Labels) -> Tensor:
        """Log density of the mean posterior of the pictures that fit a description, `(B,)`."""
        with torch.autocast(z.device.type, enabled=False):  # bfloat16 has no digits for this
            return self._log_prob(z, y)

    def _log_prob(self, z: Tensor, y: Labels) -> Tensor:
        each = torch.cat([-(z**2) / 2, z, torch.ones_like(z[:, :1])], -1) @ self.densities
        said = (self._words(y.codes) * y.observed.repeat_interleave(self.widest, -1)).to(z)
        fits = said @ self.words > y.observed.sum(-1, keepdim=True) - 0.5  # (B, N)
        return each.masked_fill(~fits, -torch.inf).logsumexp(-1) - fits.sum(-1).log()

    def _words(self, codes: Tensor) -> Tensor:
        return one_hot(codes, self.widest).flatten(1).float()


def words_to_aggregate(
    vae: JointModel, aggregate: Aggregate, y: Labels, *, drop: float = 0.0
) -> Bound:
    """-KL(q(z|y_O) || aggregate of the pictures of y_O), for q(z|y) only; at most 0."""
    said = with_words_left_out(y, drop)
    q = vae.q_y(said)
    log_aggregate, entropy = aggregate.log_prob(q.rsample(), said), q.entropy()
    terms = {"log_aggregate_qy": log_aggregate, "entropy_qy": entropy}
    return Bound(log_aggregate + entropy, terms)


class KLSplit(NamedTuple):
    """The three sides of the identity, in nats."""

    average_kl: Tensor
    """The mean of KL(q_n || r), exact."""

    aggregate_kl: Tensor
    """KL of the aggregate from r, estimated."""

    mutual_information: Tensor
    """I(n; z), between 0 and log N, estimated from the same samples."""


def split_average_kl(q: Distribution, r: Distribution, samples: int = 256) -> KLSplit:
    """Split the average divergence of `q`, a batch of N distributions, from `r`, a single one.

    Arguments:
        q: N distributions over z, batch shape `(N,)`.
        r: One distribution over z, batch shape `()`.
        samples: Draws from every q_n, S.
    """
    count = q.batch_shape[0]
    z = q.sample(torch.Size([samples]))  # (S, N, D), that is S·N draws from the aggregate
    log_q = q.log_prob(z[:, :, None, :])  # (S, N, N): draw n under every q_m
    log_aggregate = log_q.logsumexp(-1) - math.log(count)
    log_r = r.log_prob(z)
    posterior = log_q.log_softmax(-1)  # log q(n | z)
    entropy = -(posterior.exp() * posterior).sum(-1)
    return KLSplit(
        kl_divergence(q, r).mean(),
        (log_aggregate - log_r).mean(),
        math.log(count) - entropy.mean(),
    )
