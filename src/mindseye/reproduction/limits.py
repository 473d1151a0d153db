"""Rows that need no training: the best and the worst that a scorer can give.

They are measured once, with the same numbers of points as the runs, and kept in the folder of the
reproduction; the table prints them under the rows of the methods.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

from mindseye.files import read_json, write_json
from mindseye.papers import Recipe
from mindseye.reproduction.captions import captions_limits
from mindseye.reproduction.disentanglement import disentanglement_limits
from mindseye.reproduction.ledger_plan import LedgerPlan
from mindseye.reproduction.links import links_limits
from mindseye.reproduction.paintings import drawings_limits
from mindseye.reproduction.parts import parts_limits

__all__ = ["LIMITS", "limits"]

Progress = Callable[[int, int], None]
Limits = Callable[
    [LedgerPlan, Recipe, torch.device | str, str | None, Progress], dict[str, dict[str, Any]]
]
"""From a plan, a recipe of one of its data sets, the device and the data to numbers, by label and
column."""

LIMITS: dict[str, Limits] = {
    "captions": captions_limits,
    "disentanglement": disentanglement_limits,
    "drawings": drawings_limits,
    "links": links_limits,
    "parts": parts_limits,
}
"""By scorer; one that is not here has no such rows."""


def limits(
    plan: LedgerPlan,
    folder: Path,
    *,
    device: torch.device | str,
    data: str | None,
    progress: Progress,
) -> list[dict[str, Any]]:
    """The rows of a scorer's limits, those of every data set, from files or written there."""
    scorer, found = plan.ledger.scorer, dict[str, Any]()
    for recipe in plan.recipes.values() if scorer in LIMITS else ():
        told: list[Any] = [scorer, dict(plan.asked), recipe.data.name, recipe.data.most]
        if "data.split_seed" in plan.ledger.seeded:  # then they depend on how data are divided
            told.append(plan.seeds)
        digest = hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()
        path = folder / f"{scorer}-{digest[:12]}.json"
        if not path.is_file():
            write_json(path, LIMITS[scorer](plan, recipe, device, data, progress))
        found |= read_json(path)
    return [_row(label, values) for label, values in found.items()]


def _row(label: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """A line of the table: nothing was printed, and no seeds are apart."""
    ours = {key: {"mean": value, "deviation": None, "seeds": {}} for key, value in values.items()}
    return {"label": label, "published": {}, "ours": ours}
