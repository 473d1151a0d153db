"""A ledger made again: plan, train, measure, draw, write.

    FOLDER/
      burda-mnist.md .json .html    the table, its numbers, a page with the pictures
      pictures/                     what the models of the first seed draw
      runs/                         every model, with what was measured of it beside it
      limits/                       the best and the worst there can be, where that is known
      seconds.json                  how long all of it took, over all calls

Whatever is there is used: a call that was stopped goes on where it was, and a second call computes
nothing. No model is chosen by its scores: every run is its last step.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import torch

from mindseye.errors import UsageError, did_you_mean, listed
from mindseye.files import write_bytes, write_json
from mindseye.papers import Recipe, get_recipe
from mindseye.papers.ledgers import Entry, Ledger
from mindseye.pictures import png_bytes
from mindseye.provenance import provenance
from mindseye.reproduction.clock import Clock
from mindseye.reproduction.ledger_pictures import painted
from mindseye.reproduction.limits import limits
from mindseye.reproduction.pages import html, markdown
from mindseye.reproduction.plan import SIZES, checked
from mindseye.reproduction.scorers import measured
from mindseye.reproduction.training import Watch, trained
from mindseye.runs import Run
from mindseye.sweeps import rollbacks_of

__all__ = ["LedgerPlan", "make_ledger_plan", "reproduce_ledger"]


@dataclass(frozen=True)
class LedgerPlan:
    """Rows, recipes and seeds of a ledger, complete and checked."""

    ledger: Ledger
    size: str
    quick: bool
    seeds: tuple[int, ...]
    rows: tuple[Entry, ...]
    recipes: Mapping[str, Recipe]
    """By family, the seed still to come."""
    asked: Mapping[str, float]

    def recipe(self, row: Entry, seed: int) -> Recipe:
        """The recipe of one run."""
        made = self.recipes[row.family].with_settings({"training.seed": str(seed)})
        if not row.after:
            return made
        return replace(made, start=self.recipe(self._row(row.after), seed).digest)

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
    checked(size, seeds, settings or {})
    chosen = _chosen(ledger, rows or (ledger.quick_rows if quick else ()))
    changes = {**(ledger.quick_settings if quick else {}), **(settings or {})}
    return LedgerPlan(
        ledger,
        size,
        quick,
        tuple(range(1 if quick else seeds)),
        chosen,
        {row.family: _recipe(row, SIZES[size], changes, data) for row in ledger.rows},
        _asked(ledger, size, quick),
    )


def reproduce_ledger(
    plan: LedgerPlan,
    folder: str | os.PathLike[str],
    *,
    device: torch.device | str = "cpu",
    data: str | None = None,
    watch: Watch = lambda what, done, total: None,
) -> dict[str, Any]:
    """Make a ledger, and write it as Markdown, JSON and HTML; the JSON is what comes back.

    Arguments:
        plan: What to train and to measure.
        folder: Where everything goes, and where what is there already is found.
        device: Where to compute.
        data: The folder with the data.
        watch: Called with what is being done, how much of it is done and how much there is.
    """
    for needed in {plan.recipes[row.family].data for row in plan.rows}:
        needed.open("train", folder=data)  # fail before it is begun
    folder = Path(folder)
    clock = Clock(folder / "seconds.json")
    runs: dict[str, list[Run]] = {}
    found: dict[str, list[dict[str, Any]]] = {}
    for row in plan.rows:
        where: dict[str, Any] = {"device": device, "data": data}
        recipes = [plan.recipe(row, seed) for seed in plan.seeds]
        with clock:
            runs[row.family] = trained(
                recipes, folder / "runs", f"training {row.label}", **where, watch=watch
            )
            found[row.family] = [
                measured(
                    plan.ledger.scorer,
                    run,
                    plan.asked,
                    **where,
                    progress=lambda d, t, row=row: watch(f"measuring {row.label}", d, t),
                )
                for run in runs[row.family]
            ]
    with clock:
        known = limits(
            plan.ledger.scorer,
            plan.recipes[plan.rows[0].family],
            plan.asked,
            folder / "limits",
            device=device,
            progress=lambda done, total: watch("measuring the limits", done, total),
        )
        pictures = list(_draw(plan, runs, folder, device, data, watch))
    result = plan.to_json() | {
        "entries": [_entry(plan, row, found[row.family]) for row in plan.rows],
        "limits": known,
        "runs": [
            _facts(row, run, score, folder)
            for row in plan.rows
            for run, score in zip(runs[row.family], found[row.family], strict=True)
        ],
        "pictures": pictures,
        "seconds": round(clock.seconds, 1),
        "provenance": provenance(device),
    }
    name = plan.ledger.name
    write_json(folder / f"{name}.json", result)
    write_bytes(folder / f"{name}.md", markdown(result).encode())
    write_bytes(folder / f"{name}.html", html(result, folder).encode())
    return result


def _draw(
    plan: LedgerPlan,
    runs: Mapping[str, Sequence[Run]],
    folder: Path,
    device: torch.device | str,
    data: str | None,
    watch: Watch,
) -> Iterator[dict[str, str]]:
    """Draw the pictures of the first seed and write them; what the JSON says about each."""
    first = [(row.label, runs[row.family][0]) for row in plan.rows]
    for done, picture in enumerate(painted(plan.ledger.pictures, first, device, data), 1):
        file = f"pictures/{picture.name}.png"
        write_bytes(folder / file, png_bytes(picture.image))
        watch("drawing", done, max(done, len(plan.ledger.pictures)))
        made = {"figure": picture.figure, "file": file, "caption": picture.caption}
        if picture.film:
            made["film"] = f"pictures/{picture.name}.gif"
            write_bytes(folder / made["film"], picture.film)
        yield made


def _entry(plan: LedgerPlan, row: Entry, found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    ours = {}
    for column in plan.ledger.columns:
        values = [score["values"].get(column.key) for score in found]
        if all(value is not None for value in values):
            ours[column.key] = _cell(values, plan.seeds)
    return {
        "family": row.family,
        "label": row.label,
        "published": dict(row.published),
        "ours": ours,
    }


def _cell(values: Sequence[Any], seeds: Sequence[int]) -> dict[str, Any]:
    """The mean over seeds and how far they are apart; layer by layer where there are several."""
    each = {str(seed): value for seed, value in zip(seeds, values, strict=True)}
    if isinstance(values[0], list):
        means = [mean(layer) for layer in zip(*values, strict=True)]
        return {"mean": means, "deviation": None, "seeds": each}
    deviation = stdev(values) if len(values) > 1 else None
    return {"mean": mean(values), "deviation": deviation, "seeds": each}


def _facts(row: Entry, run: Run, score: dict[str, Any], folder: Path) -> dict[str, Any]:
    return {
        "family": row.family,
        "seed": run.recipe.training.seed,
        "recipe": run.recipe.name,
        "run": run.path.relative_to(folder).as_posix(),
        "digest": run.recipe.digest,
        "steps": run.recipe.training.steps,
        "rollbacks": rollbacks_of(run),
        "training seconds": round(run.seconds, 1),
        "scoring seconds": score["seconds"],
        "measured": score["values"],
        "provenance": run.provenance,
    }


def _asked(ledger: Ledger, size: str, quick: bool) -> Mapping[str, float]:
    """What the scorer is told; it takes its time only where training does."""
    if size == "tiny":
        return ledger.tiny_asked
    return ledger.quick_asked if quick else ledger.asked


def _chosen(ledger: Ledger, families: Sequence[str]) -> tuple[Entry, ...]:
    """The rows that were asked for; a row that begins with another's weights brings it along."""
    known = [row.family for row in ledger.rows]
    for family in families:
        if family not in known:
            raise UsageError(
                f"`rows` has {family!r}; expected {listed(known)}.", did_you_mean(family, known)
            )
    wanted = set(families or known)
    wanted |= {row.after for row in ledger.rows if row.family in wanted and row.after}
    return tuple(row for row in ledger.rows if row.family in wanted)


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
