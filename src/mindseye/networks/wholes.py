"""Networks between wholes, their parts and their latents: the paper's, of curves and pictures.

They are those of appendix A, where it and the authors' code agree. A curve is a picture of height
1. Labels say what a part is called, here and in other networks of parts (`imprints`).

References:
    From abstract items to latent spaces to observed data and back: Compositional Variational
    Auto-Encoder, Berger and Sebag, 2020
    https://arxiv.org/abs/2001.07910
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from mindseye.networks.dense import initialised
from mindseye.networks.graph import Residual

__all__ = ["Label", "Wave", "reader", "writer"]

Shape = tuple[int, int, int]


def reader(shape: Shape) -> tuple[nn.Module, int]:
    """A network that reads wholes `(B, C, H, W)`, and the size of what it reads."""
    return _curve_reader(shape[2]) if shape[1] == 1 else (_picture_reader(), 1024)


def writer(shape: Shape, part: int, latent: int) -> nn.Module:
    """A network of w̃ `(B, part)` and z `(B, latent)`: 2 numbers a value, or 1 more a pixel."""
    return _Curve(shape[2], part, latent) if shape[1] == 1 else _Picture(part, latent)


class Label(nn.Module):
    """What a part is called, as a vector: of its category, and of its place if it has one.

    Arguments:
        categories: How many there are.
        axes: How many numbers a place has.
        size: Size of the vector.
        waves: How many waves a number of a place is read by; 0 for the number itself.
    """

    def __init__(self, categories: int, axes: int, size: int, waves: int = 0):
        super().__init__()
        self.size, half = size, size // 2 if axes else size
        self.category = nn.Parameter(torch.empty(categories, half))
        if not self.category.is_meta:
            nn.init.normal_(self.category)
        self.wave = Wave(waves) if waves else nn.Identity()
        read = axes * (1 + 2 * waves)
        self.place = initialised(nn.Linear(read, size - half)) if axes else None

    def forward(self, codes: Tensor, places: Tensor) -> Tensor:
        """Vectors `(N, size)` of categories `(N,)` and places `(N, axes)`."""
        chosen = nn.functional.one_hot(codes, len(self.category)).to(self.category.dtype)
        what = chosen @ self.category  # a product: see `networks.recurrent.Word`
        if self.place is None:
            return what
        where = nn.functional.elu(self.place(self.wave(places)))
        return torch.cat([where, what.to(where.dtype)], -1)


class Wave(nn.Module):
    """Numbers between -1 and 1 and waves of them, shorter and shorter.

    Arguments:
        count: How many waves a number has.
    """

    def __init__(self, count: int):
        super().__init__()
        self.count = count

    def forward(self, x: Tensor) -> Tensor:
        """Map `(..., A)` to `(..., A (1 + 2 count))`."""
        scale = math.pi / 2 * 2.0 ** torch.arange(self.count, device=x.device)
        turns = (x[..., None] * scale).flatten(-2)
        return torch.cat([x, turns.sin(), turns.cos()], -1)


# Curves


def _curve_reader(points: int) -> tuple[nn.Module, int]:
    """Table 3, whose curves have 200 points, and the size of what it reads: 800 of those."""
    layers: list[nn.Module] = [nn.Flatten(2)]
    for channels, out, side, stride, pad in (
        (1, 40, 10, 5, 0),
        (40, 40, 7, 1, 3),
        (40, 80, 6, 3, 0),
        (80, 80, 7, 1, 3),
        (80, 160, 4, 2, 0),
    ):
        layers += [nn.Conv1d(channels, out, side, stride, pad), nn.ELU()]
        points = (points + 2 * pad - side) // stride + 1
    size = 160 * points
    return nn.Sequential(*layers, nn.Flatten(), Residual(size), nn.ELU()), size


class _Curve(nn.Module):
    """Table 2, whose curves have 200 points and begin with 800 numbers, 160 for every 40 points."""

    def __init__(self, points: int, part: int, latent: int):
        super().__init__()
        self.points, size = points, 160 * math.ceil(points / 40)
        dense = [initialised(nn.Linear(part + latent, size)), nn.ELU()]
        self.dense = nn.Sequential(
            *dense, *[b for _ in range(3) for b in (Residual(size), nn.ELU())]
        )
        layers: list[nn.Module] = []
        for channels, out, side, stride in ((160, 80, 4, 2), (80, 40, 8, 4), (40, 20, 15, 5)):
            layers += [nn.ConvTranspose1d(channels, out, side, stride), nn.ELU()]
            last = out == 20
            layers += [nn.Conv1d(out, 2 if last else out, 7, padding=3), nn.ELU()]
        self.layers = nn.Sequential(*layers[:-1])

    def forward(self, total: Tensor, z: Tensor) -> tuple[Tensor, Tensor]:
        start = self.dense(torch.cat([total, z], -1)).unflatten(-1, (160, -1))
        long = self.layers(start)  # the ends of transposed convolutions are off: 35 of 200 points
        both = long[..., None, :].narrow(-1, (long.shape[-1] - self.points) // 2, self.points)
        mean, log_variance = both.chunk(2, -3)
        return mean, log_variance


# Pictures


def _picture_reader() -> nn.Module:
    """Table 10; it reads colours from -1 to 1."""
    layers: list[nn.Module] = []
    for channels, out, side, stride, pad in (
        (3, 16, 5, 1, 2),
        (16, 32, 4, 2, 1),
        (32, 32, 5, 1, 2),
        (32, 48, 4, 2, 1),
        (48, 64, 4, 2, 1),
    ):
        layers += [nn.Conv2d(channels, out, side, stride, pad), nn.ELU()]
    return nn.Sequential(*layers, nn.Flatten(), Residual(1024), nn.ELU())


class _Picture(nn.Module):
    """Table 9, as the authors' code has it."""

    def __init__(self, part: int, latent: int):
        super().__init__()
        self.summed, self.told = Residual(part), initialised(nn.Linear(latent, part))
        self.dense = nn.Sequential(nn.ELU(), Residual(part), nn.Tanh(), Residual(part), nn.ELU())
        layers: list[nn.Module] = []
        for channels, out in ((128, 64), (64, 32), (32, 24)):
            layers += [nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)]
            layers += [nn.Conv2d(channels, out, 5, padding=2), nn.ELU()]
        self.layers = nn.Sequential(*layers, nn.Conv2d(24, 4, 5, padding=2))

    def forward(self, total: Tensor, z: Tensor) -> tuple[Tensor, Tensor]:
        start = self.dense(self.summed(total) + self.told(z)).unflatten(-1, (128, 4, 4))
        both = self.layers(start)
        return both[:, :-1], both[:, -1:]
