r"""The importance-weighted bound, and four ways to climb it.

With $k$ draws $z_i \sim q(z \mid x)$ and their weights $w_i = p(x, z_i) / q(z_i \mid x)$,

$$
\mathcal{L}_k(x) = \mathbb{E}\left[ \log \frac1k \sum_i w_i \right] \le \log p(x), \qquad
\mathcal{L}_1 = \mathrm{elbo}(x), \qquad \mathcal{L}_k \le \mathcal{L}_{k+1} .
$$

With $\tilde w_i = w_i / \sum_j w_j$ and $\phi$ the parameters of q,

- `vae`: $\frac1k \sum_i \log w_i$ and its gradient;
- `iwae`: $\mathcal{L}_k$ and its gradient;
- `iwae-stl`: $\mathcal{L}_k$; $\phi$ gets
  $\sum_i \tilde w_i\, (\partial_z \log w_i)\, \partial_\phi z_i$;
- `iwae-dreg`: $\mathcal{L}_k$; $\phi$ gets
  $\sum_i \tilde w_i^2\, (\partial_z \log w_i)\, \partial_\phi z_i$.

The path gradient of "sticking the landing" leaves out the score of q, whose expectation is zero
for $k = 1$ only: for $k > 1$ it is biased. The doubly reparameterised gradient is not, and unlike
the plain one it does not drown in noise as $k$ grows. The model's parameters always get
$\sum_i \tilde w_i \nabla_\theta \log w_i$. For layers of latents $z_i$ is all of them: the score
that is left out is that of the whole chain.

References:
    Importance Weighted Autoencoders, Burda, Grosse and Salakhutdinov, 2016
    https://arxiv.org/abs/1509.00519
    Sticking the Landing, Roeder, Wu and Duvenaud, 2017
    https://arxiv.org/abs/1703.09194
    Doubly Reparameterized Gradient Estimators, Tucker et al., 2019
    https://arxiv.org/abs/1810.04152
"""

from __future__ import annotations

import math
from typing import Any, Protocol

from torch import Tensor, nn

from mindseye.errors import UsageError
from mindseye.models.joint import frozen
from mindseye.objectives.bound import Bound
from mindseye.objectives.registry import objective

__all__ = ["LatentModel", "iwae", "iwae_dreg", "iwae_stl", "log_mean_exp", "log_weights", "vae"]


class LatentModel(Protocol):
    """A model of pictures; a latent is a tensor, or one tensor a layer."""

    @property
    def prior(self) -> Any:
        """p(z)."""
        ...

    @property
    def image_readers(self) -> list[nn.Module]:
        """The modules of q(z|x)."""
        ...

    def p_x(self, z: Any) -> Any:
        """p(x|z)."""
        ...

    def q_x(self, x: Tensor) -> Any:
        """q(z|x)."""
        ...


@objective("vae", fits="q_x", cite="kingma2014 burda2016", trains="joint vae deep ladder")
def vae(model: LatentModel, x: Tensor, y: Any = None, *, k: float = 1.0) -> Bound:
    """The mean of k estimates of elbo(x): as many draws as `iwae` has, and the bound of a VAE."""
    log_w = log_weights(model, x, _whole(k))
    return Bound(log_w.mean(0), {})


@objective("iwae", fits="q_x", cite="burda2016", trains="joint vae deep ladder")
def iwae(model: LatentModel, x: Tensor, y: Any = None, *, k: float = 50.0) -> Bound:
    """The bound of k draws, with its own gradient."""
    log_w = log_weights(model, x, _whole(k))
    return Bound(log_mean_exp(log_w), {"elbo": log_w.mean(0)})


@objective("iwae-stl", fits="q_x", cite="burda2016 roeder2017", trains="joint vae deep ladder")
def iwae_stl(model: LatentModel, x: Tensor, y: Any = None, *, k: float = 50.0) -> Bound:
    """The bound of k draws, climbed by path gradients alone."""
    z = model.q_x(x).rsample((_whole(k),))
    return _climbed(_still_weights(model, x, z))


@objective("iwae-dreg", fits="q_x", cite="burda2016 tucker2019", trains="joint vae deep ladder")
def iwae_dreg(model: LatentModel, x: Tensor, y: Any = None, *, k: float = 50.0) -> Bound:
    """The bound of k draws, climbed by doubly reparameterised gradients."""
    z, shares = model.q_x(x).rsample((_whole(k),)), []
    log_w = _still_weights(model, x, _slowed(z, shares))
    shares.append(log_w.detach().softmax(0))
    return _climbed(log_w)


def log_weights(model: LatentModel, x: Tensor, k: int) -> Tensor:
    """log p(x, z) - log q(z|x) of k draws of q for every picture, `(k, B)`.

    A model that draws and scores in one pass has a method `weights` for it.
    """
    if weights := getattr(model, "weights", None):
        return weights(x, k).log_w
    q = model.q_x(x)
    z = q.rsample((k,))
    return model.p_x(z).log_prob(x) + model.prior.log_prob(z) - q.log_prob(z)


def log_mean_exp(log_w: Tensor) -> Tensor:
    """log of the mean of exp(log_w) over the first dimension, summed in float64.

    >>> import torch
    >>> log_mean_exp(torch.tensor([-1000.0, -1000.0]))
    tensor(-1000.)
    """
    total = log_w.double().logsumexp(0) - math.log(len(log_w))
    return total.to(log_w.dtype)


def _still_weights(model: LatentModel, x: Tensor, z: Any) -> Tensor:
    """Log weights of draws, without the gradient of q's parameters but through the draws."""
    with frozen(model.image_readers):
        q = model.q_x(x)
        log_q = q.log_prob(z)
    return model.p_x(z).log_prob(x) + model.prior.log_prob(z) - log_q


def _climbed(log_w: Tensor) -> Bound:
    """The bound of weights, whose gradient is that of the weights times their shares."""
    value, share = log_mean_exp(log_w.detach()), log_w.detach().softmax(0)
    slope = (share * log_w).sum(0)
    return Bound(value + slope - slope.detach(), {"elbo": log_w.detach().mean(0)})


def _slowed(z: Any, shares: list[Tensor]) -> Any:
    """The same draws; gradients into them are multiplied by their shares, which come later."""
    if isinstance(z, tuple):
        return tuple(_slowed(layer, shares) for layer in z)
    same = z.view_as(z)
    if same.requires_grad:
        same.register_hook(lambda gradient: gradient * shares[0][..., None])
    return same


def _whole(k: float) -> int:
    if k < 1 or k != int(k):
        raise UsageError(f"`k={k}` must be a whole number of at least 1.")
    return int(k)
