r"""Points of many dimensions laid out in a plane.

`principal` keeps the two directions in which the points vary most: straight, quick, of any number
of points. `neighbourly` keeps who is near whom, by t-SNE: with

$$ p_{ij} \propto \exp(-\beta_i |z_i - z_j|^2) + \exp(-\beta_j |z_i - z_j|^2), \qquad
   q_{ij} \propto (1 + |u_i - u_j|^2)^{-1}, $$

where every $\beta_i$ gives a point as many near neighbours as the perplexity says, the plane $u$
lowers $\mathrm{KL}(p \,\|\, q)$ step by step from the principal components. All pairs are looked
at, so it is for thousands of points and not for millions; distances between clusters mean little.

References:
    Visualizing Data using t-SNE, van der Maaten and Hinton, 2008
    https://jmlr.org/papers/v9/vandermaaten08a.html
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

__all__ = ["MOST", "neighbourly", "principal"]

MOST = 6000
"""So many points are laid out by their neighbours; of more, principal components are shown."""

EXAGGERATED, EARLY = 12.0, 0.25
"""At first, for a part of the steps, neighbours pull so many times harder."""


def principal(z: Tensor) -> Tensor:
    """The two directions in which points `(N, D)` vary most, `(N, 2)`.

    >>> principal(torch.tensor([[0.0, 0.0, 1.0], [3.0, 0.0, 1.0], [6.0, 0.0, 1.0]]))[:, 0].tolist()
    [-3.0, 0.0, 3.0]
    """
    centred = z - z.mean(0)
    _, _, rows = torch.linalg.svd(centred, full_matrices=False)
    signs = rows.gather(1, rows.abs().argmax(1, keepdim=True)).sign()
    found = centred @ (rows * signs)[:2].T
    return torch.nn.functional.pad(found, (0, 2 - found.shape[1]))


def neighbourly(
    z: Tensor,
    *,
    perplexity: float = 30.0,
    steps: int = 300,
    progress: Callable[[int, int], None] | None = None,
) -> Tensor:
    """A plane in which near points stay near, `(N, 2)`; principal components of `MOST` and more.

    Arguments:
        z: The points, `(N, D)`.
        perplexity: How many neighbours a point has; a third of all of them at most.
        steps: How often points are moved.
        progress: Called with the steps that are done and those there are.
    """
    start = principal(z)
    if len(z) < 4 or len(z) > MOST:
        return start
    wanted = _likeness(z, min(perplexity, len(z) / 3))
    u = 1e-2 * start / start.std().clamp_min(1e-12)
    speed, rate = torch.zeros_like(u), max(50.0, len(z) / EXAGGERATED)
    for step in range(steps):
        early = step < EARLY * steps
        slope = _slope(u, wanted, EXAGGERATED if early else 1.0)
        speed = (0.5 if early else 0.8) * speed - rate * slope
        u = u + speed
        if progress:
            progress(step + 1, steps)
    return u - u.mean(0)


def _likeness(z: Tensor, perplexity: float) -> Tensor:
    """The p of all pairs, `(N, N)`, which sum to 1."""
    squares = torch.cdist(z, z).square()
    low, high = torch.zeros(len(z)).to(z), torch.full((len(z),), math.inf).to(z)
    sharp = (1.0 / squares.mean(1)).clamp_max(1e12)
    for _ in range(40):  # bisection: the entropy falls as points grow sharp
        p = _conditional(squares, sharp)
        entropy = -(p * p.clamp_min(1e-12).log()).sum(1)
        wide = entropy > math.log(perplexity)
        low, high = torch.where(wide, sharp, low), torch.where(wide, high, sharp)
        sharp = torch.where(high.isinf(), 2 * sharp, (low + high) / 2)
    p = _conditional(squares, sharp)
    return (p + p.T) / (2 * len(z))


def _conditional(squares: Tensor, sharp: Tensor) -> Tensor:
    """How likely each point takes each other for its neighbour, by rows."""
    logits = -sharp[:, None] * squares
    return logits.fill_diagonal_(-math.inf).softmax(1)


def _slope(u: Tensor, wanted: Tensor, pull: float) -> Tensor:
    """The gradient of KL(p || q) by the points of the plane."""
    near = torch.cdist(u, u, compute_mode="donot_use_mm_for_euclid_dist").square_().add_(1)
    near = near.reciprocal_().fill_diagonal_(0)
    force = near.div(-near.sum()).add_(wanted, alpha=pull).mul_(near)
    return 4 * (force.sum(1, keepdim=True) * u - force @ u)
