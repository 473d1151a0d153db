"""What answers have in common, as types; what only one view answers stands in its module."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

__all__ = [
    "Answer",
    "Attribute",
    "Bounded",
    "Complaint",
    "Imagined",
    "Kit",
    "Lines",
    "Model",
    "Models",
    "Scores",
    "Seconds",
    "Sprite",
    "Verdict",
    "ViewName",
]


class Answer(BaseModel):
    """What all answers have in common: nothing that is not said here is sent."""

    model_config = ConfigDict(extra="forbid", ser_json_inf_nan="null")


class Complaint(Answer):
    """What went wrong, and what to do instead."""

    message: str
    hint: str = ""


# Pieces


class Sprite(Answer):
    """Pictures side by side in one PNG file, row by row from the top left."""

    png: str = Field(description="The file, base64.")
    width: int = Field(description="Pixels of one picture.")
    height: int
    columns: int = Field(description="Pictures in a row of the file.")
    count: int = Field(description="Pictures in all.")


class Lines(Answer):
    """What makes the same picture elsewhere."""

    command: str = Field(description="In a shell; empty where no command does it.")
    python: str = Field(description="In Python.")


class Seconds(Answer):
    """How long the answer took."""

    model: float = Field(description="In the networks.")
    all: float = Field(description="From the request to the answer.")


class Attribute(Answer):
    """One thing that can be said, and the words for it."""

    name: str
    values: list[str] = Field(description="Empty where an attribute before it has the same.")
    like: str = Field(default="", description="That attribute, if there is one.")


class Category(Answer):
    """A kind of part."""

    name: str
    colour: str | None = Field(description="How it is drawn, as #rrggbb; null if it has no colour.")


class Kit(Answer):
    """What parts there are, and where they may be."""

    categories: list[Category]
    axes: list[str] = Field(description="What says where a part is; empty if nothing does.")
    low: float = Field(description="The least that a place may have on an axis.")
    high: float
    most: int = Field(description="The most parts that a request may name.")
    trained: int = Field(description="The most parts that the model was trained on.")


class Verdict(Answer):
    """What the observer sees in one picture."""

    seen: dict[str, str] = Field(description="A value for every attribute.")
    wrong: list[str] = Field(description="The attributes that were said and are seen otherwise.")


class Bounded(Answer):
    """A score from 0 to 1 beside the best and the worst that can be expected."""

    value: float
    ceiling: float | None = Field(description="Of real pictures, or of a perfect sampler.")
    floor: float = Field(description="Of one picture, drawn whatever was said and repeated.")


class Scores(Answer):
    """How good some pictures are; null where there is nothing to judge."""

    correctness: Bounded | None = Field(description="Share of the said words that are seen.")
    coverage: Bounded | None = Field(description="Evenness of what was left open, 1 - JS in bits.")


# The house


class ViewName(Answer):
    """A view of the page."""

    name: str
    title: str
    about: str


class Model(Answer):
    """A model that is open."""

    name: str
    about: str
    vocabulary: list[Attribute] = Field(
        description="Empty for a model of pictures alone, of parts, or of a graph."
    )
    pattern: str = Field(
        default="", description="How a sentence is spoken, places in braces; empty: word by word."
    )
    strokes: int = Field(
        default=0,
        description="Of a picture, where the model paints sentences; 0 where it does not.",
    )
    kit: Kit | None = Field(description="Of a model of parts; null for any other.")
    shape: tuple[int, int, int] | None = Field(
        description="Channels, height and width of a picture; a curve has height 1; null for a"
        " model of a graph."
    )
    latent: int
    judged: bool = Field(description="Whether there is an observer, and are words to judge by.")
    reads: bool = Field(description="Whether it can be asked what a picture's latent is.")
    bits: bool = Field(description="Whether a pixel that is drawn is 0 or 1.")
    builtin: bool
    nodes: int = Field(default=0, description="Of the graph that it is a model of, if it is one.")
    views: list[str] = Field(description="The views that can show it.")


class Models(Answer):
    """All that is open, and all there is to see."""

    version: str
    views: list[ViewName]
    models: list[Model]


class Imagined(Answer):
    """Pictures of a description."""

    model: str
    description: str
    said: dict[str, str]
    open: list[str]
    n: int
    seed: int
    pictures: Sprite
    verdicts: list[Verdict] | None
    scores: Scores
    lines: Lines
    seconds: Seconds
