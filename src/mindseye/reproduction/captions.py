"""How rows of captions are scored: models and flows by an observer, observers by real pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from mindseye.data import Data
from mindseye.data.batch import Dataset
from mindseye.data.places import find, places
from mindseye.errors import UsageError
from mindseye.evaluation import observer_accuracy
from mindseye.evaluation.captions import JUDGES, CaptionReport, evaluate_captions
from mindseye.metrics import bootstrap
from mindseye.metrics.captions import words_right
from mindseye.models import Observer
from mindseye.papers import Recipe
from mindseye.reproduction.ledger_plan import LedgerPlan
from mindseye.runs import Run, load_observer

__all__ = ["captions", "captions_limits", "observer_of"]

Progress = Callable[[int, int], None]

SHARES = (
    "correctness",
    "prior correctness",
    "by way of words",
    "reconstructions",
    "real pictures",
)

UNSEEN = ("test", "observer")
"""The parts of i-CLEVR by which nothing of our wide view or its observer was chosen."""

FRESH = 1_000_000
"""The seed of new pictures of captions that were seen in training."""


def captions(
    run: Run,
    asked: Mapping[str, float],
    device: torch.device | str,
    data: str | None,
    progress: Progress,
) -> dict[str, Any]:
    """The numbers of a row, by column, with the ends of their intervals."""
    pictures = int(asked["pictures"])
    if run.recipe.model.kind == "observer":
        return _observed(run, pictures, device, data)
    if run.recipe.data.name not in JUDGES:
        return {}
    how: dict[str, Any] = {
        "observer": observer_of(run),
        "pictures": pictures,
        "device": device,
        "data": data,
        "progress": progress,
    }
    if not run.recipe.data.compositional:
        return _values(evaluate_captions(run, **how))
    unseen = evaluate_captions(run, **how)
    seen = evaluate_captions(run, part="train", seed=FRESH, **how)
    found = _values(seen)
    return found | {
        f"unseen{end}": value
        for name, value in _values(unseen).items()
        for end in ("", " low", " high")
        if name == f"correctness{end}"
    }


def captions_limits(
    plan: LedgerPlan,
    recipe: Recipe,
    device: torch.device | str,
    data: str | None,
    progress: Progress,
) -> dict[str, dict[str, Any]]:
    """What words drawn at random get right, of the eight that the observer is not told."""
    sentence = recipe.data.vocabulary
    if "relation" not in sentence.names:
        return {}
    places = zip(sentence.names, sentence.sizes, strict=True)
    shares = [1 / size for name, size in places if name != "relation"]
    floor = 100 * sum(shares) / len(shares)
    return {"words at random (floor)": {"correctness": floor, "prior correctness": floor}}


def observer_of(run: Run) -> Observer:
    """The observer among the runs beside a run that judges its data."""
    wanted = JUDGES[run.recipe.data.name]
    if found := run.observer_beside(wanted):
        return load_observer(found)
    raise UsageError(
        f"there is no observer of {wanted} beside {run.path}.",
        f"Train it too: --rows with {wanted}'s observer.",
    )


def _values(report: CaptionReport) -> dict[str, Any]:
    """Means and the ends of intervals, shares in percent."""
    found: dict[str, Any] = {}
    names = {"reconstructions": "seen"}
    for name, e in report.values.items():
        share = 100 if name in SHARES else 1
        key = names.get(name, name)
        found |= {key: share * e.mean, f"{key} low": share * e.low, f"{key} high": share * e.high}
    return found


def _observed(
    run: Run, pictures: int, device: torch.device | str, data: str | None
) -> dict[str, Any]:
    """What an observer gets right in real pictures: of its own world, and of CLEVR's renders."""
    observer = load_observer(run.path).eval().to(device)
    if run.recipe.data.source == "wide":
        return _transferred(observer, run.recipe.data, pictures, data)
    judged = "celeba-words" if run.recipe.data.name == "celeba" else run.recipe.data.name
    dataset = replace(run.recipe.data, name=judged).open("test", folder=data).to(device)
    index = torch.arange(min(pictures, dataset.count), device=device)
    right = words_right(observer, dataset.vocabulary)
    batches = map(dataset.examples, index.split(500))
    shares = torch.cat([right(batch.x, batch.y) for batch in batches])
    e = bootstrap(shares.double().cpu())
    return {"seen": 100 * e.mean, "seen low": 100 * e.low, "seen high": 100 * e.high}


def _transferred(
    observer: Observer, data: Data, pictures: int, folder: str | None
) -> dict[str, Any]:
    """Colours and shapes that an observer of ours names rightly, in our world and in i-CLEVR."""
    own = _named(observer, [data.open("test")], pictures)
    found = {f"own {key}": each for key, each in own.items()}
    if not find(["iclevr_index.npz"], places(folder, "iclevr")):
        return found
    theirs = Data("iclevr", side=data.shape[1])
    return found | _named(observer, [theirs.open(part, folder=folder) for part in UNSEEN], pictures)


def _named(observer: Observer, parts: Sequence[Dataset], most: int) -> dict[str, float]:
    """Colours and shapes named rightly in pictures of some parts, at most so many of each."""
    device = next(observer.parameters()).device
    shares: dict[str, list[tuple[float, int]]] = {"colours": [], "shapes": []}
    for part in parts:
        found = observer_accuracy(observer, part.to(device), min(part.count, most))
        for key, word in (("colours", "colour"), ("shapes", "shape")):
            shares[key] += [(e.mean, e.n) for name, e in found.items() if word in name]
    return {
        key: 100 * sum(mean * n for mean, n in each) / sum(n for _, n in each)
        for key, each in shares.items()
    }
