"""How rows of wholes and their parts are scored: inside the trained numbers of parts and beyond."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch

from mindseye.data import Sites
from mindseye.evaluation.parts import Rows, evaluate_parts, generator_rows
from mindseye.metrics import Estimate
from mindseye.papers import Recipe
from mindseye.papers.berger_tables import MEASURES
from mindseye.reproduction.ledger_plan import LedgerPlan
from mindseye.runs import Run

__all__ = ["parts", "parts_limits", "places_of"]

Progress = Callable[[int, int], None]

SHARES = ("recall", "shown", "false alarms", "energy error", "share", "gone", "kept")
"""What is in percent."""

LIMITS = {"generator": "the generator itself", "others": "its wholes of other parts"}
"""What needs no model, by the ending of its names, and what the table calls it."""


def parts(
    run: Run,
    asked: Mapping[str, float],
    device: torch.device | str,
    data: str | None,
    progress: Progress,
) -> dict[str, Any]:
    """The numbers of a row, by column, with the ends of their intervals."""
    wholes, draws = _asked(asked)
    report = evaluate_parts(
        run, wholes=wholes, draws=draws, device=device, data=data, progress=progress
    )
    last = next(reversed(run.trained()), {}).get("terms", {})
    told = {"parts tell": "kl_qw_pw", "z tells": "kl_qz_pz"}
    return {
        **_columns(report.rows, report.most, sites=run.recipe.data.name == "sites"),
        **{column: last[term] for column, term in told.items() if term in last},
        **report.checks,
        "minutes": run.seconds / 60,
    }


def parts_limits(
    plan: LedgerPlan,
    recipe: Recipe,
    device: torch.device | str,
    data: str | None,
    progress: Progress,
) -> dict[str, dict[str, Any]]:
    """What the generator's wholes are worth themselves, and its wholes of other parts."""
    dataset = recipe.data.wholes("test").to(device)
    wholes, draws = _asked(plan.asked)
    rows = generator_rows(dataset, wholes=wholes, draws=draws, progress=progress)
    found = {}
    for ending, label in LIMITS.items():
        own = {
            size: {
                name.removesuffix(f", {ending}"): e
                for name, e in values.items()
                if name.endswith(f", {ending}")
            }
            for size, values in rows.items()
        }
        columns = _columns(own, dataset.most, sites=isinstance(dataset, Sites))
        found[f"{recipe.data.name.capitalize()}, {label}"] = columns
    return found


def places_of(sizes: list[int], most: int) -> dict[str, list[int]]:
    """The numbers of parts that every place of the table is about.

    >>> places_of([1, 2, 4, 8, 10, 12, 16], most=8)
    {'inside': [1, 2, 4, 8], 'most': [8], 'beyond': [12], 'far': [16]}
    """
    inside, more = ([size for size in sizes if (size > most) == far] for far in (False, True))
    return {"inside": inside, "most": inside[-1:], "beyond": more[-2:-1], "far": more[-1:]}


def _asked(asked: Mapping[str, float]) -> tuple[int, int]:
    """Descriptions of every number of parts, and draws of each."""
    return int(asked["wholes"]), int(asked["draws"])


def _columns(rows: Rows, most: int, *, sites: bool) -> dict[str, float]:
    """Measures at their places, and the two that stand in short."""
    places = places_of(list(rows), most)
    found: dict[str, float] = {}
    for name in MEASURES:
        for place, sizes in places.items():
            found |= _named(
                f"{name} {place}", _mean([rows[size].get(name) for size in sizes]), name
            )
    there = "shown" if sites else "recall"
    known = [rows[size][there].mean for size in places["inside"] if there in rows[size]]
    reached = places["beyond" if sites else "far"]
    found |= {"least": 100 * min(known)} if known else {}
    return found | _named("reached", _mean([rows[size].get(there) for size in reached]), there)


def _named(column: str, e: Estimate | None, measure: str) -> dict[str, float]:
    """A number and the ends of its interval, in percent where it is a share."""
    if e is None:
        return {}
    scale = 100 if measure in SHARES else 1
    return {
        column: scale * e.mean,
        f"{column} low": scale * e.low,
        f"{column} high": scale * e.high,
    }


def _mean(estimates: list[Estimate | None]) -> Estimate | None:
    """The mean of numbers that were measured apart; errors of either side add as squares do."""
    known = [e for e in estimates if e is not None]
    if not known:
        return None
    mean = sum(e.mean for e in known) / len(known)
    below, above = (
        math.hypot(*(e.mean - getattr(e, end) for e in known)) / len(known)
        for end in ("low", "high")
    )
    return Estimate(mean, mean - below, mean + above, sum(e.n for e in known))
