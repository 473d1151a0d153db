r"""Windows of attention on a picture: Gaussian filter banks that read patches and write them.

A window has a centre $(g_X, g_Y)$, a spacing $δ$, a width $σ$ and a strength $γ$, all from five
numbers. Filter $i$ of $p$ stands at

$$ μ_X^i = g_X + (i - p / 2 - 1/2)\, δ, \qquad
   F_X[i, a] = \frac{1}{Z_X} \exp\left( -\frac{(a - μ_X^i)^2}{2 σ^2} \right), \quad
   \sum_a F_X[i, a] = 1, $$

a patch is read as $γ\, F_Y\, x\, F_X^\top$, and written as $\frac{1}{γ} F_Y^\top\, w\, F_X$. With
all five numbers 0 the window covers the picture.

References:
    DRAW: A Recurrent Neural Network for Image Generation, Gregor et al., 2015, section 3.2
    https://arxiv.org/abs/1502.04623
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

__all__ = ["NUMBERS", "Aim", "Window", "window"]

NUMBERS = 5
"""Numbers that say where a window is: its centre, and the logarithms of σ², δ and γ."""

FAR = 10.0
"""The largest logarithm of a width, a spacing or a strength."""


class Window(NamedTuple):
    """Filter banks over pictures of H by W pixels, for every row of a batch."""

    rows: Tensor
    """$F_Y$, `(B, p, H)`."""
    columns: Tensor
    """$F_X$, `(B, p, W)`."""
    strength: Tensor
    """γ, `(B, 1)`."""
    place: Tensor
    """Row and column of the centre and the spacing of the filters, in pixels, `(B, 3)`."""

    def read(self, pictures: Tensor) -> Tensor:
        """Patches `(B, C p p)` of pictures `(B, C, H, W)`."""
        found = self.rows[:, None] @ pictures @ self.columns[:, None].mT
        return self.strength * found.flatten(1)

    def write(self, patch: Tensor) -> Tensor:
        """Pictures `(B, C, H, W)` of patches `(B, C, p, p)`."""
        weak = patch / self.strength[..., None, None]
        return self.rows[:, None].mT @ weak @ self.columns[:, None]


def window(numbers: Tensor, shape: tuple[int, int, int], size: int) -> Window:
    """The filter banks of size by size filters that five numbers `(B, 5)` say, in float32.

    Arguments:
        numbers: Centre across and down, from -1 to 1 on the picture; the logarithms of σ², δ, γ.
        shape: Channels, height and width of a picture.
        size: p, how many filters there are in either direction.
    """
    across, down, log_variance, log_spacing, log_strength = numbers.float().split(1, -1)
    _, height, width = shape
    largest = (max(height, width) - 1) / max(size - 1, 1)
    spacing = largest * log_spacing.clamp(-FAR, FAR).exp()
    variance = log_variance.clamp(-FAR, FAR).exp()
    row, column = (height - 1) / 2 * (down + 1), (width - 1) / 2 * (across + 1)
    steps = torch.arange(size, device=numbers.device) - (size - 1) / 2
    return Window(
        _bank(row + steps * spacing, variance, height),
        _bank(column + steps * spacing, variance, width),
        log_strength.clamp(-FAR, FAR).exp(),
        torch.cat([row, column, spacing], -1),
    )


class Aim(nn.Linear):
    """Where a window is, from a state; it begins about the middle of the picture.

    Arguments:
        hidden: Size of the state.
        shape: Channels, height and width of a picture.
        size: p, filters in either direction.
    """

    def __init__(self, hidden: int, shape: tuple[int, int, int], size: int):
        super().__init__(hidden, NUMBERS)
        self.shape, self.size = shape, size

    def forward(self, input: Tensor) -> Window:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The window of states `(B, hidden)`."""
        return window(super().forward(input), self.shape, self.size)


def _bank(centres: Tensor, variance: Tensor, length: int) -> Tensor:
    """Filters `(B, p, length)` about centres `(B, p)`, each of them summing to 1."""
    pixel = torch.arange(length, device=centres.device)
    return (-((pixel - centres[..., None]) ** 2) / (2 * variance[..., None])).softmax(-1)
