"""Captions: pictures of a sentence, the sentences a model writes of them, and one word changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import torch
from fastapi import APIRouter, Query
from pydantic import Field

from mindseye.captions import Sentence
from mindseye.concepts import Concept
from mindseye.errors import UsageError
from mindseye.figures import Verdict
from mindseye.grammar import fold
from mindseye.imagine import Mind
from mindseye.imagine import Query as Asked
from mindseye.reading import Told
from mindseye.studio import schemas
from mindseye.studio.answers import description_of, lines, scored, sprite
from mindseye.studio.engine import Seen
from mindseye.studio.house import ERRORS, Description, ModelName, Seed, TheHouse, Watch
from mindseye.studio.views.view import View

__all__ = ["VIEW"]

MOST = 12
"""Pictures of each sentence."""

router = APIRouter()


class Reading(schemas.Answer):
    """What the observer reads in one picture."""

    seen: dict[str, str] = Field(description="The word of every place it judges.")
    wrong: list[str] = Field(description="The places that were said and are read otherwise.")
    told: dict[str, str] = Field(description="What it was told and does not judge.")
    right: float | None = Field(description="Share of the said words that it reads.")


class Written(schemas.Answer):
    """The caption that the model writes of one latent."""

    caption: list[str] = Field(description="The word that was drawn at every place.")
    words: list[list[float]] = Field(
        description="At every place the probability of each of its words, after the words before."
    )


class Row(schemas.Answer):
    """Pictures of one sentence."""

    description: str
    said: dict[str, str]
    open: list[str]
    readings: list[Reading] | None
    correctness: schemas.Bounded | None = Field(
        description="Share of the said words that the observer reads, in all pictures."
    )
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
    place: Annotated[
        str, Query(max_length=200, description='Where one word is changed: "first colour".')
    ] = "",
    word: Annotated[
        str, Query(max_length=200, description="The other word; * leaves the place open.")
    ] = "*",
    n: Annotated[int, Query(ge=1, le=MOST, description="Pictures of each sentence.")] = 6,
    seed: Seed = 0,
    temperature: Annotated[
        float, Query(ge=0, le=3, allow_inf_nan=False, description="Spread of the latents.")
    ] = 1.0,
) -> Captions:
    """Pictures of a sentence with what the model writes of them, before and after a change."""
    watch, mind = Watch(), await house.speaker(model)
    if not isinstance(mind.vocabulary, Sentence):
        raise UsageError(
            f"`{mind.name}` knows words and no sentences.", "Imagine shows what words look like."
        )
    concept = mind.concept(description)
    said = [concept, _changed(concept, place, word)] if place else [concept]
    asked = [Asked(each, n, seed, temperature=temperature) for each in said]
    seen = await house.engine.pictures(mind, asked)
    told = await house.engine.run(
        lambda: [mind.tell(each.imagined.latents, seed) if mind.writes else None for each in seen]
    )
    return Captions(
        model=mind.name,
        n=n,
        seed=seed,
        rows=[_row(mind, *each) for each in zip(seen, told.value, strict=True)],
        pictures=sprite(torch.cat([each.imagined.means for each in seen]), columns=n),
        lines=_lines(mind, asked),
        seconds=watch.seconds(seen[0].seconds + told.seconds),
    )


def _changed(concept: Concept, place: str, word: str) -> Concept:
    """A sentence with another word at one place."""
    vocabulary = concept.vocabulary
    other = vocabulary.concept(**{place: word})  # a place or a word that is not known complains
    (at,) = (k for k, name in enumerate(vocabulary.names) if fold(name) == fold(place))
    return vocabulary.from_codes([*concept.codes[:at], other.codes[at], *concept.codes[at + 1 :]])


def _row(mind: Mind, seen: Seen, told: Told | None) -> Row:
    """The pictures of one sentence, and what is read and written of them."""
    concept = seen.imagined.concept
    readings, judged = None, concept
    if seen.verdicts is not None:
        heard = _heard(mind)
        judged = concept.vocabulary.concept(
            **{name: value for name, value in concept.values.items() if name not in heard}
        )
        readings = [_reading(verdict, judged, heard) for verdict in seen.verdicts]
    return Row(
        description=description_of(concept),
        said=dict(concept.values),
        open=list(concept.missing),
        readings=readings,
        correctness=scored(mind, judged, seen.verdicts).correctness,
        written=None if told is None else _written(told),
    )


def _heard(mind: Mind) -> tuple[str, ...]:
    """The places whose words an observer is told."""
    at = mind.observer.told
    return () if at is None else (mind.vocabulary.names[at],)


def _reading(verdict: Verdict, judged: Concept, heard: tuple[str, ...]) -> Reading:
    words = verdict.seen.values
    return Reading(
        seen={name: value for name, value in words.items() if name not in heard},
        wrong=list(verdict.wrong),
        told={name: words[name] for name in heard},
        right=1 - len(verdict.wrong) / judged.level if judged.level else None,
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
    said = [description_of(each.concept) for each in asked]
    warm = None if first.temperature == 1 else f"{first.temperature:g}"
    options = f"n={first.n}, seed={first.seed}{f', temperature={warm}' if warm else ''}"
    python = f"rows = [mind.imagined(each, {options}) for each in {said!r}]"
    if mind.writes:
        python += f"\ntold = [mind.tell(each.latents, seed={first.seed}) for each in rows]"
    return lines(
        mind,
        ("imagine", said[0]) if len(asked) == 1 else (),
        python,
        n=first.n,
        seed=first.seed,
        temperature=warm,
    )


VIEW = View(
    "captions",
    "Captions",
    "Say a sentence, change a word, and read what the model writes of its pictures.",
    router,
    lambda mind: isinstance(mind.vocabulary, Sentence) and "q_y" in mind.fits,
)
