"""What a reproduction will do, complete and checked before anything is trained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeVar

from mindseye.errors import UsageError, did_you_mean, listed
from mindseye.evaluation import PROTOCOLS, Protocol
from mindseye.papers import Recipe, Table, get_recipe
from mindseye.papers.ledgers import Entry
from mindseye.papers.tables import Row, Split

__all__ = ["COLUMNS", "SIZES", "Plan", "checked", "chosen_rows", "make_plan"]

R = TypeVar("R", Row, Entry)

SIZES = {"paper": "", "fast": "fast", "lean": "lean", "tiny": "tiny"}
"""How recipes of a size are named: paper is the size without a name."""

COLUMNS = {"paper": "paper's protocol", "ours": "our protocol"}
"""The columns of ours, and what they are called."""

QUICK = {
    "paper": replace(PROTOCOLS["paper"], queries=48),
    "ours": PROTOCOLS["quick"],
}
"""The protocols of the small version."""

PICTURES, QUICK_PICTURES = 20_000, 2000


@dataclass(frozen=True)
class Plan:
    """Recipes, seeds, protocols and observers of a reproduction."""

    table: Table
    size: str
    quick: bool
    seeds: tuple[int, ...]
    rows: tuple[Row, ...]

    recipes: Mapping[tuple[str, str], Recipe]
    """By split and family, the seed still to come."""

    protocols: Mapping[str, Protocol]
    """By column: paper and ours."""

    observers: Mapping[str, Recipe | str]
    """By column: a recipe to train, or an observer of the package."""

    planes: tuple[Recipe, ...] = ()

    pictures: int = PICTURES
    """Real pictures that the accuracy of an observer is measured on."""

    def recipe(self, split: Split, row: Row, seed: int) -> Recipe:
        """The recipe of one run."""
        made = self.recipes[split.name, row.family].with_settings({"training.seed": str(seed)})
        if not row.after:
            return made
        first = next(each for each in self.rows if each.family == row.after)
        return replace(made, start=self.recipe(split, first, seed).digest)

    def asked(self, column: str, split: Split) -> Protocol:
        """A protocol with the levels of a split."""
        return replace(self.protocols[column], levels=split.levels)

    def to_json(self) -> dict[str, Any]:
        """What was planned, as plain data."""
        return {
            "table": self.table.name,
            "title": self.table.title,
            "size": self.size,
            "quick": self.quick,
            "seeds": list(self.seeds),
            "protocols": {column: asdict(made) for column, made in self.protocols.items()},
        }


def make_plan(
    table: Table,
    *,
    size: str = "fast",
    seeds: int = 3,
    quick: bool = False,
    rows: Sequence[str] = (),
    settings: Mapping[str, str] | None = None,
    builtin_observer: bool = False,
    data: str | None = None,
) -> Plan:
    """Look everything up that a reproduction needs; whatever is missing is named now.

    Arguments:
        table: What to reproduce.
        size: paper, fast, lean or tiny.
        seeds: How many times every row is trained, with seeds 0, 1, …
        quick: The small version: one seed, fewer rows, steps and queries, the built-in observer.
        rows: Families to train; all of the table's, and the planes of its figures, if empty.
        settings: Changes to the recipe of every row, as text.
        builtin_observer: Whether the built-in observer takes the place of a trained strong one.
        data: The folder with MNIST.
    """
    checked(size, seeds, settings or {})
    chosen = chosen_rows(table.rows, rows or (table.quick_rows if quick else ()))
    changes = {
        "data.source": "mnist",
        **(table.quick_settings if quick else {}),
        **(settings or {}),
    }
    recipes = {
        (split.name, row.family): _recipe(table.recipe(split, row, SIZES[size]), changes, data)
        for split in table.splits
        for row in chosen
    }
    source = {"data.source": next(iter(recipes.values())).data.source}
    return Plan(
        table,
        size,
        quick,
        tuple(range(1 if quick else seeds)),
        chosen,
        recipes,
        protocols=QUICK if quick else {name: PROTOCOLS[name] for name in table.observers},
        observers={
            column: table.builtin_observer
            if quick or (builtin_observer and column == "ours")
            else _recipe(name, source, data)
            for column, name in table.observers.items()
        },
        planes=() if quick or rows else tuple(_recipe(name, source, data) for name in table.planes),
        pictures=QUICK_PICTURES if quick else PICTURES,
    )


def checked(
    size: str, seeds: int, settings: Mapping[str, str], seeded: Sequence[str] = ("training.seed",)
) -> None:
    """Refuse a size that is not known, no seeds, and settings that are not the caller's."""
    if size not in SIZES:
        raise UsageError(
            f"`size={size!r}` is not known; expected {listed(SIZES)}.", did_you_mean(size, SIZES)
        )
    if seeds < 1:
        raise UsageError(f"`seeds={seeds}` is too few; expected 1 or more.")
    for name in seeded:
        if {name, name.rpartition(".")[2]} & set(settings):
            raise UsageError(
                f"`{name.rpartition('.')[2]}` cannot be set: every row is trained with seeds"
                " 0, 1, …"
            )


def chosen_rows(rows: Sequence[R], families: Sequence[str]) -> tuple[R, ...]:
    """The rows that were asked for, or all; a row brings along the one that it begins with.

    Arguments:
        rows: All of a table's, each after the one that it begins with.
        families: Those that were asked for; all if empty.
    """
    known = [row.family for row in rows]
    for family in families:
        if family not in known:
            raise UsageError(
                f"`rows` has {family!r}; expected {listed(known)}.", did_you_mean(family, known)
            )
    wanted = set(families or known)
    for row in reversed(rows):
        if row.family in wanted and row.after:
            wanted.add(row.after)
    return tuple(row for row in rows if row.family in wanted)


def _recipe(name: str, settings: Mapping[str, str], data: str | None) -> Recipe:
    """A recipe with its changes, and with the digits it will be trained on."""
    try:
        made = get_recipe(name).with_settings(settings)
    except UsageError as error:
        raise UsageError(f"{name}: {error.message}", error.hint) from error
    return replace(made, data=made.data.resolved(data))
