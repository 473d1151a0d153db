r"""The FactorVAE score: the dimension that varies least gives away the factor that was fixed.

One vote: fix one factor $k$, draw $L$ states, and find the dimension

$$ d^* = \arg\min_d \; \mathrm{Var}_l\left[z_d(v_l)\right] / \mathrm{Var}\left[z_d\right] $$

Votes $(d^*, k)$ make a table; the classifier says for each dimension the factor that won most of
its votes. The score is its accuracy on new votes. Chance is $1 / K$. Dimensions whose standard
deviation over all states is below 0.05 are collapsed and may not be chosen; if all are, the score
is 0.

Numbers as in disentanglement_lib (Locatello et al., 2019): 64 states a vote, 10 000 votes to learn
from and 5000 to be judged on, variances from 10 000 states. Its threshold of 0.05 is on the
standard deviation, not on the variance.

References:
    - *Disentangling by Factorising*, Kim and Mnih, 2018, https://arxiv.org/abs/1802.05983
    - *Challenging Common Assumptions in the Unsupervised Learning of Disentangled
      Representations*, Locatello et al., 2019, https://arxiv.org/abs/1811.12359
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from mindseye.metrics.disentanglement.world import (
    Device,
    Represent,
    World,
    at_least,
    pinned,
    spans,
)

__all__ = ["FactorVAEScore", "factor_vae_score"]


class FactorVAEScore(NamedTuple):
    """How often the fixed factor is named by the dimension that varies least."""

    score: float
    """Accuracy on new votes; chance is 1 / K, and 0 means that every dimension is collapsed."""
    train: float
    """Accuracy on the votes learned from."""
    votes: Tensor
    """The votes learned from: how often fixing factor k chose dimension d, `(K, D)`."""
    deviations: Tensor
    """The standard deviation of each dimension over all states, `(D,)`."""
    active: Tensor
    """Which dimensions may be chosen, boolean `(D,)`."""


def factor_vae_score(
    represent: Represent,
    sizes: Sequence[int],
    *,
    group: int = 64,
    train: int = 10_000,
    test: int = 5000,
    points: int = 10_000,
    threshold: float = 0.05,
    seed: int = 0,
    batch: int = 4096,
    device: Device = "cpu",
) -> FactorVAEScore:
    """Accuracy of a majority vote for the factor that a group of states shares.

    >>> ideal = factor_vae_score(lambda codes: codes.double(), (3, 4), train=200, test=100)
    >>> ideal.score, ideal.votes.count_nonzero(0)
    (1.0, tensor([1, 1]))

    Arguments:
        represent: Factor codes `(B, K)` in, representations `(B, D)` out.
        sizes: How many values each factor has; two factors or more.
        group: How many states make one vote.
        train: How many votes the classifier learns from.
        test: How many votes it is judged on.
        points: How many states the variance of each dimension is measured on.
        threshold: Dimensions with a smaller standard deviation are left out.
        seed: Which states are drawn.
        batch: How many states are represented at once.
        device: Where the codes are made.
    """
    world = World(represent, sizes, seed, batch, device, least=2)
    for name, value, least in (
        ("group", group, 2),
        ("train", train, 1),
        ("test", test, 1),
        ("points", points, 2),
    ):
        at_least(name, value, least)
    variances = world.sample(points, "FactorVAE score, variances").representations.var(0)
    active = (variances.sqrt() >= threshold) & (variances > 0)
    if not active.any():
        none = torch.zeros(len(sizes), len(active), dtype=torch.int64)
        return FactorVAEScore(0.0, 0.0, none, variances.sqrt().cpu(), active.cpu())
    votes = _votes(world, variances, active, train, group, "FactorVAE score, train")
    judged = _votes(world, variances, active, test, group, "FactorVAE score, test")
    winner = votes.argmax(0, keepdim=True)  # (1, D)
    return FactorVAEScore(
        judged.gather(0, winner).sum().item() / test,
        votes.gather(0, winner).sum().item() / train,
        votes.cpu(),
        variances.sqrt().cpu(),
        active.cpu(),
    )


def _votes(
    world: World, variances: Tensor, active: Tensor, n: int, group: int, stream: str
) -> Tensor:
    """The table of `n` votes, `(K, D)`."""
    k, d = len(world.sizes), len(active)
    votes = torch.zeros(k * d, dtype=torch.int64, device=active.device)
    for start, stop in spans(n, max(1, world.batch // group)):
        factor = world.choose(start, stop, stream)
        codes = world.draw_groups(start, stop, group, stream)  # (B, L, K)
        z = world.represented(pinned(codes, factor, codes[:, :1]))  # (B, L, D)
        share = (z.var(1) / variances).masked_fill(~active, torch.inf)  # (B, D)
        votes += torch.bincount(factor.to(z.device) * d + share.argmin(-1), minlength=k * d)
    return votes.reshape(k, d)
