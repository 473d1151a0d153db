"""Imagine: a description in, pictures out, with what the observer sees in them."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from mindseye.concepts import Concept
from mindseye.imagine import Mind
from mindseye.imagine import Query as Asked
from mindseye.studio import schemas
from mindseye.studio.answers import description_of, judged, lines, scored, sprite
from mindseye.studio.engine import Seen
from mindseye.studio.house import ERRORS, Description, ModelName, Seed, TheHouse, Watch
from mindseye.studio.views.view import View

__all__ = ["VIEW", "answered"]

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
    product: Annotated[bool, Query(description="Leave experts of open attributes out.")] = False,
    temperature: Annotated[
        float, Query(ge=0, le=3, allow_inf_nan=False, description="Spread of the latents.")
    ] = 1.0,
    judge: Annotated[bool, Query(description="Ask the observer.")] = True,
) -> schemas.Imagined:
    """Pictures of a description."""
    watch, mind = Watch(), await house.mind(model)
    asked = Asked(mind.concept(description), n, seed, not product, temperature)
    (seen,) = await house.engine.pictures(mind, [asked], judge=judge)
    return answered(mind, asked, seen, watch, samples=samples)


def answered(
    mind: Mind, asked: Asked, seen: Seen, watch: Watch, *, samples: bool = False
) -> schemas.Imagined:
    """One query and its pictures, as an answer."""
    concept = asked.concept
    return schemas.Imagined(
        model=mind.name,
        description=description_of(concept),
        said=dict(concept.values),
        open=list(concept.missing),
        n=asked.n,
        seed=asked.seed,
        pictures=sprite(seen.imagined.samples if samples else seen.imagined.means),
        verdicts=judged(seen.verdicts),
        scores=scored(mind, concept, seen.verdicts),
        lines=_lines(mind, concept, asked, samples=samples),
        seconds=watch.seconds(seen.seconds),
    )


def _lines(mind: Mind, concept: Concept, asked: Asked, *, samples: bool) -> schemas.Lines:
    said, warm = description_of(concept), asked.temperature != 1
    changed = [
        "" if samples else ", mean=True",
        "" if asked.fill else ", fill=False",
        f", temperature={asked.temperature:g}" if warm else "",
    ]
    return lines(
        mind,
        ("imagine", said),
        f"pictures = mind.imagine({said!r}, n={asked.n}, seed={asked.seed}{''.join(changed)})",
        n=asked.n,
        seed=asked.seed,
        samples=samples,
        product=not asked.fill,
        temperature=f"{asked.temperature:g}" if warm else None,
    )


VIEW = View(
    "imagine",
    "Imagine",
    "Say something, and see what it may look like.",
    router,
    lambda mind: "q_y" in mind.fits,
)
