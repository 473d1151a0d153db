r"""Residual networks between pictures and maps of several sizes.

$$ h \mapsto h + W_2 * \mathrm{silu}(W_1 * \mathrm{silu}(h)) $$

Nothing is normalised: a picture's features do not depend on the batch it came with, neither in
training nor afterwards. Instead weights begin at scales that keep the deviation of features, and
the last convolution of each of $n$ blocks at $1/\sqrt{n}$ of its own (Child, 2021).

Pictures are first folded, two by two pixels into channels, and unfolded at the very end, so that no
layer works at full resolution. Every halving after that is a convolution of stride 2, which rounds
sides up: 28, 14, 7, 4.

References:
    Very Deep VAEs Generalize Autoregressive Models and Can Outperform Them on Images, Child, 2021
    https://arxiv.org/abs/2011.10650
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from mindseye.networks.dense import initialised

__all__ = ["FAINT", "GAIN", "BottomUp", "Double", "Residual", "Unfolded", "scaled", "sides"]

Shape = tuple[int, int, int]
Side = tuple[int, int]

GAIN = 1.68
"""What silu takes of a standard normal number's deviation is given back by the weights behind it.
Without that, pictures are hardly told apart in the first steps, and all latents are given up."""

CONTRAST = 3.0
"""Pixels deviate from their mean by about a third."""

FAINT = 0.1
"""How much smaller than usual the weights of what is said in the end begin."""


class Residual(nn.Module):
    """A block of two convolutions beside the identity.

    Arguments:
        filters: Channels of the maps.
        count: How many blocks the whole network has.
        dropout: The share of channels' numbers that are left out in training.
    """

    def __init__(self, filters: int, count: int, dropout: float = 0.0):
        super().__init__()
        self.first = scaled(nn.Conv2d(filters, filters, 3, padding=1), GAIN)
        self.last = scaled(nn.Conv2d(filters, filters, 3, padding=1), GAIN * count**-0.5)
        self.dropout = dropout

    def forward(self, x: Tensor) -> Tensor:
        """Map `(B, F, H, W)` to the same shape."""
        inner = F.silu(self.first(F.silu(x)))
        if self.dropout:
            inner = F.dropout(inner, self.dropout, self.training)
        return x + self.last(inner)


class Double(nn.Module):
    """Every pixel twice in both directions, cut to a size.

    Arguments:
        side: Height and width to give; at most twice those that come.
    """

    def __init__(self, side: Side):
        super().__init__()
        self.side = side

    def forward(self, x: Tensor) -> Tensor:
        """Map `(B, F, h, w)` to `(B, F, H, W)`."""
        height, width = self.side
        return F.interpolate(x, scale_factor=2, mode="nearest")[..., :height, :width]

    def extra_repr(self) -> str:
        """The size it gives."""
        return f"{self.side}"


class BottomUp(nn.Module):
    """What is seen in pictures, at the size of every layer of latents.

    Arguments:
        shape: Channels, height and width of a picture.
        filters: Channels of the maps.
        halvings: How often the picture is halved at every layer, never less than before.
        blocks: Residual blocks before every layer; there are twice as many for the folded picture.
        dropout: The share of numbers that are left out in training.
    """

    def __init__(
        self, shape: Shape, filters: int, halvings: Sequence[int], blocks: int, dropout: float = 0.0
    ):
        super().__init__()
        before = [1, *halvings[:-1]]
        steps = [end - start for start, end in zip(before, halvings, strict=True)]
        count = blocks * (2 + sum(max(1, step) for step in steps))

        def some(times: int) -> list[nn.Module]:
            return [Residual(filters, count, dropout) for _ in range(times)]

        self.stem = nn.Sequential(
            nn.PixelUnshuffle(2),
            scaled(nn.Conv2d(4 * shape[0], filters, 3, padding=1), CONTRAST),
            *some(2 * blocks),
        )
        self.stages = nn.ModuleList()
        for step in steps:
            layers = some(blocks) if not step else []
            for _ in range(step):
                layers += [initialised(nn.Conv2d(filters, filters, 3, 2, 1)), *some(blocks)]
            self.stages.append(nn.Sequential(*layers))
        self.seen = nn.ModuleList(scaled(nn.Conv2d(filters, filters, 1), GAIN) for _ in halvings)

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        """Maps `(B, F, H_l, W_l)` of pictures `(B, C, H, W)`, one a layer."""
        state, found = self.stem(x), []
        for stage, seen in zip(self.stages, self.seen, strict=True):
            state = stage(state)
            found.append(seen(F.silu(state)))
        return tuple(found)


class Unfolded(nn.Module):
    """From maps to all that is said of the pixels of a picture.

    Arguments:
        decoded: Channels, height and width of the result.
        filters: Channels of the maps.
        start: Height and width of every halving that is undone, the smallest first.
        blocks: Residual blocks of every size; there are twice as many of the last.
        dropout: The share of numbers that are left out in training.
    """

    def __init__(
        self, decoded: Shape, filters: int, start: Sequence[Side], blocks: int, dropout: float = 0.0
    ):
        super().__init__()
        count = blocks * (len(start) + 1)
        layers: list[nn.Module] = []
        for i, side in enumerate(start, 1):
            layers.append(Double(side))
            times = 2 * blocks if i == len(start) else blocks
            layers += [Residual(filters, count, dropout) for _ in range(times)]
        self.layers = nn.Sequential(*layers)
        last = nn.Conv2d(filters, 4 * decoded[0], 3, padding=1, bias=False)
        self.last = scaled(last, FAINT)  # pictures begin as their mean, which is the bias
        self.bias = nn.Parameter(torch.zeros(decoded))

    def forward(self, x: Tensor) -> Tensor:
        """Map `(B, F, h, w)` to `(B, *decoded)`, float32."""
        folded = self.last(F.silu(self.layers(x)))
        return F.pixel_shuffle(folded.float(), 2) + self.bias.float()


def sides(shape: Shape, most: int) -> list[Side]:
    """Height and width of a picture that is halved 0, 1, … `most` times, rounded up.

    >>> sides((1, 28, 28), 3)
    [(28, 28), (14, 14), (7, 7), (4, 4)]
    """
    found = [(shape[1], shape[2])]
    for _ in range(most):
        height, width = found[-1]
        found.append((-(-height // 2), -(-width // 2)))
    return found


def scaled(layer: nn.Conv2d, scale: float) -> nn.Conv2d:
    """A convolution that begins smaller than usual."""
    initialised(layer)
    layer.weight.data *= scale
    return layer
