"""Describe: a picture in, a distribution over descriptions out."""

from __future__ import annotations

from typing import Annotated

import torch
from fastapi import APIRouter, Body, Query
from torch import Tensor

from mindseye.errors import UsageError
from mindseye.explore import nearest
from mindseye.figures import words
from mindseye.imagine import Mind
from mindseye.labels import decode
from mindseye.pictures import png_bytes, read_picture
from mindseye.studio import schemas
from mindseye.studio.answers import lines, link_text, picture_of, sprite
from mindseye.studio.house import ERRORS, ModelName, PictureText, Seed, TheHouse, Watch
from mindseye.studio.shelf import Opened, Training
from mindseye.studio.views.view import View

__all__ = ["VIEW"]

LARGEST = 2**24
"""Pixels of a picture that is decoded: 4096 by 4096."""

NEIGHBOURS = 8

router = APIRouter()


@router.post("/api/pictures", responses=ERRORS)
async def pictures(
    house: TheHouse,
    body: Annotated[
        bytes,
        Body(media_type="application/octet-stream", description="A PNG, JPEG, GIF, … file."),
    ],
    model: ModelName = "",
    invert: Annotated[bool, Query(description="Swap black and white.")] = False,
) -> schemas.Picture:
    """A picture file as the model will see it, small enough for a link."""
    mind = await house.mind(model)
    shape = mind.model.shape

    def fitted() -> str:
        x = read_picture(body, shape, max_pixels=LARGEST)
        return link_text(png_bytes(1 - x if invert else x))

    return schemas.Picture(model=mind.name, picture=await house.engine.run(fitted))


@router.get("/api/describe", responses=ERRORS)
async def describe(
    house: TheHouse, picture: PictureText, model: ModelName = "", seed: Seed = 0
) -> schemas.Described:
    """The probability of every value of every attribute of a picture."""
    watch, mind = Watch(), await house.mind(model)
    opened = house.opened(model)
    if "q_x" not in mind.fits:
        raise UsageError(f"`{mind.name}` reads no pictures.", "Choose another model.")

    def described() -> schemas.Described:
        return _described(mind, opened, picture_of(picture, mind.model.shape), seed, watch)

    return await house.engine.run(described)


def _described(mind: Mind, opened: Opened, x: Tensor, seed: int, watch: Watch) -> schemas.Described:
    training = opened.training
    known = isinstance(training, Training)
    found = nearest(mind.read(x[None]).mean[0].cpu(), training.latents, NEIGHBOURS) if known else []
    shown = (
        [words(c).replace("\n", " · ") for c in decode(mind.vocabulary, training.batch.y)]
        if known
        else []
    )
    chosen = torch.tensor([i for i, _ in found])
    return schemas.Described(
        model=mind.name,
        attributes=mind.describe(x, seed=seed),
        pictures=sprite(torch.cat([x[None], mind.reconstruct(x[None]).cpu()])),
        neighbours=[schemas.Neighbour(description=shown[i], distance=d) for i, d in found],
        nearest=sprite(training.batch.x[chosen]) if known else None,
        missing="" if known else str(training),
        lines=lines(
            mind,
            ("describe", "picture.png"),
            "x = torch.from_numpy(read_picture('picture.png', mind.model.shape))\n"
            f"found = mind.describe(x, seed={seed})",
            "import torch",
            "from mindseye.pictures import read_picture",
            seed=seed or None,
        ),
        seconds=watch.seconds(watch.seconds(0).all),
    )


VIEW = View(
    "describe",
    "Describe",
    "Draw or drop a picture, and see what it shows.",
    router,
    lambda mind: "q_x" in mind.fits,
)
