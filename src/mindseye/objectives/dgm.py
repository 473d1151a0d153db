r"""Semi-supervised deep generative models: one bound for pictures with and without a description.

Of the description $y$ a part $y_\mathcal{O}$ is known: all of it, nothing, or some attributes. What
is known is taken as given, and what is not, $y_\mathcal{U}$, is read in the picture:

$$
r(y) = \delta(y_\mathcal{O}) \prod_{k \in \mathcal{U}} q(y_k \mid x).
$$

Every example then has the same bound of $\log p(x, y_\mathcal{O})$,

$$
\mathcal{L}(x, y_\mathcal{O}) = \mathbb{E}_{r(y)} \left[ \mathbb{E}_{q(z \mid x, y)}
[\log p(x \mid y, z)] - \beta\, \mathrm{KL}(q(z \mid x, y) \,\|\, p(z)) + \log p(y) \right]
+ \mathrm{H}(r),
$$

which at $\beta = 1$ is too low by the divergence of $r(y)\, q(z \mid x, y)$ from the posterior.
Without a label it is the ELBO of $x$, with a whole one the supervised term of the papers. What is
maximised is

$$
J = w_\mathcal{O} \left( \mathcal{L}(x, y_\mathcal{O})
+ \alpha \log q(y_\mathcal{O} \mid x) \right), \qquad w_\emptyset = 1, \quad
w_\mathcal{O} = \gamma \text{ otherwise}.
$$

The last term is there because a known $y$ leaves $q(y \mid x)$ out of the bound: the classifier
would learn from the unlabelled pictures alone.

**The expectation over y.** Up to `most` descriptions are all scored and weighed by $r(y)$: exact,
and the gradient of $r$ too. Were there more, one is drawn: its value has the same mean, the
gradient is that of a Gumbel-softmax of that `temperature` (straight through, so biased).

**The expectation over z** takes one draw, its divergence is exact. For a whole description the
paper proposes S draws and self-normalised importance weights, for any way to factorise q. With
$q(y \mid x)\, q(z \mid x, y)$ and draws from $q(z \mid x, y)$ all those weights are equal, and
their sum is $q(y \mid x)$, so that estimate is the plain mean of $\mathcal{L}$ over draws. At
`samples` S > 1 we take the logarithm of the mean instead of the mean of logarithms,

$$
\mathcal{L}_S(x, y) = \log \frac1S \sum_s p(x, y, z_s)\, q(z_s \mid x, y)^{-1},
\qquad z_s \sim q(z \mid x, y),
$$

which still bounds $\log p(x, y)$ and is the tighter the larger S. Other examples keep one draw.

**Consistency**, which is ours and off unless asked for: what is believed of a picture is to be
believed of the picture moved, turned and enlarged a little, $x'$, by less than changes its
description:

$$
J - c\, \mathrm{KL}(\bot\, \tilde r(y) \,\|\, q(y \mid x')), \qquad
\tilde r(y_k) \propto r(y_k)^s,
$$

where $\bot$ stops the gradient and $s$ is `sharpen`. Few labels say little about where two values
meet; this moves the border away from the pictures, labelled or not.

References:
    Learning Disentangled Representations with Semi-Supervised Deep Generative Models,
    Narayanaswamy et al., 2017
    https://arxiv.org/abs/1706.00400
    Semi-Supervised Learning with Deep Generative Models, Kingma et al., 2014
    https://arxiv.org/abs/1406.5298
    Categorical Reparameterization with Gumbel-Softmax, Jang et al., 2017
    https://arxiv.org/abs/1611.01144
    Unsupervised Data Augmentation for Consistency Training, Xie et al., 2020
    https://arxiv.org/abs/1904.12848
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.distributions import kl_divergence
from torch.nn.functional import affine_grid, grid_sample, one_hot

from mindseye.distributions import Attributes
from mindseye.errors import UsageError
from mindseye.labels import Labels
from mindseye.models.semi import SemiModel
from mindseye.objectives.bound import Bound
from mindseye.objectives.registry import objective

__all__ = ["m2", "moved", "semi_dgm"]

MANY = 1000
"""More descriptions than these are not all scored for every picture."""


@objective("semi-dgm", fits="", cite="narayanaswamy2017 kingma2014semi", trains="semi")
def semi_dgm(
    model: SemiModel,
    x: Tensor,
    y: Labels,
    *,
    alpha: float = 50.0,
    gamma: float = 1.0,
    beta: float = 1.0,
    samples: int = 1,
    most: float = 32,
    temperature: float = 0.5,
    consistency: float = 0.0,
    sharpen: float = 2.0,
    shift: float = 2.0,
    turn: float = 15.0,
    zoom: float = 1.15,
) -> Bound:
    """The bound of every example, whatever is known of it, plus α log q of what is known.

    Arguments:
        model: What is trained.
        x: Pictures, `(B, C, H, W)`.
        y: What is known of them.
        alpha: α, the weight of log q(y|x) where y is known.
        gamma: γ, the weight of examples of which anything is known.
        beta: β, the weight of the divergence of z.
        samples: S, draws of z for whole descriptions.
        most: Up to so many descriptions are all scored; of more, one is drawn.
        temperature: Of the Gumbel-softmax that draws it.
        consistency: c, the weight of the divergence of q(y|x').
        sharpen: s, the power of the belief that q(y|x') is held to.
        shift: x' is moved by up to so many pixels on either axis,
        turn: turned by up to so many degrees,
        zoom: and made larger or smaller by up to such a factor.
    """
    _check(samples, temperature, zoom)
    q, said = model.q_y_given_x(x), y.observed[..., None]
    given = one_hot(y.codes, q.logits.shape[-1]).to(q.probs)  # (B, K, V)
    r = torch.where(said, given, q.probs)
    few = math.prod(q.sizes) <= most
    words, weights = _every(r, q.sizes) if few else _drawn(r, q.log_probs, said, temperature)
    q_z = model.q_xy(x, words)
    log_px = (weights * model.p_x(q_z.rsample(), words).log_prob(x)).sum(0)
    kl = (weights * kl_divergence(q_z, model.prior)).sum(0)
    log_py = (r * _finite(model.prior_y.log_probs)).sum((-2, -1))
    entropy = -torch.where(said, 0.0, r * _finite(q.log_probs)).sum((-2, -1))
    elbo = log_px - beta * kl + log_py + entropy
    if samples > 1:
        whole = log_py + _weighed(model, x, given, int(samples), beta)
        elbo = torch.where(y.observed.all(-1), whole, elbo)
    log_qy = q.log_prob(y)
    value = elbo + alpha * log_qy
    value = torch.where(y.observed.any(-1), gamma * value, value)
    terms = {"elbo": elbo, "log_px": log_px, "kl_z": kl, "log_py": log_py}
    terms |= {"entropy_y": entropy, "log_qy": log_qy}
    if not consistency:
        return Bound(value, terms)
    kl_moved = _divergence(r.detach(), model.q_y_given_x(moved(x, shift, turn, zoom)), sharpen)
    return Bound(value - consistency * kl_moved, terms | {"kl_moved": kl_moved})


@objective("m2", fits="", cite="kingma2014semi", trains="semi")
def m2(model: SemiModel, x: Tensor, y: Labels, *, alpha: float = 50.0, beta: float = 1.0) -> Bound:
    """The objective of Kingma et al.: every description is scored, one draw of z for each.

    Their weight of the classifier is α = 0.1 N for its *mean* over the labelled pictures: here,
    per labelled picture, 0.1 N over the number of labels, where pictures come up equally often.
    """
    count = math.prod(model.vocabulary.sizes)
    if count > MANY:
        raise UsageError(
            f"`m2` scores every description; there are {count}, more than {MANY}.",
            "Set objectives=semi-dgm, which draws one of many.",
        )
    return semi_dgm(model, x, y, alpha=alpha, beta=beta, gamma=1.0, samples=1, most=math.inf)


def moved(x: Tensor, shift: float, turn: float, zoom: float) -> Tensor:
    """Pictures moved, turned and zoomed at random, read bilinearly; what comes in is black.

    Arguments:
        x: Pictures, `(B, C, H, W)`.
        shift: The furthest move on either axis, in pixels.
        turn: The largest turn, in degrees.
        zoom: The largest factor of enlargement; as often it is one over that.
    """
    height, width = x.shape[2:]
    u = torch.rand(4, len(x), device=x.device) * 2 - 1
    angle, scale = math.radians(turn) * u[0], torch.exp(-math.log(zoom) * u[1])
    right, down = 2 * shift / width * u[2], 2 * shift / height * u[3]
    cos, sin = scale * angle.cos(), scale * angle.sin()
    # Coordinates run from -1 to 1 on either axis, however long it is.
    rows = [cos, -sin * height / width, right, sin * width / height, cos, down]
    maps = torch.stack(rows, 1).view(-1, 2, 3)
    with torch.autocast(x.device.type, enabled=False):  # bfloat16 has no digits for a pixel
        grid = affine_grid(maps, list(x.shape), align_corners=False)
        return grid_sample(x, grid, align_corners=False)


def _check(samples: float, temperature: float, zoom: float) -> None:
    if samples < 1 or samples != int(samples):
        raise UsageError(f"`samples={samples}` must be a whole number of at least 1.")
    for name, value in {"temperature": temperature, "zoom": zoom}.items():
        if value <= 0:
            raise UsageError(f"`{name}={value}` must be above 0.")


def _every(r: Tensor, sizes: Sequence[int]) -> tuple[Tensor, Tensor]:
    """All N descriptions `(N, B, K, V)`, one-hot, and the probability r(y) of each, `(N, B)`."""
    values = [torch.arange(size, device=r.device) for size in sizes]
    codes = torch.stack(torch.meshgrid(*values, indexing="ij"), -1).flatten(0, -2)  # (N, K)
    weights = r[:, 0, : sizes[0]]
    for k, size in enumerate(sizes[1:], 1):
        weights = (weights[:, :, None] * r[:, k, None, :size]).flatten(1)
    return one_hot(codes, r.shape[-1]).to(r)[:, None].expand(-1, *r.shape), weights.T


def _drawn(r: Tensor, log_q: Tensor, said: Tensor, temperature: float) -> tuple[Tensor, Tensor]:
    """One description drawn from r(y), `(1, B, K, V)`, and its weight of 1, `(1, B)`."""
    noise = -(-torch.rand_like(log_q).log()).log()  # Gumbel's
    soft = ((log_q + noise) / temperature).softmax(-1)
    hard = one_hot(soft.argmax(-1), soft.shape[-1]).to(soft)
    words = torch.where(said, r, hard + (soft - soft.detach()))  # the gradient is that of `soft`
    return words[None], torch.ones_like(r[None, :, 0, 0])


def _weighed(model: SemiModel, x: Tensor, given: Tensor, samples: int, beta: float) -> Tensor:
    """The importance-weighted estimate of log p(x|y) for whole descriptions, `(B,)`."""
    q = model.q_xy(x, given)
    z = q.rsample(torch.Size([samples]))  # (S, B, D)
    log_px = model.p_x(z, given.expand(samples, *given.shape)).log_prob(x)
    log_ratio = model.prior.log_prob(z) - q.log_prob(z)
    return (log_px + beta * log_ratio).logsumexp(0) - math.log(samples)


def _divergence(r: Tensor, q: Attributes, sharpen: float) -> Tensor:
    """The divergence of q(y) from r(y) to a power, the sum over attributes, `(B,)`."""
    r = r**sharpen / (r**sharpen).sum(-1, keepdim=True)
    return (torch.xlogy(r, r) - r * _finite(q.log_probs)).sum((-2, -1))


def _finite(log_probs: Tensor) -> Tensor:
    """Log-probabilities, 0 in the padding."""
    return log_probs.masked_fill(log_probs.isneginf(), 0.0)
