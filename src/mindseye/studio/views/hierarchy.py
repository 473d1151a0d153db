"""Hierarchy: a concept among those with one word less and those with one word more."""

from __future__ import annotations

from typing import Annotated, Literal

import torch
from fastapi import APIRouter, Query
from pydantic import Field

from mindseye.concepts import Concept
from mindseye.errors import UsageError
from mindseye.explore import diversity, openness
from mindseye.imagine import Query as Asked
from mindseye.studio import schemas
from mindseye.studio.answers import description_of, lines, sprite
from mindseye.studio.engine import Seen
from mindseye.studio.house import ERRORS, Description, ModelName, Product, Seed, TheHouse, Watch
from mindseye.studio.views.view import View

__all__ = ["VIEW"]

WIDEST = 40
"""Children of one answer; of a vocabulary with more the first are shown."""

LATENTS = 128
"""Latents by which it is measured how much a concept leaves open."""

router = APIRouter()


class Node(schemas.Answer):
    """A concept near the one in the middle."""

    description: str
    relation: Literal["parent", "self", "child"]
    attribute: str | None = Field(description="The attribute that is dropped or added.")
    value: str | None = Field(description="The word that is dropped or added.")
    first: int = Field(description="Its first picture in the sprite.")
    count: int
    diversity: float = Field(description="0 if its pictures are equal, 1 if they share no ink.")
    bits: float = Field(description="How much it leaves open, by the model's own words.")


class Hierarchy(schemas.Answer):
    """A concept, those with one word less and those with one word more."""

    model: str
    description: str
    nodes: list[Node]
    more: int = Field(description="How many concepts with one word more are not shown.")
    pictures: schemas.Sprite
    lines: schemas.Lines
    seconds: schemas.Seconds


@router.get("/api/hierarchy", responses=ERRORS)
async def hierarchy(
    house: TheHouse,
    model: ModelName = "",
    description: Description = "",
    seed: Seed = 0,
    n: Annotated[int, Query(ge=1, le=4, description="Pictures of each concept.")] = 4,
    product: Product = False,
) -> Hierarchy:
    """The lattice around a description."""
    watch, mind = Watch(), await house.speaker(model)
    if not mind.walks:
        raise UsageError(
            f"`{mind.name}` has no words for what it paints.", "Captions shows what a word changes."
        )
    concept = mind.concept(description)
    children = concept.children()
    around = [*concept.parents(), concept, *children[:WIDEST]]
    asked = [Asked(each, n, seed, not product) for each in around]
    seen = await house.engine.pictures(mind, asked, judge=False)
    bits = await house.engine.run(
        lambda: [openness(mind, query._replace(n=LATENTS)) for query in asked]
    )
    said = description_of(concept)
    return Hierarchy(
        model=mind.name,
        description=said,
        nodes=[_node(concept, each, i, bits.value[i]) for i, each in enumerate(seen)],
        more=len(children[WIDEST:]),
        pictures=sprite(torch.cat([each.imagined.means for each in seen]), columns=n),
        lines=lines(
            mind,
            ("imagine", said),
            f"concept = mind.concept({said!r})\n"
            "around = [*concept.parents(), concept, *concept.children()]\n"
            f"pictures = [mind.imagine(each, n={n}, seed={seed}, mean=True"
            f"{', fill=False' if product else ''}) for each in around]",
            lattice=True,
            n=n,
            seed=seed,
            product=product,
        ),
        seconds=watch.seconds(seen[0].seconds + bits.seconds),
    )


def _node(centre: Concept, seen: Seen, i: int, bits: float) -> Node:
    """One concept, and how it differs from the one in the middle."""
    concept, means = seen.imagined.concept, seen.imagined.means
    relation: Literal["parent", "self", "child"] = "self"
    name = value = None
    if concept.level < centre.level:
        relation = "parent"
        (name,) = set(centre.observed) - set(concept.observed)
        value = centre.values[name]
    elif concept.level > centre.level:
        relation = "child"
        (name,) = set(concept.observed) - set(centre.observed)
        value = concept.values[name]
    return Node(
        description=description_of(concept),
        relation=relation,
        attribute=name,
        value=value,
        first=i * len(means),
        count=len(means),
        diversity=round(diversity(means.cpu()), 4),
        bits=round(bits, 3),
    )


VIEW = View(
    "hierarchy",
    "Hierarchy",
    "Drop a word, add a word, and watch what varies.",
    router,
    lambda mind: "q_y" in mind.fits and len(mind.vocabulary) > 0 and mind.walks,
)
