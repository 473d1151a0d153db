"""Numbers that are not finite: found in time, taken back, never saved."""

from __future__ import annotations

import math
import random
import re
from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file
from torch import nn

from mindseye.errors import NumericError
from mindseye.objectives.bound import Bound
from mindseye.training import Checkpoints, Record, Training, train

OPTIONS = Training(steps=330, learning_rate=0.01, log_every=40, checkpoint_every=150, ema=0.9)


class Net(nn.Module):
    """A regression with a spare parameter that the bound does not see."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.Sequential(nn.Linear(2, 4), nn.BatchNorm1d(4), nn.Tanh(), nn.Linear(4, 1))
        self.spare = nn.Parameter(torch.ones(3))


def bound(model, x, beta):
    value = -(model.layers(x) - x[:, :1]).square().sum(-1) - 0.1 * torch.rand(())
    return Bound(value, {"error": -value})


def batch(number):
    return torch.randn(8, 2, generator=torch.Generator().manual_seed(number))


class Fault:
    """Breaks something in the steps with the given numbers, counted over all calls."""

    def __init__(self, kind: str, at: set[int], bad: float):
        self.kind, self.at, self.bad = kind, at, bad
        self.calls = 0
        self.numbers: list[int] = []

    def batch(self, number):
        self.numbers.append(number)
        return batch(number)

    def bound(self, model, x, beta):
        self.calls += 1
        if self.calls - 1 not in self.at:
            return bound(model, x, beta)
        if self.kind == "batch":
            x = x.clone()
            x[3, 1] = self.bad
        if self.kind == "weight":
            with torch.no_grad():
                model.layers[0].weight[1, 0] = self.bad
        if self.kind == "spare":
            with torch.no_grad():
                model.spare[2] = self.bad
        answer = bound(model, x, beta)
        if self.kind == "gradient":
            answer.value.register_hook(lambda gradient: gradient * self.bad)
        if self.kind == "bound":
            answer = Bound(answer.value + self.bad, answer.terms)
        return answer


def run(fault: Fault, folder, options: Training = OPTIONS) -> tuple[Net, list[Record]]:
    model = Net()
    checkpoints = Checkpoints(folder, keep=100)
    return model, list(train(model, fault.bound, fault.batch, options, checkpoints=checkpoints))


def assert_finite_everywhere(folder) -> None:
    files = list(folder.glob("step-*/*.safetensors"))
    assert len(files) >= 6
    for file in files:
        assert all(tensor.isfinite().all() for tensor in load_file(file).values())


def failed_at(record: Record) -> int:
    found = re.search(r"not finite at step (\d+)", record.note)
    assert found is not None
    return int(found[1])


KINDS = ["batch", "weight", "spare", "gradient", "bound"]


@pytest.mark.parametrize("trial", range(30))
def test_a_non_finite_number_is_found_within_100_steps_and_taken_back(tmp_path, trial):
    rng = random.Random(trial)
    kind, bad = KINDS[trial % 5], rng.choice([math.nan, math.inf, -math.inf])
    at = rng.randrange(OPTIONS.steps)
    model, records = run(Fault(kind, {at}, bad), tmp_path)
    rollbacks = [record for record in records if record.kind == "rollback"]
    assert len(rollbacks) == 1
    assert at < failed_at(rollbacks[0]) <= at + 100
    assert rollbacks[0].step <= at
    assert rollbacks[0].learning_rate == 0.005
    assert records[-1].kind == "done"
    assert all(tensor.isfinite().all() for tensor in model.state_dict().values())
    logged = [record for record in records if record.kind == "train"]
    assert all(math.isfinite(record.bound) for record in logged)
    assert logged[-1].learning_rate == 0.005
    assert_finite_everywhere(tmp_path)


def test_after_a_rollback_other_batches_come(tmp_path):
    fault = Fault("batch", {210}, math.nan)
    _, records = run(fault, tmp_path)
    (rollback,) = [record for record in records if record.kind == "rollback"]
    assert (rollback.step, failed_at(rollback)) == (200, 240)
    assert "back to step 200 with half the learning rate, 0.005" in rollback.note
    assert rollback.note.startswith("the bound was not finite at step 240")
    steps = OPTIONS.steps
    assert fault.numbers == [*range(240), *range(steps + 200, steps + steps)]


def test_after_a_rollback_other_noise_comes(tmp_path):
    drawn = []

    def drawing(model, x, beta):
        drawn.append(torch.rand(()).item())
        return bound(model, x * (math.nan if len(drawn) == 50 else 1.0), beta)

    list(train(Net(), drawing, batch, replace(OPTIONS, steps=80, log_every=80)))
    assert len(drawn) == 160
    assert len(set(drawn)) == 160


def test_the_learning_rate_stays_halved_after_a_resume(tmp_path):
    run(Fault("batch", {20}, math.nan), tmp_path)
    more = train(
        Net(), bound, batch, replace(OPTIONS, steps=370), checkpoints=Checkpoints(tmp_path)
    )
    assert next(more).learning_rate == 0.005
    more.close()


def test_a_run_with_a_rollback_is_resumed_exactly(tmp_path):
    """Numbered batches break, so that the fault is the same whenever the run is stopped."""

    def poisoned(number):
        return batch(number) * (math.nan if number == 210 else 1.0)

    options = replace(OPTIONS, checkpoint_every=50)
    whole = Net()
    list(train(whole, bound, poisoned, options))
    for stop in (200, 250, 300):
        model, folder = Net(), tmp_path / str(stop)
        records = train(model, bound, poisoned, options, checkpoints=Checkpoints(folder))
        next(r for r in records if r.kind == "checkpoint" and r.step == stop)
        records.close()
        model = Net()
        list(train(model, bound, poisoned, options, checkpoints=Checkpoints(folder)))
        assert all(map(torch.equal, model.state_dict().values(), whole.state_dict().values()))


def test_many_faults_apart_from_each_other_are_all_survived(tmp_path):
    at = set(range(30, 1000, 170))
    _, records = run(Fault("gradient", at, math.nan), tmp_path, replace(OPTIONS, steps=800))
    rollbacks = [record for record in records if record.kind == "rollback"]
    assert len(rollbacks) == len(at)
    assert rollbacks[-1].learning_rate == pytest.approx(0.01 * 0.5 ** len(at))
    assert records[-1].kind == "done"


def test_three_failures_in_a_row_end_the_training(tmp_path):
    fault = Fault("batch", set(range(200, 2000)), math.nan)
    model = Net()
    records = train(model, fault.bound, fault.batch, OPTIONS, checkpoints=Checkpoints(tmp_path))
    seen = []
    with pytest.raises(
        NumericError, match="failed 3 times in a row; the last time, the bound was"
    ) as e:
        seen.extend(iter(records.__next__, None))
    assert e.value.exit_code == 4
    assert "Lower `learning_rate` (=0.01), set `clip`" in e.value.hint
    assert "The last good state is that of step 200" in e.value.hint
    newest = Checkpoints(tmp_path).newest()
    assert newest is not None
    assert newest.step == 200
    assert all(tensor.isfinite().all() for tensor in model.state_dict().values())


def test_failures_at_the_same_place_count_together_even_with_good_steps_between(tmp_path):
    """Checkpoints between the last good state and the failure are no progress."""

    def cliff(number):
        return batch(number) * (math.nan if number % OPTIONS.steps == 195 else 1.0)

    options = replace(OPTIONS, checkpoint_every=10)
    with pytest.raises(NumericError, match="3 times in a row; the last time, the bound was not"):
        list(train(Net(), bound, cliff, options, checkpoints=Checkpoints(tmp_path)))
    newest = Checkpoints(tmp_path).newest()
    assert newest is not None
    assert newest.step == 190


def test_weights_that_are_not_finite_from_the_start_are_refused():
    model = Net()
    with torch.no_grad():
        model.spare[0] = math.inf
    with pytest.raises(NumericError, match=r"Before the first step, tensor 'model.spare' was not"):
        next(train(model, bound, batch, OPTIONS))


def test_leaving_while_the_weights_are_not_finite_saves_the_last_good_state(tmp_path):
    fault = Fault("spare", {210}, math.nan)
    records = train(Net(), fault.bound, fault.batch, OPTIONS, checkpoints=Checkpoints(tmp_path))
    next(record for record in records if record.step == 240)  # logged, but not yet checked
    records.close()
    newest = Checkpoints(tmp_path).newest()
    assert newest is not None
    assert newest.step == 200
