r"""Many wholes at once, each of its own parts: what a report is measured on.

`composing` has the verbs of one description; here is the same for a batch of descriptions that all
have $K$ parts. What is drawn of a whole depends on the seed, on its place in the batch and on the
number of the draw.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from mindseye.data.wholes import Specifics, Wholes
from mindseye.distributions import NormalPixels
from mindseye.models import Compositional
from mindseye.pieces import Pieces
from mindseye.randomness import keys, normals

__all__ = [
    "Drawn",
    "Extracted",
    "chunks",
    "drawn",
    "extracted",
    "real",
    "rendered",
    "repeated",
    "summed",
    "without",
    "written",
]

AT_ONCE = {"cuda": 2**11, "cpu": 2**7}
"""Wholes that are written at once."""


def chunks(y: Pieces, each: int = 1) -> list[tuple[slice, Pieces]]:
    """Descriptions of equal size in batches, each standing for so many wholes."""
    many, size = len(y.sizes), len(y.codes) // len(y.sizes)
    step = max(1, AT_ONCE[y.sizes.device.type] // each)
    return [
        (
            slice(at, at + step),
            Pieces(
                y.codes[at * size : (at + step) * size],
                y.places[at * size : (at + step) * size],
                y.sizes[at : at + step],
            ),
        )
        for at in range(0, many, step)
    ]


def repeated(y: Pieces, n: int) -> Pieces:
    """Every description of equal size `n` times, one behind the other."""
    many = len(y.sizes)
    codes, places = (
        each.unflatten(0, (many, -1)).repeat_interleave(n, 0).flatten(0, 1)
        for each in (y.codes, y.places)
    )
    return Pieces(codes, places, y.sizes.repeat_interleave(n))


def without(y: Pieces, chosen: Tensor) -> tuple[Pieces, Tensor]:
    """Descriptions of equal size without the part number `chosen`, `(B,)`; and which rows stay."""
    size = len(y.codes) // len(y.sizes)
    stays = (torch.arange(size, device=chosen.device) != chosen[:, None]).flatten()
    return Pieces(y.codes[stays], y.places[stays], y.sizes - 1), stays


def rendered(dataset: Wholes, y: Pieces, specifics: Specifics) -> Tensor:
    """What a generator makes of parts and their numbers, some at a time, `(B, C, H, W)`."""
    size = len(y.codes) // len(y.sizes)
    found = []
    for rows, some in chunks(y):
        own = specifics.own[rows.start * size : rows.stop * size]
        found.append(dataset.render(some, Specifics(own, specifics.shared[rows])))
    return torch.cat(found)


def real(dataset: Wholes, y: Pieces, n: int, seed: int = 0) -> Tensor:
    """Let a generator draw `n` wholes of every description of equal size, `(B, n, C, H, W)`."""
    many, key = repeated(y, n), _keys(y, n, seed, "real")
    return rendered(dataset, many, dataset.draw(many, key.flatten())).unflatten(0, key.shape)


class Drawn(NamedTuple):
    """Wholes of descriptions, `(B, n, C, H, W)`."""

    expected: Tensor
    draws: Tensor
    """The same with the noise of their values, infinite ones as large as can be."""


@torch.no_grad()
def drawn(model: Compositional, y: Pieces, n: int, seed: int = 0) -> Drawn:
    """Draw `n` wholes of every description of equal size."""
    key = _keys(y, n, seed, "made")
    found = []
    for rows, some in chunks(y, n):
        total = _drawn_total(model, repeated(some, n), key[rows].flatten())
        p_x = _written(model, total, _noise(model, key[rows]))
        draws = p_x.at(_values(model, key[rows])).nan_to_num()
        found.append(Drawn(*(x.unflatten(0, (-1, n)) for x in (p_x.mean, draws))))
    return Drawn(*(torch.cat(each) for each in zip(*found, strict=True)))


@torch.no_grad()
def summed(model: Compositional, y: Pieces, n: int, seed: int = 0) -> Tensor:
    """What `Composer.sum_of_parts` makes of every description of equal size, `(B, n, C, H, W)`."""
    key, size = _keys(y, n, seed, "summed"), len(y.codes) // len(y.sizes)
    found = []
    for rows, some in chunks(y, n):
        whole = torch.zeros((), device=key.device)
        for part in range(size):
            alone = Pieces(some.codes[part::size], some.places[part::size], some.sizes // size)
            its = keys(part, key[rows].flatten(), "part")
            total = _drawn_total(model, repeated(alone, n), its)
            whole = whole + _written(model, total, _noise(model, key[rows])).mean
        found.append(whole.unflatten(0, (-1, n)))
    return torch.cat(found) / (1 if model.shape[1] == 1 else size)


class Extracted(NamedTuple):
    """The latents behind observed wholes."""

    w: Tensor
    """One for every part, `(B, K, D)`."""

    noise: Tensor
    """What z is made of, `(B, Z)`."""


@torch.no_grad()
def extracted(model: Compositional, x: Tensor, y: Pieces, seed: int = 0) -> Extracted:
    """The latents of the parts of wholes `(B, C, H, W)`, K each, as `Composer.extracted` has it."""
    size = len(y.codes) // len(y.sizes)
    index = torch.arange(size, device=x.device)
    tags = normals(keys(seed, index, "tags"), model.tags)
    found = []
    for rows, some in chunks(y, size):
        seen, groups = model.seen(x[rows]), model.groups(some)
        z = model.q_z(seen).mean
        w = model.q_w(seen, z, some, groups, tags.repeat(len(some.sizes), 1)).mean
        noise = model.p_z(model.total(w, some, groups)).noise_of(z)
        found.append(Extracted(w.unflatten(0, (-1, size)), noise))
    return Extracted(*(torch.cat(each) for each in zip(*found, strict=True)))


@torch.no_grad()
def written(
    model: Compositional, found: Extracted, y: Pieces, removed: Tensor | None = None
) -> Tensor:
    """The expected wholes of latents, without part number `removed` `(B,)` if any is."""
    w = found.w.flatten(0, 1)
    if removed is not None:
        y, stays = without(y, removed)
        w = w[stays]
    size, made = len(y.codes) // len(y.sizes), []
    for rows, some in chunks(y):
        own = w[rows.start * size : rows.stop * size]
        total = model.total(own, some, model.groups(some))
        made.append(_written(model, total, found.noise[rows]).mean)
    return torch.cat(made)


def _drawn_total(model: Compositional, y: Pieces, key: Tensor) -> Tensor:
    """w~ of descriptions of equal size, by a key for each, `(B, summed)`."""
    p_w = model.p_w(y, model.groups(y))
    size = len(y.codes) // len(y.sizes)
    noise = normals(keys(0, key, "parts"), size * p_w.chances).view(len(y.codes), -1)
    return model.total(p_w.at(noise), y, p_w.groups)


def _written(model: Compositional, total: Tensor, noise: Tensor) -> NormalPixels:
    return model.p_x(model.p_z(total).at(noise), total)


def _keys(y: Pieces, n: int, seed: int, stream: str) -> Tensor:
    """A key for every draw of every description, `(B, n)`."""
    each = torch.arange(len(y.sizes), device=y.sizes.device)
    first = keys(seed, each, stream)
    return keys(seed, first[:, None] + torch.arange(n, device=each.device), "draws")


def _noise(model: Compositional, key: Tensor) -> Tensor:
    return normals(keys(0, key.flatten(), "whole"), model.latent)


def _values(model: Compositional, key: Tensor) -> Tensor:
    """The noise of all values of wholes, `(B, C, H, W)`."""
    noise = normals(keys(0, key.flatten(), "values"), torch.Size(model.shape).numel())
    return noise.unflatten(1, model.shape)
