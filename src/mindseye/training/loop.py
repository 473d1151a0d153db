r"""The training loop: it raises a bound, yields records, and knows no paper.

Step $t$ takes batch number $t$, a pure function of $t$, and Adam takes one step up the mean bound.
Nothing waits for the device in between: the values of the bound stay where the model is and are
read when a record is due. Everything a step depends on (weights, moments, average, random numbers,
counters) is in one dictionary of tensors, so a run that was stopped or killed goes on as if nothing
had happened; on one machine's CPU to the last bit.

At least every 100 steps all numbers are checked. When one is not finite, or when the bound has
fallen far behind its own history, training goes back to the last good state, with half the learning
rate, other batches and other noise.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from torch import nn

from mindseye.errors import DataError, MindseyeError, NumericError, UsageError
from mindseye.training.checkpoints import Checkpoints
from mindseye.training.history import History
from mindseye.training.learner import Learner
from mindseye.training.plan import BoundOf, Growth, Plan
from mindseye.training.schedules import PATIENCE, Training

__all__ = ["Record", "Training", "train"]


@dataclass(frozen=True)
class Record:
    """What happened up to a record, checkpoint, rollback or the end: a line of the log."""

    kind: str  # 'train', 'checkpoint', 'rollback', 'failed' or 'done'
    step: int  # updates made so far
    seconds: float  # spent on updates, earlier parts of a resumed run included
    examples_per_second: float = math.nan  # since the last record of training
    bound: float = math.nan  # mean in nats since the last record of training; larger is better
    terms: Mapping[str, float] = field(default_factory=dict)  # mean of each term of the bound
    learning_rate: float = math.nan  # of the last update; after a rollback, of the next
    beta: float = math.nan  # weight of the KL term in the last update, or the heat
    grad_norm: float = math.nan  # of one of the last ten updates, before clipping
    note: str = ""  # what a person should know

    def to_json(self) -> dict[str, Any]:
        """The record as plain JSON; a number that is unknown or not finite becomes null."""
        terms = {name: _plain(value) for name, value in self.terms.items()}
        return {name: _plain(value) for name, value in vars(self).items()} | {"terms": terms}


def train(
    model: nn.Module,
    bound: BoundOf | Sequence[BoundOf],
    batch: Callable[..., Any],
    options: Training,
    *,
    checkpoints: Checkpoints | None = None,
    decayed: Collection[nn.Parameter] = (),
    resume: bool = True,
    compiled: bool = False,
    growth: Growth | None = None,
) -> Generator[Record, None, None]:
    """Raise the bound of a model step by step, and yield records of how it goes.

    The noise comes from a random stream of the loop's own, seeded by the options: at every record
    the caller's global random state is as it was. The model is in training mode while steps are
    taken; from the record 'done' on it is in evaluation mode and holds the weights to imagine
    with, the moving average if there is one.

    Arguments:
        model: The module to train, on its device; parameters that need no gradient stay.
        bound: Called with the model, a batch and the weight of the KL term; several are stages of
            equal length, one after the other, each with schedules of its own.
        batch: The batch of a number, a pure function of it. After a rollback the numbers go on
            beyond `steps`, so that other batches come. Compiled training calls it with a number on
            the device and a count, for so many batches one behind the other.
        options: How long and how fast.
        checkpoints: Where to save, if anywhere. Whatever ends the loop early, the last good state
            is saved first, if it can be.
        decayed: The parameters that weight decay acts on.
        resume: Go on from the newest checkpoint; without it, the folder must have none.
        compiled: On a GPU, capture whole steps in bfloat16 and replay them.
        growth: A curriculum: how large examples may be at every step. Then `batch` is called with
            a number, a count and a level.
    """
    bounds = [bound] if callable(bound) else list(bound)
    plan = Plan(bounds, batch, options, growth)
    learner = Learner(model, plan, decayed, compiled=compiled)
    journal = _Journal(learner, checkpoints)
    note = journal.begin(resume)
    try:
        while learner.step < options.steps:
            learner.advance(learner.plan.next_stop(learner.step))
            if trouble := journal.trouble():
                yield journal.roll_back(trouble)
                continue
            if options.logs(learner.step):
                yield journal.summary(note)
                note = ""
            if options.checks(learner.step):
                yield from journal.keep()
    except GeneratorExit:  # the caller left between steps, where the live state is whole
        if not learner.trouble(full=True):
            journal.good = learner.state()
        journal.save_last()
        raise
    except BaseException:  # Ctrl-C may come inside a step: only the last good state is whole
        journal.save_last()
        raise
    finally:
        learner.engine.release()
    model.load_state_dict(learner.weights(journal.good))
    model.eval()
    yield Record("done", learner.step, learner.seconds, note=note)


class _Journal:
    """The last good state, the checkpoints and the records of one training."""

    def __init__(self, learner: Learner, checkpoints: Checkpoints | None):
        self.learner, self.checkpoints = learner, checkpoints
        self.good = learner.state()
        self.history = History()
        self.saved = 0

    def begin(self, resume: bool) -> str:
        """Load the newest checkpoint, if there is one, and say so."""
        if trouble := self.learner.trouble(full=True):
            raise NumericError(f"Before the first step, {trouble}.")
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

    def trouble(self) -> str:
        """What went wrong since the last stop, in words, or nothing."""
        learner = self.learner
        last, plan = learner.step - 1, learner.plan
        found = learner.trouble(full=learner.options.checks(learner.step))
        return found or self.history.add(learner.latest, plan.stage(last), plan.level(last))

    def summary(self, note: str) -> Record:
        """The means since the last summary."""
        learner = self.learner
        last = learner.plan.step(learner.step - 1, learner.rollbacks)
        step, seconds = learner.since
        examples = learner.options.batch_size * (learner.step - step)
        terms = {name: total / learner.counts[name] for name, total in learner.totals.items()}
        record = Record(
            kind="train",
            step=learner.step,
            seconds=learner.seconds,
            examples_per_second=examples / (learner.seconds - seconds),
            bound=terms.pop("bound"),
            terms=terms,
            learning_rate=last.rate,
            beta=last.beta,
            grad_norm=learner.norm,
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
        reason = f"{trouble} at step {failed}"
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
            note = self._save(self.checkpoints).name
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


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
