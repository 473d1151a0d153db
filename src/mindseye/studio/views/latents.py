"""Latents: a point of the latent space, the pictures around it, and what is known of its units."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated

import torch
from fastapi import APIRouter, Query, Response
from pydantic import Field
from torch import Tensor

from mindseye import films
from mindseye.errors import DataError, MindseyeError
from mindseye.explore import liveliest, manifold, moved, traversals
from mindseye.imagine import Mind
from mindseye.pictures import png_bytes
from mindseye.runs import spelled
from mindseye.studio import schemas
from mindseye.studio.answers import command, lines, picture_link, picture_of, sprite
from mindseye.studio.house import ERRORS, House, ModelName, Seed, TheHouse, Watch
from mindseye.studio.likelihoods import Estimate, Likelihood, likelihood_of
from mindseye.studio.points import Point, Start, ThePoint
from mindseye.studio.shelf import KNOWN, Opened, Training
from mindseye.studio.views.view import View

__all__ = ["VIEW"]

MOST_ROWS = 64
"""Dimensions of one answer."""

router = APIRouter()


class Latents(schemas.Answer):
    """A point of the latent space, and its picture."""

    model: str
    z: list[float]
    pictures: schemas.Sprite = Field(
        description="The expected picture; then the picture that was read and what the model makes"
        " of it, if one was."
    )
    lines: schemas.Lines
    seconds: schemas.Seconds


class Rows(schemas.Answer):
    """One row for each of some dimensions, along which alone its pictures differ."""

    model: str
    dimensions: list[int]
    values: list[float]
    pictures: schemas.Sprite
    lines: schemas.Lines
    seconds: schemas.Seconds


class Plane(schemas.Answer):
    """Pictures over two dimensions, row by row from the top."""

    model: str
    across: int
    up: int
    values: list[float] = Field(description="Of the columns from the left, the rows from below.")
    pictures: schemas.Sprite
    lines: schemas.Lines
    seconds: schemas.Seconds


class Example(schemas.Answer):
    """A training picture."""

    model: str
    picture: str = Field(description="A PNG file, base64url, fit for a link.")


class Placed(schemas.Answer):
    """A model of the same data whose likelihood is known."""

    name: str
    nll: Estimate
    rate: Estimate
    distortion: Estimate


class Known(schemas.Answer):
    """What is known about the latents of a model."""

    model: str
    order: list[int] = Field(description="The dimensions, the most active first.")
    activity: list[float] = Field(description="Of every dimension.")
    over: int = Field(
        description="Training pictures over which E[z|x] varies so much; 0 where there are none"
        " and it is said how much the decoder's picture changes."
    )
    examples: str = Field(description="Why there are no training pictures, if there are none.")
    likelihood: Likelihood | None
    missing: str = Field(description="How to get the likelihood, or what is the matter with it.")
    placed: list[Placed] = Field(description="Open models of the same data, this one among them.")
    lines: schemas.Lines
    seconds: schemas.Seconds


Steps = Annotated[int, Query(ge=3, le=15, description="Pictures of a row.")]
Span = Annotated[float, Query(ge=0.5, le=5, allow_inf_nan=False, description="How far to go.")]
Count = Annotated[
    int, Query(ge=1, le=MOST_ROWS, description="Dimensions, the most active ones first.")
]


@router.get("/api/latents", responses=ERRORS)
async def latents(house: TheHouse, point: ThePoint) -> Latents:
    """The expected picture at a point of the latent space."""
    watch, mind = Watch(), await house.walker(point.model)

    def gone() -> tuple[Tensor, Tensor]:
        base = point.base(mind)
        z = moved(base, point.changes)
        if point.point != "picture":
            return z, mind.expected(z[None])
        given = picture_of(point.picture, mind.model.shape)[None]
        here, made = mind.expected(torch.stack([z, base])).cpu()
        return z, torch.cat([here[None], given, made[None]])

    found = await house.engine.run(gone)
    z, pictures = found.value
    return Latents(
        model=mind.name,
        z=_rounded(z.tolist()),
        pictures=sprite(pictures),
        lines=_point_lines(mind, point),
        seconds=watch.seconds(found.seconds),
    )


@router.get("/api/latents/traversals", responses=ERRORS)
async def rows(
    house: TheHouse, point: ThePoint, count: Count = 10, steps: Steps = 9, span: Span = 3.0
) -> Rows:
    """Expected pictures as one dimension after the other changes, the most active first."""
    watch, mind = Watch(), await house.walker(point.model)
    dimensions, values, pictures, seconds = await _traversed(house, point, count, steps, span)
    return Rows(
        model=mind.name,
        dimensions=dimensions,
        values=_rounded(values),
        pictures=sprite(pictures.flatten(0, 1), columns=steps),
        lines=_rows_lines(mind, point, dimensions, steps, span),
        seconds=watch.seconds(seconds),
    )


@router.get(
    "/api/latents/sheet",
    responses={**ERRORS, 200: {"content": {"image/png": {}}, "description": "The sheet."}},
    response_class=Response,
)
async def sheet(
    house: TheHouse, point: ThePoint, count: Count = 10, steps: Steps = 9, span: Span = 3.0
) -> Response:
    """The rows of the traversals as a PNG file, with their names."""
    dimensions, values, pictures, _ = await _traversed(house, point, count, steps, span)
    title = _title(house.opened(point.model), point)
    drawn = await asyncio.to_thread(films.sheet, dimensions, values, pictures, title)
    return Response(png_bytes(drawn), media_type="image/png")


@router.get(
    "/api/latents/film",
    responses={**ERRORS, 200: {"content": {"image/gif": {}}, "description": "The film."}},
    response_class=Response,
)
async def film(
    house: TheHouse, point: ThePoint, count: Count = 10, steps: Steps = 15, span: Span = 3.0
) -> Response:
    """The traversals as a GIF file: a picture for each dimension, which goes there and back."""
    dimensions, _, pictures, _ = await _traversed(house, point, count, steps, span)
    title = _title(house.opened(point.model), point)
    drawn = await asyncio.to_thread(films.film, dimensions, pictures, title)
    return Response(drawn, media_type="image/gif")


@router.get("/api/latents/plane", responses=ERRORS)
async def plane(
    house: TheHouse,
    point: ThePoint,
    across: Annotated[int, Query(ge=0, le=2**16, description="The dimension of columns.")] = 0,
    up: Annotated[int, Query(ge=0, le=2**16, description="The dimension of rows.")] = 1,
    side: Annotated[int, Query(ge=2, le=25, description="Pictures along a side.")] = 15,
    span: Span = 3.0,
) -> Plane:
    """Expected pictures over two dimensions; the others stay as they are at the point."""
    watch, mind = Watch(), await house.walker(point.model)
    found = await house.engine.run(
        lambda: manifold(mind, point.latent(mind), across, up, side, span)
    )
    values, pictures = found.value
    start = point.start(mind)
    asked = f"across={across}, up={up}, side={side}{'' if span == 3 else f', span={span:g}'}"
    return Plane(
        model=mind.name,
        across=across,
        up=up,
        values=_rounded(values),
        pictures=sprite(pictures.flatten(0, 1), columns=side),
        lines=lines(
            mind,
            (),
            f"{start.python}\nvalues, pictures = manifold(mind, z, {asked})",
            *start.imports("manifold"),
        ),
        seconds=watch.seconds(found.seconds),
    )


@router.get("/api/latents/example", responses=ERRORS)
async def example(house: TheHouse, model: ModelName = "", seed: Seed = 0) -> Example:
    """A training picture of a model, to be read."""
    mind, opened = await house.walker(model), house.opened(model)
    training = (await house.engine.run(lambda: opened.training)).value
    if not isinstance(training, Training):
        raise DataError(training)
    x = training.batch.x[seed % len(training.batch.x)]
    return Example(model=mind.name, picture=picture_link(x.cpu().numpy()))


@router.get("/api/latents/known", responses=ERRORS)
async def known(house: TheHouse, model: ModelName = "") -> Known:
    """Which dimensions are used most, and the likelihood of the model if it was evaluated."""
    watch, mind, opened = Watch(), await house.walker(model), house.opened(model)
    found = await house.engine.run(lambda: opened.activity)
    values, over = found.value
    measured = _measured(house, opened)
    own = measured.get(opened.name)
    return Known(
        model=mind.name,
        order=liveliest(values),
        activity=_rounded(values.tolist()),
        over=over,
        examples="" if over else str(opened.training),
        likelihood=own,
        missing="" if own or len(mind.vocabulary) else _missing(house, opened),
        placed=[
            Placed(name=name, nll=each.nll, rate=each.rate, distortion=each.distortion)
            for name, each in measured.items()
        ],
        lines=_known_lines(mind, opened, over),
        seconds=watch.seconds(found.seconds),
    )


async def _traversed(
    house: House, point: Point, count: int, steps: int, span: float
) -> tuple[list[int], list[float], Tensor, float]:
    """Dimensions, values, pictures, and the seconds they took."""
    mind, opened = await house.walker(point.model), house.opened(point.model)

    def gone() -> tuple[list[int], list[float], Tensor]:
        chosen = liveliest(opened.activity.values)[:count]
        return chosen, *traversals(mind, point.latent(mind), steps, span, chosen)

    found = await house.engine.run(gone)
    return *found.value, found.seconds


def _measured(house: House, opened: Opened) -> dict[str, Likelihood]:
    """The likelihoods of open models of the same data, by name; what is damaged is left out."""
    found = {}
    for each in house.shelf.models.values():
        try:
            same = each.run.recipe.data.name == opened.run.recipe.data.name
            likelihood = likelihood_of(each.run) if same else None
        except MindseyeError:
            continue
        if likelihood:
            found[each.name] = likelihood
    return found


def _missing(house: House, opened: Opened) -> str:
    """Why there is no likelihood, and what to do."""
    try:
        likelihood_of(opened.run)
    except MindseyeError as error:
        return house.shelf.without_folders(f"{error.message} {error.hint}")
    return f"It was not measured yet. `{command('evaluate', spelled(opened.run))}` does it."


def _rounded(values: Sequence[float]) -> list[float]:
    """Numbers in few digits; none of them is -0."""
    return [round(value, 5) + 0.0 for value in values]


def _title(opened: Opened, point: Point) -> str:
    return f"{opened.name}: {point.told}"


def _point_lines(mind: Mind, point: Point) -> schemas.Lines:
    """What makes the picture of a point; no command takes one that was moved."""
    start = point.start(mind)
    plain = not point.changes and start.anywhere
    return lines(
        mind,
        ("imagine", "") if plain else (),
        f"{start.python}\npicture = mind.expected(z[None])[0]",
        *start.imports(),
        n=1,
        seed=point.seed if point.point == "draw" else None,
        temperature=None if point.point == "draw" else "0",
        product=len(mind.vocabulary) > 0,
    )


def _rows_lines(
    mind: Mind, point: Point, dimensions: Sequence[int], steps: int, span: float
) -> schemas.Lines:
    """What makes the rows; the command has those of all dimensions, in their own order."""
    start = point.start(mind)
    asked = f"steps={steps}, span={span:g}, dimensions={list(dimensions)}"
    return lines(
        mind,
        _rows_words(mind, point, start),
        f"{start.python}\npicture = mind.expected(z[None])[0]\n"
        f"values, pictures = traversals(mind, z, {asked})",
        *start.imports("traversals"),
        traverse=True,
        steps=None if steps == 9 else steps,
        span=None if span == 3 else f"{span:g}",
    )


def _rows_words(mind: Mind, point: Point, start: Start) -> tuple[str, ...]:
    """The command that goes along dimensions from a point, if there is one."""
    if point.changes:
        return ()
    if point.point == "picture":
        return ("imagine", "picture.png")
    middle = point.point == "zero" and start.anywhere and not len(mind.vocabulary)
    return ("imagine", "") if middle else ()


def _known_lines(mind: Mind, opened: Opened, over: int) -> schemas.Lines:
    measured = command("evaluate", spelled(opened.run))
    if over:
        python = f"activity = latents_of(mind, find({mind.source!r}).examples({KNOWN})).var(0)"
        needed = ("from mindseye.explore import latents_of", "from mindseye.runs import find")
    else:
        python, needed = "activity = effects(mind)", ("from mindseye.explore import effects",)
    made = lines(mind, (), python, *needed)
    return schemas.Lines(command="" if len(mind.vocabulary) else measured, python=made.python)


VIEW = View(
    "latents",
    "Latents",
    "Move a point through the latent space, one dimension at a time.",
    router,
    lambda mind: bool(mind.fits & {"q_x", "q_y"}) and mind.walks,
)
