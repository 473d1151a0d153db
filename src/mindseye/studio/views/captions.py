"""Captions: pictures of a sentence, the sentences a model writes of them, and one word changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import torch
from fastapi import APIRouter, Query
from pydantic import Field

from mindseye.captions import Sentence
from mindseye.imagine import Mind
from mindseye.imagine import Query as Asked
from mindseye.reading import Told
from mindseye.studio import schemas
from mindseye.studio.answers import description_of, lines, sprite
from mindseye.studio.house import ERRORS, Description, ModelName, Seed, TheHouse, Watch
from mindseye.studio.sentences import Place, Said, Temperature, Word, said, sentences
from mindseye.studio.views import painting, retrieval
from mindseye.studio.views.view import View

__all__ = ["VIEW"]

MOST = 12
"""Pictures of each sentence."""

router = APIRouter()
router.include_router(painting.router)
router.include_router(retrieval.router)


class Written(schemas.Answer):
    """The caption that the model writes of one latent."""

    caption: list[str] = Field(description="The word that was drawn at every place.")
    words: list[list[float]] = Field(
        description="At every place the probability of each of its words, after the words before."
    )


class Row(Said):
    """Pictures of one sentence."""

    written: list[Written] | None = Field(description="Null for a model that writes nothing.")


class Captions(schemas.Answer):
    """Pictures of a sentence, and of the same noise with one word changed."""

    model: str
    n: int
    seed: int
    rows: list[Row] = Field(description="The sentence; then that with the other word, if any.")
    pictures: schemas.Sprite = Field(description="n pictures of each row.")
    lines: schemas.Lines
    seconds: schemas.Seconds


@router.get("/api/captions", responses=ERRORS)
async def captions(
    house: TheHouse,
    model: ModelName = "",
    description: Description = "",
    place: Place = "",
    word: Word = "*",
    n: Annotated[int, Query(ge=1, le=MOST, description="Pictures of each sentence.")] = 6,
    seed: Seed = 0,
    temperature: Temperature = 1.0,
) -> Captions:
    """Pictures of a sentence with what the model writes of them, before and after a change."""
    watch, mind = Watch(), await house.speaker(model)
    every = sentences(mind, description, place, word)
    asked = [Asked(each, n, seed, temperature=temperature) for each in every]
    seen = await house.engine.pictures(mind, asked)
    told = await house.engine.run(
        lambda: [mind.tell(each.imagined.latents, seed) if mind.writes else None for each in seen]
    )
    return Captions(
        model=mind.name,
        n=n,
        seed=seed,
        rows=[
            Row(**vars(said(mind, each)), written=words and _written(words))
            for each, words in zip(seen, told.value, strict=True)
        ],
        pictures=sprite(torch.cat([each.imagined.means for each in seen]), columns=n),
        lines=_lines(mind, asked),
        seconds=watch.seconds(seen[0].seconds + told.seconds),
    )


def _written(told: Told) -> list[Written]:
    every = [probs.tolist() for probs in told.words.by_attribute()]
    return [
        Written(
            caption=list(caption.values.values()),
            words=[[round(share, 5) for share in place[i]] for place in every],
        )
        for i, caption in enumerate(told.captions)
    ]


def _lines(mind: Mind, asked: Sequence[Asked]) -> schemas.Lines:
    """What makes the pictures; no command changes a word and shows both."""
    first = asked[0]
    every = [description_of(each.concept) for each in asked]
    warm = None if first.temperature == 1 else f"{first.temperature:g}"
    options = f"n={first.n}, seed={first.seed}{f', temperature={warm}' if warm else ''}"
    python = f"rows = [mind.imagined(each, {options}) for each in {every!r}]"
    if mind.writes:
        python += f"\ntold = [mind.tell(each.latents, seed={first.seed}) for each in rows]"
    return lines(
        mind,
        ("imagine", every[0]) if len(asked) == 1 else (),
        python,
        n=first.n,
        seed=first.seed,
        temperature=warm,
    )


VIEW = View(
    "captions",
    "Captions",
    "Say a sentence, change a word, and see what becomes of its pictures.",
    router,
    lambda mind: isinstance(mind.vocabulary, Sentence) and "q_y" in mind.fits,
)
