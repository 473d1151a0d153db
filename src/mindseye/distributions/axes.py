r"""Axes that pictures are taken apart along: principal components, or independent ones.

`Axes` are those of the data, and stay. `LearntAxes` begin there and learn with the model. Where all
that is known is the covariance, every rotation of the principal components has variance 1 and no
correlation; which of them are independent is told by the rest of the density. Of natural pictures
the principal components are waves over the whole patch, the independent ones edges at a place.

References:
    The "independent components" of natural scenes are edge filters, Bell and Sejnowski, 1997
    https://doi.org/10.1016/S0042-6989(97)00121-1
    Glow, Kingma and Dhariwal, 2018 (a matrix by its triangular factors)
    https://arxiv.org/abs/1807.03039
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.linalg import solve_triangular

__all__ = ["Axes", "LearntAxes"]

FLATTEST = 1e-4
"""No axis is shorter, in parts of the longest: where pictures do not vary there is no density."""


class Axes(nn.Module):
    r"""The principal components of pictures, $x = \mu + U \Lambda^{1/2} c$.

    Those of pictures that are alike in the mean have components $c$ of variance 1 that are not
    correlated, however unequal their spreads in $x$: the fine ones count as much as the coarse.
    They are found in float64: the finest are thousands of times finer than a pixel's spread.

    Arguments:
        shape: Channels, height and width of a picture.
    """

    centre: Tensor
    directions: Tensor
    deviations: Tensor

    def __init__(self, shape: tuple[int, int, int]):
        super().__init__()
        numbers = math.prod(shape)
        self.register_buffer("centre", torch.zeros(numbers))
        self.register_buffer("directions", torch.eye(numbers))
        self.register_buffer("deviations", torch.ones(numbers))

    @torch.no_grad()
    def turn(self, mean: Tensor, some: Tensor | None) -> None:
        """Lay the axes through some pictures `(N, C, H, W)` around their mean `(C, H, W)`."""
        self.centre.copy_(mean.flatten())
        if some is None:
            return
        apart = some.flatten(1).double() - self.centre.double()
        variances, directions = torch.linalg.eigh(apart.T @ apart / len(apart))
        deviations = variances.clamp_min(0).sqrt()
        self.directions.copy_(directions)
        self.deviations.copy_(deviations.clamp_min(FLATTEST * deviations.max()))

    def components(self, x: Tensor) -> Tensor:
        """The components of pictures `(..., C, H, W)`, in the same shape."""
        return self.principal(x)

    def principal(self, x: Tensor) -> Tensor:
        """The principal components of pictures `(..., C, H, W)`, in the same shape."""
        apart = x.flatten(-3).double() - self.centre.double()
        return (apart @ self.directions.double() / self.deviations).to(x).view(x.shape)

    def picture(self, components: Tensor) -> Tensor:
        """The pictures of components `(..., C, H, W)`, in the same shape."""
        along = components.flatten(-3).double() * self.deviations
        x = along @ self.directions.double().T + self.centre
        return x.to(components).view(components.shape)

    @property
    def log_volume(self) -> Tensor:
        """How much smaller densities of pictures are than densities of their components."""
        return self.deviations.log().sum()


class LearntAxes(Axes):
    r"""Components $c = R^\top L^\top \Lambda^{-1/2} U^\top (x - \mu)$ whose L and R are learnt.

    L is triangular with ones on its diagonal, R is triangular the other way and its diagonal
    $\exp s$: so their volume is $\sum s$, and both are inverted by substitution. They begin as the
    identity, where this is `Axes`.

    Arguments:
        shape: Channels, height and width of a picture.
    """

    def __init__(self, shape: tuple[int, int, int]):
        super().__init__(shape)
        numbers = math.prod(shape)
        self.lower = nn.Parameter(torch.zeros(numbers, numbers))
        self.upper = nn.Parameter(torch.zeros(numbers, numbers))
        self.log_stretch = nn.Parameter(torch.zeros(numbers))

    def components(self, x: Tensor) -> Tensor:
        """The components of pictures `(..., C, H, W)`, in the same shape."""
        left, right = self._factors()
        return (self.principal(x).flatten(-3).double() @ left @ right).to(x).view(x.shape)

    def picture(self, components: Tensor) -> Tensor:
        """The pictures of components `(..., C, H, W)`, in the same shape."""
        left, right = self._factors()
        rows = components.reshape(-1, len(left)).double()
        rows = solve_triangular(right, rows, upper=True, left=False)
        rows = solve_triangular(left, rows, upper=False, left=False, unitriangular=True)
        return super().picture(rows.to(components).view(components.shape))

    @property
    def log_volume(self) -> Tensor:
        """How much smaller densities of pictures are than densities of their components."""
        return super().log_volume - self.log_stretch.sum()

    def _factors(self) -> tuple[Tensor, Tensor]:
        """L and R, in float64."""
        lower, upper = self.lower.double(), self.upper.double()
        left = torch.eye(len(lower), dtype=lower.dtype, device=lower.device) + lower.tril(-1)
        return left, upper.triu(1) + self.log_stretch.double().exp().diag()
