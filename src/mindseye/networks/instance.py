"""Residual networks with instance normalisation, between pictures and vectors.

Those of Cremer and Kushman (2018), who took them from CycleGAN: a convolution, two halvings, three
residual blocks, a dense layer; and the same backwards. Every channel of every picture is normalised
by itself, so that pictures of a batch do not know of each other.

Ours may fold pictures before the first convolution, two by two pixels into channels, which spares
the layers at full resolution; then there is room for a block after every doubling, and for more
maps where dense layers meet convolutions. Small things are drawn sharper so, and sooner.

References:
    Unpaired Image-to-Image Translation using Cycle-Consistent Adversarial Networks, Zhu et al.
    https://arxiv.org/abs/1703.10593
"""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F

from mindseye.errors import UsageError
from mindseye.kernels import wanted
from mindseye.networks.dense import initialised

__all__ = ["InstanceDecoder", "InstanceEncoder"]

Shape = tuple[int, int, int]

BLOCKS = 3


CARRIED = {1: 10, 2: 64}
"""Channels of the small maps that dense layers read and write, by the side of folds."""


class InstanceEncoder(nn.Module):
    """Pictures to vectors.

    Arguments:
        shape: Channels, height and width of a picture.
        width: Channels of the first convolution; there are four times as many in the blocks.
        out: Size of the vector.
        fold: Side of the squares of pixels that become channels; 1 for none.
    """

    def __init__(self, shape: Shape, width: int, out: int, fold: int = 1):
        super().__init__()
        (height, across), carried = _halved(shape, fold), CARRIED[fold]
        kernel = 7 if fold == 1 else 3
        self.layers = nn.Sequential(
            nn.PixelUnshuffle(fold),
            *_normalised(shape[0] * fold**2, width, kernel, 1),
            *_normalised(width, 2 * width, 3, 2),
            *_normalised(2 * width, 4 * width, 3, 2),
            *(InstanceBlock(4 * width) for _ in range(BLOCKS)),
            initialised(nn.Conv2d(4 * width, carried, 1)),
            nn.Flatten(),
            initialised(nn.Linear(carried * height * across, out)),
        )

    def forward(self, x: Tensor) -> Tensor:
        """Map `(B, C, H, W)` to `(B, out)`."""
        return self.layers(x)


class InstanceDecoder(nn.Module):
    """Vectors to maps of pictures.

    Arguments:
        size: Size of the vector.
        shape: Channels, height and width of the result.
        width: Channels before the last convolution; there are four times as many in the blocks.
        fold: Side of the squares of pixels that are unfolded from channels; 1 for none.
    """

    def __init__(self, size: int, shape: Shape, width: int, fold: int = 1):
        super().__init__()
        self.side, self.carried = _halved(shape, fold), CARRIED[fold]
        kernel, finer = 7 if fold == 1 else 3, fold > 1
        last = nn.Conv2d(width, shape[0] * fold**2, kernel, padding=kernel // 2)
        self.dense = initialised(nn.Linear(size, self.carried * self.side[0] * self.side[1]))
        self.layers = nn.Sequential(
            *_normalised(self.carried, 4 * width, 3, 1),
            *(InstanceBlock(4 * width) for _ in range(BLOCKS)),
            *_doubled(4 * width, finer),
            *_doubled(2 * width, finer),
            initialised(last),
            nn.PixelShuffle(fold),
        )

    def forward(self, vector: Tensor) -> Tensor:
        """Map `(B, size)` to `(B, C, H, W)`."""
        return self.layers(self.dense(vector).unflatten(1, (self.carried, *self.side)))


class InstanceBlock(nn.Module):
    """Two normalised convolutions beside the identity.

    Arguments:
        channels: Channels of the maps.
    """

    def __init__(self, channels: int):
        super().__init__()
        self.layers = nn.Sequential(
            *_normalised(channels, channels, 3, 1),
            *_normalised(channels, channels, 3, 1, rectified=False),
        )

    def forward(self, x: Tensor) -> Tensor:
        """Map `(B, C, H, W)` to the same shape."""
        return x + self.layers(x)


class InstanceNorm(nn.InstanceNorm2d):
    """Instance normalisation, and a rectifier if asked for; one kernel in a captured step.

    Arguments:
        channels: Channels of the maps.
        rectified: Whether a rectifier follows.
    """

    def __init__(self, channels: int, *, rectified: bool = True):
        super().__init__(channels, affine=True)
        self.rectified = rectified

    def forward(self, input: Tensor) -> Tensor:
        """Map `(B, C, H, W)` to the same shape."""
        if wanted(input):
            from mindseye.kernels.instance import InstanceNorm as Fused

            return Fused.apply(input, self.weight, self.bias, self.eps, self.rectified)
        normalised = super().forward(input)
        return F.relu(normalised) if self.rectified else normalised


def _normalised(
    before: int, after: int, kernel: int, stride: int, *, rectified: bool = True
) -> list[nn.Module]:
    """A convolution, instance normalisation and a rectifier."""
    conv = nn.Conv2d(before, after, kernel, stride, padding=kernel // 2, bias=False)
    return [initialised(conv), InstanceNorm(after, rectified=rectified)]


def _doubled(channels: int, finer: bool) -> list[nn.Module]:
    """Maps of twice the side and half the channels, and a block of them if they are made finer."""
    up = nn.Upsample(scale_factor=2, mode="nearest")
    block = [InstanceBlock(channels // 2)] if finer else []
    return [up, *_normalised(channels, channels // 2, 3, 1), *block]


def _halved(shape: Shape, fold: int) -> tuple[int, int]:
    """Height and width after folding and two halvings; a single number has no variance."""
    least, (height, across) = 4 * fold, shape[1:]
    if height % least or across % least or height * across == least**2:
        near = least * max(1, round(height / least))
        raise UsageError(
            f"these networks halve pictures to {least} times less, and more than one pixel must be"
            f" left; they have {height} by {across} pixels.",
            f"Try `side={max(near, 2 * least)}`.",
        )
    return height // least, across // least
