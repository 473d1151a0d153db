"""A model and everything that a step of training changes.

The state of a learner is one dictionary of tensors: weights, Adam's moments, the average, random
numbers and counters. Load it, and the steps go on as if nothing had happened.
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn.utils import clip_grad_norm_, get_total_norm

from mindseye.errors import UsageError
from mindseye.tensors import check_shapes, is_finite
from mindseye.training.averaging import Average
from mindseye.training.schedules import Training

if TYPE_CHECKING:
    from mindseye.objectives.bound import Bound

__all__ = ["Learner", "Stream"]


class Learner:
    """A model and all that a step changes: optimiser, average, random stream, counters."""

    def __init__(
        self,
        model: nn.Module,
        bound: Callable[[nn.Module, Any, float], Bound],
        batch: Callable[[int], Any],
        options: Training,
        decayed: Collection[nn.Parameter],
    ):
        self.model, self.bound, self.batch, self.options = model, bound, batch, options
        self.parameters = {name: p for name, p in model.named_parameters() if p.requires_grad}
        self.adam = _adam(self.parameters, options, decayed)
        self.average = Average(model, options.ema) if options.ema else None
        self.stream = Stream(next(iter(self.parameters.values())).device, options.seed)
        self.step = self.rollbacks = self.failures = self.furthest = 0
        self.seconds = 0.0
        self.forget()

    def forget(self) -> None:
        """Start the running means anew."""
        self.values: defaultdict[str, list[Tensor]] = defaultdict(list)
        self.totals: defaultdict[str, float] = defaultdict(float)
        self.counts: defaultdict[str, int] = defaultdict(int)
        self.norm = torch.tensor(math.nan)
        self.since = (self.step, self.seconds)

    def rate(self, step: int) -> float:
        """The learning rate of a step, halved by every rollback."""
        return self.options.rate(step) * 0.5**self.rollbacks

    def advance(self, stop: int) -> None:
        """Take the steps up to `stop`, then wait for the device once."""
        begin = time.perf_counter()
        self.model.train()
        with self.stream:
            while self.step < stop:
                self._update(last=self.step + 1 == stop)
        self._read()
        self.seconds += time.perf_counter() - begin

    def _update(self, last: bool) -> None:
        """One step of Adam up the bound, queued on the device without waiting for it."""
        number = self.step + self.rollbacks * self.options.steps
        bound = self.bound(self.model, self.batch(number), self.options.beta(self.step))
        loss = -bound.value.mean()  # the one place where the sign flips
        self.adam.zero_grad()
        loss.backward()
        self._clip(last)
        for group in self.adam.param_groups:
            group["lr"] = self.rate(self.step)
        self.adam.step()
        if self.average:
            self.average.update()
        for name, value in {"bound": bound.value, **bound.terms}.items():
            self.values[name].append(value.detach())
        self.step += 1

    def _clip(self, last: bool) -> None:
        """Shorten the gradient; without clipping, its norm is only taken before a record."""
        if self.options.clip:
            self.norm = clip_grad_norm_(self.parameters.values(), self.options.clip)
        elif last:
            gradients = [p.grad for p in self.parameters.values() if p.grad is not None]
            self.norm = get_total_norm(gradients)

    def _read(self) -> None:
        """Add up what the steps left on the device; a non-finite value stays visible."""
        for name, values in self.values.items():
            self.totals[name] += torch.cat(values).sum().item()
            self.counts[name] += sum(map(len, values))
        self.values.clear()

    def trouble(self, full: bool) -> str:
        """What is not finite, in words, or nothing; `full` looks at every tensor."""
        if not math.isfinite(self.totals["bound"]):
            return "the bound"
        live = self._live() if full else {}
        floats = [tensor for tensor in live.values() if tensor.is_floating_point()]
        if get_total_norm(floats).isfinite():  # one look at all; only a sum of squares overflows
            return ""
        bad = [name for name, tensor in live.items() if not is_finite(tensor)]
        return f"tensor {bad[0]!r}" if bad else ""

    def state(self) -> dict[str, Tensor]:
        """A copy of everything the next step depends on."""
        copies = {name: tensor.detach().clone() for name, tensor in self._live().items()}
        updates = self.average.updates if self.average else 0
        counters = [self.step, self.rollbacks, self.failures, self.furthest, updates]
        return copies | self.stream.states | {"counters": torch.tensor(counters)}

    def _live(self) -> dict[str, Tensor]:
        """The tensors that steps change, by name."""
        live = {f"model.{name}": tensor for name, tensor in self.model.state_dict().items()}
        for name, parameter in self.parameters.items():
            moments = self.adam.state[parameter]
            live |= {f"adam.{moment}.{name}": tensor for moment, tensor in moments.items()}
        average = self.average.weights() if self.average else {}
        return live | {f"ema.{name}": tensor for name, tensor in average.items()}

    def weights(self, state: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The weights in a state to imagine with."""
        return _part(state, "ema." if self.average else "model.")

    def load(self, state: Mapping[str, Tensor], source: Any) -> None:
        """Go on from a state, after a look at its shapes."""
        check_shapes(_shapes(state), _shapes(self._live()), source)
        self.model.load_state_dict(_part(state, "model."))
        for name, parameter in self.parameters.items():
            self.adam.state[parameter] = _moments(state, name, parameter)
        self.step, self.rollbacks, self.failures, self.furthest, updates = state[
            "counters"
        ].tolist()
        if self.average:
            self.average.load(_part(state, "ema."), updates)
        self.stream.load(state)
        self.forget()


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


def _adam(
    parameters: Mapping[str, nn.Parameter], options: Training, decayed: Collection[nn.Parameter]
) -> torch.optim.Adam:
    """Adam in one fused kernel, with the L2 penalty on some of the parameters."""
    if not parameters:
        raise UsageError("`model` has no parameter to train.")
    if not set(decayed) <= set(parameters.values()):
        raise UsageError("`decayed` holds a parameter that `model` does not train.")
    if options.weight_decay and not decayed:
        message = f"`weight_decay` (={options.weight_decay}) has nothing to act on."
        raise UsageError(message, "Hand the parameters in as `decayed`.")
    decayed = decayed if options.weight_decay else ()
    free = [parameter for parameter in parameters.values() if parameter not in set(decayed)]
    groups = [{"params": free}, {"params": list(decayed), "weight_decay": options.weight_decay}]
    groups = [group for group in groups if group["params"]]
    return torch.optim.Adam(groups, betas=options.adam_betas, eps=options.adam_eps, fused=True)


def _moments(state: Mapping[str, Tensor], name: str, parameter: nn.Parameter) -> dict[str, Tensor]:
    """What Adam knows of a parameter; nothing, if no gradient has come yet."""
    if f"adam.step.{name}" not in state:
        return {}
    first, second = (state[f"adam.{moment}.{name}"] for moment in ("exp_avg", "exp_avg_sq"))
    return {
        "step": state[f"adam.step.{name}"].to(parameter.device, copy=True),
        "exp_avg": torch.empty_like(parameter).copy_(first),
        "exp_avg_sq": torch.empty_like(parameter).copy_(second),
    }


def _part(state: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """The tensors whose names begin with a prefix, without it."""
    return {n.removeprefix(prefix): t for n, t in state.items() if n.startswith(prefix)}


def _shapes(state: Mapping[str, Tensor]) -> dict[str, torch.Size]:
    """The shapes of the weights and their average; all else follows from them."""
    return {n: t.shape for n, t in state.items() if n.startswith(("model.", "ema."))}
