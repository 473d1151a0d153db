"""Published tables as data: what was printed, and which recipes answer it.

A table has rows (methods) and splits (data sets). A place in it is a split, how many words were
said, and a score. Numbers are percentages. Tables are registered as recipes are, one file a paper;
`mindseye reproduce NAME` trains the recipes, scores them and sets them beside what was published.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from mindseye.errors import UsageError, did_you_mean, listed
from mindseye.papers.ledgers import Ledger

__all__ = ["TABLES", "Place", "Published", "Row", "Split", "Table", "get_table", "table"]


class Place(NamedTuple):
    """Where in a table a number stands."""

    split: str
    level: int
    """How many words were said."""
    score: str
    """correctness or coverage."""


class Published(NamedTuple):
    """A number as it was printed, in percent."""

    mean: float
    spread: float | None = None
    """What stands behind its ±."""


@dataclass(frozen=True)
class Split:
    """A division of the data, and what is asked of a model that was trained on it."""

    name: str
    """What it is called."""

    data: str
    """The first part of its recipes' names."""

    levels: tuple[int, ...]
    """How many words are said, in the order of the table."""

    unseen: bool = False
    """Whether the combinations that training never showed are asked."""


@dataclass(frozen=True)
class Row:
    """A method."""

    label: str
    """What it is called."""

    family: str
    """The second part of its recipes' names, without a size."""

    paper: Mapping[Place, Published] = field(default_factory=dict)
    """What the paper prints."""

    code: Mapping[Place, Published] = field(default_factory=dict)
    """What the authors' code gives where the paper prints nothing."""

    after: str = ""
    """The family whose trained weights it begins with."""


@dataclass(frozen=True)
class Table:
    """A table, and all that is needed to make it again."""

    name: str
    """What `mindseye reproduce` calls it."""

    title: str
    """What it shows, with its source."""

    rows: tuple[Row, ...]
    splits: tuple[Split, ...]

    observers: Mapping[str, str]
    """The recipe of the observer that judges by each protocol."""

    builtin_observer: str
    """The observer of the package that may stand in for them."""

    accuracies: Mapping[str, float]
    """The published observer's accuracy on real pictures in percent, by attribute."""

    spread: str
    """What the ± of the paper means."""

    familiar: str = ""
    """The description of the picture that compares the models of the first split."""

    unseen: str = ""
    """The same for the last split; the nearest one that our split holds out is shown."""

    ladder: tuple[str, ...] = ()
    """Words that are added one by one."""

    ladder_rows: tuple[str, ...] = ()
    """The families that show it."""

    planes: tuple[str, ...] = ()
    """Recipes whose latent planes are shown."""

    quick_rows: tuple[str, ...] = ()
    """The families of the small version."""

    quick_settings: Mapping[str, str] = field(default_factory=dict)
    """What the small version changes in their recipes."""

    def recipe(self, split: Split, row: Row, size: str) -> str:
        """The name of the recipe of a row and a split; `size` may be nothing."""
        return f"{split.data}/{row.family}{'-' if size else ''}{size}"


TABLES: dict[str, Table | Ledger] = {}

Made = TypeVar("Made", Table, Ledger)


def table(made: Made) -> Made:
    """Register a table under its name."""
    TABLES[made.name] = made
    return made


def get_table(name: str) -> Table | Ledger:
    """The table of that name, or an error that names the near one."""
    if name not in TABLES:
        raise UsageError(
            f"no table is called {name!r}; expected {listed(TABLES)}.", did_you_mean(name, TABLES)
        )
    return TABLES[name]
