"""A point of the latent space as a request names it: where to begin, and what is moved.

Only dimensions that were moved are sent, so that a point of a large latent fits into a link.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal, NamedTuple

import torch
from fastapi import Depends, Query
from torch import Tensor

from mindseye.errors import UsageError
from mindseye.explore import moved, prior_draws
from mindseye.imagine import Mind
from mindseye.studio.answers import READING, picture_of, reading
from mindseye.studio.house import ModelName, PictureText, Seed

__all__ = ["Point", "Start", "ThePoint"]

MOST = 512
"""Dimensions that one request may move."""

FAR = 10.0
"""How far from 0 a dimension may be moved."""

Where = Literal["zero", "draw", "picture"]


class Start(NamedTuple):
    """How Python comes to a point."""

    python: str
    """The lines that make `z`."""
    needed: tuple[str, ...]
    """What they import."""
    functions: tuple[str, ...]
    """What they import from `mindseye.explore`."""
    anywhere: bool
    """Whether `mindseye imagine ''` begins there too."""

    def imports(self, *functions: str) -> tuple[str, ...]:
        """All imports, with more functions of `mindseye.explore`."""
        names = ", ".join(sorted({*self.functions, *functions}))
        return (*self.needed, f"from mindseye.explore import {names}") if names else self.needed


class Point(NamedTuple):
    """A point of a model's latent space."""

    model: str
    point: Where
    seed: int
    picture: str
    changes: dict[int, float]

    def base(self, mind: Mind) -> Tensor:
        """Where it begins, `(D,)`."""
        if self.point == "picture":
            return mind.read(picture_of(self.picture, mind.model.shape)[None]).mean[0]
        if self.point == "draw":
            return prior_draws(mind, 1, self.seed)[0]
        return torch.zeros(mind.model.latent, device=mind.device)

    def latent(self, mind: Mind) -> Tensor:
        """The point itself, `(D,)`."""
        return moved(self.base(mind), self.changes)

    @property
    def told(self) -> str:
        """In words."""
        began = {"zero": "zero", "draw": f"draw {self.seed}", "picture": "a picture"}[self.point]
        return f"around {began}{', moved' if self.changes else ''}"

    def start(self, mind: Mind) -> Start:
        """How Python comes to it."""
        needed: tuple[str, ...] = ()
        functions: tuple[str, ...] = ()
        if self.point == "picture":
            python, needed = (
                f"{reading(repr('picture.png'))}\nz = mind.read(x[None]).mean[0]",
                READING,
            )
        elif self.point == "draw":
            python, functions = f"z = prior_draws(mind, seed={self.seed})[0]", ("prior_draws",)
        else:
            python, needed = f"z = torch.zeros({mind.model.latent})", ("import torch",)
        if self.changes:
            python, functions = f"{python}\nz = moved(z, {self.changes})", (*functions, "moved")
        known = "q_y" in mind.fits and mind.factorised and self.point != "picture"
        return Start(python, needed, functions, known)


def _point(
    model: ModelName = "",
    point: Annotated[
        Where,
        Query(description="Where to begin: at zero, at a draw of the prior, or at a picture."),
    ] = "zero",
    seed: Seed = 0,
    picture: PictureText = "",
    z: Annotated[
        str,
        Query(
            max_length=24 * MOST,
            description="Dimensions that are moved, counted from 0, with the values they get, from"
            " -10 to 10: such as 0:1.25,7:-0.5.",
        ),
    ] = "",
) -> Point:
    """The point that a request names."""
    if point == "picture" and not picture:
        raise UsageError("`point=picture` needs a picture.", "/api/pictures makes one of a file.")
    return Point(model, point, seed, picture, _changes(z))


ThePoint = Annotated[Point, Depends(_point)]


def _changes(text: str) -> dict[int, float]:
    """What is moved, by dimension."""
    pieces = text.split(",") if text else []
    if len(pieces) > MOST:
        raise UsageError(f"`z` moves {len(pieces)} dimensions; at most {MOST} are read.")
    found: dict[int, float] = {}
    for piece in pieces:
        name, _, number = piece.partition(":")
        try:
            dimension, value = int(name), float(number)
        except ValueError:
            raise UsageError(
                f"`z` has {piece[:40]!r}, which is no dimension with its value.",
                "Write it as 0:1.25,7:-0.5.",
            ) from None
        if not math.isfinite(value) or abs(value) > FAR:
            raise UsageError(
                f"`z` has {piece[:40]!r}; values must lie between -{FAR:g} and {FAR:g}."
            )
        found[dimension] = value
    return found
