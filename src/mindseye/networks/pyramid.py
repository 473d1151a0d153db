r"""The Laplacian pyramid: a picture as what every halving of it loses, and the smallest one.

$$ x_0 = x, \qquad x_{l+1} = \mathrm{halved}(x_l), \qquad
   b_l = x_l - \mathrm{doubled}(x_{l+1}), \qquad x_l = b_l + \mathrm{doubled}(x_{l+1}) $$

A halved pixel is the mean of 2 by 2, of fewer at the end of an odd side; a picture is doubled
bilinearly. Burt and Adelson blur with a wider filter. Bands and the coarsest picture give the
picture back whatever the filters are.

References:
    The Laplacian Pyramid as a Compact Image Code, Burt and Adelson, 1983
    Deep Generative Image Models using a Laplacian Pyramid of Adversarial Networks, Denton et al.,
    2015
    https://arxiv.org/abs/1506.05751
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from torch import Tensor
from torch.nn.functional import avg_pool2d, interpolate

__all__ = ["bands", "collapsed", "doubled", "halved", "reduced", "sides"]


def halved(x: Tensor) -> Tensor:
    """Means of 2 by 2 pixels of pictures `(B, C, H, W)`; odd sides are rounded up."""
    return avg_pool2d(x, 2, ceil_mode=True)


def doubled(x: Tensor, size: Sequence[int]) -> Tensor:
    """Pictures between whose pixels there are others, as large as `size` says: height and width."""
    return interpolate(x, size=tuple(size), mode="bilinear", align_corners=False)


def reduced(x: Tensor, levels: int) -> list[Tensor]:
    """A picture and its halvings, the finest first, `levels + 1` of them."""
    found = [x]
    for _ in range(levels):
        found.append(halved(found[-1]))
    return found


def bands(x: Tensor, levels: int) -> list[Tensor]:
    """What every halving loses, the finest first, and the coarsest picture."""
    pictures = reduced(x, levels)
    lost = [fine - doubled(coarse, fine.shape[-2:]) for fine, coarse in pairwise(pictures)]
    return [*lost, pictures[-1]]


def collapsed(bands: Sequence[Tensor]) -> Tensor:
    """The picture of bands, which `bands` takes apart."""
    *lost, picture = bands
    for band in reversed(lost):
        picture = band + doubled(picture, band.shape[-2:])
    return picture


def sides(height: int, width: int, levels: int) -> list[tuple[int, int]]:
    """Height and width of a picture and of its halvings.

    >>> sides(60, 45, 2)
    [(60, 45), (30, 23), (15, 12)]
    """
    found = [(height, width)]
    for _ in range(levels):
        found.append((-(-found[-1][0] // 2), -(-found[-1][1] // 2)))
    return found
