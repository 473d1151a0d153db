r"""The β-VAE score: how often a linear classifier names the factor that two pictures share.

A point is made of $L$ pairs of states that agree in one factor $k$ and are otherwise independent:

$$ x = \tfrac{1}{L} \textstyle\sum_l \left| z(v_l) - z(v'_l) \right|, \qquad v_{lk} = v'_{lk} $$

A linear classifier learns to name $k$ from $x$; the score is its accuracy on new points. A
representation with one dimension per factor has $x_k = 0$. Chance is $1 / K$. The score cannot see
rotations well: the classifier may combine dimensions.

Numbers and classifier as in disentanglement_lib (Locatello et al., 2019): 64 pairs, 10 000 points
to learn from and 5000 to be judged on, logistic regression with $C = 1$.

References:
    - *β-VAE: Learning Basic Visual Concepts with a Constrained Variational Framework*, Higgins,
      Matthey, Pal, Burgess, Glorot, Botvinick, Mohamed and Lerchner, 2017,
      https://openreview.net/forum?id=Sy2fzU9gl
    - *Challenging Common Assumptions in the Unsupervised Learning of Disentangled
      Representations*, Locatello et al., 2019, https://arxiv.org/abs/1811.12359
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from mindseye.metrics.disentanglement.regression import fit_logistic
from mindseye.metrics.disentanglement.world import (
    Device,
    Represent,
    World,
    at_least,
    pinned,
    spans,
)

__all__ = ["BetaVAEScore", "beta_vae_score"]


class BetaVAEScore(NamedTuple):
    """How often the shared factor is named."""

    score: float
    """Accuracy on new points; chance is 1 / K."""
    train: float
    """Accuracy on the points learned from."""
    confusion: Tensor
    """How often factor k (row) was taken for factor m (column) on new points, `(K, K)`."""


def beta_vae_score(
    represent: Represent,
    sizes: Sequence[int],
    *,
    pairs: int = 64,
    train: int = 10_000,
    test: int = 5000,
    seed: int = 0,
    batch: int = 4096,
    device: Device = "cpu",
) -> BetaVAEScore:
    """Accuracy of a linear classifier of the factor that pairs of states share.

    >>> beta_vae_score(lambda codes: codes.double(), (3, 4), train=200, test=100).score
    1.0

    Arguments:
        represent: Factor codes `(B, K)` in, representations `(B, D)` out.
        sizes: How many values each factor has; two factors or more.
        pairs: How many pairs of states make one point.
        train: How many points the classifier learns from.
        test: How many points it is judged on.
        seed: Which states are drawn.
        batch: How many states are represented at once.
        device: Where the codes are made.
    """
    world = World(represent, sizes, seed, batch, device, least=2)
    at_least("pairs", pairs, 1)
    at_least("train", train, 2)
    at_least("test", test, 1)
    k = len(sizes)
    points, factors = _points(world, train, pairs, "β-VAE score, train")
    classifier = fit_logistic(points, factors, k)
    right = (classifier.predict(points) == factors).to(torch.float64).mean().item()
    points, factors = _points(world, test, pairs, "β-VAE score, test")
    cells = factors * k + classifier.predict(points)
    confusion = torch.bincount(cells, minlength=k * k).reshape(k, k)
    return BetaVAEScore(confusion.diagonal().sum().item() / test, right, confusion.cpu())


def _points(world: World, n: int, pairs: int, stream: str) -> tuple[Tensor, Tensor]:
    """Mean absolute differences `(N, D)`, and the factor shared `(N,)`."""
    points, factors = [], []
    for start, stop in spans(n, max(1, world.batch // (2 * pairs))):
        factor = world.choose(start, stop, stream)
        one = world.draw_groups(start, stop, pairs, f"{stream}, one")  # (B, L, K)
        other = world.draw_groups(start, stop, pairs, f"{stream}, other")
        z = world.represented(torch.stack([one, pinned(other, factor, one)]))  # (2, B, L, D)
        points.append((z[0] - z[1]).abs().mean(1))
        factors.append(factor.to(z.device))
    return torch.cat(points), torch.cat(factors)
