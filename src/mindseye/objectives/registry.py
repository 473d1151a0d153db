"""The registry of objectives: a dict filled where each is defined."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from mindseye.errors import UsageError, did_you_mean, listed
from mindseye.objectives.bound import Bound

__all__ = ["OBJECTIVES", "Objective", "get_objective", "objective"]

F = TypeVar("F", bound=Callable[..., Bound])


@dataclass(frozen=True)
class Objective:
    """An objective and what is known about it."""

    name: str
    function: Callable[..., Bound]
    fits: frozenset[str]
    """Which inference networks are usable once it has been trained: `q_x`, `q_y`, `q_xy`."""
    cite: tuple[str, ...]
    """BibTeX keys."""
    trains: tuple[str, ...]
    """Which kinds of models it trains."""
    cools: bool = False
    """Whether its divergence can be made heavier at first: `bound.DIVERGENCE` names it,
    or the bound says itself what is heavy."""

    @cached_property
    def weights(self) -> dict[str, float]:
        """The weights it takes and their defaults."""
        parameters = inspect.signature(self.function).parameters.values()
        return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}

    def check(self, weights: Mapping[str, Any]) -> None:
        """Raise unless these are weights of this objective."""
        for name, value in weights.items():
            if name not in self.weights:
                raise UsageError(
                    f"`{name}` is not a weight of `{self.name}`; expected {listed(self.weights)}.",
                    did_you_mean(name, self.weights),
                )
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise UsageError(f"`{name}={value!r}` is not a number.")


OBJECTIVES: dict[str, Objective] = {}


def objective(
    name: str, *, fits: str, cite: str, trains: str = "joint", cools: bool = False
) -> Callable[[F], F]:
    """Register a function of a model and a batch as an objective."""

    def register(function: F) -> F:
        OBJECTIVES[name] = Objective(
            name,
            function,
            frozenset(fits.split()),
            tuple(cite.split()),
            tuple(trains.split()),
            cools,
        )
        return function

    return register


def get_objective(name: str) -> Objective:
    """The objective of that name, or an error that names the near ones."""
    if name not in OBJECTIVES:
        raise UsageError(
            f"`objective={name!r}` is not known; expected {listed(sorted(OBJECTIVES))}.",
            did_you_mean(name, OBJECTIVES),
        )
    return OBJECTIVES[name]
