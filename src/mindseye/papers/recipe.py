"""A recipe: everything that decides what a trained model is, as one value.

Recipes are made from one another with `dataclasses.replace` or `Recipe.with_settings`; they are
written into every run as JSON, and a run is opened from that file alone.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from torch import nn

from mindseye.concepts import Vocabulary
from mindseye.data import DATASETS, Batch, Data
from mindseye.errors import UsageError, did_you_mean, listed
from mindseye.models import JointVAE, Observer
from mindseye.objectives import Bound, Objective, get_objective
from mindseye.training import Training

__all__ = ["RECIPES", "Model", "Recipe", "get_recipe", "recipe"]


@dataclass(frozen=True)
class Model:
    """Which networks, and how large."""

    kind: str = "joint"
    """joint (a joint VAE) or observer (a classifier of attributes)."""

    networks: str = "paper"
    """paper, lean or dense for a joint model; strong or paper for an observer."""

    latent: int = 10
    """Size of the latent."""

    width: int = 0
    """Channels of the decoder's (or observer's) first layer; 0 for the networks' own."""

    hidden: int = 0
    """Width of the dense layers; 0 for the networks' own."""

    def __post_init__(self) -> None:
        if self.kind not in ("joint", "observer"):
            raise UsageError(f"`kind={self.kind!r}` is not known; expected 'joint' or 'observer'.")
        if self.latent < 1 or self.width < 0 or self.hidden < 0:
            raise UsageError("`latent` must be positive, `width` and `hidden` not negative.")

    def build(self, vocabulary: Vocabulary, shape: tuple[int, int, int]) -> nn.Module:
        """A fresh model."""
        if self.kind == "observer":
            return Observer(vocabulary, shape, self.networks, self.width or 32)
        return JointVAE(vocabulary, shape, self.latent, self.networks, self.width, self.hidden)


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

    def __post_init__(self) -> None:
        known = {name: None for stage in self.stages for name in stage.weights}
        for name in self.weights:
            if name not in known:
                raise UsageError(
                    f"`{name}` is not a weight of {listed(self.objectives)}; "
                    f"expected {listed(known)}.",
                    did_you_mean(name, known),
                )
        for stage in self.stages:
            stage.check({k: v for k, v in self.weights.items() if k in stage.weights})

    @property
    def stages(self) -> list[Objective]:
        """The objectives themselves."""
        return [get_objective(name) for name in self.objectives]

    @property
    def fits(self) -> frozenset[str]:
        """Which inference networks are usable after training."""
        return frozenset().union(*(stage.fits for stage in self.stages))

    @property
    def digest(self) -> str:
        """Twelve hexadecimal digits that tell two recipes apart."""
        return hashlib.sha256(json.dumps(self.to_json(), sort_keys=True).encode()).hexdigest()[:12]

    def build(self) -> nn.Module:
        """A fresh model of this recipe."""
        dataset = DATASETS[self.data.name]
        return self.model.build(dataset.vocabulary, dataset.shape)

    def bound(self, model: nn.Module, numbered: tuple[int, Batch], beta: float) -> Bound:
        """The bound of batch number `step`, by the objective of its stage."""
        step, batch = numbered
        steps = self.training.steps  # numbers beyond it come after a rollback
        stage = self.stages[step % steps * len(self.stages) // steps]
        weights = stage.weights | {k: v for k, v in self.weights.items() if k in stage.weights}
        weights["beta"] *= beta
        return stage.function(model, batch.x, batch.y, **weights)

    def with_settings(self, settings: Mapping[str, str]) -> Recipe:
        """The recipe with some fields changed, given as text: `{"steps": "200", "lam": "10"}`.

        >>> Recipe("mine").with_settings({"training.steps": "5", "lam": "10"}).weights
        {'lam': 10.0}
        """
        changed = self
        for key, text in settings.items():
            changed = _changed(changed, _resolved(changed, key), text)
        return changed

    def to_json(self) -> dict[str, Any]:
        """Plain data that `from_json` reads back."""
        return json.loads(json.dumps(dataclasses.asdict(self)))

    @classmethod
    def from_json(cls, value: Any) -> Recipe:
        """A recipe from plain data; unknown or ill-typed fields are named."""
        return _from_plain(cls, value, "recipe")


RECIPES: dict[str, Recipe] = {}


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


def _fields(value: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The dotted name and the type of every field that can be set."""
    hints = typing.get_type_hints(type(value))
    for each in dataclasses.fields(value):
        inner = getattr(value, each.name)
        if dataclasses.is_dataclass(inner):
            yield from _fields(inner, f"{prefix}{each.name}.")
        else:
            yield f"{prefix}{each.name}", hints[each.name]


def _resolved(made: Recipe, key: str) -> str:
    """The full dotted name of a field, from it or from its last part where that is unique."""
    names = [name for name, _ in _fields(made) if name not in ("name", "about", "weights")]
    names += [f"weights.{name}" for stage in made.stages for name in stage.weights]
    names = list(dict.fromkeys(names))
    found = [name for name in names if name == key or name.rpartition(".")[2] == key]
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(f"`{key}` could be {listed(found)}; write one of them.")
    short = [name.rpartition(".")[2] for name in names]
    raise UsageError(
        f"`{key}` is not a setting of {made.name!r}.",
        did_you_mean(key, [*names, *short]) or f"Expected {listed(short)}.",
    )


def _changed(made: Recipe, name: str, text: str) -> Recipe:
    """The recipe with one field, named in full, read from text."""
    section, _, leaf = name.rpartition(".")
    if section == "weights":
        return replace(made, weights={**made.weights, leaf: _parsed(float, text, name)})
    kind = dict(_fields(made))[name]
    if not section:
        return replace(made, **{leaf: _parsed(kind, text, name)})
    inner = replace(getattr(made, section), **{leaf: _parsed(kind, text, name)})
    return replace(made, **{section: inner})


def _parsed(kind: Any, text: str, name: str) -> Any:
    """Text as a value of a field's type."""
    if typing.get_origin(kind) is tuple:
        inner = typing.get_args(kind)[0]
        return tuple(_parsed(inner, part.strip(), name) for part in text.split(","))
    try:
        return _READERS[kind](text)
    except (KeyError, ValueError) as error:
        expected = {bool: "true or false", int: "a whole number", float: "a number"}
        raise UsageError(
            f"`{name}={text!r}` is not {expected.get(kind, 'a value')}."
        ) from error


_READERS: dict[Any, Callable[[str], Any]] = {
    str: str,
    float: float,
    int: lambda text: int(float(text)) if float(text).is_integer() else int(text),
    bool: lambda text: {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}[
        text.lower()
    ],
}


def _from_plain(kind: Any, value: Any, where: str) -> Any:
    """A dataclass, tuple, mapping or scalar from JSON, checked on the way."""
    origin = typing.get_origin(kind)
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return _dataclass_from_plain(kind, value, where)
    if origin is tuple and isinstance(value, list):
        inner = typing.get_args(kind)
        kinds = [inner[0]] * len(value) if inner[-1] is Ellipsis else list(inner)
        if len(kinds) == len(value):
            return tuple(_from_plain(k, v, where) for k, v in zip(kinds, value, strict=True))
    if origin not in (None, tuple, types.UnionType) and isinstance(value, dict):
        return {str(k): _from_plain(float, v, f"{where}.{k}") for k, v in value.items()}
    if kind is float and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if isinstance(kind, type) and type(value) is kind:
        return value
    raise UsageError(f"`{where}={value!r}` is not of the expected type.")


def _dataclass_from_plain(kind: type, value: Any, where: str) -> Any:
    if not isinstance(value, dict):
        raise UsageError(f"`{where}` must be an object with named fields.")
    hints = typing.get_type_hints(kind)
    names = [each.name for each in dataclasses.fields(kind)]
    for name in value:
        if name not in names:
            raise UsageError(f"`{where}.{name}` is not a field.", did_you_mean(name, names))
    if missing := [f.name for f in dataclasses.fields(kind) if _required(f) and f.name not in value]:
        raise UsageError(f"`{where}.{missing[0]}` is missing.")
    return kind(**{n: _from_plain(hints[n], v, f"{where}.{n}") for n, v in value.items()})


def _required(each: dataclasses.Field[Any]) -> bool:
    return each.default is dataclasses.MISSING and each.default_factory is dataclasses.MISSING
