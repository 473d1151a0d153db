"""All parameters of a model, and what Adam knows of them, in a few flat buffers.

A parameter occupies whole blocks, in the layout it had (channels last stays channels last). The
float32 weights are the model; those of products and convolutions are also kept rounded to bfloat16,
and that copy is what the module computes with while it is trained. Parameters of normalisations and
of flows stay float32. Floating-point buffers, such as running averages, are one flat tensor too.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import torch
from torch import Tensor, nn

from mindseye.networks import Unrounded

__all__ = ["Flat"]

Betas = tuple[float, float]


class Flat:
    """The flat storage of a model on a GPU.

    Arguments:
        model: The module; from now on its parameters and buffers are views of the storage.
        block: Numbers of a block.
        decayed: The parameters that weight decay acts on, by `weight_decay`.
        weight_decay: The weight of the L2 penalty.
        betas: Decay of Adam's running means.
        paces: The same of parameters that have their own.
        rounded: Whether the module computes with weights rounded to bfloat16.
    """

    def __init__(
        self,
        model: nn.Module,
        block: int,
        decayed: Collection[nn.Parameter],
        weight_decay: float,
        *,
        betas: Betas = (0.9, 0.999),
        paces: Mapping[nn.Parameter, Betas] | None = None,
        rounded: bool = True,
    ):
        self.model, self.block = model, block
        named = {name: p for name, p in model.named_parameters() if p.requires_grad}
        self.names, self.parameters = list(named), list(named.values())
        self.blocks = [-(-p.numel() // block) for p in self.parameters]
        self.starts = [sum(self.blocks[:i]) for i in range(len(self.blocks))]
        self.device, count = self.parameters[0].device, sum(self.blocks)
        kinds = {"weights": torch.float32, "first": torch.float32, "second": torch.float32}
        kinds |= {"average": torch.float32, "compute": torch.bfloat16}
        self.buffers = {
            name: torch.zeros(count * block, dtype=kind, device=self.device)
            for name, kind in kinds.items()
        }
        self.buffers["steps"] = torch.zeros(count, device=self.device)
        chosen = [weight_decay if p in set(decayed) else 0.0 for p in self.parameters]
        self.buffers["decay"] = self._by_block(torch.tensor(chosen, device=self.device))
        chosen_betas = torch.tensor([(paces or {}).get(p, betas) for p in self.parameters])
        for i, name in enumerate(("beta1", "beta2")):
            self.buffers[name] = self._by_block(chosen_betas[:, i].to(self.device))
        self._layouts = [(p.shape, p.stride()) for p in self.parameters]
        self._first = torch.tensor(self.starts, device=self.device)
        self._adopt(_precise(model) if rounded else set(self.parameters))

    def views(self, buffer: str) -> dict[str, Tensor]:
        """One of the buffers, parameter by parameter."""
        return self._cut(self.buffers[buffer])

    def live(self, *, copy: bool = False) -> dict[str, Tensor]:
        """Everything by name: `model.…`, `adam.…` and `ema.…`; views, or views of a copy."""
        names = ("weights", "first", "second", "average", "steps")
        kept = {name: self.buffers[name] for name in names}
        kept |= {"statistics": self.statistics, "averaged": self.averaged}
        kept = {n: t.clone() for n, t in kept.items()} if copy else kept
        steps = dict(zip(self.names, kept["steps"][self._first], strict=True))
        rest = {n: t.clone() for n, t in self._rest().items()} if copy else self._rest()
        named = {
            "model": rest | self._cut(kept["weights"]) | self._statistics(kept["statistics"]),
            "adam.step": steps,
            "adam.exp_avg": self._cut(kept["first"]),
            "adam.exp_avg_sq": self._cut(kept["second"]),
            "ema": rest | self._cut(kept["average"]) | self._statistics(kept["averaged"]),
        }
        return {f"{kind}.{n}": t for kind, tensors in named.items() for n, t in tensors.items()}

    def table(self, gradients: Sequence[Tensor | None]) -> Tensor:
        """Addresses, kinds and numbers of gradients by block, int64 `(3, blocks)`, on the CPU."""
        rows = [
            _blocks(gradient, parameter.numel(), count, self.block)
            for gradient, parameter, count in zip(
                gradients, self.parameters, self.blocks, strict=True
            )
        ]
        return torch.cat(rows, 1)

    def refresh(self) -> None:
        """Round the weights again, after they were changed by hand."""
        self.buffers["compute"].copy_(self.buffers["weights"])

    def release(self) -> None:
        """Give the module its float32 weights."""
        for parameter, view in zip(self.parameters, self.views("weights").values(), strict=True):
            parameter.data = view

    def load(self, state: Mapping[str, Tensor]) -> None:
        """Copy a state in, by the names of `live`; what Adam does not know yet is zero."""
        self.buffers["first"].zero_()
        self.buffers["second"].zero_()
        steps = torch.zeros(len(self.names), device=self.device)
        live = self.live()
        for i, name in enumerate(self.names):
            if f"adam.step.{name}" in state:
                steps[i] = state[f"adam.step.{name}"]
        for name in live.keys() & state.keys():
            if not name.startswith("adam.step."):
                live[name].copy_(state[name])
        self.buffers["steps"].copy_(self._by_block(steps))
        self.refresh()

    def _adopt(self, precise: Collection[nn.Parameter]) -> None:
        """Copy the model in, and let the module look at the copies."""
        weights, compute = self.views("weights"), self.views("compute")
        for name, parameter in zip(self.names, self.parameters, strict=True):
            weights[name].copy_(parameter.detach())
            parameter.data = weights[name] if parameter in precise else compute[name]
        self.refresh()
        self.buffers["average"].copy_(self.buffers["weights"])
        named = {n: b for n, b in self.model.named_buffers() if b.is_floating_point()}
        self._places = _placed({name: buffer.shape for name, buffer in named.items()})
        size = sum(buffer.numel() for buffer in named.values())
        self.statistics = torch.zeros(size, device=self.device)
        for name, view in self._statistics(self.statistics).items():
            named[name].data = view.copy_(named[name])
        self.averaged = self.statistics.clone()

    def _cut(self, flat: Tensor) -> dict[str, Tensor]:
        """A flat buffer, parameter by parameter."""
        return {
            name: flat.as_strided(shape, stride, start * self.block)
            for name, start, (shape, stride) in zip(
                self.names, self.starts, self._layouts, strict=True
            )
        }

    def _statistics(self, flat: Tensor) -> dict[str, Tensor]:
        """Flat statistics, buffer by buffer."""
        return {name: flat[at].view(shape) for name, (at, shape) in self._places.items()}

    def _rest(self) -> dict[str, Tensor]:
        """What lies in no flat buffer: parameters that are held still, counters."""
        still = {n: p.detach() for n, p in self.model.named_parameters() if not p.requires_grad}
        return still | {n: b for n, b in self.model.named_buffers() if n not in self._places}

    def _by_block(self, values: Tensor) -> Tensor:
        """A number of every parameter, repeated for its blocks."""
        return values.repeat_interleave(torch.tensor(self.blocks, device=self.device))


def _precise(model: nn.Module) -> set[nn.Parameter]:
    """The parameters that stay float32: a normalisation's, and those of modules that say so."""
    kinds = (nn.modules.batchnorm._NormBase, Unrounded)
    exact = [module for module in model.modules() if isinstance(module, kinds)]
    return {parameter for module in exact for parameter in module.parameters()}


def _placed(shapes: Mapping[str, torch.Size]) -> dict[str, tuple[slice, torch.Size]]:
    """Where tensors lie, one behind the other."""
    places, start = {}, 0
    for name, shape in shapes.items():
        places[name] = slice(start, start + shape.numel()), shape
        start += shape.numel()
    return places


def _blocks(gradient: Tensor | None, size: int, count: int, block: int) -> Tensor:
    """The rows of the table for one parameter."""
    first = torch.arange(count) * block
    if gradient is None:
        return torch.zeros(3, count, dtype=torch.int64)
    kind = 1 if gradient.dtype == torch.float32 else 2
    return torch.stack(
        [
            gradient.data_ptr() + first * gradient.element_size(),
            torch.full_like(first, kind),
            (size - first).clamp(max=block),
        ]
    )
