"""A sentence and the same with one word changed, and what an observer reads in their pictures."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from pydantic import Field

from mindseye.captions import Sentence
from mindseye.concepts import Concept
from mindseye.errors import UsageError
from mindseye.figures import Verdict
from mindseye.imagine import Mind
from mindseye.studio import schemas
from mindseye.studio.answers import description_of, scored
from mindseye.studio.engine import Seen

__all__ = ["Place", "Reading", "Said", "Temperature", "Word", "said", "sentences"]

Place = Annotated[
    str, Query(max_length=200, description='Where one word is changed: "first colour".')
]
Word = Annotated[str, Query(max_length=200, description="The other word; * leaves the place open.")]
Temperature = Annotated[
    float, Query(ge=0, le=3, allow_inf_nan=False, description="Spread of the latents.")
]


class Reading(schemas.Answer):
    """What the observer reads in one picture."""

    seen: dict[str, str] = Field(description="The word of every place it judges.")
    wrong: list[str] = Field(description="The places that were said and are read otherwise.")
    told: dict[str, str] = Field(description="What it was told and does not judge.")
    right: float | None = Field(description="Share of the said words that it reads.")


class Said(schemas.Answer):
    """A sentence, and what is read in its pictures."""

    description: str
    said: dict[str, str]
    open: list[str]
    readings: list[Reading] | None
    correctness: schemas.Bounded | None = Field(
        description="Share of the said words that the observer reads, in all pictures."
    )


def sentences(mind: Mind, description: str, place: str = "", word: str = "*") -> list[Concept]:
    """A sentence; and then that with another word at a place, if one is named."""
    if not isinstance(mind.vocabulary, Sentence):
        raise UsageError(
            f"`{mind.name}` knows words and no sentences.", "Imagine shows what words look like."
        )
    concept = mind.concept(description)
    return [concept, concept.say(place, word)] if place else [concept]


def said(mind: Mind, seen: Seen) -> Said:
    """A sentence with what the observer reads in its pictures; what it is told is not judged."""
    concept = seen.imagined.concept
    readings, judged = None, concept
    if seen.verdicts is not None:
        heard = _heard(mind)
        judged = concept.vocabulary.concept(
            **{name: value for name, value in concept.values.items() if name not in heard}
        )
        readings = [_reading(verdict, judged, heard) for verdict in seen.verdicts]
    return Said(
        description=description_of(concept),
        said=dict(concept.values),
        open=list(concept.missing),
        readings=readings,
        correctness=scored(mind, judged, seen.verdicts).correctness,
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
