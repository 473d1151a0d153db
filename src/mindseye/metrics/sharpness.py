r"""How sharp pictures are: how much of their contrast stands between neighbouring pixels.

$$ S(x) = \frac{\overline{(\partial_\rightarrow x)^2} + \overline{(\partial_\downarrow x)^2}}
               {8\, \overline{(x - \bar x)^2}} $$

with differences of neighbours, and means over pixels and channels; $\bar x$ is the mean of a
channel. Neither light nor contrast counts. It is the mean of

$$ \tfrac12 \sin^2(ω_\rightarrow / 2) + \tfrac12 \sin^2(ω_\downarrow / 2) $$

over the frequencies of a picture, weighed by their power. A Gaussian blur takes more from the power
of higher ones; so it lowers the mean, the more the wider it is.

| picture                | S                            |
|------------------------|------------------------------|
| one colour             | 0                            |
| a wave of frequency ω  | $\sin^2(ω / 2) / 2$          |
| a single bright pixel  | ½                            |
| noise                  | ½                            |
| a chequerboard         | 1                            |

More is not better: what real pictures have is what to compare with, and noise has more than those.
"""

from __future__ import annotations

import torch
from torch import Tensor

from mindseye.errors import UsageError

__all__ = ["sharpness"]


def sharpness(pictures: Tensor) -> Tensor:
    """The sharpness of every picture, `(B,)`; 0 if it has one colour.

    >>> board = (torch.arange(8)[:, None] + torch.arange(8)) % 2
    >>> sharpness(board.float().expand(1, 1, 8, 8)).tolist()
    [1.0]

    Arguments:
        pictures: Pictures of real numbers `(B, C, H, W)`, of 2 by 2 pixels or more.
    """
    _check(pictures)
    x = pictures.float()
    x = x - x.mean((2, 3), keepdim=True)
    across, down = (x.diff(dim=dim).square().mean((1, 2, 3)) for dim in (3, 2))
    spread = x.square().mean((1, 2, 3))
    least = torch.finfo(spread.dtype).tiny
    return (across + down) / (8 * spread).clamp_min(least)


def _check(pictures: Tensor) -> None:
    if pictures.ndim != 4 or min(pictures.shape[1:]) < 1 or min(pictures.shape[2:]) < 2:
        raise UsageError(
            f"`pictures` has shape {tuple(pictures.shape)}; expected pictures (B, C, H, W) of 2 by"
            " 2 pixels or more."
        )
