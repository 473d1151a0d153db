r"""How long and how fast to train: the options, and schedules that are pure functions of the step.

A schedule returns a factor, usually in $[0, 1]$: a learning rate is the base rate times such
factors, the weight of a KL term is one of them. No schedule has a state, so a resumed run continues
on the same curve.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mindseye.errors import UsageError, did_you_mean, listed

__all__ = [
    "GUARD",
    "PATIENCE",
    "Training",
    "constant",
    "cooled",
    "cosine",
    "halving",
    "powers",
    "warmup",
]

GUARD = 100
"""All numbers are checked for being finite every so many steps."""

PATIENCE = 3
"""So many failures in a row, without getting past the furthest of them, end the training."""


def constant(step: int, steps: int) -> float:
    """The factor 1 at every step."""
    return 1.0


def warmup(step: int, over: int) -> float:
    """Rise linearly from 0 at step 0 to 1 at step `over`; with `over=0` there is no rise.

    >>> [warmup(step, over=4) for step in (0, 1, 4, 9)]
    [0.0, 0.25, 1.0, 1.0]
    """
    return 1.0 if step >= over else step / over


def cooled(step: int, heat: float, over: int) -> float:
    """Fall from `heat` at step 0 to 1 at step `over`, by the same factor at every step.

    >>> [round(cooled(step, heat=100.0, over=4), 6) for step in (0, 2, 3, 4, 9)]
    [100.0, 10.0, 3.162278, 1.0, 1.0]
    """
    return 1.0 if step >= over else heat ** (1 - step / over)


def cosine(step: int, steps: int, floor: float = 0.0) -> float:
    r"""Half a cosine wave, $f + (1 - f)\,\tfrac12(1 + \cos \pi t / T)$, then the floor $f$.

    >>> [round(cosine(step, steps=100, floor=0.5), 12) for step in (0, 50, 100, 200)]
    [1.0, 0.75, 0.5, 0.5]
    """
    part = min(step / steps, 1.0)
    return floor + (1.0 - floor) * 0.5 * (1.0 + math.cos(math.pi * part))


def halving(step: int, every: int, floor: float = 0.0) -> float:
    """Half as much after every `every` steps, never below `floor`.

    >>> [halving(step, every=20_000, floor=0.01) for step in (0, 19_999, 20_000, 40_000, 10**6)]
    [1.0, 1.0, 0.5, 0.25, 0.01]
    """
    return max(floor, 0.5 ** (step // every))


def powers(step: int, steps: int) -> float:
    r"""Eight stages of $3^0, 3^1, \dots, 3^7$ parts of the time, stage $i$ with $10^{-i/7}$.

    This is the schedule of Burda et al. (2016), whose parts are epochs.

    >>> [round(powers(step, steps=3280), 4) for step in (0, 1, 4, 3279)]
    [1.0, 0.7197, 0.5179, 0.1]
    """
    stage = bisect_right([(3**i - 1) // 2 for i in range(1, 8)], 3280 * step / steps)
    return 10 ** (-min(stage, 7) / 7)


@dataclass(frozen=True)
class Training:
    """How long and how fast to train.

    >>> Training(steps=200, learning_rate=0.5, warmup=100, schedule="cosine").rate(150)
    0.25
    """

    steps: int = 10_000
    """Number of updates of the weights."""

    batch_size: int = 64
    """Pictures per update."""

    learning_rate: float = 1e-4
    """Adam's step size after the warm-up."""

    warmup: int = 0
    """Steps over which the learning rate rises linearly from 0."""

    schedule: str = "constant"
    """The learning rate after the warm-up: constant, cosine down to 0, powers or halving."""

    beta_warmup: int = 0
    """Steps over which the weight of the KL term rises from 0 to 1; 0 for none."""

    cooling: int = 0
    """Steps, at most half of all, in which a further weight of the KL falls from `heat`-1 to 0."""

    heat: float = 100.0
    """Where the cooling starts: at 100 nothing is worth its nats but the place of a sprite."""

    clip: float = 0.0
    """Largest norm of the gradient, longer ones are scaled down to it; 0 for none."""

    ema: float = 0.0
    """Decay of the moving average of the weights that is used for pictures; 0 for none."""

    weight_decay: float = 0.0
    """Weight of the L2 penalty on the parameters that are handed in for it."""

    adam_betas: tuple[float, float] = (0.9, 0.999)
    """Decay of Adam's running means of the gradient and of its square."""

    opponent_betas: tuple[float, float] = (0.5, 0.9)
    """The same of what plays against the model, such as a discriminator (Kim and Mnih, 2018)."""

    adam_eps: float = 1e-8
    """Adam's smallest divisor."""

    precision: str = "bfloat16"
    """What captured steps compute in on a GPU: bfloat16 or float32."""

    growth: int = 0
    """Steps after which examples may have one part more, from 2 on; 0 for all sizes at once."""

    held: bool = False
    """Whether batches are normalised by the running statistics of the weights that are begun with:
    those of a batch are noise, which blurs what is already known well."""

    log_every: int = 100
    """Steps between two records."""

    checkpoint_every: int = 1000
    """Steps between two checkpoints."""

    seed: int = 0
    """Seed of the noise drawn in training."""

    def __post_init__(self):
        for name in ("steps", "batch_size", "log_every", "checkpoint_every"):
            self._expect(name, "a whole number of at least 1", lambda x: type(x) is int and x >= 1)
        for name in ("warmup", "beta_warmup", "cooling", "growth"):
            self._expect(name, "a whole number of at least 0", lambda x: type(x) is int and x >= 0)
        for name in ("learning_rate", "adam_eps"):
            self._expect(name, "a number above 0", lambda x: 0 < x < math.inf)
        for name in ("clip", "weight_decay"):
            self._expect(name, "a number of at least 0", lambda x: 0 <= x < math.inf)
        self._expect("heat", "a number of at least 1", lambda x: 1 <= x < math.inf)
        self._expect("ema", "a number of at least 0 and below 1", lambda x: 0 <= x < 1)
        for name in ("adam_betas", "opponent_betas"):
            self._expect(name, "two numbers of at least 0 and below 1", _two_decays)
        self._expect("seed", "a whole number from 0 to 2⁶³ - 1", lambda x: x in range(2**63))
        self._expect("schedule", listed(_SCHEDULES), lambda x: x in _SCHEDULES)
        self._expect("precision", listed(_PRECISIONS), lambda x: x in _PRECISIONS)
        for name in ("adam_betas", "opponent_betas"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        if self.cooling and self.beta_warmup:
            raise UsageError(
                f"`beta_warmup={self.beta_warmup}` raises what `cooling={self.cooling}` lowers.",
                "Leave one of them out.",
            )

    def rate(self, step: int) -> float:
        """The learning rate of a step; the last step of the warm-up has the full one."""
        after = _SCHEDULES[self.schedule](
            max(0, step - self.warmup), max(1, self.steps - self.warmup)
        )
        return self.learning_rate * warmup(step + 1, self.warmup) * after

    def beta(self, step: int) -> float:
        """The weight of the KL term at a step, or the heat while it cools."""
        cold = min(self.cooling, self.steps // 2)
        return warmup(step, self.beta_warmup) * cooled(step, self.heat, cold)

    @property
    def weighs(self) -> bool:
        """Whether the weight of the KL term is another at some step than at the last."""
        return bool(self.beta_warmup or self.cooling)

    def decay(self, step: int) -> float:
        """The decay of the moving average at a step: the first weights are forgotten quickly."""
        return min(self.ema, (1 + step) / (10 + step))

    def logs(self, step: int) -> bool:
        """Whether there is a record after so many steps."""
        return step % self.log_every == 0 or step == self.steps

    def saves(self, step: int) -> bool:
        """Whether there is a checkpoint after so many steps."""
        return step % self.checkpoint_every == 0 or step == self.steps

    def checks(self, step: int) -> bool:
        """Whether all numbers are checked for being finite after so many steps."""
        return step % GUARD == 0 or self.saves(step)

    def next_stop(self, step: int) -> int:
        """The next step after which something is read, checked or saved."""
        rhythms = (self.log_every, self.checkpoint_every, GUARD)
        return min(self.steps, *(step - step % every + every for every in rhythms))

    def _expect(self, name: str, expected: str, holds: Callable[[Any], bool]) -> None:
        value = getattr(self, name)
        try:
            fine = holds(value)
        except TypeError:
            fine = False
        if not fine:
            near = did_you_mean(str(value), _CHOICES[name]) if name in _CHOICES else ""
            raise UsageError(f"`{name}` (={value!r}) must be {expected}.", near)


_SCHEDULES: dict[str, Callable[[int, int], float]] = {
    "constant": constant,
    "cosine": cosine,
    "powers": powers,
    "halving": lambda step, steps: halving(step, every=20_000, floor=0.01),
}


_PRECISIONS = ("bfloat16", "float32")
_CHOICES = {"schedule": _SCHEDULES, "precision": _PRECISIONS}


def _two_decays(pair: Any) -> bool:
    return isinstance(pair, tuple | list) and len(pair) == 2 and all(0 <= d < 1 for d in pair)
