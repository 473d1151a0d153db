"""Steps as they are written: the engine of the CPU, and of `--no-compile`."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import clip_grad_norm_, get_total_norm

from mindseye.training.averaging import Average
from mindseye.training.plan import Plan, Step
from mindseye.training.schedules import Training

__all__ = ["Eager", "paces_of"]


class Eager:
    """Adam and the moving average, one step after the other.

    Arguments:
        model: The module to train.
        plan: What a step does.
        decayed: The parameters that weight decay acts on.
    """

    def __init__(self, model: nn.Module, plan: Plan, decayed: Collection[nn.Parameter]):
        self.model, self.plan = model, plan
        options = plan.options
        self.parameters = {name: p for name, p in model.named_parameters() if p.requires_grad}
        self.adam = _adam(self.parameters, plan, decayed, paces_of(model, options))
        self.average = Average(model, options.ema) if options.ema else None
        self.norm = torch.tensor(math.nan)
        self.values: defaultdict[str, list[Tensor]] = defaultdict(list)

    def advance(self, steps: list[Step]) -> None:
        """Queue steps on the device, without waiting for it."""
        for step in steps:
            self._update(step, last=step is steps[-1])

    def wait(self) -> dict[str, tuple[float, int]]:
        """The sum and the number of every term's values since the last call."""
        read = {
            name: (torch.cat(values).sum().item(), sum(map(len, values)))
            for name, values in self.values.items()
        }
        self.values.clear()
        return read

    def live(self) -> dict[str, Tensor]:
        """The tensors that steps change, by name."""
        live = {f"model.{name}": tensor for name, tensor in self.model.state_dict().items()}
        for name, parameter in self.parameters.items():
            moments = self.adam.state[parameter]
            live |= {f"adam.{moment}.{name}": tensor for moment, tensor in moments.items()}
        average = self.average.weights() if self.average else {}
        return live | {f"ema.{name}": tensor for name, tensor in average.items()}

    def floats(self) -> list[Tensor]:
        """Everything that could be not finite."""
        return [tensor for tensor in self.live().values() if tensor.is_floating_point()]

    def copy(self) -> dict[str, Tensor]:
        """A copy of the live tensors."""
        return {name: tensor.detach().clone() for name, tensor in self.live().items()}

    def load(self, state: Mapping[str, Tensor], step: int) -> None:
        """Go on from a state of the same shapes."""
        self.model.load_state_dict(part(state, "model."))
        for name, parameter in self.parameters.items():
            self.adam.state[parameter] = _moments(state, name, parameter)
        if self.average:
            self.average.load(part(state, "ema."), step)

    def release(self) -> None:
        """Leave the model to its owner; its weights are where they always were."""

    def _update(self, step: Step, last: bool) -> None:
        """One step of Adam up the bound."""
        bound = step.bound(self.model, self.plan.drawn(step.number, step.level), step.beta)
        loss = -bound.value.mean()  # here, and in `captured`, the sign flips
        self.adam.zero_grad()
        loss.backward()
        self._clip(last)
        for group in self.adam.param_groups:
            group["lr"] = step.rate
        self.adam.step()
        if self.average:
            self.average.update()
        for name, value in {"bound": bound.value, **bound.terms}.items():
            self.values[name].append(value.detach())

    def _clip(self, last: bool) -> None:
        """Shorten the gradient; without clipping, its norm is only taken before a record."""
        if self.plan.options.clip:
            self.norm = clip_grad_norm_(self.parameters.values(), self.plan.options.clip)
        elif last:
            gradients = [p.grad for p in self.parameters.values() if p.grad is not None]
            self.norm = get_total_norm(gradients)


def part(state: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """The tensors whose names begin with a prefix, without it."""
    return {n.removeprefix(prefix): t for n, t in state.items() if n.startswith(prefix)}


def paces_of(model: nn.Module, options: Training) -> dict[nn.Parameter, tuple[float, float]]:
    """Decay of Adam's running means of what plays against the rest, such as a discriminator.

    A module names these parameters by a method `opponents`.
    """
    players: list[Any] = [part for part in model.modules() if hasattr(part, "opponents")]
    return {p: options.opponent_betas for part in players for p in part.opponents()}


def _adam(
    parameters: Mapping[str, nn.Parameter],
    plan: Plan,
    decayed: Collection[nn.Parameter],
    paces: Mapping[nn.Parameter, tuple[float, float]],
) -> torch.optim.Adam:
    """Adam in one fused kernel, with the L2 penalty on some of the parameters."""
    options = plan.options
    decayed = decayed if options.weight_decay else ()
    apart = {*decayed, *paces}
    free = [parameter for parameter in parameters.values() if parameter not in apart]
    groups: list[dict[str, Any]] = [
        {"params": free},
        {"params": list(decayed), "weight_decay": options.weight_decay},
        {"params": [p for p in paces if p.requires_grad], "betas": options.opponent_betas},
    ]
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
