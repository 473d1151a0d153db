r"""Multinomial logistic regression, fitted to the end by Newton's method.

$$ \min_{W, b} \; \sum_n -\log \mathrm{softmax}(W^\top x_n + b)_{y_n} + \tfrac{1}{2C} \|W\|^2 $$

This is scikit-learn's default objective, with $C = 1$. It is convex, and small here (10 dimensions,
at most 40 classes), so full Newton steps with backtracking find its minimum in about ten steps.
There is no randomness in it. Columns are standardised inside, which leaves the minimum where it is
(the penalty is rescaled) and keeps the equations well conditioned.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, one_hot

__all__ = ["Logistic", "fit_logistic"]


class Logistic(NamedTuple):
    """A linear classifier."""

    weights: Tensor
    """One column per class, `(D, C)`."""
    bias: Tensor
    """`(C,)`; minus infinity for a class that was never seen."""

    def scores(self, x: Tensor) -> Tensor:
        """Log probabilities up to a constant, `(B, C)`."""
        return x @ self.weights + self.bias

    def predict(self, x: Tensor) -> Tensor:
        """The most probable class of each row, `(B,)`."""
        return self.scores(x).argmax(-1)


def fit_logistic(x: Tensor, labels: Tensor, classes: int, c: float = 1.0) -> Logistic:
    """Fit a classifier of rows `(N, D)` with labels `(N,)`.

    >>> x = torch.tensor([[-2.0], [-1.0], [1.0], [2.0]], dtype=torch.float64)
    >>> fit_logistic(x, torch.tensor([0, 0, 1, 1]), 2).predict(x)
    tensor([0, 0, 1, 1])

    Arguments:
        x: What is known, float64.
        labels: The classes, in `[0, classes)`.
        classes: How many there are; one that no label names is never predicted.
        c: The inverse strength of the penalty.
    """
    seen, labels = labels.unique(return_inverse=True)
    mean, scale = x.mean(0), x.std(0, correction=0)
    scale = torch.where(scale > 0, scale, 1.0)
    rows = torch.cat([(x - mean) / scale, torch.ones_like(x[:, :1])], dim=1)  # (N, P)
    penalty = torch.cat([1 / (c * scale**2), torch.zeros_like(scale[:1])])[:, None]  # (P, 1)
    theta = _minimise(rows, labels, len(seen), penalty)  # (P, S)
    weights = x.new_zeros(x.shape[1], classes)
    bias = x.new_full((classes,), -torch.inf)
    weights[:, seen] = theta[:-1] / scale[:, None]
    bias[seen] = theta[-1] - mean @ weights[:, seen]
    return Logistic(weights, bias)


_STEPS = 100
_HALVINGS = 40


def _minimise(rows: Tensor, labels: Tensor, classes: int, penalty: Tensor) -> Tensor:
    """Newton's method with backtracking, from 0 to the minimum, `(P, S)`."""
    theta = rows.new_zeros(rows.shape[1], classes)
    loss = _loss(theta, rows, labels, penalty)
    for _ in range(_STEPS):
        step, decrement = _newton(theta, rows, labels, penalty)
        if decrement < 1e-9:
            return theta - step  # so near, a full step squares what is missing
        for halving in range(_HALVINGS):
            next_theta = theta - step * 0.5**halving
            next_loss = _loss(next_theta, rows, labels, penalty)
            if next_loss <= loss - 1e-4 * 0.5**halving * decrement:
                break
        else:
            return theta  # no better point within rounding
        theta, loss = next_theta, next_loss
    return theta


def _loss(theta: Tensor, rows: Tensor, labels: Tensor, penalty: Tensor) -> Tensor:
    fit = cross_entropy(rows @ theta, labels, reduction="sum")
    return fit + (penalty * theta**2).sum() / 2


def _newton(theta: Tensor, rows: Tensor, labels: Tensor, penalty: Tensor) -> tuple[Tensor, Tensor]:
    """The step to the minimum of the local parabola, and what it promises, twice."""
    (p, s) = theta.shape
    chance = (rows @ theta).softmax(-1)  # (N, S)
    gradient = rows.mT @ (chance - one_hot(labels, s)) + penalty * theta
    weighted = (chance[:, :, None] * rows[:, None]).flatten(1)  # (N, S P)
    curvature = -(weighted.mT @ weighted).unflatten(0, (s, p)).unflatten(2, (s, p))  # (S, P, S, P)
    same = torch.arange(s, device=rows.device)
    curvature[same, :, same] += (weighted.mT @ rows).unflatten(0, (s, p)) + penalty * torch.eye(
        p, dtype=rows.dtype, device=rows.device
    )
    # Adding one number to every bias changes nothing; this makes the equations regular.
    curvature[:, -1, :, -1] += 1
    flat = gradient.mT.flatten()
    step = torch.linalg.solve(curvature.reshape(s * p, s * p), flat)
    return step.reshape(s, p).mT, flat @ step
