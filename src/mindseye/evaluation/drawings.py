r"""What a model that paints captions is worth: its bound, and the words that are in its pictures.

The bound of $\log p(x \mid y)$ is in nats a picture, one draw of the strokes, of pictures of the
training part drawn anew, of validation and of test. For every caption one picture is painted, the
expected one of random strokes, and an observer says which words hold; *all* is the share of
pictures in which all of them do. Where combinations are held out, those of training are *seen*,
and those of the test were *never seen*. Beside them stand real pictures of the same captions: the
ceiling.
Sharpness is that of `metrics.sharpness`.

References:
    Generating Images from Captions with Attention, Mansimov, Parisotto, Ba and Salakhutdinov, 2016
    https://arxiv.org/abs/1511.02793
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from mindseye.data import Batch, Dataset
from mindseye.errors import UsageError
from mindseye.files import write_json
from mindseye.labels import Labels
from mindseye.metrics import Estimate, bootstrap
from mindseye.metrics.sharpness import sharpness
from mindseye.models import Observer
from mindseye.objectives import draw
from mindseye.painting import Painter
from mindseye.provenance import provenance
from mindseye.randomness import keys, normals
from mindseye.runs import BUILTIN, Run

__all__ = ["DrawingReport", "evaluate_drawings", "measured_words"]

Progress = Callable[[int, int], None]

AT_ONCE = {"cuda": 1000, "cpu": 100}
"""Pictures that are measured at once."""

FRESH = 1_000_000
"""The seed of new pictures of captions that were seen in training."""

BOUNDS = ("train", "validation", "test")


@dataclass(frozen=True)
class DrawingReport:
    """What was measured of a model that paints captions."""

    pictures: int
    values: Mapping[str, Estimate]
    """By name: `bound test`, `kl test`, `seen all`, `unseen digit`, `real seen all` …"""

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        found = {name: estimate.to_json() for name, estimate in self.values.items()}
        return {"pictures": self.pictures, "values": found}

    def to_text(self) -> str:
        """Lines for people."""
        wide = max(map(len, map(_label, self.values)))
        lines = [f"{self.pictures} pictures of every part, 95 % intervals"]
        for name, e in self.values.items():
            numbers = (e.mean, e.low, e.high)
            mean, low, high = (_shown(name, number) for number in numbers)
            lines.append(f"{_label(name):{wide}}  {mean}  ({low} to {high})")
        return "\n".join(lines)


def evaluate_drawings(
    run: Run,
    *,
    observer: Observer | None = None,
    pictures: int = 1000,
    device: torch.device | str = "cpu",
    data: str | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> DrawingReport:
    """Measure a run, and keep the report beside its weights as `drawings.json`.

    Arguments:
        run: A run of a model that paints captions, sharpened or not.
        observer: Who says which words hold; without one only bounds are measured.
        pictures: How many of every part.
        device: Where to compute.
        data: A folder with the data.
        seed: Chooses the draws.
        progress: Called with the pictures that are done and those there are.
    """
    started = time.perf_counter()
    mind = run.mind()
    if not isinstance(mind, Painter):
        raise UsageError(f"{run.path} is of `kind={run.recipe.model.kind!r}` and paints nothing.")
    if pictures < 1:
        raise UsageError(f"`pictures={pictures}` is too few; expected 1 or more.")
    mind.model.to(device)
    work = _Work(mind, observer.eval().to(device) if observer else None, pictures, seed, progress)
    opened = {
        part: run.recipe.data.open(part, seed=FRESH, folder=data).to(device) for part in BOUNDS
    }
    report = DrawingReport(pictures, work.report(opened, held=run.recipe.data.compositional))
    if BUILTIN not in run.path.parents:
        facts = {
            "seconds": round(time.perf_counter() - started, 1),
            "provenance": provenance(device),
        }
        write_json(run.path / "drawings.json", facts | report.to_json())
    return report


def measured_words(observer: Observer, x: Tensor, y: Labels) -> dict[str, Tensor]:
    """Whether every word that is judged holds in pictures, by place, and whether all do, `(B,)`."""
    told = None if observer.told is None else y.codes[:, observer.told]
    right = observer.judge(x, told) == y.codes
    judged = [k for k in range(right.shape[1]) if k != observer.told]
    found = {observer.vocabulary.names[k]: right[:, k] for k in judged}
    return found | {"all": right[:, judged].all(1)}


class _Work:
    """What is measured of a model, part by part."""

    def __init__(
        self,
        mind: Painter,
        observer: Observer | None,
        pictures: int,
        seed: int,
        progress: Progress | None,
    ):
        self.mind, self.observer, self.pictures, self.seed = mind, observer, pictures, seed
        self.progress, self.done, self.total = progress, 0, 1
        self.found: dict[str, list[Tensor]] = {}

    @torch.no_grad()
    def report(self, opened: Mapping[str, Dataset], *, held: bool) -> dict[str, Estimate]:
        """All measures, by name; `held` says whether the test's combinations were never seen."""
        asked = {"train": "seen", "test": "unseen"} if held else {"test": "seen"}
        asked = asked if self.observer else {}
        self.total = self.pictures * (len(opened) + len(asked))
        devices = [self.mind.device] if self.mind.device.type == "cuda" else []
        with torch.random.fork_rng(devices=devices):
            torch.manual_seed(self.seed)
            for part, dataset in opened.items():
                for batch, _ in self._batches(dataset):
                    self._keep(self._bounds(batch, part))
            for part, name in asked.items():
                for batch, key in self._batches(opened[part]):
                    self._keep(self._words(batch, key, name))
        return {name: bootstrap(torch.cat(values)) for name, values in self.found.items()}

    def _batches(self, dataset: Dataset) -> Iterator[tuple[Batch[Labels], Tensor]]:
        """The pictures of a part with a key for each, as many as are measured at once."""
        device = self.mind.device
        index = torch.arange(min(self.pictures, dataset.count), device=device)
        for some in index.split(AT_ONCE[device.type]):
            yield dataset.examples(some), keys(self.seed, some, "drawings")
            self.done += len(some)
            if self.progress:
                self.progress(self.done, self.total)

    def _keep(self, values: Iterator[tuple[str, Tensor]]) -> None:
        for name, each in values:
            self.found.setdefault(name, []).append(each.double().cpu())

    def _bounds(self, batch: Batch[Labels], part: str) -> Iterator[tuple[str, Tensor]]:
        bound = draw(self.mind.painted, batch.x, batch.y)
        yield f"bound {part}", bound.value
        yield f"kl {part}", bound.terms["kl_qxy_p"]

    def _words(self, batch: Batch[Labels], key: Tensor, name: str) -> Iterator[tuple[str, Tensor]]:
        assert self.observer is not None
        x, y = batch
        z = self.mind.painted.q_y(y).at(normals(key, self.mind.painted.latent))
        painted = self.mind.expected(z)
        for place, right in measured_words(self.observer, painted, y).items():
            yield f"{name} {place}", right
        for place, right in measured_words(self.observer, x, y).items():
            yield f"real {name} {place}", right
        if name == "seen":
            yield "sharpness", sharpness(painted)
            yield "real sharpness", sharpness(x)


def _label(name: str) -> str:
    """What a report calls a measure."""
    kind, _, rest = name.partition(" ")
    if kind == "bound":
        return f"log p(x|y) of {rest}, at least"
    if kind == "kl":
        return f"  of which KL(q, p) of {rest}"
    if kind == "real":
        return f"  in real pictures: {rest}" if rest != "sharpness" else "  of real pictures"
    words = {"seen": "words right", "unseen": "words right, combinations never seen"}
    return f"{words[kind]}: {rest}" if kind in words else name


def _shown(name: str, number: float) -> str:
    kind = name.partition(" ")[0]
    if kind in ("bound", "kl"):
        return f"{number:.2f}"
    return f"{number:.4f}" if "sharpness" in name else f"{number:.1%}"
