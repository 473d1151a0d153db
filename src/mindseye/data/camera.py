"""Where CLEVR's camera stands and what it takes in: scenes, views, and points in the picture."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import torch
from torch import Tensor

from mindseye.data.looks import CLEVR, Look

__all__ = ["CAMERA", "Scene", "View", "constant", "looking", "projected"]

CAMERA = (7.48, -6.51, 5.34)
"""Where it stands; it looks at the middle of the table."""


class View(NamedTuple):
    """What the camera takes in."""

    height: int
    width: int
    half: float = 0.305
    """Half the height of the picture, at a distance of 1."""
    aspect: float = 1.0
    """How much wider it is than high; pixels are square where it is width / height."""
    look: Look = CLEVR
    """How the world looks that is seen."""


class Scene(NamedTuple):
    """B scenes of N objects."""

    place: Tensor
    """Where objects stand on the table, `(B, N, 2)`."""
    angle: Tensor
    """How far they are turned, in radians, `(B, N)`."""
    radius: Tensor
    """`(B, N)`; half the edge of one of CLEVR's cubes is 0.71 of it."""
    shape: Tensor
    """CUBE, SPHERE or CYLINDER, int64 `(B, N)`."""
    colour: Tensor
    """Red, green and blue, `(B, N, 3)`."""
    metal: Tensor
    """Whether they shine, bool `(B, N)`."""
    camera: Tensor
    """By how much the camera is moved, `(B, 3)`."""
    lamps: Tensor
    """By how much the lamps are moved, `(B, 3, 3)`."""


def looking(camera: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Where moved cameras `(B, 3)` stand, and what is ahead, right and up for them, `(B, 3)`."""
    eye = camera + constant(CAMERA, camera.device)
    ahead = -eye / eye.norm(dim=1, keepdim=True)  # it looks at the middle of the table
    right = torch.stack([ahead[:, 1], -ahead[:, 0], torch.zeros_like(ahead[:, 0])], 1)
    right = right / right.norm(dim=1, keepdim=True)
    return eye, ahead, right, torch.linalg.cross(right, ahead)


def projected(point: Tensor, camera: Tensor, view: View) -> tuple[Tensor, Tensor, Tensor]:
    """Where points `(B, N, 3)` are in the picture, from -1 to 1 right and up, and how far away."""
    eye, ahead, right, up = (each[:, None] for each in looking(camera))
    ray = point - eye
    depth = (ray * ahead).sum(-1)
    x, y = (ray * right).sum(-1), (ray * up).sum(-1)
    return x / (depth * view.half * view.aspect), y / (depth * view.half), depth


@cache
def constant(value: tuple[Any, ...], device: torch.device) -> Tensor:
    """Numbers on a device, copied there once."""
    return torch.tensor(value, device=device)
