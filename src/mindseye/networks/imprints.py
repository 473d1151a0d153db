r"""What a part leaves on a whole, and wholes written of what all parts leave: curves and pictures.

The latent of a part is drawn, then written as its imprint, and imprints are summed:

$$ \tilde w = \sum_i φ(\ell_i, w_i) . $$

| wholes   | an imprint                                       | a whole is written                |
|----------|--------------------------------------------------|-----------------------------------|
| curves   | a vector, of which the first number is 1         | bent as a mean at each point, and |
|          |                                                  | again as high as parts are many   |
| pictures | over a map of places, how strongly a part is     | pixel by pixel, of what is meant  |
|          | felt there, and that times what its category is  | there, and how strongly           |

The number of parts, or how much is felt, is the mass of a sum. What is divided by it does not grow
with the number of parts, so that wholes of more parts than ever look to the networks like those
that they know. A curve is the sum of its parts before it is bent, and is as high as these are many;
a pixel has some colour, however many parts there are.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from mindseye.networks.dense import initialised
from mindseye.networks.graph import Residual
from mindseye.networks.wholes import Label

__all__ = [
    "CurveImprint",
    "CurveReader",
    "CurveWriter",
    "Kinds",
    "PictureImprint",
    "PictureReader",
    "PictureWriter",
]

Shape = tuple[int, int, int]

LEAST_MASS = 1e-30
"""What is felt where nothing is: far from all parts, the nearest is still felt more than this."""

FALLS = (1.0, 2.0, 4.0, 8.0)
"""The ways in which a part is felt over a picture: how fast each falls, at first, with the square
of the distance."""

FAINT = 0.1
"""How much smaller than usual the weights begin that bend a curve as a whole."""

COLOURS = 4
"""Numbers that tell what the category of a part is, the first of them 1."""

FADES = 0.1
"""The unit of how strongly parts are felt, in logarithms."""


APART, WIDE = 0.8, -0.5
"""Where the normals of a category begin: the deviation of their means, and their log deviation."""


class Kinds(nn.Module):
    """What parts of each category have of their own, as mixtures of normals.

    Arguments:
        categories: How many there are.
        normals: Of every mixture.
        size: Size of the latent of a part.
    """

    def __init__(self, categories: int, normals: int, size: int):
        super().__init__()
        self.sizes = (normals, normals * size, normals * size)
        self.table = nn.Parameter(torch.zeros(categories, sum(self.sizes)))
        if not self.table.is_meta:
            with torch.no_grad():
                _, loc, log_scale = self.table.split(self.sizes, -1)
                loc.normal_(0, APART)
                log_scale.fill_(WIDE)

    def forward(self, codes: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Log shares `(N, M)`, means and log deviations `(N, M, D)` of categories `(N,)`."""
        chosen = nn.functional.one_hot(codes, len(self.table)).to(self.table.dtype)
        logits, *both = (chosen @ self.table).float().split(self.sizes, -1)
        loc, log_scale = (each.unflatten(-1, (self.sizes[0], -1)) for each in both)
        return logits, loc, log_scale


# Curves


class CurveImprint(nn.Module):
    """The imprint of a part on a curve: 1, and a network of its latent and of what it is called.

    Arguments:
        categories: How many there are.
        axes: How many numbers a place has.
        latent: Size of the latent of a part.
        size: Size of an imprint.
        width: Width of the network.
    """

    def __init__(self, categories: int, axes: int, latent: int, size: int, width: int):
        super().__init__()
        self.size = size
        self.kind, self.gate = (Label(categories, axes, width) for _ in range(2))
        self.own = initialised(nn.Linear(latent, width))
        last = initialised(nn.Linear(width, size - 1))
        self.layers = nn.Sequential(nn.ELU(), Residual(width), nn.ELU(), last)

    def forward(self, codes: Tensor, places: Tensor, w: Tensor) -> Tensor:
        """Imprints `(N, size)` of categories `(N,)`, places `(N, axes)` and latents `(N, L)`."""
        own = self.own(w) * self.gate(codes, places)  # what a latent means depends on the kind
        left = self.layers(own + self.kind(codes, places)).float()
        return torch.cat([torch.ones_like(left[:, :1]), left], -1)


class CurveWriter(nn.Module):
    """Curves of the imprints of their parts, bent twice by small networks, the same at all points.

    The mean imprint and z say channels of a curve, and these are bent: what parts do to each other
    by how they are mixed. Then the curve is as high as there are parts, and bent once more: what
    happens to so much, however many it is of. Nothing else knows how many parts there are, so that
    a part leaves the same on curves of any number.

    Arguments:
        shape: Channels, 1 and points of a curve.
        size: Size of an imprint.
        latent: Size of the latent of the whole.
        width: Width of the dense layers.
    """

    def __init__(self, shape: Shape, size: int, latent: int, width: int):
        super().__init__()
        self.out, self.points, self.gists = shape[0], shape[2], size - 1
        channels, inner, told = max(width // 16, 4), max(width // 4, 8), self.gists + latent
        dense = initialised(nn.Linear(told, width))
        self.dense = nn.Sequential(dense, nn.ELU(), Residual(width), nn.ELU())
        self.straight, self.curved = (
            initialised(nn.Linear(each, channels * shape[2])) for each in (told, width)
        )
        self.bend = nn.Sequential(
            nn.Conv1d(channels, inner, 3, padding=1),
            nn.ELU(),
            nn.Conv1d(inner, inner, 1),
            nn.ELU(),
            nn.Conv1d(inner, 2 * self.out, 3, padding=1),
        )
        last = nn.Conv1d(inner, self.out, 1)
        self.limit = nn.Sequential(nn.Conv1d(self.out, inner, 1), nn.ELU(), last)
        with torch.no_grad():
            last.weight.mul_(FAINT)

    def gist(self, total: Tensor) -> Tensor:
        """The mean imprint, `(B, size - 1)`."""
        return total[:, 1:] / _at_least(total[:, :1])

    def forward(self, total: Tensor, z: Tensor) -> tuple[Tensor, Tensor]:
        """Means and log variances, `(B, C, 1, T)` each."""
        told = torch.cat([self.gist(total), z], -1)
        drawn = self.straight(told) + self.curved(self.dense(told))
        mean, log_variance = self.bend(drawn.unflatten(-1, (-1, self.points))).float().chunk(2, 1)
        many = _at_least(total[:, :1])[..., None].float()
        much = many * mean
        limited = much + self.limit(torch.asinh(much)).float()
        return limited[:, :, None], (log_variance + 2 * many.log())[:, :, None]


class CurveReader(nn.Module):
    """Curves as their form and their size, read point by point, then by dense layers.

    Arguments:
        shape: Channels, 1 and points of a curve.
        width: Size of what is read.
    """

    def __init__(self, shape: Shape, width: int):
        super().__init__()
        channels, inner = max(width // 16, 4), max(width // 8, 8)
        self.bend = nn.Sequential(
            nn.Conv1d(shape[0] + 1, inner, 1), nn.ELU(), nn.Conv1d(inner, channels, 1)
        )
        dense = initialised(nn.Linear(channels * shape[2] + 1, width))
        self.dense = nn.Sequential(dense, nn.ELU(), Residual(width), nn.ELU())

    def forward(self, x: Tensor) -> Tensor:
        """What is read, `(B, width)`."""
        x = x.flatten(2)
        high = (x.square().mean((1, 2)) + 1e-4).sqrt()[:, None]  # a flat curve has no form
        log_high = high.log()
        said = log_high[:, None].expand(-1, 1, x.shape[2])
        points = self.bend(torch.cat([x / high[:, None], said], 1))
        return self.dense(torch.cat([points.flatten(1), log_high.to(points.dtype)], -1))


# Pictures


class PictureImprint(nn.Module):
    """The imprint of a part on a picture: where it is felt, and what its category is.

    A part is felt in several ways, each a positive function of where a point is relative to the
    part; so a part that moves takes its imprint with it.

    Arguments:
        categories: How many there are.
        latent: Size of the latent of a part.
        sides: Height and width of the map.
        width: Width of the network.
    """

    grid: Tensor

    def __init__(self, categories: int, latent: int, sides: tuple[int, int], width: int):
        super().__init__()
        self.size = len(FALLS) * COLOURS * math.prod(sides)
        down, across = (torch.linspace(-1, 1, side) for side in sides)
        points = torch.cartesian_prod(down, across).flip(1)  # x, then y
        self.register_buffer("grid", points)
        self.away, self.own = (initialised(nn.Linear(each, width)) for each in (3, latent))
        self.kind = Label(categories, 0, width)
        hidden, last = (initialised(nn.Linear(width, each)) for each in (width, len(FALLS)))
        self.layers = nn.Sequential(nn.ELU(), hidden, nn.ELU(), last)
        self.falls = nn.Parameter(torch.tensor(FALLS))
        self.colour = Label(categories, 0, COLOURS - 1)

    def forward(self, codes: Tensor, places: Tensor, w: Tensor) -> Tensor:
        """Imprints `(N, size)` of categories `(N,)`, places `(N, 2)` and latents `(N, L)`."""
        away = self.grid - places[:, None]  # (N, P, 2)
        far = away.square().sum(-1, keepdim=True)
        own = self.own(w) + self.kind(codes, places)
        said = self.layers(self.away(torch.cat([away, far], -1)) + own[:, None]).float()
        felt = (-nn.functional.softplus(said + self.falls * far)).exp().mT  # (N, fields, P)
        colour = self.colour(codes, places).float()
        what = torch.cat([torch.ones_like(colour[:, :1]), colour], -1)
        return (felt[:, :, None] * what[:, None, :, None]).flatten(1)


class PictureWriter(nn.Module):
    """Pictures of the imprints of their parts, pixel by pixel: what is meant there, how strongly.

    Arguments:
        shape: Channels, height and width of a picture.
        sides: Height and width of the map of imprints.
        latent: Size of the latent of the whole.
        width: Channels of the layers.
    """

    def __init__(self, shape: Shape, sides: tuple[int, int], latent: int, width: int):
        super().__init__()
        self.sides, self.pixels = sides, shape[1:]
        self.told = initialised(nn.Linear(latent, width))
        self.first = nn.Conv2d(len(FALLS) * COLOURS, width, 1)
        self.layers = nn.Sequential(
            nn.ELU(),
            nn.Conv2d(width, width, 1),
            nn.ELU(),
            nn.Conv2d(width, shape[0] + 1, 3, padding=1, padding_mode="replicate"),
        )
        self.gists = len(FALLS) * COLOURS

    def gist(self, total: Tensor) -> Tensor:
        """The mean over the map of what the sum says, `(B, gists)`."""
        return self._said(self._map(total)).mean((2, 3))

    def forward(self, total: Tensor, z: Tensor) -> tuple[Tensor, Tensor]:
        """Means `(B, C, H, W)` and log variances `(B, 1, H, W)`."""
        fine = nn.functional.interpolate(
            self._map(total), size=self.pixels, mode="bilinear", align_corners=True
        )
        both = self.layers(self.first(self._said(fine)) + self.told(z)[:, :, None, None])
        return both[:, :-1], both[:, -1:]

    def _map(self, total: Tensor) -> Tensor:
        return total.unflatten(-1, (-1, *self.sides))

    def _said(self, sums: Tensor) -> Tensor:
        """How much is felt at a place, in logarithms, and what is meant: `(B, gists, H, W)`."""
        fields = sums.unflatten(1, (len(FALLS), COLOURS))
        mass = _at_least(fields[:, :, :1])
        return torch.cat([FADES * mass.log(), fields[:, :, 1:] / mass], 2).flatten(1, 2)


class PictureReader(nn.Sequential):
    """Convolutions that halve a picture down to 4 pixels a side or fewer, then dense layers.

    Arguments:
        shape: Channels, height and width of a picture, with values from -1 to 1.
        width: Size of what is read.
    """

    def __init__(self, shape: Shape, width: int):
        layers: list[nn.Module] = []
        (channels, *sides), out = shape, 32
        while max(sides) > 4:
            layers += [nn.Conv2d(channels, out, 4, 2, 1), nn.ELU()]
            channels, sides, out = out, [side // 2 for side in sides], 2 * out
        dense = initialised(nn.Linear(channels * math.prod(sides), width))
        super().__init__(*layers, nn.Flatten(), dense, nn.ELU(), Residual(width), nn.ELU())


def _at_least(mass: Tensor) -> Tensor:
    return mass.clamp(min=0) + LEAST_MASS
