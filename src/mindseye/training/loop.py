r"""The training loop: it raises a bound, yields records, and knows no paper.

Step $t$ takes batch number $t$, a pure function of $t$, and Adam takes one step up the mean bound.
Nothing waits for the device in between: the values of the bound stay where the model is and are
read when a record is due. Everything a step depends on (weights, moments, average, random numbers,
counters) is in one dictionary of tensors, so a run that was stopped or killed goes on as if nothing
had happened; on one machine's CPU to the last bit.

At least every 100 steps all numbers are checked. When one is not finite, training goes back to the
last state that was, with half the learning rate, other batches and other noise.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Generator, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn.utils import clip_grad_norm_, get_total_norm

from mindseye.errors import DataError, MindseyeError, NumericError, UsageError
from mindseye.training.averaging import Average
from mindseye.training.checkpoints import Checkpoints, check_shapes, is_finite
from mindseye.training.schedules import PATIENCE, Training

if TYPE_CHECKING:
    from mindseye.objectives.bound import Bound

__all__ = ["Record", "Training", "train"]


@dataclass(frozen=True)
class Record:
    """What happened up to a record, checkpoint, rollback or the end: a line of the log."""

    kind: str  # 'train', 'checkpoint', 'rollback' or 'done'
    step: int  # updates made so far
    seconds: float  # spent on updates, earlier parts of a resumed run included
    examples_per_second: float = math.nan  # since the last record of training
    bound: float = math.nan  # mean in nats since the last record of training; larger is better
    terms: Mapping[str, float] = field(default_factory=dict)  # mean of each term of the bound
    learning_rate: float = math.nan  # of the last update; after a rollback, of the next
    beta: float = math.nan  # weight of the KL term in the last update
    grad_norm: float = math.nan  # of the last update, before clipping
    note: str = ""  # what a person should know

    def to_json(self) -> dict[str, Any]:
        """The record as plain JSON; a number that is unknown or not finite becomes null."""
        terms = {name: _plain(value) for name, value in self.terms.items()}
        return {name: _plain(value) for name, value in vars(self).items()} | {"terms": terms}


def train(
    model: nn.Module,
    bound: Callable[[nn.Module, Any, float], Bound],
    batch: Callable[[int], Any],
    options: Training,
    *,
    checkpoints: Checkpoints | None = None,
    decayed: Collection[nn.Parameter] = (),
    resume: bool = True,
) -> Generator[Record, None, None]:
    """Raise the bound of a model step by step, and yield records of how it goes.

    The noise comes from a random stream of the loop's own, seeded by the options: at every record
    the caller's global random state is as it was. The model is in training mode while steps are
    taken; from the record 'done' on it is in evaluation mode and holds the weights to imagine
    with, the moving average if there is one.

    Arguments:
        model: The module to train, on its device; parameters that need no gradient stay.
        bound: Called with the model, a batch and the weight of the KL term.
        batch: The batch of a number, a pure function of it. After a rollback the numbers go on
            beyond `steps`, so that other batches come.
        options: How long and how fast.
        checkpoints: Where to save, if anywhere. Whatever ends the loop early, the last good state
            is saved first, if it can be.
        decayed: The parameters that weight decay acts on.
        resume: Go on from the newest checkpoint; without it, the folder must have none.
    """
    learner = _Learner(model, bound, batch, options, decayed)
    journal = _Journal(learner, checkpoints)
    note = journal.begin(resume)
    try:
        while learner.step < options.steps:
            learner.advance(options.next_stop(learner.step))
            if trouble := learner.trouble(full=options.checks(learner.step)):
                yield journal.roll_back(trouble)
                continue
            if options.logs(learner.step):
                yield journal.summary(note)
                note = ""
            if options.checks(learner.step):
                yield from journal.keep()
    except GeneratorExit:  # the caller left at a record, where the live state is whole
        if not learner.trouble(full=True):
            journal.good = learner.state()
        journal.save_last()
        raise
    except BaseException:  # Ctrl-C may come inside a step: only the last good state is whole
        journal.save_last()
        raise
    model.load_state_dict(learner.weights(learner.state()))
    model.eval()
    yield Record("done", learner.step, learner.seconds, note=note)


class _Learner:
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
        self.stream = _Stream(next(iter(self.parameters.values())).device, options.seed)
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
        for name, value in {_BOUND: bound.value, **bound.terms}.items():
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

    def means(self) -> dict[str, float]:
        """The bound and its terms, averaged over the examples since the last record."""
        return {name: total / self.counts[name] for name, total in self.totals.items()}

    def trouble(self, full: bool) -> str:
        """What is not finite, in words, or nothing; `full` looks at every tensor."""
        if not math.isfinite(self.totals[_BOUND]):
            return "the bound"
        live = self._live() if full else {}
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


class _Stream:
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


class _Journal:
    """The last good state, the checkpoints and the records of one training."""

    def __init__(self, learner: _Learner, checkpoints: Checkpoints | None):
        self.learner, self.checkpoints = learner, checkpoints
        self.good = learner.state()
        self.saved = 0

    def begin(self, resume: bool) -> str:
        """Load the newest checkpoint, if there is one, and say so."""
        if trouble := self.learner.trouble(full=True):
            raise NumericError(f"Before the first step, {trouble} is not finite.")
        newest = self.checkpoints.newest() if self.checkpoints else None
        skipped = list(self.checkpoints.skipped.values()) if self.checkpoints else []
        if newest is None and skipped:
            raise DataError(f"No checkpoint is whole: {skipped[0]}", "Start in another folder.")
        if newest is None:
            return ""
        if not resume:
            raise UsageError(f"`resume` is False, but there is {newest.path}.", "Resume from it.")
        seconds = newest.facts.get("seconds")
        self.learner.seconds = seconds if isinstance(seconds, float) else 0.0
        self.learner.load(newest.state(), newest.path)
        self.good, self.saved = self.learner.state(), newest.step
        return "; ".join([f"resumed from step {newest.step}", *skipped])

    def summary(self, note: str) -> Record:
        """The means since the last summary."""
        learner, options = self.learner, self.learner.options
        step, seconds = learner.since
        examples = options.batch_size * (learner.step - step)
        terms = learner.means()
        record = Record(
            kind="train",
            step=learner.step,
            seconds=learner.seconds,
            examples_per_second=examples / (learner.seconds - seconds),
            bound=terms.pop(_BOUND),
            terms=terms,
            learning_rate=learner.rate(learner.step - 1),
            beta=options.beta(learner.step - 1),
            grad_norm=learner.norm.item(),
            note=note,
        )
        learner.forget()
        return record

    def roll_back(self, trouble: str) -> Record:
        """Return to the last good state, to go on more slowly over other batches."""
        learner, failed = self.learner, self.learner.step
        rollbacks, failures = learner.rollbacks + 1, learner.failures + 1
        furthest = max(failed, learner.furthest)
        learner.load(self.good, "the last good state")
        reason = f"{trouble} was not finite at step {failed}"
        if failures == PATIENCE:
            raise NumericError(
                f"Training failed {PATIENCE} times in a row; the last time, {reason}.",
                f"Lower `learning_rate` (={learner.options.learning_rate}), set `clip`, or look for"
                f" extreme values in the data. The last good state is that of step {learner.step}.",
            )
        learner.rollbacks, learner.failures, learner.furthest = rollbacks, failures, furthest
        learner.stream.seed((learner.options.seed + rollbacks * 0x9E3779B9) % 2**63)
        self.good = learner.state()
        rate = learner.rate(learner.step)
        note = f"{reason}; back to step {learner.step} with half the learning rate, {rate:g}"
        return Record("rollback", learner.step, learner.seconds, learning_rate=rate, note=note)

    def keep(self) -> Iterator[Record]:
        """Remember the live state, which was found good, and save it when it is time."""
        learner = self.learner
        if learner.step >= learner.furthest:
            learner.failures = 0
        self.good = learner.state()
        if self.checkpoints and learner.options.saves(learner.step):
            note = str(self._save(self.checkpoints))
            yield Record("checkpoint", learner.step, learner.seconds, note=note)

    def save_last(self) -> None:
        """Save the last good state, if it is newer than the newest checkpoint and can be."""
        if self.checkpoints and self.good["counters"][0] > self.saved:
            with contextlib.suppress(MindseyeError):
                self._save(self.checkpoints)

    def _save(self, checkpoints: Checkpoints) -> Path:
        step = int(self.good["counters"][0])
        facts = {"seconds": self.learner.seconds, "options": asdict(self.learner.options)}
        path = checkpoints.save(step, self.learner.weights(self.good), self.good, facts)
        self.saved = step
        return path


_BOUND = "bound"  # the name of the bound itself among the running means


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


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
