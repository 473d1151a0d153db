from __future__ import annotations

import math
from itertools import pairwise

import pytest

from mindseye.errors import UsageError
from mindseye.training.schedules import GUARD, Training, constant, cosine, halving, warmup


def test_a_warm_up_is_exact_at_both_ends():
    assert warmup(0, over=1000) == 0.0
    assert warmup(250, over=1000) == 0.25
    assert warmup(1000, over=1000) == 1.0
    assert warmup(10**9, over=1000) == 1.0


def test_no_warm_up_starts_at_the_full_value():
    assert warmup(0, over=0) == 1.0


def test_a_cosine_is_exact_at_both_ends_and_never_goes_below_its_floor():
    assert cosine(0, steps=70) == 1.0
    assert cosine(70, steps=70) == 0.0
    assert cosine(0, steps=70, floor=0.1) == 1.0
    assert cosine(70, steps=70, floor=0.1) == 0.1
    assert cosine(700, steps=70, floor=0.1) == 0.1


def test_a_cosine_is_half_way_in_the_middle_and_falls_all_the_time():
    assert cosine(35, steps=70) == pytest.approx(0.5, abs=1e-15)
    values = [cosine(step, steps=70) for step in range(71)]
    assert all(later < earlier for earlier, later in pairwise(values))


def test_halving_drops_by_two_at_each_multiple():
    assert [halving(step, every=10) for step in (0, 9, 10, 19, 20, 30)] == [
        1,
        1,
        0.5,
        0.5,
        0.25,
        0.125,
    ]


def test_halving_stops_at_its_floor():
    assert halving(10**6, every=10, floor=0.01) == 0.01


def test_constant_is_one():
    assert {constant(step, 100) for step in (0, 50, 100)} == {1.0}


def test_the_learning_rate_rises_to_the_full_one_and_falls_from_there():
    options = Training(steps=100, learning_rate=0.5, warmup=10, schedule="cosine")
    assert options.rate(0) == 0.5 / 10
    assert options.rate(9) == options.rate(10) == 0.5
    assert options.rate(55) == pytest.approx(0.25)
    assert options.rate(99) == 0.5 * cosine(89, 90)


def test_without_warm_up_or_decay_the_learning_rate_is_the_one_given():
    options = Training(steps=10, learning_rate=0.3)
    assert {options.rate(step) for step in range(10)} == {0.3}


def test_a_warm_up_longer_than_the_training_is_only_cut():
    options = Training(steps=10, learning_rate=1.0, warmup=100, schedule="cosine")
    assert options.rate(9) == 0.1


def test_the_weight_of_the_kl_rises_from_zero_to_one():
    options = Training(steps=100, beta_warmup=50)
    assert [options.beta(step) for step in (0, 25, 50, 99)] == [0.0, 0.5, 1.0, 1.0]
    assert Training(steps=100).beta(0) == 1.0


def test_no_stop_is_more_than_the_guard_away():
    options = Training(steps=12_345, log_every=1000, checkpoint_every=999)
    step, stops = 0, []
    while step < options.steps:
        stop = options.next_stop(step)
        assert step < stop <= step + GUARD
        step = stop
        stops.append(stop)
    assert stops[-1] == options.steps
    assert {999, 1000, 1998, 2000} <= set(stops)
    assert all(options.checks(stop) or options.logs(stop) for stop in stops)


def test_a_stop_does_not_depend_on_where_the_run_was_resumed():
    options = Training(steps=500, log_every=30, checkpoint_every=70)
    stops = [stop for stop in range(1, 501) if options.next_stop(stop - 1) == stop]
    assert stops == sorted({*range(30, 501, 30), *range(70, 501, 70), *range(100, 501, 100)})


def test_betas_from_json_become_a_tuple():
    assert Training(adam_betas=[0.5, 0.9]) == Training(adam_betas=(0.5, 0.9))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"steps": 0}, r"`steps` \(=0\) must be a whole number of at least 1"),
        ({"steps": 1.5}, r"`steps` \(=1.5\) must be a whole number"),
        ({"steps": True}, r"`steps` \(=True\) must be a whole number"),
        ({"batch_size": -1}, r"`batch_size` \(=-1\) must be a whole number of at least 1"),
        ({"log_every": 0}, r"`log_every` \(=0\) must be"),
        ({"checkpoint_every": 0}, r"`checkpoint_every` \(=0\) must be"),
        ({"warmup": -1}, r"`warmup` \(=-1\) must be a whole number of at least 0"),
        ({"beta_warmup": -1}, r"`beta_warmup` \(=-1\) must be"),
        ({"cooling": -1}, r"`cooling` \(=-1\) must be"),
        ({"heat": 0.5}, r"`heat` \(=0.5\) must be a number of at least 1"),
        ({"learning_rate": 0.0}, r"`learning_rate` \(=0.0\) must be a number above 0"),
        ({"learning_rate": math.nan}, r"`learning_rate` \(=nan\) must be a number above 0"),
        ({"learning_rate": "fast"}, r"`learning_rate` \(='fast'\) must be a number above 0"),
        ({"adam_eps": math.inf}, r"`adam_eps` \(=inf\) must be"),
        ({"clip": -1.0}, r"`clip` \(=-1.0\) must be a number of at least 0"),
        ({"weight_decay": -1.0}, r"`weight_decay` \(=-1.0\) must be"),
        ({"ema": 1.0}, r"`ema` \(=1.0\) must be a number of at least 0 and below 1"),
        ({"adam_betas": (0.9,)}, r"`adam_betas` \(=\(0.9,\)\) must be two numbers"),
        ({"adam_betas": (0.9, 1.0)}, r"`adam_betas` \(=\(0.9, 1.0\)\) must be two numbers"),
        ({"adam_betas": ("a", "b")}, r"`adam_betas` \(=\('a', 'b'\)\) must be two numbers"),
        ({"seed": -1}, r"`seed` \(=-1\) must be a whole number from 0"),
        (
            {"schedule": "cosin"},
            r"'powers' or 'halving'. Did you mean 'cosine'",
        ),
        ({"schedule": ["cosine"]}, r"`schedule` \(=\['cosine'\]\) must be"),
    ],
)
def test_an_option_that_cannot_be_meant_is_named(options, message):
    with pytest.raises(UsageError, match=message):
        Training(**options)


def test_heat_falls_to_one_by_the_same_factor_at_every_step():
    options = Training(steps=100, cooling=50, heat=400.0)
    found = [options.beta(step) for step in range(60)]
    assert found[0] == 400.0
    assert found[25] == pytest.approx(20.0)
    assert set(found[50:]) == {1.0}
    factors = [b / a for a, b in pairwise(found[:51])]
    assert factors == pytest.approx([400 ** (-1 / 50)] * 50)


def test_cooling_is_over_after_half_of_the_steps():
    options = Training(steps=40, cooling=50, heat=400.0)
    assert options.beta(10) == pytest.approx(20.0)
    assert options.beta(20) == 1.0


def test_what_is_warmed_up_is_not_cooled():
    with pytest.raises(UsageError, match="`beta_warmup=5` raises what `cooling=10` lowers"):
        Training(cooling=10, beta_warmup=5)
