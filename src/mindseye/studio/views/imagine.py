"""Imagine: a description in, pictures out, with what the observer sees in them."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from mindseye.imagine import Query as Asked
from mindseye.studio import schemas
from mindseye.studio.answers import imagined
from mindseye.studio.house import ERRORS, Description, ModelName, Product, Seed, TheHouse, Watch
from mindseye.studio.views.view import View

__all__ = ["VIEW"]

MOST = 64
"""Pictures of one request."""

router = APIRouter()


@router.get("/api/imagine", responses=ERRORS)
async def imagine(
    house: TheHouse,
    model: ModelName = "",
    description: Description = "",
    n: Annotated[int, Query(ge=1, le=MOST, description="How many pictures.")] = 16,
    seed: Seed = 0,
    samples: Annotated[
        bool, Query(description="Draws from p(x|z), not expected pictures.")
    ] = False,
    product: Product = False,
    temperature: Annotated[
        float, Query(ge=0, le=3, allow_inf_nan=False, description="Spread of the latents.")
    ] = 1.0,
    judge: Annotated[bool, Query(description="Ask the observer.")] = True,
) -> schemas.Imagined:
    """Pictures of a description."""
    watch, mind = Watch(), await house.mind(model)
    asked = Asked(mind.concept(description), n, seed, not product, temperature)
    (seen,) = await house.engine.pictures(mind, [asked], judge=judge)
    return imagined(mind, asked, seen, watch.seconds(seen.seconds), samples=samples)


VIEW = View(
    "imagine",
    "Imagine",
    "Say something, and see what it may look like.",
    router,
    lambda mind: "q_y" in mind.fits,
)
