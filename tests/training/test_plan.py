"""Stages, their schedules, and what a rollback changes: all of it a function of the step."""

from __future__ import annotations

import pytest

from mindseye.objectives.bound import Bound
from mindseye.training import Plan, Training


def first(model, batch, beta) -> Bound:
    raise NotImplementedError


def second(model, batch, beta) -> Bound:
    raise NotImplementedError


def third(model, batch, beta) -> Bound:
    raise NotImplementedError


def plan(*bounds, **options) -> Plan:
    return Plan(bounds, lambda number: number, Training(**options))


@pytest.mark.parametrize(
    ("steps", "bounds", "starts"),
    [
        (60, [first], [0, 60]),
        (60, [first, second], [0, 30, 60]),
        (60, [first, second, third], [0, 20, 40, 60]),
        (7, [first, second], [0, 4, 7]),
        (10, [first, second, third], [0, 4, 7, 10]),
        (2, [first, second, third], [0, 1, 2, 2]),
    ],
)
def test_stages_are_of_equal_length_up_to_a_step(steps, bounds, starts):
    assert plan(*bounds, steps=steps).starts == starts


def test_every_step_raises_the_bound_of_its_stage():
    staged = plan(first, second, third, steps=10)
    bounds = [staged.step(step, 0).bound for step in range(10)]
    assert bounds == [first] * 4 + [second] * 3 + [third] * 3
    assert [staged.stage(step) for step in (0, 3, 4, 6, 7, 9)] == [0, 0, 1, 1, 2, 2]


def test_one_bound_follows_the_options_themselves():
    options = {"steps": 50, "warmup": 8, "schedule": "cosine", "beta_warmup": 9, "ema": 0.9}
    single, own = plan(first, **options), Training(**options)
    for step in range(50):
        taken = single.step(step, 0)
        assert taken == (first, step, own.rate(step), own.beta(step), 1 - own.decay(step), 0)


def test_every_stage_has_a_warm_up_and_a_cosine_of_its_own():
    staged = plan(first, second, steps=200, warmup=10, schedule="cosine", beta_warmup=20)
    half = Training(steps=100, warmup=10, schedule="cosine", beta_warmup=20)
    for step in range(200):
        taken = staged.step(step, 0)
        assert taken.rate == half.rate(step % 100)
        assert taken.beta == half.beta(step % 100)
    assert staged.step(99, 0).rate < 1e-3 * half.learning_rate
    assert staged.step(110, 0).rate == half.learning_rate


def test_stages_that_are_not_equal_in_length_still_end_their_cosine():
    staged = plan(first, second, steps=7, schedule="cosine", learning_rate=1.0)
    assert [staged.step(step, 0).rate for step in (0, 4)] == [1.0, 1.0]
    assert staged.step(3, 0).rate == Training(steps=4, schedule="cosine", learning_rate=1.0).rate(3)
    assert staged.step(6, 0).rate == Training(steps=3, schedule="cosine", learning_rate=1.0).rate(2)


def test_the_average_goes_on_over_stages():
    staged = plan(first, second, steps=40, ema=0.99)
    shares = [staged.step(step, 0).average for step in range(40)]
    assert shares == pytest.approx([1 - (1 + step) / (10 + step) for step in range(40)])


def test_training_stops_where_a_stage_ends():
    staged = plan(first, second, steps=250, log_every=90, checkpoint_every=1000)
    stops, step = [], 0
    while step < 250:
        step = staged.next_stop(step)
        stops.append(step)
    assert stops == [90, 100, 125, 180, 200, 250]


@pytest.mark.parametrize("rollbacks", [0, 1, 2, 5])
def test_a_rollback_halves_the_rate_and_takes_other_batches(rollbacks):
    staged = plan(first, second, steps=60, warmup=5, schedule="cosine", beta_warmup=9, ema=0.9)
    for step in range(60):
        plain, again = staged.step(step, 0), staged.step(step, rollbacks)
        assert again.rate == plain.rate * 0.5**rollbacks
        assert again.number == step + 60 * rollbacks
        assert (again.bound, again.beta, again.average) == (plain.bound, plain.beta, plain.average)


def test_no_two_attempts_share_a_batch():
    staged = plan(first, steps=30)
    numbers = [staged.step(step, rollbacks).number for rollbacks in range(4) for step in range(30)]
    assert len(set(numbers)) == len(numbers)
