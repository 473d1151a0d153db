"""A recipe: everything that decides what a trained model is, as one value.

Recipes are made from one another with `dataclasses.replace` or `Recipe.with_settings`; they are
written into every run as JSON, and a run is opened from that file alone.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from torch import nn

from mindseye.data import DATASETS, Batch, Data
from mindseye.errors import UsageError, did_you_mean, listed
from mindseye.objectives import OBJECTIVES, Bound, Objective, get_objective
from mindseye.papers.model import Model
from mindseye.papers.settings import changed, field_names, from_plain, full_name
from mindseye.training import Training

__all__ = ["RECIPES", "Model", "Recipe", "Refit", "get_recipe", "recipe"]


@dataclass(frozen=True)
class Refit:
    """A last stage: the experts of q(z|y) are fitted to the aggregate posterior of pictures."""

    updates: int = 0
    """Updates of the experts; 0 for no such stage."""

    pictures: int = 16_384
    """Training pictures whose posteriors make up the aggregate."""

    bandwidth: float = 0.15
    """Standard deviation added to every posterior, for the pictures that are not among them."""

    partial: float = 0.5
    """The share of descriptions that leave words out."""

    step_size: float = 1e-3
    """Adam's step size at the start; it falls to 0."""

    def __post_init__(self) -> None:
        if self.updates < 0 or self.pictures < 1 or self.bandwidth < 0 or self.step_size <= 0:
            raise UsageError("`updates`, `pictures`, `bandwidth` or `step_size` is out of range.")

    def training(self, seed: int) -> Training:
        """How the experts are trained."""
        return Training(
            steps=self.updates,
            batch_size=128,
            learning_rate=self.step_size,
            schedule="cosine",
            clip=100.0,
            checkpoint_every=max(1, self.updates // 4),
            seed=seed,
        )


@dataclass(frozen=True)
class Recipe:
    """A model, its data, its objective and how it is trained."""

    name: str
    """What the recipe is called, such as mnist-a/telbo."""

    about: str = ""
    """One sentence: what it reproduces, and what to expect."""

    data: Data = Data()
    model: Model = Model()

    objectives: tuple[str, ...] = ("telbo",)
    """What is maximised; several are stages of equal length, one after the other."""

    weights: Mapping[str, float] = field(default_factory=dict)
    """Weights of the objectives' terms, such as lam and gamma."""

    training: Training = Training()
    refit: Refit = Refit()

    start: str = ""
    """The digest of the recipe whose trained weights it begins with; a fresh model if empty."""

    def __post_init__(self) -> None:
        if not self.objectives:
            raise UsageError("`objectives` is empty; expected at least one.")
        for stage in self.stages:
            if self.model.kind not in stage.trains:
                raise UsageError(
                    f"`objectives` has {stage.name!r}, which trains {listed(stage.trains)} models; "
                    f"this one is of `kind={self.model.kind!r}`.",
                    f"Such a model is trained by {listed(_objectives_of(self.model.kind))}.",
                )
        _check_graph(self.data, self.model)
        for stage in self.stages:
            _check_beside(stage.name, self.model)
        _check_normals(self)
        if self.model.kinds and self.model.networks != "imprint":
            raise UsageError(
                f"`kinds={self.model.kinds}` means nothing for `networks={self.model.networks!r}`:"
                " parts that leave imprints have a mixture for each category.",
                "Leave it at 0.",
            )
        for name in self.weights:
            if name not in _weights(self):
                raise UsageError(
                    f"`{name}` is not a weight of {listed(self.objectives)}; "
                    f"expected {listed(_weights(self))}.",
                    did_you_mean(name, _weights(self)),
                )
        for stage in self.stages:
            stage.check({k: v for k, v in self.weights.items() if k in stage.weights})
        if self.training.beta_warmup and not any(_warmed(stage) for stage in self.stages):
            raise UsageError(
                f"`beta_warmup={self.training.beta_warmup}` warms nothing up: "
                f"{listed(self.objectives)} has no weight beta or capacity.",
                "Leave it out, or raise a bound that has one, such as elbo.",
            )
        if self.training.growth and "most" not in DATASETS[self.data.name].settings:
            raise UsageError(
                f"`growth={self.training.growth}` means nothing for {self.data.name!r}, which has"
                " no parts.",
                "Leave it at 0.",
            )
        if self.training.growth and self.model.flow:
            raise UsageError(
                f"`growth={self.training.growth}` means nothing for flows: wholes of all sizes have"
                " been read before they are fitted.",
                "Leave it at 0.",
            )
        if self.training.cooling and not all(stage.cools for stage in self.stages):
            able = [name for name, stage in OBJECTIVES.items() if stage.cools]
            raise UsageError(
                f"`cooling={self.training.cooling}` cannot cool {listed(self.objectives)}.",
                f"It cools {listed(able)}.",
            )

    @property
    def stages(self) -> list[Objective]:
        """The objectives themselves."""
        return [get_objective(name) for name in self.objectives]

    @property
    def fits(self) -> frozenset[str]:
        """Which inference networks are usable after training.

        Pictures alone have no words, and where nothing is said the prior is what is believed. A
        semi-supervised model reads a description and a manner, and is told both.
        """
        if self.model.kind == "semi":
            return frozenset({"q_x", "q_y"})
        trained = frozenset[str]().union(*(stage.fits for stage in self.stages))
        trained |= frozenset(self.model.reads.split())
        if self.model.kind == "vlvae" and self.model.inference == "joint":
            trained = (trained - {"q_x"}) | {"q_xy"}
        return trained | {"q_y"} if self.model.alone else trained

    @property
    def digest(self) -> str:
        """Twelve hexadecimal digits that tell two recipes apart."""
        facts = Recipe.from_json(self.to_json()).to_json()  # a weight of 10 is one of 10.0
        for part, kind, names in _LATER:  # where nothing is said of them, old digests stay
            for name in names:
                usual = getattr(kind, name)
                if facts[part][name] == ([*usual] if isinstance(usual, tuple) else usual):
                    del facts[part][name]
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:12]

    def build(self) -> nn.Module:
        """A fresh model of this recipe."""
        dataset, likelihood = DATASETS[self.data.name], self.model.likelihood
        if getattr(dataset, "real", False) and likelihood.startswith(("bernoulli", "quantised")):
            raise UsageError(
                f"`likelihood={likelihood!r}` is of pixels in [0, 1]; {self.data.name} has any"
                " numbers.",
                "Try likelihood=principal-normal.",
            )
        return self.model.build(self.data.vocabulary, self.data.shape)

    @property
    def bounds(self) -> list[Callable[[nn.Module, Batch[Any], Any], Bound]]:
        """The bound of every stage, as a function of a model, a batch and the warm-up of β."""
        bound = _heated if self.training.cooling else _warmed_up
        return [partial(bound, stage, self.weights) for stage in self.stages]

    def with_settings(self, settings: Mapping[str, str]) -> Recipe:
        """The recipe with some fields changed, given as text: `{"steps": "200", "lam": "10"}`.

        >>> Recipe("mine").with_settings({"training.steps": "5", "lam": "10"}).weights
        {'lam': 10.0}
        """
        made = self
        for key, text in settings.items():
            made = changed(made, full_name(key, _settings(made)), text)
        return made

    def to_json(self) -> dict[str, Any]:
        """Plain data that `from_json` reads back."""
        return json.loads(json.dumps(dataclasses.asdict(self)))

    @classmethod
    def from_json(cls, value: Any) -> Recipe:
        """A recipe from plain data; unknown or ill-typed fields are named."""
        return from_plain(cls, value, "recipe")


RECIPES: dict[str, Recipe] = {}

FITTED = {
    "aggregate": ("flow", "`mindseye aggregate RUN` gives flows to the model of a run."),
    "aggregate-parts": ("flow", "`mindseye aggregate RUN` gives a flow to the model of a run."),
    "true-posterior": ("flow", "`mindseye aggregate RUN` gives flows to the model of a run."),
    "sharpen": ("sharpen", "`mindseye sharpen RUN` gives a sharpener to the model of a run."),
}
"""Objectives of what stands beside a model that is held still: its size, and who makes it."""

_LATER = (
    ("training", Training, ("cooling", "heat", "growth", "held")),
    (
        "data",
        Data,
        ("side", "most", "featureless", "masked", "fanout", "nodes", "columns", "words"),
    ),
    (
        "model",
        Model,
        (
            "inference",
            "flow",
            "flow_hidden",
            "normals",
            "kinds",
            "reads",
            "strokes",
            "window",
            "language",
            "sharpen",
        ),
    ),
)
"""Fields that came after the first runs."""


def recipe(made: Recipe) -> Recipe:
    """Register a recipe under its name."""
    RECIPES[made.name] = made
    return made


def get_recipe(name: str) -> Recipe:
    """The recipe of that name, or an error that names the near one."""
    if name not in RECIPES:
        raise UsageError(
            f"no recipe is called {name!r}.",
            did_you_mean(name, RECIPES) or "`mindseye list --recipes` lists them.",
        )
    return RECIPES[name]


def _warmed_up(
    stage: Objective, given: Mapping[str, float], model: nn.Module, batch: Batch[Any], beta: Any
) -> Bound:
    """The bound of one stage; the warm-up multiplies its capacity, or else its β."""
    if warmed := _warmed(stage):
        given = {**given, warmed: {**stage.weights, **given}[warmed] * beta}
    return _bound(stage, given, model, batch)


def _heated(
    stage: Objective, given: Mapping[str, float], model: nn.Module, batch: Batch[Any], heat: Any
) -> Bound:
    """The bound of one stage, its divergence that much heavier."""
    return _bound(stage, given, model, batch).heated(heat)


def _bound(
    stage: Objective, given: Mapping[str, Any], model: nn.Module, batch: Batch[Any]
) -> Bound:
    """The bound of one stage, by those of the weights that are its own."""
    weights = stage.weights | {k: v for k, v in given.items() if k in stage.weights}
    return stage.function(model, batch.x, batch.y, **weights)


def _warmed(stage: Objective) -> str | None:
    """The weight that the warm-up multiplies, if there is one."""
    return next((name for name in ("capacity", "beta") if name in stage.weights), None)


def _check_beside(objective: str, model: Model) -> None:
    """What is fitted to a trained model is there, and nothing else is."""
    size, hint = FITTED.get(objective, ("", ""))
    for name, what in {"flow": "flows", "sharpen": "a sharpener"}.items():
        value = getattr(model, name)
        if (name == size) != bool(value):
            fitting = [each for each, (needed, _) in FITTED.items() if needed == name]
            raise UsageError(
                f"`objectives` has {objective!r} and the model has `{name}={value}`: to fit {what}"
                f" to a trained model is the part of {listed(fitting)}, and of nothing else.",
                hint or next(how for needed, how in FITTED.values() if needed == name),
            )


def _check_normals(made: Recipe) -> None:
    """An autoregressive base of q(z) is there where a q(z) is fitted."""
    if made.model.normals and "aggregate" not in made.objectives:
        raise UsageError(
            f"`normals={made.model.normals}` means nothing for {listed(made.objectives)}: they are"
            " of the base of the q(z) that 'aggregate' fits beside a trained model.",
            "Leave it at 0; `mindseye aggregate RUN` fits one.",
        )


def _check_graph(data: Data, model: Model) -> None:
    """A graph and a model of graphs belong together, and what it reads can be asked."""
    if data.is_graph != (model.kind == "graph"):
        raise UsageError(
            f"`data.name={data.name!r}` and `kind={model.kind!r}` do not go together: a graph has"
            " links and no pictures.",
            "Start from a recipe such as cora/vgae or mnist/vae.",
        )
    if model.networks == "linear" and not (data.masked or data.fanout):
        raise UsageError(
            "`networks='linear'` reads pairs one by one, and cannot be asked about all of them.",
            "Hide links, data.masked=0.5, or take networks=gcn.",
        )


def _objectives_of(kind: str) -> list[str]:
    """The objectives that train models of a kind."""
    return [name for name, found in OBJECTIVES.items() if kind in found.trains]


def _settings(made: Recipe) -> list[str]:
    """The full names of what can be set."""
    names = [name for name in field_names(made) if name not in ("name", "about", "weights")]
    return names + [f"weights.{name}" for name in _weights(made)]


def _weights(made: Recipe) -> list[str]:
    """The weights that the objectives know."""
    return list(dict.fromkeys(name for stage in made.stages for name in stage.weights))
