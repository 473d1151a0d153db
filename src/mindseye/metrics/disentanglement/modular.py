r"""Modularity and explicitness: one factor per dimension, and factors that are easy to read off.

A dimension is modular if it has information about one factor only. With $\theta_d = \max_k I_{dk}$,

$$ \text{modularity} = \frac{1}{D} \sum_d 1 -
   \frac{\sum_{k \ne k_d} I_{dk}^2}{\theta_d^2 \, (K - 1)},
   \qquad k_d = \arg\max_k I_{dk} $$

A dimension that knows nothing scores 0. Information is that of 20-bin histograms of 10 000 states,
as for `mig_lib`.

A factor is explicit if a linear classifier of the whole representation can tell its values:
explicitness is the area under the ROC curve, one value against the rest, averaged over values and
factors. Chance is 0.5. As in disentanglement_lib the classifier is one logistic regression per
factor, with $C = 1$, of standardised dimensions.

References:
    - *Learning Deep Disentangled Embeddings with the F-Statistic Loss*, Ridgeway and Mozer, 2018,
      https://arxiv.org/abs/1802.05312
    - *Challenging Common Assumptions in the Unsupervised Learning of Disentangled
      Representations*, Locatello et al., 2019, https://arxiv.org/abs/1811.12359
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from mindseye.metrics.disentanglement.information import information_matrix
from mindseye.metrics.disentanglement.regression import fit_logistic
from mindseye.metrics.disentanglement.world import Device, Represent, World, at_least

__all__ = [
    "Explicitness",
    "Modularity",
    "area_under_curve",
    "explicitness",
    "modularity",
    "modularity_of",
]


class Modularity(NamedTuple):
    """Whether each dimension knows of one factor only."""

    score: float
    """The mean over dimensions."""
    dimensions: Tensor
    """Of each dimension, `(D,)`."""
    information: Tensor
    """Between each dimension and each factor, in nats, `(D, K)`."""


class Explicitness(NamedTuple):
    """Whether the values of each factor can be told by a linear classifier."""

    score: float
    """The mean over factors on new states; chance is 0.5."""
    train: float
    """The mean over factors on the states learned from."""
    factors: Tensor
    """Of each factor, on new states, `(K,)`."""


def modularity(
    represent: Represent,
    sizes: Sequence[int],
    *,
    points: int | None = 10_000,
    bins: int = 20,
    seed: int = 0,
    batch: int = 4096,
    device: Device = "cpu",
) -> Modularity:
    """How near each dimension comes to knowing of one factor only.

    >>> round(modularity(lambda codes: codes.double(), (3, 4), points=None).score, 6)
    1.0

    Arguments:
        represent: Factor codes `(B, K)` in, representations `(B, D)` out.
        sizes: How many values each factor has; two factors or more.
        points: How many states are drawn; none for every state once.
        bins: How many bins each dimension is cut into.
        seed: Which states are drawn.
        batch: How many states are represented at once.
        device: Where the codes are made.
    """
    world = World(represent, sizes, seed, batch, device, least=2)
    at_least("bins", bins, 2)
    if points is not None:
        at_least("points", points, 2)
    z, codes = world.sample(points, "modularity")
    return modularity_of(information_matrix(z, codes, bins))


def modularity_of(information: Tensor) -> Modularity:
    """Modularity of information `(D, K)`.

    >>> modularity_of(torch.tensor([[2.0, 0.0, 0.0], [0.0, 1.0, 1.0]])).dimensions
    tensor([1.0000, 0.5000])
    """
    information = information.cpu()
    squared = information.square()
    best = squared.amax(1)
    stray = (squared.sum(1) - best) / (best * (squared.shape[1] - 1))
    dimensions = torch.where(best > 0, 1 - stray, 0.0)
    return Modularity(dimensions.mean().item(), dimensions, information)


def explicitness(
    represent: Represent,
    sizes: Sequence[int],
    *,
    train: int = 10_000,
    test: int = 5000,
    seed: int = 0,
    batch: int = 4096,
    device: Device = "cpu",
) -> Explicitness:
    """How well a linear classifier tells the values of each factor.

    Arguments:
        represent: Factor codes `(B, K)` in, representations `(B, D)` out.
        sizes: How many values each factor has.
        train: How many states the classifiers learn from.
        test: How many states they are judged on.
        seed: Which states are drawn.
        batch: How many states are represented at once.
        device: Where the codes are made.
    """
    world = World(represent, sizes, seed, batch, device)
    at_least("train", train, 2)
    at_least("test", test, 2)
    known, new = (
        world.sample(train, "explicitness, train"),
        world.sample(test, "explicitness, test"),
    )
    mean, scale = known.representations.mean(0), known.representations.std(0, correction=0)
    scale = torch.where(scale > 0, scale, 1.0)
    x, x_new = (known.representations - mean) / scale, (new.representations - mean) / scale
    found = []
    for k, size in enumerate(sizes):
        y, y_new = known.codes[:, k], new.codes[:, k]
        classifier = fit_logistic(x, y, size)
        chance, chance_new = (classifier.scores(part).softmax(-1) for part in (x, x_new))
        found.append([_mean_area(chance, y), _mean_area(chance_new, y_new)])
    areas = torch.tensor(found, dtype=torch.float64)  # (K, 2)
    return Explicitness(areas[:, 1].mean().item(), areas[:, 0].mean().item(), areas[:, 1])


def area_under_curve(scores: Tensor, positive: Tensor) -> float:
    """The chance that a positive outscores a negative, ties half, from `(N,)` and boolean `(N,)`.

    >>> scores = torch.tensor([0.9, 0.5, 0.5, 0.1])
    >>> area_under_curve(scores, torch.tensor([True, True, False, False]))
    0.875
    """
    ours, theirs = scores[positive], scores[~positive].sort().values
    below = torch.searchsorted(theirs, ours) + torch.searchsorted(theirs, ours, right=True)
    return below.to(torch.float64).mean().item() / (2 * len(theirs))


def _mean_area(chance: Tensor, labels: Tensor) -> float:
    """Area under the curve, averaged over the values that some states have and some have not."""
    members = [(labels == value, column) for value, column in enumerate(chance.mT)]
    areas = [
        area_under_curve(column.contiguous(), member)
        for member, column in members
        if member.any() and not member.all()
    ]
    return sum(areas) / len(areas) if areas else 0.5
