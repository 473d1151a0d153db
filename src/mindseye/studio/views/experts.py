"""Experts: the product of experts, drawn in two latent dimensions."""

from __future__ import annotations

from typing import Annotated, Any

import torch
from fastapi import APIRouter, Query
from pydantic import Field
from torch import Tensor

from mindseye import explore
from mindseye.concepts import Concept
from mindseye.imagine import Mind
from mindseye.studio import schemas
from mindseye.studio.answers import description_of, lines
from mindseye.studio.house import ERRORS, Description, ModelName, TheHouse, Watch
from mindseye.studio.shelf import KNOWN, Training
from mindseye.studio.views.view import View

__all__ = ["VIEW"]

router = APIRouter()


class Ellipse(schemas.Answer):
    """Where a Gaussian has one standard deviation, in the plane that is shown."""

    x: float
    y: float
    a: float = Field(description="The longer half axis.")
    b: float = Field(description="The shorter half axis.")
    angle: float = Field(description="Of the longer axis, in radians.")


class Pulled(schemas.Answer):
    """A word's expert, and what the others would believe without it."""

    attribute: str
    value: str
    expert: Ellipse
    without: Ellipse


class Point(schemas.Answer):
    """A training picture: where it is, and what it shows."""

    x: float
    y: float
    codes: list[int] = Field(description="The index of each attribute's value.")


class Axes(schemas.Answer):
    """The plane that is shown."""

    names: tuple[str, str]
    dimensions: list[float] = Field(description="How far training pictures spread in each latent.")


class Experts(schemas.Answer):
    """The product of experts in two dimensions."""

    model: str
    description: str
    axes: Axes
    prior: Ellipse
    product: Ellipse
    words: list[Pulled]
    points: list[Point]
    density: list[list[float]] = Field(
        description="Training pictures against the prior on a grid over [-4, 4]², rows from below;"
        " near 0 is a hole."
    )
    missing: str = Field(description="Why there are no points, if there are none.")
    lines: schemas.Lines
    seconds: schemas.Seconds


@router.get("/api/experts", responses=ERRORS)
async def experts(
    house: TheHouse,
    model: ModelName = "",
    description: Description = "",
    axes: Annotated[
        str,
        Query(
            max_length=20,
            description="words: the two dimensions that say most about the description;"
            " pca: where training pictures vary most; or two dimensions such as 0,1.",
        ),
    ] = "words",
    points: Annotated[int, Query(ge=0, le=KNOWN, description="Training pictures beneath.")] = KNOWN,
) -> Experts:
    """The prior, an expert for each word and their product, with training pictures beneath."""
    watch, mind = Watch(), await house.speaker(model)
    concept, opened = mind.concept(description), house.opened(model)
    found = await house.engine.run(lambda: _drawn(mind, opened.training, concept, axes, points))
    said = description_of(concept)
    return Experts(
        **found.value,
        model=mind.name,
        description=said,
        lines=_lines(mind, said, axes, points if found.value["points"] else 0),
        seconds=watch.seconds(found.seconds),
    )


def _drawn(
    mind: Mind, training: Training | str, concept: Concept, axes: str, points: int
) -> dict[str, Any]:
    """What is in the plane."""
    known = isinstance(training, Training)
    latents = training.latents[:points] if known else torch.zeros(0, mind.model.latent)
    plane = explore.plane(mind, concept, latents, axes)
    flat = latents @ plane.axes.T

    def ellipse(mean: Tensor, stddev: Tensor) -> Ellipse:
        drawn = explore.ellipse(mean.cpu(), stddev.cpu(), plane.axes)
        return Ellipse(**{name: round(x, 5) for name, x in drawn._asdict().items()})

    def believed(said: Concept) -> Ellipse:
        belief = mind.belief(said)
        return ellipse(belief.mean[0], belief.stddev[0])

    spread = latents.std(0).nan_to_num(0).tolist() if known else []
    return {
        "axes": Axes(names=plane.names, dimensions=spread),
        "prior": ellipse(torch.zeros(mind.model.latent), torch.ones(mind.model.latent)),
        "product": believed(concept),
        "words": [
            Pulled(
                attribute=each.attribute,
                value=each.value,
                expert=ellipse(each.mean, each.stddev),
                without=believed(concept.drop(each.attribute)),
            )
            for each in explore.experts(mind, concept)
        ],
        "points": _points(training, flat) if known else [],
        "density": explore.density(flat).tolist() if known else [],
        "missing": "" if known else str(training),
    }


def _lines(mind: Mind, said: str, axes: str, points: int) -> schemas.Lines:
    """What draws the same plane, over so many training pictures."""
    known = f"latents_of(mind, find({mind.source!r}).examples({points}))"
    latents = known if points else f"torch.zeros(0, {mind.model.latent})"
    reading = ("from mindseye.explore import latents_of", "from mindseye.runs import find")
    return lines(
        mind,
        ("experts", said),
        f"latents = {latents}\n"
        f"picture = experts_plane(mind, mind.concept({said!r}), latents, {axes!r})",
        *(reading if points else ("import torch",)),
        "from mindseye.figures import experts_plane",
        axes=None if axes == "words" else axes,
        points=points,
    )


def _points(training: Training, flat: Tensor) -> list[Point]:
    """The first training pictures, with what they show."""
    pairs = zip(flat.tolist(), training.batch.y.codes[: len(flat)].tolist(), strict=True)
    return [Point(x=round(x, 3), y=round(y, 3), codes=codes) for (x, y), codes in pairs]


VIEW = View(
    "experts",
    "Experts",
    "Each word is a Gaussian; the belief is their product.",
    router,
    lambda mind: (
        "q_y" in mind.fits
        and mind.factorised
        and len(mind.vocabulary) > 0
        and mind.model.latent > 1
    ),
)
