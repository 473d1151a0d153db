"""What a step of training does, whoever does it."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from torch import nn

from mindseye.training.schedules import Training

if TYPE_CHECKING:
    from mindseye.objectives.bound import Bound

__all__ = ["BoundOf", "Growth", "Plan", "Step"]

BoundOf = Callable[[nn.Module, Any, Any], "Bound"]
"""The bound of a model on a batch, for a weight of the KL term."""


class Step(NamedTuple):
    """One step, before it is taken."""

    bound: BoundOf
    number: int
    """Of the batch."""
    rate: float
    """Adam's step size."""
    beta: float
    """The weight of the KL term."""
    average: float
    """The share of the new weights in the moving average."""
    level: int = 0
    """How large the examples of the batch may be, where that grows."""


@dataclass(frozen=True)
class Growth:
    """A curriculum: examples may be `first` large, and one larger after every `every` steps.

    >>> growth = Growth(first=2, last=4, every=1000)
    >>> [growth.level(step) for step in (0, 999, 1000, 2000, 10**6)]
    [2, 2, 3, 4, 4]
    """

    first: int
    last: int
    every: int

    def level(self, step: int) -> int:
        """How large examples may be at a step."""
        return min(self.last, self.first + step // self.every)

    def next_stop(self, step: int) -> float:
        """The next step with larger examples."""
        return step - step % self.every + self.every if self.level(step) < self.last else math.inf


@dataclass(frozen=True)
class Plan:
    """The steps of a training.

    Arguments:
        bounds: What is raised; several are stages of equal length.
        batch: The batch of a number. An engine that takes many steps at once calls it with a number
            on the device and a count: so many batches, one behind the other.
        options: How long and how fast.
        growth: How large examples may be; then `batch` is called with a `level` too.
    """

    bounds: Sequence[BoundOf]
    batch: Callable[..., Any]
    options: Training
    growth: Growth | None = None

    @cached_property
    def starts(self) -> list[int]:
        """The first step of every stage, and the end of the last."""
        stages = len(self.bounds)
        return [-(-self.options.steps * stage // stages) for stage in range(stages + 1)]

    def stage(self, step: int) -> int:
        """Which of the bounds a step raises."""
        return min(bisect_right(self.starts, step), len(self.bounds)) - 1

    def next_stop(self, step: int) -> int:
        """The next step after which something is read, checked or saved, or the stage changes."""
        larger = self.growth.next_stop(step) if self.growth else math.inf
        return int(min(self.options.next_stop(step), self.starts[self.stage(step) + 1], larger))

    def level(self, step: int) -> int:
        """How large the examples of a step may be; 0 where they do not grow."""
        return self.growth.level(step) if self.growth else 0

    def drawn(self, number: Any, level: int, *count: int) -> Any:
        """The batch of a number and a level, or a count of them from there on."""
        if self.growth:
            return self.batch(number, *(count or (1,)), level)
        return self.batch(number, *count)

    def step(self, step: int, rollbacks: int) -> Step:
        """A step; a stage has schedules of its own, a rollback other batches and half the rate."""
        stage = self.stage(step)
        own, inside = self._schedules[stage], step - self.starts[stage]
        return Step(
            self.bounds[stage],
            step + rollbacks * self.options.steps,
            own.rate(inside) * 0.5**rollbacks,
            own.beta(inside),
            1 - self.options.decay(step),
            self.level(step),
        )

    @cached_property
    def _schedules(self) -> list[Training]:
        """The options of every stage, as long as the stage is."""
        return [replace(self.options, steps=max(1, b - a)) for a, b in pairwise(self.starts)]
