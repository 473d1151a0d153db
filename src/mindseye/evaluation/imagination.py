"""A run's scores: the three C's of a trained model, by an observer, beside real pictures."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from mindseye.concepts import Concept, Vocabulary
from mindseye.data import DATASETS, Data, Dataset
from mindseye.data.splits import compositional_split
from mindseye.errors import UsageError, did_you_mean, listed
from mindseye.figures import latent_plane
from mindseye.files import read_json, write_json
from mindseye.labels import Labels, decode
from mindseye.metrics import (
    Base,
    Estimate,
    Imaginer,
    Report,
    Score,
    accuracy,
    evaluate,
    marginals,
    queries,
)
from mindseye.models import Observer
from mindseye.provenance import provenance
from mindseye.runs import BUILTIN, Run

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = [
    "PROTOCOLS",
    "Protocol",
    "ask",
    "compare_runs",
    "evaluate_observer",
    "evaluate_run",
    "evaluated",
    "get_protocol",
    "held_out",
    "observer_accuracy",
    "plane_of",
    "queries_of",
    "real_pictures",
    "scores_of",
]

Progress = Callable[[int, int], None]


VALIDATION = 1_000_000
"""Added to the seed of whatever is drawn for validation; seeds of the test stay below it."""


@dataclass(frozen=True)
class Protocol:
    """What is asked and how answers are scored."""

    samples: int = 100
    """Pictures of every query, S."""

    base: Base = "2"
    """Log base of the Jensen-Shannon divergence: 2 or e."""

    reference: str = "uniform"
    """What unsaid attributes should look like: uniform, or the training data's marginal."""

    levels: tuple[int, ...] = ()
    """How many words are said; all levels if empty."""

    queries: int = 0
    """Queries of every level, drawn with repetition; 0 for all of them once."""

    fill: bool = True
    """Whether what is open is filled at random; if not, its experts are left out (the paper)."""

    part: str = "test"
    """Whose draws, sources and unseen combinations are used: test, or validation to choose by."""

    seed: int = 0
    """Chooses queries and pictures."""

    def __post_init__(self) -> None:
        if self.part not in ("test", "validation"):
            raise UsageError(f"`part={self.part!r}` is not known; expected 'test' or 'validation'.")

    @property
    def draws(self) -> int:
        """The seed of queries and noise; a choice must not be made by the draws of the test."""
        return self.seed + (VALIDATION if self.part == "validation" else 0)


PROTOCOLS = {
    "ours": Protocol(),
    "paper": Protocol(samples=10, base="e", queries=480, fill=False),
    "quick": Protocol(samples=20, queries=40),
}
"""ours: every concept, 100 pictures, bits. paper: as in Figure 4a. quick: a first impression."""


def get_protocol(name: str) -> Protocol:
    """The protocol of that name, or an error that names the near one."""
    if name not in PROTOCOLS:
        raise UsageError(
            f"`protocol={name!r}` is not known; expected {listed(PROTOCOLS)}.",
            did_you_mean(name, PROTOCOLS),
        )
    return PROTOCOLS[name]


def evaluate_run(
    run: Run,
    protocol: Protocol,
    *,
    observer: str | None = None,
    device: torch.device | str = "cpu",
    data: str | None = None,
    progress: Progress | None = None,
) -> Report:
    """Score a run, and keep the report beside its weights as `evaluation.json`.

    Real pictures come from sources that neither the model nor the observer has seen. A run of a
    compositional split is also asked for the combinations it never saw.
    """
    started = time.perf_counter()
    mind = run.mind(observer)
    mind.model.to(device)
    real = real_pictures(run.recipe.data, device, data, protocol.part)
    how: dict[str, Any] = {
        "reference": _reference(run, protocol, data),
        "real": real.pictures_of_each,
        "progress": progress,
    }
    imaginer = partial(mind.imagine_each, fill=protocol.fill)
    score = ask(imaginer, mind.observer, queries_of(mind.vocabulary, protocol), protocol, **how)
    unseen = None
    if run.recipe.data.compositional:
        asked = held_out(run.recipe.data, protocol.part)
        unseen = ask(imaginer, mind.observer, asked, protocol, **how)
    report = Report(run.name, score, unseen, observer_accuracy(mind.observer, real))
    kept = {"judge": observer} | report.to_json()
    _keep(run, kept, protocol, device, time.perf_counter() - started)
    return report


def evaluated(run: Run, protocol: Protocol, observer: str | None = None) -> bool:
    """Whether a run's report is there already, by this protocol and this observer."""
    file = run.path / "evaluation.json"
    if not file.is_file():
        return False
    kept, asked = read_json(file), json.loads(json.dumps(asdict(protocol)))
    return (kept.get("protocol"), kept.get("judge")) == (asked, observer)


def ask(
    imaginer: Imaginer,
    observer: Observer,
    concepts: Sequence[Concept],
    protocol: Protocol,
    *,
    reference: Any = "uniform",
    real: Imaginer | None = None,
    progress: Progress | None = None,
) -> Score:
    """The scores of whoever imagines some concepts, asked and judged by a protocol."""
    return evaluate(
        imaginer,
        partial(_judged, observer),
        concepts,
        samples=protocol.samples,
        base=protocol.base,
        reference=reference,
        seed=protocol.draws,
        note=_HOW[protocol.fill],
        real=real,
        batch=2048 if next(observer.parameters()).is_cuda else 1024,
        progress=progress,
    )


def evaluate_observer(
    run: Run,
    *,
    device: torch.device | str = "cpu",
    data: str | None = None,
    pictures: int = 20_000,
) -> dict[str, Estimate]:
    """How often an observer is right on real pictures of unseen sources, by attribute."""
    started = time.perf_counter()
    observer = run.model()
    if not isinstance(observer, Observer):
        raise UsageError(f"{run.path} is not an observer.")
    real = real_pictures(run.recipe.data, device, data)
    right = observer_accuracy(observer.to(device), real, pictures)
    plain = {"observer": {name: estimate.to_json() for name, estimate in right.items()}}
    _keep(run, plain, None, device, time.perf_counter() - started)
    return right


def observer_accuracy(
    observer: Observer, data: Dataset, pictures: int = 5000
) -> dict[str, Estimate]:
    """How often an observer names real pictures rightly, by attribute."""
    device = next(observer.parameters()).device
    codes, labels = [], []
    for index in torch.arange(pictures, device=device).split(1024):
        x, y = data.examples(index)
        told = None if observer.told is None else y.codes[:, observer.told]
        codes.append(_judged(observer, x, told).cpu())
        labels.append(y.to("cpu"))
    truth = Labels(*(torch.cat(each) for each in zip(*labels, strict=True)))
    return accuracy(torch.cat(codes), truth, observer.vocabulary)


def queries_of(vocabulary: Vocabulary, protocol: Protocol) -> list[Concept]:
    """What a protocol asks, level by level."""
    levels = protocol.levels or range(len(vocabulary.names), 0, -1)
    if wrong := [level for level in levels if not 0 <= level <= len(vocabulary.names)]:
        raise UsageError(
            f"`levels` has {wrong[0]}; a description says 0 to {len(vocabulary.names)} words."
        )
    count = protocol.queries or None
    return [q for level in levels for q in queries(vocabulary, level, count, protocol.draws)]


def held_out(data: Data, part: str = "test") -> list[Concept]:
    """The combinations that a compositional split keeps for the test, or for validation."""
    vocabulary = data.vocabulary
    own = getattr(DATASETS[data.name], "held_out", None)  # of kinds of objects, not of captions
    if own:
        return decode(vocabulary, Labels.full(own(part, data.split_seed)))
    codes = compositional_split(vocabulary.sizes, part, data.split_seed)
    return decode(vocabulary, Labels.full(codes))


def real_pictures(
    data: Data, device: torch.device | str, folder: str | None, part: str = "test"
) -> Dataset:
    """Pictures of the sources of a part, of all combinations."""
    return replace(data, compositional=False).open(part, folder=folder).to(device)


def plane_of(
    run: Run, *, side: int = 24, device: torch.device | str = "cpu", data: str | None = None
) -> Image:
    """The latent plane of a run, coloured by p(y|z), or by neighbours if it learnt no words."""
    mind = run.mind()
    mind.model.to(device)
    knows_words = any("log_py" in name for record in run.log() for name in record["terms"])
    if knows_words:
        return latent_plane(mind, side=side)
    train = run.recipe.data.open("train", folder=data)
    return latent_plane(mind, train.examples(torch.arange(5000)), side=side)


def compare_runs(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """What is known about some runs, a row each: their training and the scores they have."""
    return [run.summary() | scores_of(run) for run in runs]


def scores_of(run: Run) -> dict[str, Any]:
    """Correctness and coverage in percent, by level, of a run that has been evaluated.

    Those of combinations that it never saw are called unseen.
    """
    file = run.path / "evaluation.json"
    if not file.is_file():
        return {}
    kept, found = read_json(file), {}
    for kind, words in (("score", ""), ("unseen", "unseen ")):
        for entry in (kept.get(kind) or {}).get("levels", []):
            for name, estimate in entry["rows"]["model"].items():
                if name != "combined":
                    found[f"{words}{name} {entry['level']}"] = 100 * estimate["mean"]
    return found


_HOW = {
    True: "open attributes filled in at random",
    False: "open attributes left out of the belief",
}


def _judged(observer: Observer, pictures: Tensor, told: Tensor | None = None) -> Tensor:
    """The observer's answers; on a CPU few pictures at once, as many as its caches hold."""
    size = 2048 if pictures.is_cuda else 16
    parts = pictures.split(size)
    each = [None] * len(parts) if told is None else told.split(size)
    return torch.cat([observer.judge(x, t) for x, t in zip(parts, each, strict=True)])


def _reference(run: Run, protocol: Protocol, folder: str | None) -> Any:
    if protocol.reference == "uniform":
        return "uniform"
    if protocol.reference != "marginal":
        raise UsageError(
            f"`reference={protocol.reference!r}` is not known; expected 'uniform' or 'marginal'."
        )
    data = run.recipe.data.open("train", folder=folder)
    return marginals(data.examples(torch.arange(20_000)).y, data.vocabulary)


def _keep(
    run: Run,
    report: dict[str, Any],
    protocol: Protocol | None,
    device: torch.device | str,
    seconds: float,
) -> None:
    """Write the scores beside the weights, with what made them; the package stays as it is."""
    if BUILTIN in run.path.parents:
        return
    facts = {
        "protocol": asdict(protocol) if protocol else None,
        "seconds": round(seconds, 1),
        "provenance": provenance(device),
    }
    write_json(run.path / "evaluation.json", facts | report)
