"""What the server answers, as types: the documentation at /docs and the page rely on them."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = [
    "Attribute",
    "Axes",
    "Between",
    "Bounded",
    "Compared",
    "Complaint",
    "Described",
    "Ellipse",
    "Experts",
    "Hierarchy",
    "Imagined",
    "Lines",
    "Model",
    "Models",
    "Neighbour",
    "Node",
    "Picture",
    "Point",
    "Pulled",
    "Record",
    "Records",
    "Runs",
    "Scores",
    "Seconds",
    "Sprite",
    "Summary",
    "Traversals",
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

    command: str = Field(description="In a shell.")
    python: str = Field(description="In Python.")


class Seconds(Answer):
    """How long the answer took."""

    model: float = Field(description="In the networks.")
    all: float = Field(description="From the request to the answer.")


class Attribute(Answer):
    """One thing that can be said, and the words for it."""

    name: str
    values: list[str]


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
    vocabulary: list[Attribute]
    shape: tuple[int, int, int] = Field(description="Channels, height and width of a picture.")
    latent: int
    judged: bool = Field(description="Whether there is an observer.")
    builtin: bool
    views: list[str] = Field(description="The views that can show it.")


class Models(Answer):
    """All that is open, and all there is to see."""

    version: str
    views: list[ViewName]
    models: list[Model]


# Imagine


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


class Compared(Answer):
    """The same description imagined by several models."""

    description: str
    answers: list[Imagined]
    lines: Lines
    seconds: Seconds


# Hierarchy


class Node(Answer):
    """A concept near the one in the middle."""

    description: str
    relation: Literal["parent", "self", "child"]
    attribute: str | None = Field(description="The attribute that is dropped or added.")
    value: str | None = Field(description="The word that is dropped or added.")
    first: int = Field(description="Its first picture in the sprite.")
    count: int
    diversity: float = Field(description="0 if its pictures are equal, 1 if they share no ink.")
    bits: float = Field(description="How much it leaves open, by the model's own words.")


class Hierarchy(Answer):
    """A concept, those with one word less and those with one word more."""

    model: str
    description: str
    nodes: list[Node]
    more: int = Field(description="How many concepts with one word more are not shown.")
    pictures: Sprite
    lines: Lines
    seconds: Seconds


# Experts


class Ellipse(Answer):
    """Where a Gaussian has one standard deviation, in the plane that is shown."""

    x: float
    y: float
    a: float = Field(description="The longer half axis.")
    b: float = Field(description="The shorter half axis.")
    angle: float = Field(description="Of the longer axis, in radians.")


class Pulled(Answer):
    """A word's expert, and what the others would believe without it."""

    attribute: str
    value: str
    expert: Ellipse
    without: Ellipse


class Point(Answer):
    """A training picture: where it is, and what it shows."""

    x: float
    y: float
    codes: list[int] = Field(description="The index of each attribute's value.")


class Axes(Answer):
    """The plane that is shown."""

    names: tuple[str, str]
    dimensions: list[float] = Field(description="How far training pictures spread in each latent.")


class Experts(Answer):
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
    lines: Lines
    seconds: Seconds


# Describe


class Picture(Answer):
    """A picture as the model sees it."""

    model: str
    picture: str = Field(description="A PNG file, base64url, fit for a link.")


class Neighbour(Answer):
    """A training picture near another picture."""

    description: str
    distance: float = Field(description="Between the means of q(z|x).")


class Described(Answer):
    """What a picture shows."""

    model: str
    attributes: dict[str, dict[str, float]] = Field(description="p(y_k|x) by attribute and value.")
    pictures: Sprite = Field(description="The picture, then what the model makes of it.")
    neighbours: list[Neighbour]
    nearest: Sprite | None
    missing: str = Field(description="Why there are no neighbours, if there are none.")
    lines: Lines
    seconds: Seconds


# Between


class Between(Answer):
    """The way from one description or picture to another: rows of steps."""

    model: str
    start: str
    end: str
    rows: int
    steps: int
    pictures: Sprite
    lines: Lines
    seconds: Seconds


class Traversals(Answer):
    """One row for each latent dimension, along which alone the pictures of a row differ."""

    model: str
    description: str
    values: list[float]
    pictures: Sprite
    lines: Lines
    seconds: Seconds


# Runs


class Summary(Answer):
    """A run in a table."""

    name: str
    open: bool = Field(description="Whether the studio has it open as a model.")
    live: bool = Field(description="Whether it is being trained now.")
    facts: dict[str, str | float | None]


class Runs(Answer):
    """The runs of the folder."""

    folder: str
    runs: list[Summary]
    lines: Lines


class Record(Answer):
    """A line of a run's log."""

    step: int
    seconds: float | None
    bound: float | None
    terms: dict[str, float | None]


class TableName(Answer):
    """A table that was made."""

    name: str
    title: str


class Tables(Answer):
    """The tables of the folder."""

    folder: str
    tables: list[TableName]
    lines: Lines


class TableSection(Answer):
    """A heading, what is said under it, and a table."""

    title: str
    text: str
    head: list[str]
    rows: list[list[str]]
    words: int = Field(description="How many columns hold words; the others hold numbers.")


class TableFigure(Answer):
    """A picture of a table."""

    name: str
    caption: str
    width: int
    height: int


class Table(Answer):
    """A published table, made again."""

    name: str
    title: str
    opening: str
    sections: list[TableSection]
    figures: list[TableFigure]
    lines: Lines


class Records(Answer):
    """How a run's training goes."""

    name: str
    steps: int = Field(description="Of the whole run.")
    live: bool
    next: int = Field(description="Ask for records after this one to get only new ones.")
    records: list[Record]
    lines: Lines
