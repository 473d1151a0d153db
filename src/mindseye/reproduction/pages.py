"""The page of a reproduction, from its JSON alone: as Markdown, and as one HTML file."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from html import escape
from pathlib import Path
from textwrap import fill
from typing import Any, NamedTuple

from mindseye.reproduction.plan import COLUMNS

__all__ = ["Section", "html", "markdown", "opening", "sections"]

Grid = list[list[str]]
"""Rows of cells; the first is the head."""


class Section(NamedTuple):
    """A heading, what is said under it, and a table."""

    title: str
    text: str
    grid: Grid
    words: int = 1
    """How many columns hold words; the others hold numbers and are set to the right."""


def markdown(result: dict[str, Any]) -> str:
    """The page as Markdown, readable before it is rendered too."""
    parts = [f"# {result['table']}", fill(opening(result), 100)]
    for section in sections(result):
        parts += [f"## {section.title}", fill(section.text, 100), _piped(section)]
    parts += ["## Pictures"]
    for picture in result["pictures"]:
        parts += [fill(f"**{picture['figure']}.** {picture['caption']}", 100)]
        parts += [f"![{picture['figure']}]({picture['file']})"]
    return "\n\n".join(parts) + "\n"


def html(result: dict[str, Any], folder: Path) -> str:
    """The page as HTML that needs nothing but itself: the pictures are inside it."""
    parts = [f"<h1>{escape(result['table'])}</h1>", f"<p>{escape(opening(result))}</p>"]
    for section in sections(result):
        parts += [f"<h2>{escape(section.title)}</h2>", f"<p>{escape(section.text)}</p>"]
        parts += [_rows(section)]
    parts += ["<h2>Pictures</h2>"]
    for picture in result["pictures"]:
        data = base64.b64encode((folder / picture["file"]).read_bytes()).decode()
        image = f'<img alt="{escape(picture["figure"])}" src="data:image/png;base64,{data}">'
        caption = f"<b>{escape(picture['figure'])}.</b> {escape(picture['caption'])}"
        parts += [f"<figure>{image}<figcaption>{caption}</figcaption></figure>"]
    return _FRAME.format(title=escape(result["table"]), body="\n".join(parts))


def sections(result: dict[str, Any]) -> Iterator[Section]:
    """The tables of the page, and what has to be known to read them."""
    for score, meaning in _MEANINGS.items():
        lines = [entry for entry in result["entries"] if entry["score"] == score]
        yield Section(score.capitalize(), meaning, _grid(result, lines), words=2)
    yield Section("Protocols", _spreads(result), _protocols(result))
    yield Section("Observers", _OBSERVERS, _observers(result))
    yield Section("Runs", _RUNS, _runs(result), words=3)


_MEANINGS = {
    "correctness": "The share of the words said that the observer sees, in percent. Real pictures "
    "are the ceiling of what this observer can see; the collapsed sampler is the floor.",
    "coverage": "How near the open attributes come to uniform, 1 - JS in percent. The perfect "
    "sampler is the ceiling at this many pictures a query; the collapsed sampler is the floor. "
    "Published coverages are in nats; what they are in bits stands in the column of the authors' "
    "code.",
}
_OBSERVERS = "How often an observer names real pictures of unseen digits rightly, in percent."
_RUNS = (
    "Rollbacks are returns to a good state after numbers ran away; seconds are those of training "
    "and of scoring. Every run is its last step: none is chosen."
)


def opening(result: dict[str, Any]) -> str:
    """What was made, by what, where and in which time."""
    made = result["provenance"]
    small = " This is the small version: do not compare its numbers." if result["quick"] else ""
    return (
        f"{result['title']}, made again by mindseye {made['mindseye']}, commit"
        f" {made['commit'] or 'unknown'}, torch {made['torch']}, on {made['device']},"
        f" {made['date']}. Size {result['size']}, training seeds"
        f" {', '.join(map(str, result['seeds']))}{_trained(result)}. {result['seconds']:.0f}"
        f" seconds in all.{small}"
    )


def _trained(result: dict[str, Any]) -> str:
    """What the runs say about where they come from: a run may be older than its table."""
    runs = [*result["runs"], *result.get("planes", ())]
    known = [made for run in runs if (made := run.get("provenance"))]
    devices, commits = ({made[fact] for made in known} for fact in ("device", "commit"))
    if not known:
        return ""
    return f"; trained on {', '.join(sorted(devices))}, commit {', '.join(sorted(commits))}"


def _grid(result: dict[str, Any], lines: list[dict[str, Any]]) -> Grid:
    """One line for each sampler at each place."""
    columns = list(result["protocols"])
    names = [f"ours, {COLUMNS[column]}" for column in columns]
    grid = [["said", "sampler", "paper", "authors' code", *names]]
    for line in lines:
        ours = [_ours(line["ours"][column]) for column in columns]
        grid.append([_said(line), line["label"], _printed(line["paper"]), _code(line), *ours])
    return grid


def _said(line: dict[str, Any]) -> str:
    words = f"{line['level']} word{'s' if line['level'] > 1 else ''}"
    return f"{words}, {line['split']}"


def _ours(cell: dict[str, Any]) -> str:
    spread = "" if cell["deviation"] is None else f" ± {cell['deviation']:.2f}"
    return f"{cell['mean']:.2f}{spread}"


def _printed(number: dict[str, Any] | None) -> str:
    if number is None:
        return "–"
    return f"{number['mean']:.2f}" + (f" ± {number['spread']:.2f}" if number["spread"] else "")


def _code(line: dict[str, Any]) -> str:
    bits = line["published in bits"]
    parts = [_printed(line["authors"])] if line["authors"] else []
    parts += [f"{bits:.2f} in bits"] if bits else []
    return "; ".join(parts) or "–"


def _spreads(result: dict[str, Any]) -> str:
    n = len(result["seeds"])
    ours = f"± is the standard deviation over {n} trainings" if n > 1 else "there is one training"
    return (
        f"In the column of the paper ± is {result['published']['spread']}; in ours {ours}."
        " Real pictures have no training, the perfect and the collapsed sampler are exact"
        " expectations. 95 % intervals over queries are in the JSON."
    )


def _protocols(result: dict[str, Any]) -> Grid:
    grid = [["", *(COLUMNS[column] for column in result["protocols"])]]
    made = list(result["protocols"].values())
    names = {seen["column"]: seen["name"] for seen in result["observers"]}
    grid.append(["pictures a query, S", *(str(p["samples"]) for p in made)])
    grid.append(["JS in", *({"2": "bits", "e": "nats"}[p["base"]] for p in made)])
    grid.append(["queries a level", *(str(p["queries"] or "every concept once") for p in made)])
    grid.append(["queries, unseen combinations", *("all 24 once" for _ in made)])
    grid.append(["open attributes compared with", *(p["reference"] for p in made)])
    grid.append(["open attributes are", *(_FILLED[p["fill"]] for p in made)])
    grid.append(["observer", *(names[column] for column in result["protocols"])])
    return grid


_FILLED = {True: "filled in at random", False: "left out of the product"}


def _observers(result: dict[str, Any]) -> Grid:
    theirs, ours = result["published"]["accuracies"], result["observers"]
    grid = [["attribute", "paper", *(f"{seen['name']}, {seen['column']}" for seen in ours)]]
    for name, right in theirs.items():
        found = [seen["accuracies"][name]["mean"] for seen in ours]
        grid.append([name, f"{right:.2f}", *(f"{100 * mean:.2f}" for mean in found)])
    means = [sum(e["mean"] for e in seen["accuracies"].values()) / len(theirs) for seen in ours]
    mean = f"{sum(theirs.values()) / len(theirs):.2f}"
    return [*grid, ["mean", mean, *(f"{100 * each:.2f}" for each in means)]]


def _runs(result: dict[str, Any]) -> Grid:
    grid = [["run", "recipe", "digest", "seed", "steps", "rollbacks", "training, s", "scoring, s"]]
    for run in result["runs"]:
        scoring = sum(run["scoring seconds"].values())
        numbers = [run["seed"], run["steps"], run["rollbacks"]]
        numbers += [f"{run['training seconds']:.0f}", f"{scoring:.0f}"]
        grid.append([run["run"], run["recipe"], run["digest"], *map(str, numbers)])
    return grid


def _piped(section: Section) -> str:
    widths = [max(3, *map(len, column)) for column in zip(*section.grid, strict=True)]
    rule = ["-" * (w - 1) + ("-" if i < section.words else ":") for i, w in enumerate(widths)]
    head, *body = section.grid
    lines = []
    for row in (head, rule, *body):
        cells = [
            cell.ljust(width) if i < section.words else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _rows(section: Section) -> str:
    """An HTML table; a line is drawn where the first column changes."""
    head, *body = section.grid
    lines = [f"<tr>{''.join(f'<th>{escape(cell)}</th>' for cell in head)}</tr>"]
    above = ""
    for row in body:
        new = ' class="new"' if row[0] != above and section.words == 2 else ""
        above = row[0]
        cells = (
            f'<td class="{"word" if i < section.words else "number"}">{escape(cell)}</td>'
            for i, cell in enumerate(row)
        )
        lines.append(f"<tr{new}>{''.join(cells)}</tr>")
    return f"<table>{''.join(lines)}</table>"


_FRAME = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ max-width: 68rem; margin: 2rem auto; padding: 0 1rem; font: 16px/1.5 system-ui, sans-serif;
  color: #222; background: #faf9f6; }}
table {{ border-collapse: collapse; font-size: 0.9rem; font-variant-numeric: tabular-nums; }}
th, td {{ padding: 0.2rem 0.8rem; text-align: left; vertical-align: top; }}
th {{ border-bottom: 2px solid #888; }}
td.number {{ text-align: right; white-space: nowrap; }}
tr.new td {{ border-top: 1px solid #bbb; }}
figure {{ margin: 2rem 0; }}
img {{ max-width: 100%; height: auto; border: 1px solid #ddd; }}
</style>
<body>
{body}
</body>
</html>
"""
