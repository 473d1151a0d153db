"""The pages of a report on wholes and their parts: a table a measure, a row a number of parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from mindseye.metrics import Estimate
from mindseye.metrics.reports import Groups, aligned, piped

__all__ = ["SECTIONS", "PartsReport", "Section"]


class Section(NamedTuple):
    """One table."""

    title: str
    unit: str
    """Of all columns, one of `UNITS`."""

    columns: Mapping[str, str]
    """Names of values, and what the heads of their columns say."""


UNITS = {"percent": (100.0, 1), "nats": (1.0, 1), "": (1.0, 3)}
"""What numbers are multiplied by, and how many decimals are printed."""

LARGE = 1e6
"""From here on numbers are written with their power of ten."""

CEILING, FLOOR = "generator (ceiling)", "other parts (floor)"
ITSELF, OTHERS = "generator", "other parts"

SECTIONS = (
    Section(
        "parts that are there",
        "percent",
        {"recall": "recall", "recall, generator": CEILING, "recall, others": FLOOR},
    ),
    Section(
        "sites that are there, of those the generator shows",
        "percent",
        {"shown": "recall", "shown, generator": CEILING, "shown, others": FLOOR},
    ),
    Section(
        "frequencies that were not said and are heard",
        "percent",
        {
            "false alarms": "false alarms",
            "false alarms, generator": ITSELF,
            "false alarms, others": OTHERS,
        },
    ),
    Section(
        "phases of frequencies said once: length of the resultant",
        "",
        {"phase": "length", "phase, generator": ITSELF},
    ),
    Section(
        "phases of frequencies said once: circular mean",
        "",
        {"angle": "radians", "angle, generator": ITSELF},
    ),
    Section(
        "mean curve: correlation with the generator's",
        "",
        {
            "correlation": "correlation",
            "correlation, generator": CEILING,
            "correlation, others": FLOOR,
        },
    ),
    Section(
        "energy of a day: error, of what flows",
        "percent",
        {
            "energy error": "error",
            "energy error, generator": ITSELF,
            "energy error, others": OTHERS,
        },
    ),
    Section(
        "energy distance to the generator's wholes",
        "",
        {
            "distance": "draws",
            "distance, expected": "expected wholes",
            "distance, generator": "generator (floor)",
        },
    ),
    Section(
        "energy distance of what is easier",
        "",
        {"distance, sum of parts": "sum of parts", "distance, others": OTHERS},
    ),
    Section("bound", "nats", {"bound": "bound", "log_px": "log p(x|z,w)"}),
    Section("what latents tell", "nats", {"kl_w": "parts", "kl_z": "whole, z"}),
    Section(
        "share of z, and error of reconstructions by the deviation of wholes",
        "",
        {"share": "share of z", "reconstruction": "error"},
    ),
    Section(
        "a part extracted and removed",
        "percent",
        {"before": "was there", "gone": "is gone"},
    ),
    Section(
        "other parts, when one is removed",
        "percent",
        {"kept": "are there", "kept, generator": CEILING},
    ),
    Section(
        "squared error when a part is removed; 1 if nothing is",
        "",
        {"removal error": "error"},
    ),
)
"""What is printed of a report, where it has it."""

EXACT = {
    "order": "parts in another order change wholes by at most",
    "added and removed": "a part added and removed changes wholes by at most",
}
"""What must be 0."""


@dataclass(frozen=True)
class PartsReport:
    """What was measured of a model of wholes and their parts."""

    name: str
    part: str
    wholes: int
    """Descriptions of every number of parts."""

    draws: int
    """Wholes of every description."""

    most: int
    """The most parts of training."""

    rows: Mapping[int, Mapping[str, Estimate]]
    """By the number of parts; a measure that says nothing of them is not there."""

    checks: Mapping[str, float]
    """Largest differences where there must not be any."""

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        rows = [
            {
                "parts": size,
                "beyond": size > self.most,
                "values": {name: e.to_json() for name, e in values.items()},
            }
            for size, values in self.rows.items()
        ]
        own = {name: getattr(self, name) for name in ("name", "part", "wholes", "draws", "most")}
        return own | {"rows": rows, "checks": dict(self.checks)}

    def to_text(self) -> str:
        """A page for the terminal."""
        return self._page(aligned, top="{}", heading="{}")

    def to_markdown(self) -> str:
        """The same page as Markdown."""
        return self._page(piped, top="# {}", heading="## {}")

    def _page(self, layout: Callable[[Groups], Iterable[str]], top: str, heading: str) -> str:
        page = [top.format(self.name), self._caption]
        for section in SECTIONS:
            if any(name in values for values in self.rows.values() for name in section.columns):
                grid = [["parts", *section.columns.values()], *self._lines(section)]
                title = ", ".join(filter(None, [section.title, section.unit]))
                page += [heading.format(title), *layout({"": grid})]
        page.append("\n".join(f"{EXACT[name]} {apart:g}." for name, apart in self.checks.items()))
        return "\n\n".join(page) + "\n"

    @property
    def _caption(self) -> str:
        return (
            f"{self.wholes} {self.part} wholes of every number of parts, {self.draws} draws of"
            f" each;\ntrained on 1 to {self.most} parts, * is beyond; [95 % bootstrap interval over"
            " wholes]"
        )

    def _lines(self, section: Section) -> Iterator[list[str]]:
        for size, values in self.rows.items():
            cells = [
                _cell(values[name], section.unit) if name in values else "-"
                for name in section.columns
            ]
            yield [f"{size}*" if size > self.most else str(size), *cells]


def _cell(e: Estimate, unit: str) -> str:
    scale, digits = UNITS[unit]
    mean, low, high = (_number(scale * each, digits) for each in (e.mean, e.low, e.high))
    return f"{mean} [{low}, {high}]"


def _number(value: float, digits: int) -> str:
    return f"{value:z.{digits}f}" if abs(value) < LARGE else f"{value:.1e}"
