"""Who fills the rows of a ledger: a run is measured once, and the numbers stay with its weights."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Callable, Mapping
from typing import Any

import torch

from mindseye.evaluation.likelihood import LikelihoodReport, evaluate_likelihood
from mindseye.evaluation.semi import evaluate_semi
from mindseye.files import read_json, write_json
from mindseye.reproduction.captions import captions
from mindseye.reproduction.disentanglement import disentanglement
from mindseye.reproduction.links import links
from mindseye.reproduction.paintings import drawings
from mindseye.reproduction.parts import parts
from mindseye.reproduction.review import review
from mindseye.runs import Run

__all__ = ["SCORERS", "measured"]

Asked = Mapping[str, float]
Progress = Callable[[int, int], None]
Scorer = Callable[[Run, Asked, torch.device | str, str | None, Progress], dict[str, Any]]
"""From a run, what is asked, the device and the data to numbers, or lists of them, by column."""


def measured(
    scorer: str,
    run: Run,
    asked: Asked,
    *,
    device: torch.device | str,
    data: str | None,
    progress: Progress,
) -> dict[str, Any]:
    """The numbers of a run from their file, or measured and written there."""
    digest = hashlib.sha256(json.dumps([scorer, dict(asked)], sort_keys=True).encode()).hexdigest()
    path = run.path / f"measured-{scorer}-{digest[:12]}.json"
    if not path.is_file():
        started = time.perf_counter()
        values = SCORERS[scorer](run, asked, device, data, progress)
        seconds = round(time.perf_counter() - started, 2)
        write_json(path, {"asked": dict(asked), "values": values, "seconds": seconds})
    return read_json(path)


def _likelihood(
    run: Run, asked: Asked, device: torch.device | str, data: str | None, progress: Progress
) -> dict[str, Any]:
    """Nats, units and what is spent; `k` draws for `pictures` of the test, all if 0."""
    found = evaluate_likelihood(
        run,
        k=int(asked["k"]),
        pictures=int(asked["pictures"]),
        device=device,
        data=data,
        progress=progress,
    )
    return {
        "nll": found.nll.mean,
        "log likelihood": -found.nll.mean,
        "bits": -found.nll.mean / (math.prod(_shape(run)) * math.log(2)),
        "low": found.nll.low,
        "high": found.nll.high,
        "active": list(found.active),
        "pruned": _pruned(found),
        "elbo": -(found.rate.mean + found.distortion.mean),
        "rate": found.rate.mean,
        "distortion": found.distortion.mean,
    }


def _pruned(found: LikelihoodReport) -> float | None:
    """Nats without the inactive units; nothing where they cannot be taken out."""
    if found.pruned:
        return found.pruned.mean
    whole = all(n == len(layer) for n, layer in zip(found.active, found.activities, strict=True))
    return found.nll.mean if whole else None


def _shape(run: Run) -> tuple[int, int, int]:
    return run.recipe.data.shape


def _accuracy(
    run: Run, asked: Asked, device: torch.device | str, data: str | None, progress: Progress
) -> dict[str, Any]:
    """Percent of the descriptions that are read right, and the bound; all `pictures` if 0."""
    found = evaluate_semi(
        run, pictures=int(asked["pictures"]), device=device, data=data, progress=progress
    )
    shares = list(found.accuracy.values())
    return {
        "accuracy": 100 * sum(e.mean for e in shares) / len(shares),
        "elbo": found.elbo.mean,
        **{f"accuracy of {name}": 100 * e.mean for name, e in found.accuracy.items()},
    }


SCORERS: dict[str, Scorer] = {
    "likelihood": _likelihood,
    "accuracy": _accuracy,
    "captions": captions,
    "disentanglement": disentanglement,
    "drawings": drawings,
    "links": links,
    "parts": parts,
    "review": review,
}
