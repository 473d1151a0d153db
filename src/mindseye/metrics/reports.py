"""The table of the three C's: correctness, coverage, compositionality.

A score is printed with what it cannot be read without: the number of samples, the log base, the
reference, the number of queries, an interval, and the rows that say how good and how bad it could
have been.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mindseye.errors import UsageError
from mindseye.metrics.estimates import Estimate
from mindseye.metrics.scores import Score

__all__ = ["Groups", "Report", "aligned", "piped"]

LEVELS, UNSEEN, OBSERVER = "by number of words", "unseen combinations", "observer on real pictures"
SCORES = ["correctness", "coverage", "combined"]
ROWS = {"real": "real (ceiling)", "perfect": "perfect sampler", "collapsed": "collapsed (floor)"}

Groups = dict[str, list[list[str]]]
"""Tables by their labels; the first row of each is its head."""

Cell = Callable[[Estimate], str]
Layout = Callable[[Groups], Iterable[str]]


@dataclass(frozen=True)
class Report:
    """Scores of one model, ready to print.

    Arguments:
        name: What the model is called.
        score: Its scores, level by level.
        unseen: Its scores on combinations that training never showed: compositionality.
        observer: The observer's accuracy on real pictures, attribute by attribute.
    """

    name: str
    score: Score
    unseen: Score | None = None
    observer: Mapping[str, Estimate] | None = None

    def __post_init__(self) -> None:
        if self.unseen is not None and _full(self.unseen) not in self.unseen.levels:
            raise UsageError(
                f"`unseen` has queries of levels {self.unseen.levels};"
                f" expected full combinations, level {_full(self.unseen)}."
            )

    @property
    def compositionality(self) -> Estimate | None:
        """Correctness of fully described combinations that training never showed."""
        if self.unseen is None:
            return None
        return self.unseen.at(_full(self.unseen))["model"]["correctness"]

    def to_json(self) -> dict[str, Any]:
        """Everything, query by query, as plain data."""
        composed = self.compositionality
        seen_by = None if self.observer is None else self.observer.items()
        return {
            "name": self.name,
            "score": self.score.to_json(),
            UNSEEN: None if self.unseen is None else self.unseen.to_json(),
            "compositionality": None if composed is None else composed.to_json(),
            "observer": None if seen_by is None else {k: e.to_json() for k, e in seen_by},
        }

    def to_text(self) -> str:
        """A page for the terminal: percent, with 95 % intervals."""
        return self._page(aligned, _short, title="{}", heading="{}", note="")

    def to_markdown(self) -> str:
        """The same page as Markdown, with two decimals and the ± of the paper."""
        note = " ± standard deviation of 5 draws of 80 %"
        return self._page(piped, _long, title="# {}", heading="## {}", note=note)

    def _page(self, layout: Layout, cell: Cell, title: str, heading: str, note: str) -> str:
        parts = [title.format(self.name)]
        for name, caption, groups in self._sections(cell, note):
            parts += [heading.format(name), caption, *layout(groups)]
        return "\n\n".join(parts) + "\n"

    def _sections(self, cell: Cell, note: str) -> Iterator[tuple[str, str, Groups]]:
        """Heading, caption and tables of each section."""
        yield LEVELS, _caption(self.score, note), self._groups(self.score, cell)
        if self.unseen is not None:
            yield UNSEEN, _caption(self.unseen, note), self._groups(self.unseen, cell)
        if self.observer is not None:
            grid = [["attribute", "accuracy", "pictures"]]
            grid += [[name, cell(e), str(e.n)] for name, e in self.observer.items()]
            yield OBSERVER, "percent [95 % interval]", {"": grid}

    def _groups(self, score: Score, cell: Cell) -> Groups:
        """One table per level, its rows the samplers and its columns the scores."""
        groups = {}
        for level in score.levels:
            grid = [["", *SCORES]]
            for row, found in score.at(level).items():
                cells = [cell(found[name]) if name in found else "-" for name in SCORES]
                grid.append([ROWS.get(row, self.name), *cells])
            words = f"{level} of {_full(score)} words said, {score.count(level)} queries"
            groups[words] = grid
        return groups


def _full(score: Score) -> int:
    return len(score.queries[0].vocabulary)


def _caption(score: Score, note: str) -> str:
    options, unit = score.options, {"2": "bits", "e": "nats"}[score.options.base]
    return (
        f"S = {options.samples} pictures a query, JS in {unit} (log base {options.base}),"
        f" reference {options.reference}, seed {options.seed};\n{_sentence(options.note)}"
        f"percent [95 % bootstrap interval over queries]{note}"
    )


def _sentence(note: str) -> str:
    return f"{note};\n" if note else ""


def _short(e: Estimate) -> str:
    return f"{100 * e.mean:.1f} [{100 * e.low:.1f}, {100 * e.high:.1f}]"


def _long(e: Estimate) -> str:
    spread = "" if e.spread is None else f" ± {100 * e.spread:.2f}"
    return f"{100 * e.mean:.2f} [{100 * e.low:.2f}, {100 * e.high:.2f}]{spread}"


def aligned(groups: Groups) -> Iterator[str]:
    """Columns of one width through all tables of a section."""
    rows = [row for grid in groups.values() for row in grid]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for label, grid in groups.items():
        lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in grid]
        yield "\n".join(filter(None, [label, *lines]))


def piped(groups: Groups) -> Iterator[str]:
    """Markdown tables, readable before they are rendered too."""
    rows = [row for grid in groups.values() for row in grid]
    widths = [max(3, *map(len, column)) for column in zip(*rows, strict=True)]
    for label, (head, *body) in groups.items():
        rule = ["-" * width for width in widths]
        table = [f"| {' | '.join(map(str.ljust, row, widths))} |" for row in [head, rule, *body]]
        yield "\n".join([f"**{label}**\n", *table] if label else table)
