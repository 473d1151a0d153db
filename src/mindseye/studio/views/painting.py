"""Painting: pictures of a sentence stroke by stroke, and the words that are listened to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import torch
from fastapi import APIRouter, Query
from pydantic import Field
from torch import Tensor

from mindseye.concepts import Concept
from mindseye.imagine import Query as Asked
from mindseye.painting import Painter, Painting
from mindseye.studio import schemas
from mindseye.studio.answers import description_of, lines, sprite
from mindseye.studio.house import ERRORS, Description, ModelName, Seed, TheHouse, Watch
from mindseye.studio.sentences import Place, Said, Temperature, Word, said, sentences

__all__ = ["router"]

MOST = 4
"""Pictures of each sentence: all their canvases are sent."""

router = APIRouter()


class Painted(schemas.Answer):
    """One picture, stroke by stroke."""

    caption: str = Field(description="What it was told: the sentence, and what it left open.")
    words: list[str] = Field(description="The same as words that are heard one by one.")
    attention: list[list[float]] | None = Field(
        description="How much each word is listened to at every stroke; null where the model hears"
        " no word by itself."
    )
    places: list[tuple[float, float, float]] = Field(
        description="Row and column of the middle of every patch and its spacing, in pixels."
    )


class PaintedRow(Said):
    """Pictures of one sentence, stroke by stroke."""

    paintings: list[Painted]


class Paintings(schemas.Answer):
    """Pictures of a sentence, and of the same noise with one word changed, stroke by stroke."""

    model: str
    n: int
    seed: int
    strokes: int
    window: int = Field(description="Filters of a patch; it is (window - 1) spacings wide.")
    rows: list[PaintedRow] = Field(
        description="The sentence; then that with the other word, if any."
    )
    canvases: schemas.Sprite = Field(
        description="The canvas after every stroke, a line for each picture, n for each row."
    )
    pictures: schemas.Sprite | None = Field(
        description="What came of them: sharpened pictures; null if that is the last canvas."
    )
    lines: schemas.Lines
    seconds: schemas.Seconds


@router.get("/api/paint", responses=ERRORS)
async def paint(
    house: TheHouse,
    model: ModelName = "",
    description: Description = "",
    place: Place = "",
    word: Word = "*",
    n: Annotated[int, Query(ge=1, le=MOST, description="Pictures of each sentence.")] = 4,
    seed: Seed = 0,
    temperature: Temperature = 1.0,
) -> Paintings:
    """Pictures of a sentence stroke by stroke, before and after a word is changed."""
    watch, mind = Watch(), await house.painter(model)
    every = sentences(mind, description, place, word)
    asked = [Asked(each, n, seed, temperature=temperature) for each in every]
    seen = await house.engine.pictures(mind, asked)
    found = await house.engine.run(
        lambda: [mind.paint(each, n, seed, temperature=temperature) for each in every]
    )
    painted: list[Painting] = found.value
    return Paintings(
        model=mind.name,
        n=n,
        seed=seed,
        strokes=mind.strokes,
        window=mind.window,
        rows=[
            PaintedRow(**vars(said(mind, each)), paintings=_paintings(mind, made))
            for each, made in zip(seen, painted, strict=True)
        ],
        canvases=sprite(
            torch.cat([made.canvases.flatten(0, 1) for made in painted]), columns=mind.strokes
        ),
        pictures=sprite(torch.cat([made.pictures for made in painted]), columns=n)
        if mind.painted.sharpener
        else None,
        lines=_lines(mind, every, asked[0]),
        seconds=watch.seconds(seen[0].seconds + found.seconds),
    )


def _paintings(mind: Painter, painting: Painting) -> list[Painted]:
    """The pictures of one sentence; words that are not there are left out."""
    made = []
    for i, words in enumerate(painting.words):
        there = [k for k, word in enumerate(words) if word]
        made.append(
            Painted(
                caption=description_of(painting.captions[i]),
                words=[words[k] for k in there],
                attention=_numbers(painting.attention[i][:, there], 5) if mind.listens else None,
                places=[(row, column, gap) for row, column, gap in _numbers(painting.places[i], 3)],
            )
        )
    return made


def _numbers(rows: Tensor, digits: int) -> list[list[float]]:
    return [[round(value, digits) + 0.0 for value in row] for row in rows.tolist()]


def _lines(mind: Painter, every: Sequence[Concept], asked: Asked) -> schemas.Lines:
    """What paints the same; the command flips a word that is said."""
    texts = [description_of(each) for each in every]
    warm = None if asked.temperature == 1 else f"{asked.temperature:g}"
    options = f"n={asked.n}, seed={asked.seed}{f', temperature={warm}' if warm else ''}"
    flips = _flips(every)
    return lines(
        mind,
        () if flips is None else ("paint", texts[0]),
        f"paintings = [mind.paint(each, {options}) for each in {texts!r}]",
        n=asked.n,
        seed=asked.seed,
        flip=flips or None,
        temperature=warm,
    )


def _flips(every: Sequence[Concept]) -> str | None:
    """The place that differs and its other word; nothing if none does, null if it was open."""
    before, after = every[0].values, every[-1].values
    for name in every[0].vocabulary.names:
        if before.get(name) != after.get(name):
            return f"{name}={after.get(name, '*')}" if name in before else None
    return ""
