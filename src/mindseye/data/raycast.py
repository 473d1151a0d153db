r"""A ray caster for CLEVR's world: spheres, cubes and cylinders on a table, a whole batch at once.

Everything is seen from where CLEVR's camera stands, lit by its three lamps (key, fill and back),
each of them moved a little from picture to picture. The table is shaded once a pixel; its shadows
are those of six points of the key lamp and soft ones of the other two. Objects are drawn with
four rays a pixel, and only in a window around each. Where a ray meets both, the nearer one counts:
objects are added to a table that is taken away where they are.

All lengths are in CLEVR's units, a large object of its own world is 1.4 wide. Computed in float32,
on any device.

References:
    CLEVR: A Diagnostic Dataset for Compositional Language and Elementary Visual Reasoning,
    Johnson et al., 2017
    https://arxiv.org/abs/1612.06890
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from mindseye.data.camera import Scene, View, constant, looking
from mindseye.data.looks import CLEVR
from mindseye.data.solids import Met, Solid, Start, dot, wide

__all__ = ["render"]

LAMPS = ((6.45, -2.91, 4.26), (-4.67, -4.01, 3.01), (-1.17, 2.65, 5.82))
"""Where the key, the fill and the back lamp stand."""
TINTS = ((1.0, 0.97, 0.92), (0.93, 0.96, 1.0), (1.0, 1.0, 1.0))
SPREAD = 0.55
"""The radius of the key lamp."""

TABLE_SKY, TABLE_LAMPS = 0.336, 0.235
"""What the table gives back of the light from everywhere, and of the lamps: those of CLEVR."""
TABLE_POWERS = (24.0, 7.0, 13.0)
"""Of the lamps, where they meet the table."""

LAMP_POINTS = tuple(
    (SPREAD * math.cos(turn), SPREAD * math.sin(turn), 0.0)
    for turn in (2 * math.pi * (k + 0.5) / 6 for k in range(6))
)
"""Points of the key lamp that cast shadows, from its middle."""

RAYS = 2
"""Rays of a pixel in each direction where there is an object."""

NEAREST = 7.4
"""How near to the camera an object may seem, when it is 1 from its middle to its corners."""


def render(scene: Scene, view: View) -> Tensor:
    """Draw scenes, float32 `(B, 3, H, W)` in [0, 1]."""
    device = scene.place.device
    picture = torch.empty(len(scene.place), 3, view.height, view.width, device=device)
    step = max(len(picture), 1)
    if device.type == "cpu":  # what its cache holds
        step = max(1, 100_000 // (view.height * view.width))
    for start in range(0, len(picture), step):
        part = slice(start, start + step)
        picture[part] = _drawn(Scene(*(field[part] for field in scene)), view)
    return picture


def _drawn(scene: Scene, view: View) -> Tensor:
    """Draw scenes at once."""
    count = scene.place.shape[1]
    things = [Solid.of(scene, i, view.look) for i in range(count)]
    cast = _Cast.of(scene, view)
    picture = _table(cast, things)
    puts: list[tuple[Tensor, Tensor]] = []
    for i, thing in enumerate(things):
        others = things[:i] + things[i + 1 :]
        row, column, side = _window(thing, cast)
        seen, share = _seen(thing, others, cast, row, column, side)
        puts.append(_change(picture, seen, share, row, column))
    for index, change in puts:  # all of them from the table: no ray meets two
        picture.flatten(2).scatter_add_(2, index, change)
    return picture.clamp_(0, 1)


class _Cast(NamedTuple):
    """The camera and the lamps of a batch."""

    eye: Tensor
    ahead: Tensor
    right: Tensor
    up: Tensor
    lamps: Tensor
    view: View

    @classmethod
    def of(cls, scene: Scene, view: View) -> _Cast:
        lamps = scene.lamps + constant(LAMPS, scene.lamps.device)
        return cls(*looking(scene.camera), lamps, view)

    def start(self, thing: Solid) -> Start:
        """Where the rays of the camera begin, in an object's frame."""
        return thing.start(*(wide(each) for each in thing.seen_from(self.eye).unbind(1)))

    def rays(self, x: Tensor, y: Tensor, thing: Solid | None = None) -> tuple[Tensor, ...]:
        """The three coordinates of rays to points -1 to 1 of the picture, in an object's frame."""
        basis = (self.ahead, self.view.half * self.view.aspect * self.right)
        basis = (*basis, self.view.half * self.up)
        if thing:
            basis = tuple(thing.turned(each) for each in basis)
        a, r, u = basis
        return tuple(
            wide(a[:, k]) + x * wide(r[:, k]) + y * wide(u[:, k]) for k in range(3)
        )  # (B, h, w) each


def _table(cast: _Cast, things: list[Solid]) -> Tensor:
    """The table with the shadows on it, one ray a pixel, `(B, 3, H, W)`."""
    view = cast.view
    x, y = _grid(view.height, view.width, cast.eye.device)
    dx, dy, dz = cast.rays(x, y)
    t = -wide(cast.eye[:, 2]) / dz
    px, py = wide(cast.eye[:, 0]) + t * dx, wide(cast.eye[:, 1]) + t * dy
    light = [TABLE_SKY * _open(things, px, py, view.look.hidden)] * 3
    for i, (power, tint) in enumerate(zip(TABLE_POWERS, TINTS, strict=True)):
        lx, ly, lz = (wide(each) for each in cast.lamps[:, i].unbind(1))
        near = ((lx - px) ** 2 + (ly - py) ** 2 + lz**2).rsqrt_()
        shade = _key_shade if i == 0 else _soft_shade
        lit = TABLE_LAMPS * power * lz * near**3 * shade(things, px, py, cast.lamps[:, i])
        light = _added(light, lit, tint)
    return torch.stack([_tone(each) for each in light], 1)


def _open(things: list[Solid], px: Tensor, py: Tensor, hidden: float) -> Tensor:
    """How much of the sky points of the table see past the objects."""
    free = torch.ones_like(px)
    for thing in things:
        x, y, z = (wide(each) for each in thing.centre.unbind(1))
        near = ((px - x) ** 2 + (py - y) ** 2 + z**2).rsqrt_()
        free = free - hidden * wide(thing.radius) ** 2 * z * near**3
    return free.clamp_(min=0.4)


def _key_shade(things: list[Solid], px: Tensor, py: Tensor, lamp: Tensor) -> Tensor:
    """The share of the key lamp that points of the table see: exact for some points of it."""
    dark: list[Tensor] = []
    for thing in things:
        x, y, z = (wide(each) for each in thing.centre.unbind(1))
        c, s = wide(thing.cosine), wide(thing.sine)
        ox, oy = px - x, py - y
        start = thing.start(c * ox + s * oy, c * oy - s * ox, -z)
        hits = [
            thing.met(start, _to(thing.seen_from(point), start)).hit
            for point in (lamp + constant(LAMP_POINTS, lamp.device)[:, None]).unbind(0)
        ]
        dark = [a | b for a, b in zip(dark, hits, strict=True)] if dark else hits
    return 1 - torch.stack(dark).sum(0) / len(dark)


def _to(end: Tensor, start: Start) -> tuple[Tensor, ...]:
    """Rays to an end `(B, 3)`."""
    return tuple(wide(e) + back for back, e in zip(start.back, end.unbind(1), strict=True))


def _soft_shade(things: list[Solid], px: Tensor, py: Tensor, lamp: Tensor) -> Tensor:
    """The share of a lamp that points of the table see past balls as large as the objects."""
    zero = torch.zeros((), device=px.device)
    light = torch.ones_like(px)
    for thing in things:
        light = light * _past(thing.centre, 0.9 * thing.radius, (px, py, zero), lamp)
    return light


def _past(centre: Tensor, radius: Tensor, point: tuple[Tensor, ...], lamp: Tensor) -> Tensor:
    """The share of a lamp that is seen from points past a ball, nearly."""
    at = [p - wide(c) for p, c in zip(point, centre.unbind(1), strict=True)]
    to = [wide(e) - p for p, e in zip(point, lamp.unbind(1), strict=True)]
    along = -dot(at, to) * dot(to, to).rsqrt_()
    square = dot(at, at) - along**2
    clear = (square.clamp_(min=1e-6).sqrt() - wide(radius)) / along.clamp(min=0.05)
    smooth = (0.5 + clear / 0.25).clamp_(0, 1)
    return torch.where(along > 0, smooth * smooth * (3 - 2 * smooth), 1.0)


def _window(thing: Solid, cast: _Cast) -> tuple[Tensor, Tensor, int]:
    """The first row and column of the square that an object is in, and its side in pixels."""
    view = cast.view
    ray = thing.centre - cast.eye
    depth = (ray * cast.ahead).sum(1)
    x = (ray * cast.right).sum(1) / (depth * view.half * view.aspect)
    y = (ray * cast.up).sum(1) / (depth * view.half)
    per_unit = max(view.height, view.width / view.aspect) / view.half / 2
    reach = max(view.look.radii) * (1 + view.look.spread) * view.look.reach / max(CLEVR.radii)
    side = min(2 * math.ceil(per_unit * reach / NEAREST + 1), view.height, view.width)
    row = ((1 - y) * view.height / 2 - side / 2).round().long().clamp_(0, view.height - side)
    column = ((1 + x) * view.width / 2 - side / 2).round().long().clamp_(0, view.width - side)
    return row, column, side


def _seen(
    thing: Solid, others: list[Solid], cast: _Cast, row: Tensor, column: Tensor, side: int
) -> tuple[Tensor, Tensor]:
    """An object in its window: its light `(B, 3, h, h)` and its share of every pixel."""
    view, fine = cast.view, RAYS * side
    step = (torch.arange(fine, device=row.device) + 0.5) / RAYS
    x = (2 * (column[:, None] + step) / view.width - 1)[:, None, :]
    y = (1 - 2 * (row[:, None] + step) / view.height)[:, :, None]
    ray = cast.rays(x, y, thing)
    start = cast.start(thing)
    met = thing.met(start, ray)
    visible = met.hit
    for other in others:
        before = other.met(cast.start(other), cast.rays(x, y, other))
        visible = visible & ~(before.hit & (before.near < met.near))
    light = _shaded(thing, others, cast, start, ray, met)
    colour = torch.stack([torch.where(visible, each, 0.0) for each in light], 1)
    pool = torch.nn.functional.avg_pool2d
    return pool(colour, RAYS), pool(visible.float()[:, None], RAYS)


def _shaded(
    thing: Solid,
    others: list[Solid],
    cast: _Cast,
    start: Start,
    ray: tuple[Tensor, ...],
    met: Met,
) -> list[Tensor]:
    """Red, green and blue of the points where rays meet an object, in its own frame."""
    point = [torch.addcmul(-back, met.near, d) for back, d in zip(start.back, ray, strict=True)]
    normal = _normal(thing, point, ray, met)
    shorter = dot(ray, ray).rsqrt_()
    ahead = [d * shorter for d in ray]
    twice = -2 * dot(normal, ahead)
    mirror = [torch.addcmul(d, twice, n) for n, d in zip(normal, ahead, strict=True)]
    metal, look = wide(thing.metal), cast.view.look
    # The table is brighter than the room above it: what a mirror shows, and what lights the rest.
    below = (0.5 - 2.2 * mirror[2]).clamp_(0, 1)
    height = 0.5 + 0.5 * point[2] * wide(1 / thing.radius)
    room = 0.3 + (0.95 - 0.75 * height) * below
    sky = look.ambient * (1.0 - look.tilt * normal[2])
    dark = torch.zeros_like(sky)
    light, gleam = [sky, sky, sky], [dark, dark, dark]
    for i, (power, tint) in enumerate(zip(look.powers, TINTS, strict=True)):
        lamp = thing.seen_from(cast.lamps[:, i])
        to = [wide(e) - p for p, e in zip(point, lamp.unbind(1), strict=True)]
        square = dot(to, to)
        near = square.rsqrt()
        power_here = power / square
        if i == 0:
            for other in others:
                centre = thing.seen_from(other.centre)
                passing = _past(centre, 0.9 * other.radius, tuple(point), lamp)
                power_here = power_here * passing
        facing_lamp = (dot(normal, to) * near).clamp_(min=0)
        shine = (dot(mirror, to) * near).clamp_(0, 1)
        sharp = (shine * shine * shine) ** 2
        sharp = sharp * sharp  # to the twelfth
        gloss = torch.lerp(0.06 * sharp, 3.0 * sharp * sharp * sharp**2, metal) * power_here
        light = _added(light, facing_lamp.mul_(power_here), tint)
        gleam = _added(gleam, gloss, tint)
    found = []
    gain, white, share = look.matt
    for k in range(3):
        own = wide(thing.colour[:, k])
        matt = gain * (white + share * own) * light[k]
        surface = torch.lerp(matt, own * (0.3 * light[k] + room), metal)
        found.append(_tone(surface + gleam[k]))
    return found


def _normal(thing: Solid, point: list[Tensor], ray: tuple[Tensor, ...], met: Met) -> list[Tensor]:
    """What is straight up from the bound that was entered last."""
    rounded = met.near == met.enters[0]
    inverse = wide(1 / thing.radius)
    bend = (inverse, inverse, inverse * wide(thing.upright))
    found = []
    for k in range(3):
        flat = torch.where(met.near == met.enters[k + 1], -ray[k].sign(), 0.0)
        found.append(torch.where(rounded, point[k] * bend[k], flat))
    return found


def _change(
    table: Tensor, seen: Tensor, share: Tensor, row: Tensor, column: Tensor
) -> tuple[Tensor, Tensor]:
    """The pixels of windows `(B, 3, h h)`, and what objects there add to the table or take away."""
    side, width = seen.shape[-1], table.shape[-1]
    line = torch.arange(side, device=row.device)
    pixel = (row[:, None, None] + line[:, None]) * width + column[:, None, None] + line
    index = pixel.flatten(1)[:, None].expand(-1, 3, -1)
    under = table.flatten(2).gather(2, index)
    return index, seen.flatten(2) - under * share.flatten(2)


def _tone(light: Tensor) -> Tensor:
    """Light as a pixel shows it: bright light is compressed."""
    return light / (0.62 + 0.55 * light)


def _added(light: list[Tensor], more: Tensor, tint: Sequence[float]) -> list[Tensor]:
    """Red, green and blue, and more light of a tint."""
    return [torch.add(each, more, alpha=share) for each, share in zip(light, tint, strict=True)]


def _grid(height: int, width: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """The middles of pixels from -1 to 1, right and up."""
    x = (2 * torch.arange(width, device=device) + 1) / width - 1
    y = 1 - (2 * torch.arange(height, device=device) + 1) / height
    return x[None, None, :], y[None, :, None]
