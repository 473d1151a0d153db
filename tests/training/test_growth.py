"""Examples that grow while a model learns: when, by how much, and what else that changes."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from mindseye.objectives.bound import Bound
from mindseye.papers import get_recipe
from mindseye.runs.making import data_of, fresh, trained
from mindseye.training import Checkpoints, Growth, Plan, Training, train

GROWTH = Growth(first=2, last=5, every=6)
OPTIONS = Training(
    steps=26,
    batch_size=4,
    learning_rate=0.02,
    schedule="cosine",
    ema=0.9,
    log_every=1,
    checkpoint_every=100,
    seed=3,
)
growths = st.builds(
    lambda first, more, every: Growth(first, first + more, every),
    st.integers(1, 9),
    st.integers(0, 9),
    st.integers(1, 40),
)


def nothing(model, batch, beta) -> Bound:
    raise NotImplementedError


def plan(growth: Growth | None = GROWTH, *bounds, **options) -> Plan:
    return Plan(bounds or [nothing], lambda *given: given, replace(OPTIONS, **options), growth)


def stops(staged: Plan) -> list[int]:
    """Where training stops, from the beginning to its end."""
    found = [0]
    while found[-1] < staged.options.steps:
        found.append(staged.next_stop(found[-1]))
    return found


# When


def test_examples_grow_by_one_after_so_many_steps_until_they_are_largest():
    levels = [GROWTH.level(step) for step in range(30)]
    assert levels == [2] * 6 + [3] * 6 + [4] * 6 + [5] * 12
    assert GROWTH.level(10**9) == 5


@pytest.mark.parametrize(("step", "stop"), [(0, 6), (5, 6), (6, 12), (17, 18), (18, math.inf)])
def test_the_next_stop_is_the_next_step_with_larger_examples(step, stop):
    assert GROWTH.next_stop(step) == stop


def test_examples_that_are_largest_already_do_not_grow():
    for growth in (Growth(1, 1, 10), Growth(3, 3, 10)):
        assert {growth.level(step) for step in range(100)} == {growth.last}
        assert growth.next_stop(0) == math.inf


@settings(deadline=None)
@given(growths, st.integers(0, 1000))
def test_between_two_stops_the_level_is_constant_and_then_one_more(growth, step):
    level, stop = growth.level(step), growth.next_stop(step)
    assert stop > step
    until = step + 500 if math.isinf(stop) else int(stop)
    assert {growth.level(each) for each in range(step, until)} == {level}
    if math.isinf(stop):
        assert level == growth.last
    else:
        assert growth.level(int(stop)) == level + 1


# The plan


def test_a_step_carries_its_level():
    staged = plan()
    assert [staged.step(step, 0).level for step in range(26)] == [
        GROWTH.level(step) for step in range(26)
    ]
    assert plan(None).step(20, 0).level == 0


@pytest.mark.parametrize("rollbacks", [1, 3])
def test_after_a_rollback_the_level_is_that_of_the_step_and_not_of_the_number(rollbacks):
    staged = plan()
    for step in range(26):
        again = staged.step(step, rollbacks)
        assert again.number == step + 26 * rollbacks
        assert again.level == GROWTH.level(step)


def test_training_stops_where_examples_grow():
    assert stops(plan(log_every=10, checkpoint_every=100)) == [0, 6, 10, 12, 18, 20, 26]
    assert stops(plan(None, log_every=10, checkpoint_every=100)) == [0, 10, 20, 26]


@settings(deadline=None)
@given(growths, st.integers(1, 300), st.integers(1, 150))
def test_all_steps_up_to_a_stop_have_one_bound_and_one_level(growth, steps, log_every):
    staged = plan(growth, nothing, abs, steps=steps, log_every=log_every)
    step = 0
    while step < steps:
        stop = staged.next_stop(step)
        assert step < stop <= steps
        taken = [staged.step(each, 0) for each in range(step, stop)]
        assert len({(each.bound, each.level) for each in taken}) == 1
        step = stop


def test_a_batch_is_asked_for_by_its_number_a_count_and_a_level():
    assert plan().drawn(7, 3) == (7, 1, 3)
    assert plan().drawn(7, 3, 10) == (7, 10, 3)
    assert plan(None).drawn(7, 0) == (7,)
    assert plan(None).drawn(7, 0, 10) == (7, 10)


# A whole training


def network() -> nn.Module:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.2), nn.Linear(8, 1))


def batch(number: int, count: int, level: int) -> Tensor:
    """Rows as many as the level says, twice."""
    generator = torch.Generator().manual_seed(100 * number + level)
    return torch.randn(2 * level, 3, generator=generator)


def error(model, x, beta) -> Bound:
    value = -(model(x) - x.sum(-1, keepdim=True)).square().sum(-1)
    return Bound(value, {"rows": torch.full_like(value, len(x))})


def run(folder=None, until: int = 0, options: Training = OPTIONS, draw=batch):
    """A network trained to its end, or left at a record, and its records."""
    model, records = network(), []
    checkpoints = Checkpoints(folder) if folder else None
    taken = train(model, error, draw, options, checkpoints=checkpoints, growth=GROWTH)
    for record in taken:
        records.append(record)
        if record.step == until:
            break
    taken.close()
    return model, records


def test_training_draws_every_batch_by_number_count_and_level():
    asked = []

    def noted(*given):
        asked.append(given)
        return batch(*given)

    run(draw=noted)
    assert asked == [(step, 1, GROWTH.level(step)) for step in range(26)]


def test_records_are_of_batches_that_grow():
    _, records = run()
    rows = [record.terms["rows"] for record in records if record.kind == "train"]
    assert rows == [2 * GROWTH.level(step) for step in range(26)]


def test_a_run_left_before_or_after_a_change_of_level_goes_on_exactly(tmp_path):
    whole, _ = run(tmp_path / "whole")
    last = tmp_path / "whole" / "step-00000026" / "state.safetensors"
    for step in (5, 6, 7, 18, 19):
        folder = tmp_path / str(step)
        run(folder, until=step)
        again, records = run(folder)
        assert records[0].note == f"resumed from step {step}"
        for one, two in zip(again.parameters(), whole.parameters(), strict=True):
            assert torch.equal(one, two)
        assert (folder / last.parent.name / last.name).read_bytes() == last.read_bytes()


class Place(nn.Module):
    """One number to learn."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.zeros(1))


def steep(model, level, beta) -> Bound:
    """A thousand nats less for every part."""
    return Bound(-(model.w - 3).square() - 1000.0 * level, {})


def fallen(growth: Growth | None, level) -> list[str]:
    options = Training(steps=40, learning_rate=0.05, log_every=5)
    records = train(Place(), steep, level, options, growth=growth)
    return [record.note for record in records if record.kind == "rollback"]


def test_larger_examples_are_no_fall_of_the_bound():
    growth = Growth(1, 4, 10)
    assert fallen(growth, lambda number, count, level: level) == []


def test_the_same_fall_without_growth_is_one():
    first, *_ = fallen(None, lambda number: 1 + number // 10 if number < 40 else 1)
    assert "the bound, -2006 nats, fell far behind its best, -1007, at step 15" in first


def test_a_fall_within_a_level_is_one_still():
    growth = Growth(1, 2, 20)

    def thrown(number, count, level):
        return level + 5 * (number == 30)

    (note,) = fallen(growth, thrown)
    assert "fell far behind its best, -2" in note
    assert "at step 35; back to step 0" in note


def test_a_rollback_draws_other_batches_of_the_same_levels():
    asked = []

    def thrown(number, count, level):
        asked.append((number, level))
        return level + 5 * (number == 30)

    growth = Growth(1, 2, 20)
    assert len(fallen(growth, thrown)) == 1
    assert asked[:35] == [(step, growth.level(step)) for step in range(35)]
    assert asked[35:] == [(40 + step, growth.level(step)) for step in range(40)]


# Wholes


def test_wholes_have_two_parts_at_first_and_one_more_from_time_to_time(tmp_path):
    recipe = get_recipe("sines/compvae-tiny").with_settings({"log_every": "4"})
    dataset = data_of(recipe, "cpu", None)
    seen = []

    def noted(number, size, count, most):
        seen.append(most)
        return drawn(number, size, count, most)

    drawn, dataset.batch = dataset.batch, noted
    model = fresh(recipe, "cpu", dataset)
    records = list(trained(recipe, model, dataset, tmp_path, compiled=False))
    assert seen == [2] * 4 + [3] * 4 + [4] * 4
    assert all(math.isfinite(record.bound) for record in records if record.kind == "train")


@pytest.mark.parametrize("most", [1, 2, 3])
def test_wholes_never_have_more_parts_than_they_may(tmp_path, most):
    settings = {"data.most": str(most), "training.growth": "2", "training.steps": "6"}
    recipe = get_recipe("sines/compvae-tiny").with_settings(settings)
    dataset = data_of(recipe, "cpu", None)
    sizes = []

    def noted(*given):
        batch = drawn(*given)
        sizes.append(int(batch.y.sizes.max()))
        return batch

    drawn, dataset.batch = dataset.batch, noted
    list(trained(recipe, fresh(recipe, "cpu", dataset), dataset, tmp_path, compiled=False))
    assert max(sizes[:2]) == min(2, most)
    assert max(sizes[2:]) == most
