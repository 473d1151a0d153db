"""Plain networks between pictures of any size and vectors: strided convolutions, or dense layers.

`plain`  Convolutions of 4 by 4 with stride 2 until a side is at most 4, then a dense layer, and the
         same way back. At 64 by 64 these are the networks that disentanglement is studied with
         (Locatello et al., 2019): 32, 32, 64 and 64 channels and 256 units.
`smooth` The same with SiLU, whose units do not fall silent for good where a strong prior silences
         latents for a while.
`tanh`   Two dense tanh layers of 200 units each way (Burda et al., 2016).
`silu`   The same with SiLU, which does not end: for numbers that may be large, such as contrasts.

References:
    Challenging Common Assumptions in the Unsupervised Learning of Disentangled Representations,
    Locatello et al., 2019
    https://arxiv.org/abs/1811.12359
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn.functional import conv2d, pixel_shuffle

from mindseye.errors import UsageError
from mindseye.networks.dense import GlorotMLP

__all__ = ["FlatDecoder", "FlatEncoder", "PlainDecoder", "PlainEncoder"]

Shape = tuple[int, int, int]


class FlatEncoder(nn.Sequential):
    """Two dense layers of the pixels.

    Arguments:
        shape: Channels, height and width of a picture.
        width: Width of the layers.
        between: What follows each of them.
    """

    def __init__(self, shape: Shape, width: int, between: Callable[[], nn.Module] = nn.Tanh):
        mlp = GlorotMLP([math.prod(shape), width, width], between)
        super().__init__(nn.Flatten(), mlp, between())
        self.features = width


class FlatDecoder(nn.Module):
    """Two dense layers, then the pixels.

    Arguments:
        latent: Size of the latent vector.
        shape: Channels, height and width of a picture.
        width: Width of the layers.
        layers: Makes the layers of their widths.
    """

    def __init__(
        self,
        latent: int,
        shape: Shape,
        width: int,
        layers: Callable[[Sequence[int]], nn.Module] = GlorotMLP,
    ):
        super().__init__()
        self.shape = shape
        self.mlp = layers([latent, width, width, math.prod(shape)])

    def forward(self, z: Tensor) -> Tensor:
        """Map `(B, D)` to `(B, C, H, W)`."""
        return self.mlp(z).view(len(z), *self.shape)


class PlainEncoder(nn.Sequential):
    """Strided convolutions, then a dense layer.

    Arguments:
        shape: Channels, height and width of a picture.
        width: Channels of the first two convolutions; the others have twice as many.
        between: What follows each of them.
    """

    def __init__(self, shape: Shape, width: int, between: Callable[[], nn.Module] = nn.ReLU):
        sides, channels = _sides(shape), _channels(shape, width)
        layers: list[nn.Module] = []
        for before, after in pairwise(channels):
            layers += [nn.Conv2d(before, after, 4, 2, 1), between()]
        flat = channels[-1] * math.prod(sides[-1])
        super().__init__(*layers, nn.Flatten(), nn.Linear(flat, 8 * width), between())
        self.features = 8 * width


class PlainDecoder(nn.Module):
    """Two dense layers, then transposed convolutions of stride 2.

    Arguments:
        latent: Size of the latent vector.
        shape: Channels, height and width of a picture.
        width: Channels of the last two layers; the others have twice as many.
        between: What stands between the layers.
    """

    def __init__(
        self, latent: int, shape: Shape, width: int, between: Callable[[], nn.Module] = nn.ReLU
    ):
        super().__init__()
        sides, channels = _sides(shape)[::-1], _channels(shape, width)[::-1]
        self.start = (channels[0], *sides[0])
        self.dense = nn.Sequential(
            nn.Linear(latent, 8 * width),
            between(),
            nn.Linear(8 * width, math.prod(self.start)),
            between(),
        )
        layers: list[nn.Module] = []
        for (before, after), (small, large) in zip(
            pairwise(channels), pairwise(sides), strict=True
        ):
            odd = (large[0] - 2 * small[0], large[1] - 2 * small[1])
            layers += [_Doubling(before, after, 4, 2, 1, odd), between()]
        self.layers = nn.Sequential(*layers[:-1])

    def forward(self, z: Tensor) -> Tensor:
        """Map `(B, D)` to `(B, C, H, W)`."""
        return self.layers(self.dense(z).view(len(z), *self.start))


class _Doubling(nn.ConvTranspose2d):
    """A transposed convolution of 4 by 4 and stride 2.

    To the few channels of a picture it is a convolution of 3 by 3, whose four results for a pixel
    are laid side by side: torch's own launches a kernel for every picture of a batch.
    """

    def forward(self, input: Tensor, output_size: list[int] | None = None) -> Tensor:
        """Map `(B, C, H, W)` to `(B, C', 2H, 2W)`, or one more where the sides are odd."""
        if self.out_channels > 4 or any(self.output_padding):
            return super().forward(input, output_size)
        assert self.bias is not None
        weight = _halves(_halves(self.weight, 2), 4)  # (2, 2, C, C', 3, 3), columns before rows
        weight = weight.permute(3, 1, 0, 2, 4, 5).reshape(-1, self.in_channels, 3, 3)
        return pixel_shuffle(conv2d(input, weight, self.bias.repeat_interleave(4), padding=1), 2)


def _halves(weight: Tensor, dim: int) -> Tensor:
    """The three weights along a dimension of four that even results have, and odd ones."""
    a, b, c, d = weight.unbind(dim)
    nothing = torch.zeros_like(a)
    return torch.stack([torch.stack([d, b, nothing], dim), torch.stack([nothing, c, a], dim)])


def _sides(shape: Shape) -> list[tuple[int, int]]:
    """Height and width before and after every convolution."""
    sides = [(shape[1], shape[2])]
    while max(sides[-1]) > 4:
        sides.append((sides[-1][0] // 2, sides[-1][1] // 2))
    if len(sides) < 2 or min(sides[-1]) < 1:
        raise UsageError(
            f"plain networks halve pictures down to 4 pixels; these have {shape[1]} by {shape[2]}.",
            "Try networks=dense.",
        )
    return sides


def _channels(shape: Shape, width: int) -> list[int]:
    """Channels before and after every convolution."""
    count = len(_sides(shape)) - 1
    return [shape[0], *([width] * 2 + [2 * width] * count)[:count]]
