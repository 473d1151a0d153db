"""Scores that are asked for once: each lies in a file named by what decides it."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import torch

from mindseye.concepts import Concept
from mindseye.data import Data, Dataset
from mindseye.evaluation import (
    Protocol,
    ask,
    held_out,
    observer_accuracy,
    queries_of,
    real_pictures,
)
from mindseye.files import read_json, write_json
from mindseye.metrics import Imaginer
from mindseye.models import Observer
from mindseye.papers.tables import Split
from mindseye.runs import Run, load_observer

__all__ = ["Judge", "accuracy_of", "score_real", "score_run"]

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Judge:
    """An observer on its device, and the column of the table that it fills."""

    column: str
    run: Run
    observer: Observer
    data: Data
    """What the real pictures are drawn from."""
    folder: str | None
    """Where they are."""

    @classmethod
    def of(
        cls, column: str, run: Run, data: Data, *, device: torch.device | str, folder: str | None
    ) -> Judge:
        """The judge that a run is."""
        return cls(column, run, load_observer(run.path).eval().to(device), data, folder)

    @property
    def device(self) -> torch.device:
        """Where the observer is."""
        return next(self.observer.parameters()).device

    @cached_property
    def weights(self) -> str:
        """Twelve digits that tell two observers apart."""
        return hashlib.sha256((self.run.path / "weights.safetensors").read_bytes()).hexdigest()[:12]

    def real(self) -> Dataset:
        """Real pictures of sources that nobody was trained on."""
        return real_pictures(self.data, self.device, self.folder)


def score_run(
    run: Run, judge: Judge, protocol: Protocol, split: Split, progress: Progress
) -> dict[str, Any]:
    """The scores of a run, kept beside its weights."""

    def imaginer() -> Imaginer:
        mind = run.mind()
        mind.model.to(judge.device)
        return partial(mind.imagine_each, fill=protocol.fill)

    name = f"score-{judge.column}-{_digest(asdict(protocol), judge.weights)}.json"
    asked = _asked(split, protocol, run.recipe.data)
    return _scored(run.path / name, imaginer, judge, asked, protocol, progress)


def score_real(
    folder: Path, judge: Judge, protocol: Protocol, split: Split, data: Data, progress: Progress
) -> dict[str, Any]:
    """The scores of real pictures, kept in a folder: they are the same for all models."""
    digest = _digest(asdict(protocol), asdict(data), judge.weights)
    asked = _asked(split, protocol, data)
    path = folder / f"{split.name}-{judge.column}-{digest}.json"
    return _scored(path, lambda: judge.real().pictures_of_each, judge, asked, protocol, progress)


def accuracy_of(folder: Path, judge: Judge, pictures: int) -> dict[str, Any]:
    """How often the observer names real pictures rightly, by attribute, kept in a folder."""
    path = folder / f"observer-{_digest(asdict(judge.data), pictures, judge.weights)}.json"
    if not path.is_file():
        found = observer_accuracy(judge.observer, judge.real(), pictures)
        write_json(path, {name: estimate.to_json() for name, estimate in found.items()})
    return read_json(path)


def _scored(
    path: Path,
    imaginer: Callable[[], Imaginer],
    judge: Judge,
    asked: Sequence[Concept],
    protocol: Protocol,
    progress: Progress,
) -> dict[str, Any]:
    """Scores from their file, or asked for and written there."""
    if not path.is_file():
        started = time.perf_counter()
        score = ask(imaginer(), judge.observer, asked, protocol, progress=progress)
        seconds = round(time.perf_counter() - started, 2)
        write_json(path, {"seconds": seconds, "device": str(judge.device)} | score.to_json())
    return read_json(path)


def _asked(split: Split, protocol: Protocol, data: Data) -> list[Concept]:
    """The queries of a split: those of the protocol, or the combinations held out."""
    return held_out(data) if split.unseen else queries_of(data.vocabulary, protocol)


def _digest(*parts: Any) -> str:
    """Twelve digits that tell apart what decides a score."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:12]
