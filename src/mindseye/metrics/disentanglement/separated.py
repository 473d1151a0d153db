r"""SAP, separated attribute predictability: how much better the best single dimension predicts.

The score of a dimension $d$ for a factor $k$ is how well $z_d$ alone predicts $v_k$. SAP is the gap
between the two best dimensions, averaged over factors. For discrete factors the score is the
accuracy of a linear support vector machine on new states; for continuous ones it is the squared
correlation of $z_d$ and $v_k$.

The machine is that of disentanglement_lib, `LinearSVC(C=0.01, class_weight="balanced")`: one value
against the rest, squared hinge loss, and a penalty on the offset too,

$$ \min_{w, b} \; \tfrac12 (w^2 + b^2) + C \sum_n c_n \max\left(0, 1 - t_n (w x_n + b)\right)^2 $$

with $t_n = \pm 1$; states with the value weigh $c_n = N / (V N_v)$, all others 1 (with two values,
each its own weight). It has two unknowns, so here all dimensions and values of a factor are solved
together by Newton's method, which ends at the exact minimum after a few steps; scikit-learn, which
is not needed, comes near it.

References:
    - *Variational Inference of Disentangled Latent Concepts from Unlabeled Observations*, Kumar,
      Sattigeri and Balakrishnan, 2018, https://arxiv.org/abs/1711.00848
    - *Challenging Common Assumptions in the Unsupervised Learning of Disentangled
      Representations*, Locatello et al., 2019, https://arxiv.org/abs/1811.12359
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from mindseye.metrics.disentanglement.information import top_two
from mindseye.metrics.disentanglement.world import Device, Represent, Sample, World, at_least

__all__ = ["Hinge", "SAPScore", "fit_hinge", "sap"]


class SAPScore(NamedTuple):
    """How much better the best dimension predicts a factor than the next."""

    score: float
    """The mean of the gaps."""
    gaps: Tensor
    """Of each factor, `(K,)`."""
    scores: Tensor
    """Accuracy, or squared correlation, of each dimension for each factor, `(D, K)`."""


def sap(
    represent: Represent,
    sizes: Sequence[int],
    *,
    train: int = 10_000,
    test: int = 5000,
    continuous: bool = False,
    c: float = 0.01,
    seed: int = 0,
    batch: int = 4096,
    device: Device = "cpu",
) -> SAPScore:
    """Separated attribute predictability.

    >>> once = sap(lambda codes: codes.double(), (2, 2), train=500, test=200)
    >>> twice = sap(lambda codes: codes.repeat(1, 2).double(), (2, 2), train=500, test=200)
    >>> once.score > 0.4, twice.score
    (True, 0.0)

    Arguments:
        represent: Factor codes `(B, K)` in, representations `(B, D)` out.
        sizes: How many values each factor has.
        train: How many states the classifiers learn from, or the correlation is taken over.
        test: How many states the classifiers are judged on.
        continuous: Take the squared correlation instead of the accuracy.
        c: The weight of the loss against the penalty.
        seed: Which states are drawn.
        batch: How many states are represented at once.
        device: Where the codes are made.
    """
    world = World(represent, sizes, seed, batch, device)
    at_least("train", train, 2)
    at_least("test", test, 1)
    known = world.sample(train, "SAP, train")
    if continuous:
        scores = _correlations(known)
    else:
        new = world.sample(test, "SAP, test")
        columns = [_accuracies(known, new, k, size, c) for k, size in enumerate(sizes)]
        scores = torch.stack(columns, dim=-1)
    scores = scores.cpu()
    first, second = top_two(scores)
    return SAPScore((first - second).mean().item(), first - second, scores)


def _correlations(sample: Sample) -> Tensor:
    """Squared correlations of dimensions and factors, `(D, K)`; 0 for what never varies."""
    z = sample.representations - sample.representations.mean(0)
    v = sample.codes.to(z.dtype) - sample.codes.to(z.dtype).mean(0)
    covariance, n = z.mT @ v, len(z) - 1
    spread = z.square().sum(0)[:, None] * v.square().sum(0)
    varies = (z.square().sum(0) / n > 1e-12)[:, None] & (v.square().sum(0) > 0)
    return torch.where(varies, covariance.square() / spread, 0.0)


def _accuracies(known: Sample, new: Sample, k: int, size: int, c: float) -> Tensor:
    """How often each dimension alone names factor `k` of new states, `(D,)`."""
    hinge = fit_hinge(known.representations.mT, known.codes[:, k], size, c)
    predicted = hinge.predict(new.representations.mT)  # (D, N)
    return (predicted == new.codes[:, k]).to(torch.float64).mean(-1)


class Hinge(NamedTuple):
    """Linear classifiers of one number, one for each of D dimensions."""

    slope: Tensor
    """`(D, V)`."""
    offset: Tensor
    """`(D, V)`; minus infinity for a value that was never seen."""

    def predict(self, x: Tensor) -> Tensor:
        """The values with the highest scores, `(D, N)` from `(D, N)`."""
        best = torch.full_like(x, -torch.inf)
        found = torch.zeros(x.shape, dtype=torch.int64, device=x.device)
        for value in range(self.slope.shape[1]):
            score = self.slope[:, value, None] * x + self.offset[:, value, None]
            found = torch.where(score > best, value, found)
            best = torch.maximum(score, best)
        return found


def fit_hinge(x: Tensor, labels: Tensor, size: int, c: float) -> Hinge:
    """Fit one support vector machine per dimension.

    Arguments:
        x: What is known, float64 `(D, N)`.
        labels: The values, in `[0, size)`, `(N,)`.
        size: How many values there are; one that no label names is never predicted.
        c: The weight of the loss against the penalty.
    """
    seen, labels = labels.unique(return_inverse=True)
    member = one_hot(labels, len(seen)).mT.to(x.dtype)  # (V, N)
    balance = len(labels) / (len(seen) * member.sum(-1, keepdim=True))  # (V, 1)
    other = balance.flip(0) if len(seen) == 2 else torch.ones_like(balance)
    cost = c * torch.where(member > 0, balance, other)
    slope = x.new_zeros(len(x), size)
    offset = x.new_full((len(x), size), -torch.inf)
    for d, row in enumerate(x):
        slope[d, seen], offset[d, seen] = _minimise(row, 2 * member - 1, cost)
    return Hinge(slope, offset)


_STEPS = 100


def _minimise(x: Tensor, side: Tensor, cost: Tensor) -> tuple[Tensor, Tensor]:
    """Newton's method with backtracking for V machines of one number.

    Arguments:
        x: `(N,)`.
        side: +1 or -1, `(V, N)`.
        cost: `(V, N)`.

    Returns:
        Slopes and offsets, each `(V,)`.
    """
    w = b = x.new_zeros(len(side))
    for _ in range(_STEPS):
        slack = _slack(x, side, w, b)
        pull = 2 * cost * slack * side
        gw, gb = w - pull @ x, b - pull.sum(-1)
        weight = 2 * cost * (slack > 0)
        hww, hwb, hbb = 1 + weight @ x.square(), weight @ x, 1 + weight.sum(-1)
        determinant = hww * hbb - hwb.square()
        dw, db = (hbb * gw - hwb * gb) / determinant, (hww * gb - hwb * gw) / determinant
        promise = gw * dw + gb * db
        loss = _loss(x, side, cost, w, b)
        if (promise <= 1e-12 * (1 + loss)).all():
            break
        step = torch.ones_like(w)
        for _ in range(_STEPS):
            worse = (
                _loss(x, side, cost, w - step * dw, b - step * db) > loss - 1e-4 * step * promise
            )
            worse &= promise > 1e-12 * (1 + loss)
            if not worse.any():
                break
            step = torch.where(worse, step / 2, step)
        w, b = w - step * dw, b - step * db
    return w, b


def _slack(x: Tensor, side: Tensor, w: Tensor, b: Tensor) -> Tensor:
    """How far each state is from the right side of the margin, `(V, N)`."""
    return (1 - side * (w[:, None] * x + b[:, None])).clamp_(min=0)


def _loss(x: Tensor, side: Tensor, cost: Tensor, w: Tensor, b: Tensor) -> Tensor:
    return (w.square() + b.square()) / 2 + (cost * _slack(x, side, w, b).square()).sum(-1)
