"""Describe: a picture in, a distribution over descriptions out."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import torch
from fastapi import APIRouter, Body, Query
from pydantic import Field
from torch import Tensor

from mindseye.errors import UsageError
from mindseye.explore import nearest
from mindseye.imagine import Mind
from mindseye.labels import Labels, decode
from mindseye.pictures import read_picture
from mindseye.studio import schemas
from mindseye.studio.answers import READING, lines, picture_link, picture_of, reading, sprite
from mindseye.studio.house import ERRORS, ModelName, PictureText, Seed, TheHouse, Watch
from mindseye.studio.shelf import Training
from mindseye.studio.views.view import View

__all__ = ["VIEW"]

LARGEST = 2**24
"""Pixels of a picture that is decoded: 4096 by 4096."""

NEIGHBOURS = 8

router = APIRouter()


class Picture(schemas.Answer):
    """A picture as the model sees it."""

    model: str
    picture: str = Field(description="A PNG file, base64url, fit for a link.")


class Neighbour(schemas.Answer):
    """A training picture near another picture."""

    description: str
    distance: float = Field(description="Between the means of q(z|x).")


class Described(schemas.Answer):
    """What a picture shows."""

    model: str
    attributes: dict[str, dict[str, float]] = Field(description="p(y_k|x) by attribute and value.")
    pictures: schemas.Sprite = Field(description="The picture, then what the model makes of it.")
    neighbours: list[Neighbour]
    nearest: schemas.Sprite | None
    missing: str = Field(description="Why there are no neighbours, if there are none.")
    lines: schemas.Lines
    seconds: schemas.Seconds


@router.post("/api/pictures", responses=ERRORS)
async def pictures(
    house: TheHouse,
    body: Annotated[
        bytes,
        Body(media_type="application/octet-stream", description="A PNG, JPEG, GIF, … file."),
    ],
    model: ModelName = "",
    invert: Annotated[bool, Query(description="Swap black and white.")] = False,
) -> Picture:
    """A picture file as the model will see it, small enough for a link."""
    opened = house.opened(model)
    shape = opened.outline.model.shape

    def fitted() -> str:
        x = read_picture(body, shape, max_pixels=LARGEST, arrays=False)
        return picture_link(1 - x if invert else x)

    picture = await asyncio.to_thread(fitted)  # not where models work: it may take a while
    return Picture(model=opened.name, picture=picture)


@router.get("/api/describe", responses=ERRORS)
async def describe(
    house: TheHouse, picture: PictureText, model: ModelName = "", seed: Seed = 0
) -> Described:
    """The probability of every value of every attribute of a picture."""
    watch, mind = Watch(), await house.speaker(model)
    opened = house.opened(model)
    if "q_x" not in mind.fits:
        raise UsageError(f"`{mind.name}` reads no pictures.", "Choose another model.")

    x = picture_of(picture, mind.model.shape)
    found = await house.engine.run(lambda: _described(mind, opened.training, x, seed))
    return Described(
        **found.value,
        model=mind.name,
        lines=lines(
            mind,
            ("describe", "picture.png"),
            f"{reading(repr('picture.png'))}\nfound = mind.describe(x, seed={seed})",
            *READING,
            seed=seed or None,
        ),
        seconds=watch.seconds(found.seconds),
    )


def _described(mind: Mind, training: Training | str, x: Tensor, seed: int) -> dict[str, Any]:
    """What the model sees in a picture, and what it remembers of the kind."""
    told = {
        "attributes": mind.describe(x, seed=seed),
        "pictures": sprite(torch.cat([x[None], mind.reconstruct(x[None]).cpu()])),
    }
    if not isinstance(training, Training):
        return told | {"neighbours": [], "nearest": None, "missing": training}
    latent = mind.read(x[None]).mean[0].cpu()
    chosen, distances = zip(*nearest(latent, training.latents, NEIGHBOURS), strict=True)
    near = Labels(*(y[list(chosen)] for y in training.batch.y))
    pairs = zip(decode(mind.vocabulary, near), distances, strict=True)
    return told | {
        "neighbours": [
            Neighbour(description=" · ".join(concept.values.values()), distance=distance)
            for concept, distance in pairs
        ],
        "nearest": sprite(training.batch.x[list(chosen)]),
        "missing": "",
    }


VIEW = View(
    "describe",
    "Describe",
    "Draw or drop a picture, and see what it shows.",
    router,
    lambda mind: "q_x" in mind.fits and len(mind.vocabulary) > 0,
)
