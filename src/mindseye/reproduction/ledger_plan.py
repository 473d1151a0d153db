"""What a ledger will be made of, complete and checked before anything is trained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from mindseye.errors import UsageError, listed
from mindseye.papers import Recipe, get_recipe
from mindseye.papers.ledgers import Entry, Ledger
from mindseye.reproduction.plan import SIZES, checked, chosen_rows

__all__ = ["LedgerPlan", "make_ledger_plan"]


@dataclass(frozen=True)
class LedgerPlan:
    """Rows, recipes and seeds of a ledger, complete and checked."""

    ledger: Ledger
    size: str
    quick: bool
    seeds: tuple[int, ...]
    rows: tuple[Entry, ...]
    recipes: Mapping[str, Recipe]
    """By family of the rows, the seed still to come."""
    asked: Mapping[str, float]

    def recipe(self, row: Entry, seed: int) -> Recipe:
        """The recipe of one run."""
        seeded = {name: str(seed) for name in self.ledger.seeded}
        made = self.recipes[row.family].with_settings(seeded)
        if not row.after:
            return made
        return replace(made, start=self.recipe(self._row(row.after), seed).digest)

    def asked_of(self, row: Entry) -> Mapping[str, float]:
        """What the scorer is told of a row."""
        less = {name: min(most, self.asked[name]) for name, most in row.at_most.items()}
        return {**self.asked, **less}

    def _row(self, family: str) -> Entry:
        return next(row for row in self.ledger.rows if row.family == family)

    def to_json(self) -> dict[str, Any]:
        """What was planned, as plain data."""
        return {
            "kind": "ledger",
            "table": self.ledger.name,
            "title": self.ledger.title,
            "about": self.ledger.about,
            "size": self.size,
            "quick": self.quick,
            "seeds": list(self.seeds),
            "spread": "standard error" if self.ledger.standard_error else "standard deviation",
            "asked": dict(self.asked),
            "columns": [asdict(column) for column in self.ledger.columns],
        }


def make_ledger_plan(
    ledger: Ledger,
    *,
    size: str = "fast",
    seeds: int = 3,
    quick: bool = False,
    rows: Sequence[str] = (),
    settings: Mapping[str, str] | None = None,
    data: str | None = None,
) -> LedgerPlan:
    """Look everything up that a ledger needs; whatever is missing is named now.

    Arguments:
        ledger: What to reproduce.
        size: paper, fast, lean or tiny.
        seeds: How many times every row is trained, with seeds 0, 1, …
        quick: The small version: one seed, fewer rows, shorter training and measuring.
        rows: Families to train; all of the ledger's if empty.
        settings: Changes to the recipe of every row, as text.
        data: The folder with the data.
    """
    checked(size, seeds, settings or {}, ledger.seeded)
    if size not in ledger.sizes:
        raise UsageError(
            f"`size={size!r}` is not one of {ledger.name}'s; expected {listed(ledger.sizes)}."
        )
    chosen = chosen_rows(ledger.rows, rows or (ledger.quick_rows if quick else ()))
    changes = {**(ledger.quick_settings if quick else {}), **(settings or {})}
    return LedgerPlan(
        ledger,
        size,
        quick,
        tuple(range(1 if quick else seeds)),
        chosen,
        {row.family: _recipe(row, SIZES[size], changes, data) for row in chosen},
        _asked(ledger, size, quick),
    )


def _asked(ledger: Ledger, size: str, quick: bool) -> Mapping[str, float]:
    """What the scorer is told; it takes its time only where training does."""
    if size == "tiny":
        return ledger.tiny_asked
    return ledger.quick_asked if quick else ledger.asked


def _recipe(row: Entry, size: str, changes: Mapping[str, str], data: str | None) -> Recipe:
    """A row's recipe with its changes, and with the data it will be trained on."""
    name = f"{row.recipe}{'-' if size else ''}{size}"
    try:
        made = get_recipe(name).with_settings({**row.settings, **changes})
    except UsageError as error:
        raise UsageError(f"{name}: {error.message}", error.hint) from error
    steps = max(1, round(row.part * made.training.steps))
    training = replace(made.training, steps=steps)
    return replace(made, data=made.data.resolved(data), training=training)
