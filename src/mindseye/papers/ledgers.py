"""Published tables of measures: a row is a method, a column is what is measured of it.

Unlike `tables`, whose places are splits and numbers of words, a ledger has one number in every
place: nats, units, scores. A scorer measures a trained model and fills a row; `mindseye reproduce`
trains the recipes and sets what it finds beside what was printed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["Column", "Entry", "Ledger"]


@dataclass(frozen=True)
class Column:
    """Something that is measured."""

    key: str
    """What a scorer calls it."""

    label: str
    """What the table calls it, with its unit."""

    decimals: int = 2
    """Digits that are shown behind the point."""

    group: str = ""
    """The heading of the part of the table that it stands in; nothing where there is one part."""


@dataclass(frozen=True)
class Entry:
    """A row: a method."""

    family: str
    """What `--rows` calls it."""

    label: str
    """What the table calls it."""

    recipe: str
    """The recipe that is trained, without a size."""

    settings: Mapping[str, str] = field(default_factory=dict)
    """What the row changes in it."""

    published: Mapping[str, str] = field(default_factory=dict)
    """What was printed, by column."""

    after: str = ""
    """The row whose trained weights it begins with."""

    part: float = 1.0
    """The part of the recipe's steps that it is trained for."""

    at_most: Mapping[str, float] = field(default_factory=dict)
    """What the scorer is told of it instead of more."""


@dataclass(frozen=True)
class Ledger:
    """A table of measures, and all that is needed to make it again."""

    name: str
    """What `mindseye reproduce` calls it."""

    title: str
    """What it shows, with its source."""

    about: str
    """What has to be known to read it."""

    rows: tuple[Entry, ...]
    columns: tuple[Column, ...]

    scorer: str
    """Who measures: a key of `reproduction.scorers.SCORERS`."""

    asked: Mapping[str, float]
    """What the scorer is told."""

    pictures: tuple[str, ...] = ()
    """What is drawn: keys of `reproduction.ledger_pictures.PAINTERS`."""

    quick_rows: tuple[str, ...] = ()
    """The rows of the small version."""

    quick_settings: Mapping[str, str] = field(default_factory=dict)
    """What the small version changes in their recipes."""

    quick_asked: Mapping[str, float] = field(default_factory=dict)
    """What the scorer is told in the small version."""

    tiny_asked: Mapping[str, float] = field(default_factory=dict)
    """What the scorer is told about recipes of the size that is for tests."""

    sizes: tuple[str, ...] = ("paper", "fast", "lean", "tiny")
    """The sizes that its recipes have."""

    seeds: int = 3
    """How often every row is trained, unless another number is asked for."""

    seeded: tuple[str, ...] = ("training.seed",)
    """What a seed decides: fields of the recipes."""

    standard_error: bool = False
    """Whether ± is the standard error of the mean over seeds, instead of their deviation."""

    hours: bool = True
    """Whether it takes hours without a GPU."""
