r"""How far a run keeps the factors of its data apart: seven scores, and what they are made of.

A model is shown the pictures of chosen factors; its representation is the mean of $q(z \mid x)$.
The scores themselves are in `metrics.disentanglement`, with their equations and what each of them
cannot see. Where all states of the world are asked for, they are encoded once and looked up.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from mindseye.concepts import Vocabulary
from mindseye.errors import DataError, UsageError
from mindseye.evaluation.representations import BATCH, factors_of, looked_up
from mindseye.files import write_json
from mindseye.metrics.disentanglement import (
    DCI,
    Learner,
    Posteriors,
    Represent,
    beta_vae_score,
    dci,
    factor_vae_score,
    mig_chen,
    mig_lib,
    modularity,
    sap,
)
from mindseye.metrics.disentanglement.world import at_least
from mindseye.metrics.likelihood import ACTIVE, rate_distortion
from mindseye.provenance import provenance
from mindseye.runs import BUILTIN, Run

__all__ = [
    "SCORES",
    "Asked",
    "DisentanglementReport",
    "disentanglement_of",
    "evaluate_disentanglement",
    "factors_found",
]

Progress = Callable[[int, int], None]
Device = torch.device | str

SCORES = {
    "beta_vae": "β-VAE score",
    "beta_vae_many": "β-VAE score, of more pairs",
    "factor_vae": "FactorVAE score",
    "mig_chen": "MIG, of posteriors (Chen et al.)",
    "mig_lib": "MIG, of histograms (Locatello et al.)",
    "sap": "SAP",
    "dci_d": "DCI disentanglement",
    "dci_c": "DCI completeness",
    "dci_i": "DCI informativeness",
    "modularity": "modularity",
    "active": "active dimensions",
    "found": "factors with a dimension",
}
"""What is measured, and how it is called."""

LEAST = {"points": 100, "votes": 20, "group": 2, "many": 0, "states": 0}
"""The least that can be asked for."""

MOST = 10_000
"""Draws that an entropy of the MIG of posteriors is the mean of, at the most."""


@dataclass(frozen=True)
class Asked:
    """How much is measured; the defaults are those of the papers."""

    points: int = 10_000
    """States that classifiers and histograms are made of; half as many judge the classifiers."""

    votes: int = 10_000
    """Points of the β-VAE and FactorVAE scores to learn from; half as many to be judged on."""

    group: int = 64
    """States, or pairs of them, that make one such point."""

    many: int = 200
    """Pairs that make one point of a second β-VAE score, with less noise; none is taken if 0."""

    states: int = 0
    """States that the MIG of posteriors sums over; all of the world if 0."""

    learner: Learner = "forest"
    """What gives DCI its importances: forest or boosting."""

    def __post_init__(self) -> None:
        for name, least in LEAST.items():
            at_least(name, getattr(self, name), least)

    @classmethod
    def few(cls, pictures: int) -> Asked:
        """As much as can be said with about so many pictures a score."""
        at_least("pictures", pictures, LEAST["points"])
        votes = max(LEAST["votes"], pictures // 10)
        return cls(points=pictures, votes=votes, many=0, states=pictures)


@dataclass(frozen=True)
class DisentanglementReport:
    """The scores of a representation, and what is worth drawing of them."""

    factors: tuple[str, ...]
    asked: Asked
    scores: dict[str, float]
    """By the keys of `SCORES`; without what was not asked, or DCI where scikit-learn is missing."""

    votes: list[list[int]]
    """Of the FactorVAE score: how often fixing a factor (row) chose a dimension (column)."""

    information: list[list[float]]
    """Between each dimension (row) and each factor (column), in nats, by histograms."""

    entropies: list[float]
    """Of each factor, in nats."""

    gaps: dict[str, list[float]]
    """Factor by factor, of both MIGs and SAP."""

    importance: list[list[float]] | None
    """Of each dimension (row) for each factor (column), by DCI's learner."""

    activities: list[float]
    """The variance of each dimension over states."""

    nats: dict[str, float]
    """Rate and distortion of some pictures, if they were measured."""

    notes: list[str]
    """What was left out, and why."""

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return vars(self) | {"factors": list(self.factors), "asked": vars(self.asked)}

    def to_text(self) -> str:
        """Lines for people."""
        width = max(map(len, SCORES.values()))
        lines = [
            f"{label:<{width}}  {_shown(key, self.scores[key])}"
            for key, label in SCORES.items()
            if key in self.scores
        ]
        if self.nats:
            rate, distortion = self.nats["rate"], self.nats["distortion"]
            total = f"{rate + distortion:.2f} = rate {rate:.2f} + distortion {distortion:.2f}"
            lines.append(f"{'-elbo':<{width}}  {total}")
        asked = self.asked
        more = f" and of {asked.many}" if asked.many else ""
        lines.append(
            f"{asked.points} states, {asked.votes} votes of {asked.group}{more},"
            f" {asked.states or 'all'} states for the MIG of posteriors; DCI by {asked.learner}"
        )
        return "\n".join([*lines, *self.notes])


def evaluate_disentanglement(
    run: Run,
    asked: Asked | None = None,
    *,
    device: Device = "cpu",
    data: str | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> DisentanglementReport:
    """Measure a run, and keep the report beside its weights as `disentanglement.json`.

    Arguments:
        run: A run of a model that reads pictures, of data whose factors are known.
        asked: How much is measured; as much as in the papers if not given.
        device: Where to compute.
        data: A folder with the data.
        seed: Chooses the states.
        progress: Called with the scores that are done and those there are.
    """
    started = time.perf_counter()
    asked = asked or Asked()
    factors_of(run.recipe.data.name)
    model = _reader(run).to(device)
    dataset: Any = run.recipe.data.open("test", seed=seed, folder=data).to(device)

    def posteriors(codes: Tensor) -> Any:
        return model.q_x(dataset.pictures(codes))

    codes = dataset.codes_of(torch.arange(min(1000, asked.points), device=device))
    found = rate_distortion(model, dataset.pictures(codes), 4, seed=seed)
    nats = {name: float(value.mean()) for name, value in found._asdict().items()}
    report = disentanglement_of(
        posteriors,
        dataset.vocabulary,
        asked,
        device=device,
        seed=seed,
        nats=nats,
        progress=progress,
    )
    if BUILTIN not in run.path.parents:
        facts = {
            "seconds": round(time.perf_counter() - started, 1),
            "provenance": provenance(device),
        }
        write_json(run.path / "disentanglement.json", report.to_json() | facts)
    return report


def disentanglement_of(
    posteriors: Posteriors,
    vocabulary: Vocabulary,
    asked: Asked,
    *,
    device: Device = "cpu",
    seed: int = 0,
    nats: dict[str, float] | None = None,
    progress: Progress | None = None,
) -> DisentanglementReport:
    """Measure a representation of a world whose factors are the attributes of a vocabulary.

    Arguments:
        posteriors: Factor codes `(B, K)` in, diagonal normals over `(B, D)` out.
        vocabulary: The factors.
        asked: How much is measured.
        device: Where codes are made.
        seed: Chooses the states.
        nats: What is known of the rate and the distortion.
        progress: Called with the scores that are done and those there are.
    """
    sizes = [len(attribute.values) for attribute in vocabulary]
    if not asked.states:
        posteriors = looked_up(posteriors, sizes, device)
    found = {}
    measures = _measures(posteriors, sizes, asked, {"seed": seed, "batch": BATCH, "device": device})
    for done, (name, measure) in enumerate(measures.items(), 1):
        found[name] = measure()
        if progress:
            progress(done, len(measures))
    classified, notes = found["dci"]
    votes, histograms = found["factor_vae"], found["mig_lib"]
    activities = votes.deviations.square()
    return DisentanglementReport(
        factors=tuple(attribute.name for attribute in vocabulary),
        asked=asked,
        scores={name: found[name].score for name in measures if name != "dci"}
        | _parts_of(classified)
        | {"active": int((activities > ACTIVE).sum()), "found": factors_found(votes.votes)},
        votes=votes.votes.tolist(),
        information=histograms.information.tolist(),
        entropies=histograms.entropies.tolist(),
        gaps={name: found[name].gaps.tolist() for name in ("mig_chen", "mig_lib", "sap")},
        importance=classified.importance.tolist() if classified else None,
        activities=activities.tolist(),
        nats=nats or {},
        notes=notes,
    )


def factors_found(votes: Tensor) -> int:
    """Factors that win the votes `(K, D)` of some dimension; one without votes names none.

    >>> factors_found(torch.tensor([[0, 0, 0], [9, 0, 1], [2, 5, 0]]))
    2
    """
    return len(votes.argmax(0)[votes.sum(0) > 0].unique())


def _measures(
    posteriors: Posteriors, sizes: Sequence[int], asked: Asked, where: dict[str, Any]
) -> dict[str, Callable[[], Any]]:
    """Every measure, by the key of its score, ready to be taken."""

    def represent(codes: Tensor) -> Tensor:
        return posteriors(codes).mean

    world = (represent, sizes)
    points = {"points": asked.points, **where}
    learnt = {"train": asked.points, "test": asked.points // 2, **where}
    voted = {"train": asked.votes, "test": asked.votes // 2, **where}
    summed = {"points": min(asked.states, math.prod(sizes)) or None, **where}
    more = {"beta_vae_many": lambda: beta_vae_score(*world, pairs=asked.many, **voted)}
    return {
        "beta_vae": lambda: beta_vae_score(*world, pairs=asked.group, **voted),
        **(more if asked.many else {}),
        "factor_vae": lambda: factor_vae_score(
            *world, group=asked.group, points=asked.points, **voted
        ),
        "mig_chen": lambda: mig_chen(posteriors, sizes, samples=MOST, **summed),
        "mig_lib": lambda: mig_lib(*world, **points),
        "sap": lambda: sap(*world, **learnt),
        "modularity": lambda: modularity(*world, **points),
        "dci": lambda: _dci(*world, asked.learner, learnt),
    }


def _reader(run: Run) -> Any:
    """The model of a run, if it reads pictures into one normal."""
    if run.recipe.model.kind not in ("vae", "factor", "joint") or "q_x" not in run.recipe.fits:
        raise UsageError(
            f"{run.path} has no q(z|x) that is one normal; disentanglement is measured of models"
            " of `kind=vae`, `factor` or `joint`."
        )
    return run.model()


def _dci(
    represent: Represent, sizes: Sequence[int], learner: Learner, options: dict[str, Any]
) -> tuple[DCI | None, list[str]]:
    """DCI, or a note that says why it is missing."""
    try:
        return dci(represent, sizes, learner=learner, **options), []
    except DataError as error:
        return None, [f"DCI is left out: {error}"]


def _parts_of(found: DCI | None) -> dict[str, float]:
    if found is None:
        return {}
    return {
        "dci_d": found.disentanglement,
        "dci_c": found.completeness,
        "dci_i": found.informativeness_test,
    }


def _shown(key: str, value: float) -> str:
    return str(value) if key in ("active", "found") else f"{value:.3f}"
