"""Scores of imagination: query by query, and their means level by level.

Four rows answer the same queries: the model; real pictures, judged by the same observer, which is
the ceiling of correctness; the perfect sampler, which is the ceiling of coverage at this many
samples; and the collapsed sampler, which is the floor. The last two are exact expectations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch

from mindseye.concepts import Concept
from mindseye.errors import UsageError
from mindseye.metrics.checks import Base
from mindseye.metrics.estimates import Estimate, bootstrap
from mindseye.metrics.imagination import Marks

__all__ = ["Options", "Row", "Score"]


@dataclass(frozen=True)
class Options:
    """What a score cannot be read without."""

    samples: int
    """S, the number of pictures per query."""

    base: Base
    """The log base of the Jensen-Shannon divergence."""

    reference: str
    """What open attributes are compared with: "uniform" or "marginal"."""

    seed: int
    """Where the pictures and the bootstrap start."""

    note: str = ""
    """How the pictures were made, if there is more than one way."""


@dataclass(frozen=True)
class Row:
    """The scores of one sampler, query by query; None where a score is not defined."""

    correctness: tuple[float | None, ...]
    """None for a query that says nothing."""

    coverage: tuple[float | None, ...]
    """None for a query that leaves nothing open."""

    combined: tuple[float | None, ...]

    @classmethod
    def of(cls, marks: Marks) -> Row:
        """The row that some tensors stand for."""
        return cls(*(tuple(map(_defined, column.tolist())) for column in marks))


@dataclass(frozen=True)
class Score:
    """What `evaluate` finds."""

    queries: tuple[Concept, ...]
    """What was asked, in order."""

    options: Options
    """How it was asked and compared."""

    model: Row
    """The imaginer under test."""

    real: Row | None
    """Real pictures, judged by the same observer: the ceiling of correctness."""

    perfect: Row
    """Draws from the reference: the ceiling of coverage."""

    collapsed: Row
    """One picture, whatever was said: the floor of both."""

    @property
    def rows(self) -> dict[str, Row]:
        """The rows there are, in the order of the table."""
        real = {} if self.real is None else {"real": self.real}
        return {"model": self.model, **real, "perfect": self.perfect, "collapsed": self.collapsed}

    @property
    def levels(self) -> list[int]:
        """The numbers of words that were said."""
        return sorted({concept.level for concept in self.queries})

    def count(self, level: int) -> int:
        """How many queries say that many words."""
        return sum(concept.level == level for concept in self.queries)

    def at(self, level: int) -> dict[str, dict[str, Estimate]]:
        """Means over the queries of one level, by row and score; undefined ones are left out."""
        if level not in self.levels:
            raise UsageError(f"`level={level}` was not asked; expected one of {self.levels}.")
        chosen = [i for i, concept in enumerate(self.queries) if concept.level == level]
        return {name: self._means(row, chosen) for name, row in self.rows.items()}

    def to_json(self) -> dict[str, Any]:
        """Options, means by level and every query, as plain data."""
        return {
            "options": asdict(self.options),
            "levels": [self._level_json(level) for level in self.levels],
            "queries": [concept.to_json() for concept in self.queries],
            "rows": {name: asdict(row) for name, row in self.rows.items()},
        }

    def _level_json(self, level: int) -> dict[str, Any]:
        rows = {
            row: {name: estimate.to_json() for name, estimate in estimates.items()}
            for row, estimates in self.at(level).items()
        }
        return {"level": level, "queries": self.count(level), "rows": rows}

    def _means(self, row: Row, chosen: Sequence[int]) -> dict[str, Estimate]:
        found = {}
        for name, column in asdict(row).items():
            values = [column[i] for i in chosen if column[i] is not None]
            if values:
                found[name] = bootstrap(torch.tensor(values), self.options.seed)
        return found


def _defined(value: float) -> float | None:
    """A mean over no attributes is 0/0, and not a number anywhere else."""
    return None if value != value else value
