"""Between: the way from one description or picture to another, and along each latent dimension."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from torch import Tensor

from mindseye.errors import UsageError
from mindseye.explore import prior_draws, traversals, way
from mindseye.imagine import Mind
from mindseye.studio import schemas
from mindseye.studio.answers import READING, description_of, lines, picture_of, reading, sprite
from mindseye.studio.house import (
    ERRORS,
    Description,
    ModelName,
    PictureText,
    Seed,
    TheHouse,
    Watch,
)
from mindseye.studio.views.view import View

__all__ = ["VIEW"]

MOST = 800
"""Pictures of all dimensions together; of a larger latent the view Latents shows some."""

router = APIRouter()


class Between(schemas.Answer):
    """The way from one description or picture to another: rows of steps."""

    model: str
    start: str
    end: str
    rows: int
    steps: int
    pictures: schemas.Sprite
    lines: schemas.Lines
    seconds: schemas.Seconds


class Traversals(schemas.Answer):
    """One row for each latent dimension, along which alone the pictures of a row differ."""

    model: str
    description: str
    values: list[float]
    pictures: schemas.Sprite
    lines: schemas.Lines
    seconds: schemas.Seconds


@router.get("/api/between", responses=ERRORS)
async def between(
    house: TheHouse,
    model: ModelName = "",
    start: Description = "",
    end: Description = "",
    start_picture: PictureText = "",
    end_picture: PictureText = "",
    n: Annotated[int, Query(ge=1, le=6, description="Rows, each with noise of its own.")] = 4,
    steps: Annotated[int, Query(ge=2, le=15, description="Pictures of a row.")] = 9,
    seed: Seed = 0,
) -> Between:
    """Expected pictures on the way from one end to the other."""
    watch, mind = Watch(), await house.walker(model)
    if bool(start_picture) != bool(end_picture):
        raise UsageError("Only one end is a picture.", "Give two descriptions or two pictures.")

    def gone() -> tuple[Tensor, str, str]:
        if start_picture:
            ends = [picture_of(each, mind.model.shape) for each in (start_picture, end_picture)]
            first, last = (mind.read(x[None]).mean[0] for x in ends)
            return way(mind, first, last, steps), "a picture", "a picture"
        first, last = mind.concept(start), mind.concept(end)
        if not len(mind.vocabulary):
            z = prior_draws(mind, 2 * n, seed)
            return way(mind, z[:n], z[n:], steps), "", ""
        pictures = mind.between(first, last, steps, n, seed)
        return pictures, description_of(first), description_of(last)

    found = await house.engine.run(gone)
    pictures, first, last = found.value
    files = bool(start_picture)
    ends = ("start.png", "end.png") if files else (first, last)
    return Between(
        model=mind.name,
        start=first,
        end=last,
        rows=len(pictures),
        steps=steps,
        pictures=sprite(pictures.flatten(0, 1), columns=steps),
        lines=_way_lines(mind, ends, files=files, steps=steps, n=n, seed=seed),
        seconds=watch.seconds(found.seconds),
    )


@router.get("/api/traversals", responses=ERRORS)
async def traverse(
    house: TheHouse,
    model: ModelName = "",
    description: Description = "",
    picture: PictureText = "",
    seed: Seed = 0,
    steps: Annotated[int, Query(ge=3, le=15, description="Pictures of a row.")] = 9,
    span: Annotated[
        float, Query(ge=0.5, le=5, allow_inf_nan=False, description="How far to go.")
    ] = 3.0,
) -> Traversals:
    """Expected pictures as one latent dimension after the other changes."""
    watch, mind = Watch(), await house.walker(model)
    concept = mind.concept(description)
    if mind.model.latent * steps > MOST:
        raise UsageError(
            f"`steps={steps}` of {mind.model.latent} latents are more than {MOST} pictures.",
            "Ask for the most active ones: /api/latents/traversals.",
        )

    def gone() -> tuple[list[float], Tensor]:
        if picture:
            z = mind.read(picture_of(picture, mind.model.shape)[None]).mean[0]
        else:
            z = mind.imagined(concept, 1, seed, temperature=0).latents[0]
        return traversals(mind, z, steps, span)

    found = await house.engine.run(gone)
    values, pictures = found.value
    said = description_of(concept)
    return Traversals(
        model=mind.name,
        description="a picture" if picture else said,
        values=values,
        pictures=sprite(pictures.flatten(0, 1), columns=steps),
        lines=lines(
            mind,
            ("imagine", "picture.png" if picture else said),
            (
                f"{reading(repr('picture.png'))}\nz = mind.read(x[None]).mean[0]\n"
                if picture
                else f"z = mind.imagined({said!r}, 1, {seed}, temperature=0).latents[0]\n"
            )
            + f"values, pictures = traversals(mind, z, steps={steps}, span={span:g})",
            *(READING if picture else ()),
            "from mindseye.explore import traversals",
            traverse=True,
            seed=seed,
            steps=None if steps == 9 else steps,
            span=None if span == 3 else f"{span:g}",
        ),
        seconds=watch.seconds(found.seconds),
    )


def _way_lines(
    mind: Mind, ends: tuple[str, str], *, files: bool, steps: int, n: int, seed: int
) -> schemas.Lines:
    told = None if steps == 9 else steps
    if files:
        python = (
            f"ends = []\nfor file in {ends!r}:\n"
            f"    {reading('file')}\n"
            "    ends.append(mind.read(x[None]).mean[0])\n"
            f"pictures = way(mind, *ends, steps={steps})"
        )
        needed = (*READING, "from mindseye.explore import way")
        return lines(mind, ("imagine", ends[0]), python, *needed, to=ends[1], steps=told)
    python = f"pictures = mind.between(*{ends!r}, steps={steps}, n={n}, seed={seed})"
    if not len(mind.vocabulary):
        python = (
            f"z = prior_draws(mind, {2 * n}, seed={seed})\n"
            f"pictures = way(mind, z[:{n}], z[{n}:], steps={steps})"
        )
        return lines(mind, (), python, "from mindseye.explore import prior_draws, way")
    return lines(mind, ("imagine", ends[0]), python, to=ends[1], n=n, seed=seed, steps=told)


VIEW = View(
    "between",
    "Between",
    "Walk from one thought to another, or along one dimension.",
    router,
    lambda mind: "q_y" in mind.fits and mind.walks,
)
