"""Many steps at a time on a GPU: captured once as a CUDA graph, then replayed.

A graph holds `STEPS` whole steps: forward in bfloat16 (or in float32 with products in TF32),
backward, Adam, the average. The batches of the next graph are drawn on another stream meanwhile.
The host sends a few numbers before a replay (learning rates and the like) and reads sums after many
of them; inside there is nothing to wait for. `capture` costs a few seconds, once for every bound
and number of steps.
"""

from __future__ import annotations

import gc
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.graph import (
    saved_tensors_hooks,
    set_warn_on_accumulate_grad_stream_mismatch,
)

from mindseye.kernels import fused
from mindseye.training.eager import paces_of
from mindseye.training.flat import Flat
from mindseye.training.plan import BoundOf, Plan, Step

__all__ = ["STEPS", "Captured"]

STEPS = 10
"""Steps of a graph."""

WARM = 3
"""Steps before a capture: libraries choose their kernels, ours are compiled."""


class Captured:
    """The engine of a GPU.

    Arguments:
        model: The module to train; until `release` it may compute in bfloat16.
        plan: What a step does.
        decayed: The parameters that weight decay acts on.
    """

    def __init__(self, model: nn.Module, plan: Plan, decayed: Collection[nn.Parameter]):
        from mindseye.kernels.adam import BLOCK

        self.model, self.plan, self.options = model, plan, plan.options
        self.rounded = plan.options.precision == "bfloat16"
        decay = plan.options.weight_decay
        paces = paces_of(model, plan.options)
        adam = {"betas": plan.options.adam_betas, "paces": paces}
        self.flat = Flat(model, BLOCK, decayed, decay, **adam, rounded=self.rounded)
        device = self.flat.device
        self.controls = torch.zeros(STEPS, 4, device=device)  # rate, β, average, clip
        self.squares = torch.zeros(sum(self.flat.blocks), device=device)
        self.number = torch.zeros((), dtype=torch.int64, device=device)
        self.norm = torch.full((), math.nan, device=device)
        self.lane = torch.cuda.Stream(device)
        self.side = torch.cuda.Stream(device)
        self.graphs: dict[tuple[BoundOf, int, int], _Graph] = {}
        self.sums: dict[tuple[str, ...], Tensor] = {}  # by the names of a bound's terms
        self.names: tuple[str, ...] = ()
        self.count = 0
        self.drawn: tuple[_Graph, int] | None = None

    def advance(self, steps: list[Step]) -> None:
        """Queue steps on the device, without waiting for it."""
        self.lane.wait_stream(torch.cuda.current_stream())
        for start in range(0, len(steps), STEPS):
            self._replay(steps[start : start + STEPS])
        self.count += len(steps)

    def wait(self) -> dict[str, tuple[float, int]]:
        """The sum and the number of every term's means since the last call."""
        torch.cuda.current_stream().wait_stream(self.lane)
        sums, count = self.sums[self.names], self.count
        read = {n: (total, count) for n, total in zip(self.names, sums.tolist(), strict=True)}
        sums.zero_()
        self.count = 0
        return read

    def live(self) -> dict[str, Tensor]:
        """The tensors that steps change, by name."""
        return self._named(self.flat.live())

    def floats(self) -> list[Tensor]:
        """Everything that could be not finite."""
        buffers = self.flat.buffers
        flat = [buffers[n] for n in ("weights", "first", "second", "average")]
        return [*flat, self.flat.statistics, self.flat.averaged]

    def copy(self) -> dict[str, Tensor]:
        """A copy of the live tensors."""
        return self._named(self.flat.live(copy=True))

    def load(self, state: Mapping[str, Tensor], step: int) -> None:
        """Go on from a state of the same shapes."""
        self.flat.load(state)
        self.drawn = None

    def _named(self, live: dict[str, Tensor]) -> dict[str, Tensor]:
        """Without an average that nobody asked for."""
        return live if self.options.ema else {n: t for n, t in live.items() if n[:4] != "ema."}

    def release(self) -> None:
        """Give the module its float32 weights, and free the graphs."""
        torch.cuda.current_stream().wait_stream(self.lane)
        self.graphs.clear()
        self.drawn = None
        self.flat.release()

    def _replay(self, steps: Sequence[Step]) -> None:
        """Send the numbers of some steps and replay them."""
        first, count = steps[0], len(steps)
        key = (first.bound, count, first.level)
        if key not in self.graphs:
            if self.plan.growth:  # what was smaller does not come again
                self.lane.synchronize()
                self.graphs = {k: g for k, g in self.graphs.items() if k[2] == first.level}
            self.graphs[key] = self._capture(*key)
            self.drawn = None
        graph = self.graphs[key]
        self.names = graph.names
        with torch.cuda.stream(self.lane):
            numbers = [(s.rate, s.beta, s.average, 1.0) for s in steps]
            self.controls[:count].copy_(_pinned(numbers), non_blocking=True)
            if self.drawn != (graph, first.number):
                self.number.fill_(first.number)
                graph.draw()
            graph.replay()
        self.drawn = (graph, first.number + count)

    def _capture(self, bound: BoundOf, count: int, level: int) -> _Graph:
        """Record steps; whatever they change is put back."""
        generator = torch.cuda.default_generators[self.flat.device.index]
        noise = generator.get_state()
        set_warn_on_accumulate_grad_stream_mismatch(False)  # streams of a bound differ on purpose
        with torch.cuda.stream(self.lane), _fast_products():
            state = self.flat.live(copy=True)  # behind the replays that are queued here
            sums = {names: tensor.clone() for names, tensor in self.sums.items()}
            graph = _Graph(self, bound, count, level)
            self.load(state, 0)
            for names, tensor in self.sums.items():
                tensor.copy_(sums[names]) if names in sums else tensor.zero_()
        generator.set_state(noise)
        return graph

    def update(self, bound: BoundOf, batch: Any, k: int, table: Tensor) -> Tensor:
        """Step k of a graph; returns what a capture puts into the table later."""
        beta = self.controls[k, 1] if self.options.weighs else 1.0
        kept: list[Tensor] = []  # until the step is over; see `_keeping`
        with fused(), self._rounding(), _keeping(kept):
            found = bound(self.model, batch, beta)
        loss = -found.value.mean()  # here, and in `eager`, the sign flips
        gradients = torch.autograd.grad(loss, self.flat.parameters, allow_unused=True)
        gradients = [_laid(g, p) for g, p in zip(gradients, self.flat.parameters, strict=True)]
        addresses = self.flat.table(gradients)
        if not torch.cuda.is_current_stream_capturing():
            table.copy_(addresses)
        self._adam(self.controls[k], table, noted=k == 0)
        self._sum({"bound": found.value, **found.terms})
        return addresses

    def _rounding(self) -> torch.autocast:
        """Products in bfloat16, unless float32 is asked for."""
        how = {"enabled": self.rounded, "cache_enabled": False}
        return torch.autocast("cuda", torch.bfloat16, **how)

    def _adam(self, controls: Tensor, table: Tensor, noted: bool) -> None:
        """Clip, move the weights, move the average."""
        from mindseye.kernels.adam import adam, squares

        if self.options.clip or noted:
            squares(table, self.squares)
            torch.sqrt(self.squares.sum(), out=self.norm)
        if self.options.clip:
            torch.clamp(self.options.clip / (self.norm + 1e-6), max=1.0, out=controls[3])
        adam(
            self.flat.buffers,
            table,
            controls,
            self.options.adam_eps,
            average=bool(self.options.ema),
        )
        if self.options.ema:
            self.flat.averaged.lerp_(self.flat.statistics, controls[2])

    @torch.no_grad()
    def _sum(self, values: Mapping[str, Tensor]) -> None:
        """Add the means of a step to the sums."""
        self.names, means = tuple(values), torch.stack(list(values.values())).mean(1)
        if self.names not in self.sums:
            self.sums[self.names] = torch.zeros_like(means, dtype=torch.float64)
        self.sums[self.names].add_(means)


class _Graph:
    """Some steps, recorded; batches for the next ones are drawn while these are taken."""

    def __init__(self, engine: Captured, bound: BoundOf, count: int, level: int):
        self.engine, self.count, self.level = engine, count, level
        blocks = len(engine.squares)
        self.next = _map(_copied, engine.plan.drawn(engine.number, level, count))
        self.now = _map(_copied, self.next)
        parts = [_map(lambda t, k=k: t.tensor_split(count)[k], self.now) for k in range(count)]
        tables = torch.zeros(count, 3, blocks, dtype=torch.int64, device=engine.flat.device)
        for _ in range(WARM):
            engine.update(bound, parts[0], 0, tables[0])
        self.graph = torch.cuda.CUDAGraph()
        with _undisturbed(), torch.cuda.graph(self.graph, stream=engine.lane):
            self._take()
            found = [engine.update(bound, each, k, tables[k]) for k, each in enumerate(parts)]
            engine.lane.wait_stream(engine.side)
        self.tables = tables.copy_(torch.stack(found))
        self.names = engine.names

    def replay(self) -> None:
        """Take the steps."""
        self.graph.replay()

    def draw(self) -> None:
        """Draw the batches of the next replay."""
        coming = self.engine.plan.drawn(self.engine.number, self.level, self.count)
        _map(lambda to, new: to.copy_(new), self.next, coming)

    def _take(self) -> None:
        """Take the batches that lie ready; draw the next ones on the other stream."""
        engine = self.engine
        _map(lambda now, ready: now.copy_(ready), self.now, self.next)
        engine.number.add_(self.count)
        engine.side.wait_stream(engine.lane)
        with torch.cuda.stream(engine.side):
            self.draw()


def _map(function: Callable[..., Tensor], *batches: Any) -> Any:
    """A function of the tensors of some batches, which are tensors or named tuples of them."""
    if isinstance(batches[0], Tensor):
        return function(*batches)
    return type(batches[0])(*(_map(function, *parts) for parts in zip(*batches, strict=True)))


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Collect no garbage meanwhile: freeing another graph would spoil the one being captured."""
    gc.collect()
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@contextmanager
def _fast_products() -> Iterator[None]:
    """Let cuDNN choose by trying, and float32 products use the tensor cores."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        with torch.backends.cudnn.flags(enabled=True, benchmark=True):
            yield
    finally:
        torch.set_float32_matmul_precision(before)


def _keeping(kept: list[Tensor]) -> saved_tensors_hooks:
    """Hold what a backward pass reads, until all its streams have met again.

    Freed at once, the memory could be written by the stream it came from while another one, on
    which the backward pass reads it, still lags behind.
    """

    def keep(tensor: Tensor) -> Tensor:
        kept.append(tensor)
        return tensor

    return saved_tensors_hooks(keep, lambda tensor: tensor)


def _copied(tensor: Tensor) -> Tensor:
    return tensor.clone(memory_format=torch.contiguous_format)


def _pinned(numbers: Sequence[Sequence[float]]) -> Tensor:
    return torch.tensor(numbers, dtype=torch.float32).pin_memory()


def _laid(gradient: Tensor | None, parameter: Tensor) -> Tensor | None:
    """A gradient in the layout of its parameter."""
    if gradient is None or gradient.stride() == parameter.stride():
        return gradient
    return torch.empty_like(parameter).copy_(gradient)
