r"""Scenes from words and keys: where objects stand, so that what is said of them holds.

Coordinates are those of the camera on the table, wherever it is moved: to the right of its middle,
and away from the camera. Objects stand anywhere in sight, but not within each other, at least
`APART` from each other along both axes and `ASIDE` in the picture (so that left and right, front
and behind are never in doubt), and so that neither hides more than a part of the other. Each of
`TRIES` pairs of places is put in the order that the relation asks for; the first that fits is
taken, and the last fits always. So the cost of a scene does not depend on luck.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from mindseye.data.camera import CAMERA, Scene, View, constant, looking
from mindseye.data.scenes import COLOURS

__all__ = ["NUMBERS", "PALETTE", "placed", "staged"]

PALETTE = {
    "gray": (87, 87, 87),
    "red": (173, 35, 35),
    "blue": (42, 75, 215),
    "green": (29, 105, 20),
    "brown": (129, 74, 25),
    "purple": (129, 38, 192),
    "cyan": (41, 208, 208),
    "yellow": (255, 238, 51),
}
"""CLEVR's colours, as bytes."""

NEAR, AWAY = -2.9, 2.8
"""Places nearest to the camera and farthest from it, from the middle of the table."""

APART, GAP = 0.4, 0.15
"""How far objects are from each other along both axes, and between their sides."""

ASIDE = 0.02
"""How far they are beside each other in the picture, seen at a distance of 1."""

CAMERA_JITTER, LAMP_JITTER = 0.5, 1.0

TRIES = 16
SURE = ((0.2, 0.3), (0.8, 0.7))
"""Random numbers whose places always fit."""

NUMBERS = 4 * TRIES + 2 + 3 + 9 + 2
"""How many random numbers a scene takes: places, turns, camera, lamps and sizes."""

_GROUND = math.hypot(CAMERA[0], CAMERA[1])
_DISTANCE = math.hypot(_GROUND, CAMERA[2])


def staged(kinds: Tensor, relation: Tensor | None, u: Tensor, view: View) -> Scene:
    """The scenes of objects, at random numbers.

    Arguments:
        kinds: Size, colour, material and shape of every object, int64 `(B, N, 4)`; one or two.
        relation: How the first stands to the second, int64 `(B,)`; nothing for one object.
        u: Uniform numbers `(B, NUMBERS)`.
        view: What the camera takes in.
    """
    u, count = u.float(), kinds.shape[1]
    size, colour, material, shape = kinds.unbind(-1)
    rest = u[:, 4 * TRIES :]
    other = view.look.spread * (2 * rest[:, 14 : 14 + count] - 1)
    radius = constant(view.look.radii, u.device)[size] * (1 + other)
    drawn = u[:, : 4 * TRIES].view(-1, TRIES, 2, 2)
    if relation is None:
        spot = _spots(drawn[:, :1, :1], radius[:, None], view)[:, 0]
    else:
        spot = placed(radius, relation, drawn, view)
    palette = constant(tuple(PALETTE[name] for name in COLOURS), u.device) / 255
    camera = (2 * rest[:, 2:5] - 1) * CAMERA_JITTER
    return Scene(
        _on_table(spot, camera),
        rest[:, :count] * 2 * math.pi,
        radius,
        shape,
        palette[colour],
        material == 1,
        camera,
        (2 * rest[:, 5:14].view(-1, 3, 3) - 1) * LAMP_JITTER,
    )


def placed(radius: Tensor, relation: Tensor, u: Tensor, view: View) -> Tensor:
    """Where two objects stand, right of and beyond the middle, `(B, 2, 2)`.

    Arguments:
        radius: `(B, 2)`.
        relation: Left, right, front or behind, int64 `(B,)`.
        u: Uniform numbers `(B, TRIES, 2, 2)`.
        view: What the camera takes in.
    """
    u = torch.cat([u[:, :-1], constant(SURE, u.device).expand_as(u[:, -1:])], 1)
    radius, relation = radius[:, None], relation[:, None]
    spot = _spots(u, radius, view)  # (B, T, 2, 2)
    turned = _spots(u.flip(2), radius, view)
    spot = torch.where(_holds(spot, relation)[..., None, None], spot, turned)
    fits = _holds(spot, relation) & _clear(spot, radius, view)
    fits[:, -1] = True
    first = fits.float().argmax(1)
    return spot[torch.arange(len(spot), device=spot.device), first]


def _spots(u: Tensor, radius: Tensor, view: View) -> Tensor:
    """Places in sight at uniform numbers `(..., 2)`, of objects of some radii `(...)`."""
    beyond = NEAR + (AWAY - NEAR) * u[..., 1]
    half = view.half * view.aspect * _depth(beyond) * 0.94 - 1.1 * (radius * view.look.reach)
    return torch.stack([(2 * u[..., 0] - 1) * half, beyond.expand_as(half)], -1)


def _depth(beyond: Tensor) -> Tensor:
    """How far from the camera places are, along its axis."""
    return _DISTANCE + beyond * (_GROUND / _DISTANCE)


def _holds(spot: Tensor, relation: Tensor) -> Tensor:
    """Whether the first place is left of, right of, before or behind the second."""
    right, beyond = (spot[..., 0, :] - spot[..., 1, :]).unbind(-1)
    every = torch.stack([-right, right, -beyond, beyond], -1) > APART
    return every.gather(-1, relation[..., None].expand(*every.shape[:-1], 1))[..., 0]


def _clear(spot: Tensor, radius: Tensor, view: View) -> Tensor:
    """Whether two objects stand apart, on the table and in the picture."""
    between, reach = spot[..., 0, :] - spot[..., 1, :], radius * view.look.reach
    apart = (between.abs() > APART).all(-1) & (between.norm(dim=-1) > reach.sum(-1) + GAP)
    depth = _depth(spot[..., 1])
    height = (radius * _GROUND - spot[..., 1] * -CAMERA[2]) / _DISTANCE  # above the middle
    seen = torch.stack([spot[..., 0], height], -1) / depth[..., None]
    offset, large = seen[..., 0, :] - seen[..., 1, :], reach / depth
    near = torch.where(depth[..., 0] < depth[..., 1], large[..., 0], large[..., 1])
    hidden = offset.norm(dim=-1) < near + 0.15 * large.sum(-1)
    beside = offset[..., 0] * between[..., 0].sign() > ASIDE  # what is near seems farther out
    return apart & beside & ~hidden


def _on_table(spot: Tensor, camera: Tensor) -> Tensor:
    """Places from the coordinates of moved cameras to those of the table."""
    _, _, across, _ = looking(camera)  # level, and so is what is a quarter turn from it
    right, beyond = spot.unbind(-1)
    x, y = across[:, :1], across[:, 1:2]
    return torch.stack([right * x - beyond * y, right * y + beyond * x], -1)
