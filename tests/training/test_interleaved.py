"""Several trainings that take turns: none of them notices the others."""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import pairwise

import pytest
import torch
from torch import nn

from mindseye.objectives.bound import Bound
from mindseye.training import Checkpoints, Plan, Training, interleaved, queued

OPTIONS = Training(
    steps=60, learning_rate=0.02, clip=1.0, ema=0.9, log_every=7, checkpoint_every=20
)


def network(seed: int) -> nn.Sequential:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.Dropout(0.2), nn.Linear(16, 1))


def noisy(model, x, beta):
    value = -(model(x) - x.sum(-1, keepdim=True)).square().sum(-1)
    return Bound(value - torch.rand(()), {"error": -value})


def plan(seed: int = 0, **options) -> Plan:
    def batch(number):
        return torch.randn(8, 4, generator=torch.Generator().manual_seed(seed * 10_000 + number))

    return Plan([noisy], batch, Training(**{**vars(OPTIONS), "seed": seed, **options}))


def equal(one: nn.Module, two: nn.Module) -> bool:
    pairs = zip(one.state_dict().values(), two.state_dict().values(), strict=True)
    return all(torch.equal(a, b) for a, b in pairs)


def test_interleaved_trainings_give_the_weights_of_each_alone_to_the_last_bit():
    alone, together = [network(s) for s in range(2)], [network(s) for s in range(2)]
    expected: dict[int, list[float]] = defaultdict(list)
    for number, model in enumerate(alone):
        for record in queued(model, plan(number, log_every=5 + number)):
            if record:
                expected[number].append(record.bound)
    found: dict[int, list[float]] = defaultdict(list)
    works = [queued(model, plan(n, log_every=5 + n)) for n, model in enumerate(together)]
    for number, record in interleaved(works):
        found[number].append(record.bound)
    assert all(map(equal, alone, together))
    assert str(found) == str(expected)  # as text, where nan equals nan


def test_trainings_really_take_turns():
    order = []

    def watched(number):
        def bound(model, x, beta):
            order.append(number)
            return noisy(model, x, beta)

        return bound

    plans = [Plan([watched(n)], plan().batch, OPTIONS) for n in range(2)]
    for _ in interleaved([queued(network(0), each) for each in plans]):
        pass
    changes = sum(a != b for a, b in pairwise(order))
    assert changes == 2 * 11 - 1  # eleven stops: nine records, two more checkpoints


def test_one_that_finishes_early_does_not_stop_the_other():
    models = [network(0), network(1)]
    works = [queued(models[0], plan(steps=10)), queued(models[1], plan(1, steps=50))]
    ends = [(number, record.step) for number, record in interleaved(works) if record.kind == "done"]
    assert ends == [(0, 10), (1, 50)]
    assert not any(model.training for model in models)


def test_leaving_early_saves_a_checkpoint_of_every_training(tmp_path):
    folders = [Checkpoints(tmp_path / str(n)) for n in range(3)]
    works = [queued(network(n), plan(n), folders[n]) for n in range(3)]
    records = interleaved(works)
    assert next(r for r in records if r[1].step == 28)[0] == 0  # the others wait at step 28 too
    records.close()
    newest = [folder.newest() for folder in folders]
    assert all(checkpoint is not None for checkpoint in newest)
    assert [checkpoint.step for checkpoint in newest if checkpoint] == [28, 28, 28]


def test_what_was_left_goes_on_exactly(tmp_path):
    whole = [network(n) for n in range(2)]
    for number, model in enumerate(whole):
        list(queued(model, plan(number)))
    folders = [Checkpoints(tmp_path / str(n)) for n in range(2)]
    records = interleaved([queued(network(n), plan(n), folders[n]) for n in range(2)])
    next(r for r in records if r[1].step == 35)
    records.close()
    resumed = [network(n + 7) for n in range(2)]
    works = [queued(model, plan(n), folders[n]) for n, model in enumerate(resumed)]
    assert {record.kind for _, record in interleaved(works)} == {"train", "checkpoint", "done"}
    assert all(map(equal, whole, resumed))


def test_an_error_in_one_closes_and_saves_the_others(tmp_path):
    def broken(number):
        if number == 30:
            raise RuntimeError("out of memory")
        return plan().batch(number)

    folder = Checkpoints(tmp_path)
    works = [queued(network(0), plan(), folder), queued(network(1), Plan([noisy], broken, OPTIONS))]
    with pytest.raises(RuntimeError, match="out of memory"):
        list(interleaved(works))
    newest = folder.newest()
    assert newest is not None
    assert newest.step == 35  # it had queued its steps up to there


def test_one_whose_numbers_run_away_ends_as_failed_and_the_others_go_on(tmp_path):
    def poisoned(number):
        return plan().batch(number) * (math.nan if number % 60 >= 30 else 1.0)

    models, folder = [network(0), network(1)], Checkpoints(tmp_path)
    works = [queued(models[0], Plan([noisy], poisoned, OPTIONS), folder), queued(models[1], plan())]
    records = list(interleaved(works))
    (failed,) = [record for number, record in records if number == 0 and record.kind == "failed"]
    assert "Training failed 3 times in a row" in failed.note
    assert [record.kind for number, record in records if number == 1][-1] == "done"
    assert "done" not in [record.kind for number, record in records if number == 0]
    newest = folder.newest()
    assert newest is not None
    assert newest.step == 20


def test_no_trainings_give_no_records():
    assert list(interleaved([])) == []
