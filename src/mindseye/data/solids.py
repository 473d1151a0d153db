r"""Spheres, cubes and cylinders of a batch, each in its own frame, and where rays meet them.

A ray $o + t d$ is inside a convex object between the largest of the parameters at which it enters
one of its bounds and the smallest at which it leaves one. A sphere has one quadratic bound, a cube
three pairs of planes, a cylinder a quadratic bound and a pair of planes; a bound that an object
does not have is put far away. So all objects of a batch are met by the same few lines.

What is computed for every pixel is counted in passes over the memory, which is what takes the time:
a product is added to a sum in one pass, and what all rays from one place share is computed once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple

import torch
from torch import Tensor

from mindseye.data.camera import Scene
from mindseye.data.looks import CLEVR, Look

__all__ = ["CUBE", "CYLINDER", "SPHERE", "Met", "Solid", "Start", "dot", "wide"]

CUBE, SPHERE, CYLINDER = 0, 1, 2

FAR = 1e4
"""Where a bound is that an object does not have."""


class Solid(NamedTuple):
    """One object of every scene, `(B,)`."""

    centre: Tensor  # (B, 3)
    cosine: Tensor
    sine: Tensor
    radius: Tensor
    round2: Tensor  # of the quadratic bound, squared
    upright: Tensor  # 0 for a cylinder, whose quadratic bound does not close
    breadth: Tensor  # half the distance of the planes at its sides
    height: Tensor  # and of those above and below
    colour: Tensor  # (B, 3)
    metal: Tensor

    @classmethod
    def of(cls, scene: Scene, i: int, look: Look = CLEVR) -> Solid:
        """Object number i of scenes of a look."""
        radius, shape = scene.radius[:, i], scene.shape[:, i]
        cube = shape == CUBE
        edge = radius * (look.corner * math.sqrt(0.5))
        tall = torch.where(cube, edge, radius)
        return cls(
            torch.cat([scene.place[:, i], tall[:, None]], 1),
            scene.angle[:, i].cos(),
            scene.angle[:, i].sin(),
            radius,
            torch.where(cube, FAR**2, radius**2),
            (shape == SPHERE).float(),
            torch.where(cube, edge, FAR),
            torch.where(shape == SPHERE, FAR, tall),
            scene.colour[:, i],
            scene.metal[:, i].float(),
        )

    def turned(self, vector: Tensor) -> Tensor:
        """Vectors `(B, 3)` in the object's own frame."""
        x, y, z = vector.unbind(1)
        return torch.stack([self.cosine * x + self.sine * y, self.cosine * y - self.sine * x, z], 1)

    def seen_from(self, point: Tensor) -> Tensor:
        """Points `(B, 3)` in the object's own frame, from its middle."""
        return self.turned(point - self.centre)

    def start(self, x: Tensor, y: Tensor, z: Tensor) -> Start:
        """Where rays begin that come from a point, in the object's own frame."""
        w = wide(self.upright)
        return Start((-x, -y, -z), _sum((w * z, z), (x, x), (y, y)) - wide(self.round2))

    def met(self, start: Start, ray: tuple[Tensor, ...]) -> Met:
        """Where rays enter and leave it, by the parameters of all its bounds."""
        (bx, by, bz), c = start
        dx, dy, dz = ray
        w = wide(self.upright)
        a = _sum((w * dz, dz), (dx, dx), (dy, dy))
        b = _sum((w * bz, dz), (bx, dx), (by, dy))
        root = torch.addcmul(b * b, a, c, value=-1).clamp_(min=0).sqrt_()  # 0 if it misses
        over = a.reciprocal_()
        rounds = (b - root).mul_(over), root.add_(b).mul_(over)
        breadth, height = wide(self.breadth), wide(self.height)
        sides = _slab(bx, dx, breadth), _slab(by, dy, breadth), _slab(bz, dz, height)
        enters = [rounds[0], *(side[0] for side in sides)]
        leaves = [rounds[1], *(side[1] for side in sides)]
        near, far = reduce(torch.maximum, enters), reduce(torch.minimum, leaves)
        return Met(near, near < far, enters)


class Start(NamedTuple):
    """Where rays begin, in an object's frame."""

    back: tuple[Tensor, ...]
    """From there to its middle."""
    beyond: Tensor
    """How far outside of its quadratic bound that is, squared."""


class Met(NamedTuple):
    """How rays meet an object: where, whether, and where they enter each of its bounds."""

    near: Tensor
    hit: Tensor
    enters: list[Tensor]


def _slab(back: Tensor, ray: Tensor, half: Tensor) -> tuple[Tensor, Tensor]:
    """Where rays pass a pair of planes."""
    inverse = ray.reciprocal().clamp_(-1e20, 1e20)  # a ray along the planes is between them or not
    middle, span = back * inverse, half * inverse.abs_()
    return middle - span, middle + span


def dot(a: Sequence[Tensor], b: Sequence[Tensor]) -> Tensor:
    """The products of coordinates, summed."""
    return _sum(*zip(a, b, strict=True))


def _sum(first: tuple[Tensor, Tensor], *others: tuple[Tensor, Tensor]) -> Tensor:
    """A sum of products: a pass over the memory for each."""
    total = first[0] * first[1]
    for one, two in others:
        total = torch.addcmul(total, one, two)
    return total


def wide(each: Tensor) -> Tensor:
    """Numbers of scenes `(B,)` beside pixels `(B, h, w)`."""
    return each[:, None, None] if each.ndim == 1 else each
