"""A bound that falls far behind its own history, with every number finite."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from mindseye.errors import NumericError
from mindseye.objectives.bound import Bound
from mindseye.training import Checkpoints, Training, train
from mindseye.training.history import History


def verdicts(*bounds: float, stage: int = 0) -> list[bool]:
    """Whether each of some bounds is far behind those before it."""
    history = History()
    return [bool(history.add(bound, stage)) for bound in bounds]


@pytest.mark.parametrize(
    ("first", "best", "limit"),
    [
        (-900.0, -200.0, -200 - 350 - 20 - 10),
        (-540.0, -540.0, -540 - 54 - 10),
        (0.0, 0.0, -10.0),
        (-5.0, 20.0, 20 - 12.5 - 2 - 10),
        (100.0, 100.0, 100 - 10 - 10),
    ],
)
def test_a_bound_may_fall_to_the_limit_and_not_below(first, best, limit):
    assert verdicts(first, best, limit) == [False, False, False]
    assert verdicts(first, best, limit - 1e-6) == [False, False, True]


def test_a_bound_that_was_refused_is_forgotten():
    history = History()
    assert not history.add(-100.0, 0)
    for _ in range(3):
        message = history.add(-1e7, 0)
        assert message == "the bound, -10000000 nats, fell far behind its best, -100,"
    assert not history.add(-99.0, 0)
    assert (history.first, history.best) == (-100.0, -99.0)


def test_rising_bounds_are_never_refused():
    assert not any(verdicts(*(-1e6 / (1 + step) for step in range(500))))


def test_a_slow_decline_is_measured_from_the_best_and_not_from_the_last():
    falling = [-900.0, -200.0, *(-200.0 - 50 * step for step in range(1, 10))]
    assert verdicts(*falling).index(True) == falling.index(-600.0)


def test_a_new_stage_begins_a_new_history():
    history = History()
    assert not history.add(-100.0, 0)
    assert not history.add(-5000.0, 1)
    assert not history.add(-4000.0, 1)
    assert history.add(-5000.0, 1)


def test_larger_examples_begin_at_another_height_with_the_progress_so_far():
    history = History()
    for bound in (-4000.0, 400.0):
        assert not history.add(bound, 0, level=2)
    assert not history.add(100.0, 0, level=3)
    assert not history.add(100.0 - 4400 / 2 - 10 - 10, 0, level=3)
    assert history.add(100.0 - 4400 / 2 - 10 - 10 - 1e-6, 0, level=3)
    assert history.add(-1e7, 0, level=3)
    assert not history.add(-1e7, 1, level=3)  # another bound


# A whole training


class Place(nn.Module):
    """One number to learn."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.zeros(1))


class Thrown:
    """The bound -(w - 3)², and a hand that throws w far away at one call."""

    def __init__(self, *at: int, to: float = 500.0):
        self.at, self.to, self.calls = at, to, 0

    def __call__(self, model, batch, beta) -> Bound:
        if self.calls in self.at:
            with torch.no_grad():
                model.w.fill_(self.to)
        self.calls += 1
        return Bound(-(model.w - 3 + 0 * batch).square(), {})


OPTIONS = Training(steps=400, learning_rate=0.05, log_every=40, checkpoint_every=400)


def test_a_training_that_collapsed_while_finite_is_rolled_back_and_recovers(tmp_path):
    model = Place()
    checkpoints = Checkpoints(tmp_path)
    bound = Thrown(150)
    records = list(train(model, bound, lambda _: torch.zeros(4), OPTIONS, checkpoints=checkpoints))
    (back,) = [record for record in records if record.kind == "rollback"]
    assert "nats, fell far behind its best, -0, at step 160; back to step 100" in back.note
    assert back.learning_rate == OPTIONS.learning_rate / 2
    assert all(math.isfinite(r.bound) for r in records if r.kind == "train")
    assert records[-1].kind == "done"
    assert model.w.item() == pytest.approx(3.0, abs=1e-2)
    newest = checkpoints.newest()
    assert newest is not None
    assert newest.state()["model.w"].item() == pytest.approx(3.0, abs=1e-2)


def test_without_the_rule_it_would_have_been_lost(monkeypatch):
    monkeypatch.setattr(History, "add", lambda *_: "")
    model = Place()
    records = list(train(model, Thrown(150), lambda _: torch.zeros(4), OPTIONS))
    assert not [record for record in records if record.kind == "rollback"]
    assert model.w.item() > 400


def test_the_lost_bound_is_in_no_record():
    model = Place()
    records = list(train(model, Thrown(150), lambda _: torch.zeros(4), OPTIONS))
    bounds = [record.bound for record in records if record.kind == "train"]
    assert min(bounds) > -10.0


def test_a_collapse_that_comes_again_and_again_ends_the_training(tmp_path):
    bound = Thrown(*range(150, 2000))
    message = "failed 3 times in a row; the last time, the bound, .* fell far behind its best"
    checkpoints = Checkpoints(tmp_path)
    with pytest.raises(NumericError, match=message):
        list(train(Place(), bound, lambda _: torch.zeros(4), OPTIONS, checkpoints=checkpoints))
    newest = checkpoints.newest()
    assert newest is not None
    assert newest.step == 100
    assert newest.weights()["w"].item() < 10


def test_a_second_stage_may_raise_a_bound_of_another_size():
    def far(model, batch, beta):
        return Bound(-(model.w - 3 + 0 * batch).square() - 1e6, {})

    stages = [Thrown(), far]
    records = list(train(Place(), stages, lambda _: torch.zeros(4), OPTIONS))
    assert not [record for record in records if record.kind == "rollback"]
    assert records[-2].bound == pytest.approx(-1e6, rel=1e-3)
