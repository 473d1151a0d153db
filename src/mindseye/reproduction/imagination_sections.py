"""The tables of a reproduction that is scored by observers: correctness, coverage, protocols."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mindseye.reproduction.plan import COLUMNS
from mindseye.reproduction.section import Grid, Section

__all__ = ["imagination_sections"]


def imagination_sections(result: dict[str, Any]) -> Iterator[Section]:
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
