"""A model and everything that a step of training changes.

The state of a learner is one dictionary of tensors: weights, Adam's moments, the average, random
numbers and counters. Load it, and the steps go on as if nothing had happened. Who takes the steps
is an engine: `Eager` one by one, `Captured` many at a time on a GPU.
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.utils import get_total_norm

from mindseye.errors import UsageError
from mindseye.kernels import available
from mindseye.tensors import check_shapes, is_finite
from mindseye.training.captured import Captured
from mindseye.training.eager import Eager, part
from mindseye.training.plan import Plan

__all__ = ["Learner", "Stream"]


class Learner:
    """A model and all that a step changes: optimiser, average, random stream, counters.

    Arguments:
        model: The module to train, on its device.
        plan: What a step does.
        decayed: The parameters that weight decay acts on.
        compiled: Whether steps are captured, where that can be done.
    """

    def __init__(
        self,
        model: nn.Module,
        plan: Plan,
        decayed: Collection[nn.Parameter] = (),
        *,
        compiled: bool = False,
    ):
        self.model, self.plan, self.options = model, plan, plan.options
        parameters = [p for p in model.parameters() if p.requires_grad]
        _check(parameters, plan, decayed)
        device = parameters[0].device
        captured = compiled and device.type == "cuda" and available()
        self.engine = (Captured if captured else Eager)(model, plan, decayed)
        self.stream = Stream(device, plan.options.seed)
        self.step = self.rollbacks = self.failures = self.furthest = 0
        self.seconds = 0.0
        self.forget()

    def forget(self) -> None:
        """Start the running means anew."""
        self.totals: defaultdict[str, float] = defaultdict(float)
        self.counts: defaultdict[str, int] = defaultdict(int)
        self.latest = math.nan
        self.since = (self.step, self.seconds)

    def rate(self, step: int) -> float:
        """The learning rate of a step, halved by every rollback."""
        return self.plan.step(step, self.rollbacks).rate

    def advance(self, stop: int) -> None:
        """Take the steps up to `stop`, then wait for the device once."""
        begun = time.perf_counter()
        self.model.train()
        if self.options.held:
            _hold(self.model)
        with self.stream:
            self.engine.advance([self.plan.step(s, self.rollbacks) for s in range(self.step, stop)])
        self.step = stop
        for name, (total, count) in self.engine.wait().items():
            self.totals[name] += total
            self.counts[name] += count
            if name == "bound":
                self.latest = total / count
        self.seconds += time.perf_counter() - begun

    @property
    def norm(self) -> float:
        """The norm of the last gradient, before clipping."""
        return self.engine.norm.item()

    def trouble(self, full: bool) -> str:
        """What is not finite, in words, or nothing; `full` looks at every tensor."""
        if not math.isfinite(self.totals["bound"]):
            return "the bound was not finite"
        if not full or get_total_norm(self.engine.floats()).isfinite():
            return ""
        # A sum of squares may overflow where no number does.
        bad = [name for name, tensor in self.engine.live().items() if not is_finite(tensor)]
        return f"tensor {bad[0]!r} was not finite" if bad else ""

    def state(self) -> dict[str, Tensor]:
        """A copy of everything the next step depends on."""
        copies = self.engine.copy()
        updates = self.step if self.options.ema else 0
        counters = [self.step, self.rollbacks, self.failures, self.furthest, updates]
        return copies | self.stream.states | {"counters": torch.tensor(counters)}

    def weights(self, state: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The weights in a state to imagine with."""
        return part(state, "ema." if self.options.ema else "model.")

    def load(self, state: Mapping[str, Tensor], source: Any) -> None:
        """Go on from a state, after a look at its shapes."""
        check_shapes(_shapes(state), _shapes(self.engine.live()), source)
        counters = state["counters"].tolist()
        self.step, self.rollbacks, self.failures, self.furthest, _ = counters
        self.engine.load(state, self.step)
        self.stream.load(state)
        self.forget()


def _hold(model: nn.Module) -> None:
    """Normalise by running statistics, which stay what they are."""
    for module in model.modules():
        if isinstance(module, _BatchNorm):
            module.eval()


class Stream:
    """A random stream of its own; entering swaps it with the caller's, leaving swaps back."""

    def __init__(self, device: torch.device, seed: int):
        self.generators = {"rng.cpu": torch.default_generator}
        if device.type == "cuda":
            self.generators["rng.cuda"] = torch.cuda.default_generators[device.index]
        self.seed(seed)

    def seed(self, seed: int) -> None:
        """Start the stream of a seed."""
        self.states = {
            name: torch.Generator(generator.device).manual_seed(seed).get_state()
            for name, generator in self.generators.items()
        }

    def load(self, states: Mapping[str, Tensor]) -> None:
        """Go on where another stream was; a device it did not know keeps its own."""
        self.states = {name: states.get(name, own) for name, own in self.states.items()}

    def __enter__(self) -> None:
        self._callers = {name: g.get_state() for name, g in self.generators.items()}
        self._set(self.states)

    def __exit__(self, *_: object) -> None:
        self.states = {name: g.get_state() for name, g in self.generators.items()}
        self._set(self._callers)

    def _set(self, states: Mapping[str, Tensor]) -> None:
        for name, generator in self.generators.items():
            generator.set_state(states[name])


def _check(
    parameters: Collection[nn.Parameter], plan: Plan, decayed: Collection[nn.Parameter]
) -> None:
    """Refuse what cannot be trained."""
    if not parameters:
        raise UsageError("`model` has no parameter to train.")
    if not set(decayed) <= set(parameters):
        raise UsageError("`decayed` holds a parameter that `model` does not train.")
    if plan.options.weight_decay and not decayed:
        message = f"`weight_decay` (={plan.options.weight_decay}) has nothing to act on."
        raise UsageError(message, "Hand the parameters in as `decayed`.")


def _shapes(state: Mapping[str, Tensor]) -> dict[str, torch.Size]:
    """The shapes of the weights and their average; all else follows from them."""
    return {n: t.shape for n, t in state.items() if n.startswith(("model.", "ema."))}
