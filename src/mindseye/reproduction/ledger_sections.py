"""The tables of a ledger: what was printed, what was found, and by which runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mindseye.reproduction.section import Grid, Section

__all__ = ["ledger_sections"]


def ledger_sections(result: dict[str, Any]) -> Iterator[Section]:
    """Results first, then the runs they are of."""
    asked = ", ".join(f"{name} {value:g}" for name, value in result["asked"].items())
    everything = ", where 0 is all there are" if 0 in result["asked"].values() else ""
    text = f"{result['about']} Asked for: {asked}{everything}. {_spread(result)}"
    parts: dict[str, list[dict[str, Any]]] = {}
    for column in result["columns"]:
        parts.setdefault(column.get("group") or "Results", []).append(column)
    for title, columns in parts.items():
        yield Section(title, text, _results(result, columns, every=len(parts) == 1))
        text = ""
    yield Section("Runs", _RUNS, _runs(result), words=3)


def _spread(result: dict[str, Any]) -> str:
    """What ± means."""
    spread = result.get("spread", "standard deviation")
    return (
        f"Ours are means over training seeds, ± their {spread}; a row without it has one seed,"
        " and in brackets then stands the 95 % interval over pictures, where there is one."
    )


_RUNS = (
    "Rollbacks are returns to a good state after numbers ran away; seconds of training are a run's "
    "share of the time where several were trained together. Every run is its last step: none is "
    "chosen."
)


def _results(result: dict[str, Any], columns: list[dict[str, Any]], *, every: bool) -> Grid:
    """Some columns, of every row or of those alone that have numbers in them."""
    head = [""]
    for column in columns:
        printed = any(column["key"] in entry["published"] for entry in result["entries"])
        head += [f"{column['label']}, printed"] * printed + [column["label"] + ", ours" * printed]
    grid = [head]
    for entry in (*result["entries"], *result.get("limits", ())):
        known = entry["ours"].keys() | entry.get("published", {}).keys()
        if not every and known.isdisjoint(column["key"] for column in columns):
            continue
        cells = [entry["label"]]
        for column in columns:
            if f"{column['label']}, printed" in head:
                cells.append(entry["published"].get(column["key"], "–"))
            cells.append(_ours(entry["ours"].get(column["key"]), column["decimals"]))
        grid.append(cells)
    return grid


def _ours(cell: dict[str, Any] | None, decimals: int) -> str:
    """A mean and how far the seeds are apart; of several numbers, such as layers, each mean."""
    if cell is None:
        return "–"
    if isinstance(cell["mean"], list):
        return "+".join(f"{each:.1f}".removesuffix(".0") for each in cell["mean"])
    spread = "" if cell["deviation"] is None else f" ± {cell['deviation']:.{decimals}f}"
    if ends := cell.get("interval"):
        spread = f" ({ends[0]:.{decimals}f} to {ends[1]:.{decimals}f})"
    return f"{cell['mean']:.{decimals}f}{spread}"


def _runs(result: dict[str, Any]) -> Grid:
    grid = [["run", "recipe", "digest", "seed", "steps", "rollbacks", "training, s", "scoring, s"]]
    for run in result["runs"]:
        numbers = [run["seed"], run["steps"], run["rollbacks"]]
        numbers += [f"{run['training seconds']:.0f}", f"{run['scoring seconds']:.0f}"]
        grid.append([run["run"], run["recipe"], run["digest"], *map(str, numbers)])
    return grid
