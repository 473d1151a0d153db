"""Retrieval: real pictures that a sentence describes, found by the bound of a model that paints."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from mindseye.concepts import Concept
from mindseye.data import Batch
from mindseye.errors import UsageError
from mindseye.labels import Labels, decode
from mindseye.painting import LOOK, Painter
from mindseye.studio import schemas
from mindseye.studio.answers import description_of, lines, sprite
from mindseye.studio.house import ERRORS, Description, ModelName, TheHouse, Watch
from mindseye.studio.sentences import sentences
from mindseye.studio.shelf import GALLERY

__all__ = ["router"]

router = APIRouter()


class Found(schemas.Answer):
    """A real picture, and how well a sentence fits it."""

    caption: str = Field(description="What is said of it in the data.")
    nats: float = Field(description="How much likelier the sentence makes it: log p(x|y) / p(x).")


class Retrieved(schemas.Answer):
    """Some of the test pictures, and how well a sentence fits each."""

    model: str
    description: str
    first: int
    among: int = Field(description="How many there are in all; 0 if they are not here.")
    found: list[Found] = Field(description="Of each picture, in the order of the data.")
    pictures: schemas.Sprite | None
    missing: str = Field(description="Why there are none, if there are none.")
    lines: schemas.Lines
    seconds: schemas.Seconds


@router.get("/api/retrieve", responses=ERRORS)
async def retrieve(
    house: TheHouse,
    model: ModelName = "",
    description: Description = "",
    first: Annotated[
        int,
        Query(
            ge=0,
            le=GALLERY - LOOK,
            multiple_of=LOOK,
            description=f"The first of {LOOK} pictures that are looked at: 0, {LOOK}, {2 * LOOK} …",
        ),
    ] = 0,
) -> Retrieved:
    """How well a sentence fits eight of the test pictures."""
    watch, mind, opened = Watch(), await house.painter(model), house.opened(model)
    (concept,) = sentences(mind, description)
    if not concept.level:
        raise UsageError("Nothing is said, and every picture fits.", "Say what to look for.")
    gallery = (await house.engine.run(lambda: opened.gallery)).value
    some = _some(gallery, first)
    looked = await house.engine.run(lambda: _nats(mind, concept, gallery, some))
    return Retrieved(
        model=mind.name,
        description=description_of(concept),
        first=first,
        among=0 if isinstance(gallery, str) else len(gallery.x),
        found=_found(mind, some.y, looked.value) if some else [],
        pictures=sprite(some.x) if some else None,
        missing=gallery if isinstance(gallery, str) else "",
        lines=_lines(mind, description_of(concept)),
        seconds=watch.seconds(looked.seconds),
    )


def _some(gallery: Batch[Labels] | str, first: int) -> Batch[Labels] | None:
    """The pictures that are looked at, if there are any."""
    if isinstance(gallery, str) or first >= len(gallery.x):
        return None
    part = slice(first, first + LOOK)
    return Batch(gallery.x[part], Labels(*(each[part] for each in gallery.y)))


def _nats(
    mind: Painter, concept: Concept, gallery: Batch[Labels] | str, some: Batch[Labels] | None
) -> list[float]:
    """How much likelier a sentence makes some of the pictures, if there are any."""
    if isinstance(gallery, str) or some is None:
        return []
    return mind.found(concept, some.x, against=mind.rivals(gallery.y)).tolist()


def _found(mind: Painter, y: Labels, nats: list[float]) -> list[Found]:
    return [
        Found(caption=str(caption), nats=round(each, 3))
        for caption, each in zip(decode(mind.vocabulary, y), nats, strict=True)
    ]


def _lines(mind: Painter, said: str) -> schemas.Lines:
    """What looks at all of them."""
    return lines(
        mind,
        ("retrieve", said),
        f"data = find({mind.source!r}).recipe.data.open('test')\n"
        f"found = mind.retrieved({said!r}, data.examples(torch.arange({GALLERY})))",
        "import torch",
        "from mindseye.runs import find",
    )
