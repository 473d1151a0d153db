"""A generator with the verbs of a model: what is true, changed part by part."""

import math

import pytest
import torch
from torch.testing import assert_close

from mindseye.composing import Composition
from mindseye.data import Loads, Sines, Sites
from mindseye.errors import UsageError
from mindseye.generating import Truth
from mindseye.pieces import encode_parts

SEED = 7
KINDS = [(Sines, "f2, f7", "f3"), (Loads, "2×family, solar", "electric-car")]
KINDS += [(Sites, "red@0.2,-0.5; blue@0.6,0.1", "green@-0.4,0.4")]


def assert_same(one: Composition, two: Composition) -> None:
    """To the last bit."""
    assert one.parts == two.parts
    for name in ("w", "noise", "means"):
        assert torch.equal(getattr(one, name), getattr(two, name)), name


def test_a_curve_is_the_one_of_its_amplitudes_and_phases():
    made = Truth(Sines()).composed("2×f2, f7", 3, SEED)
    time = torch.arange(200)
    waves = sum(
        made.w[:, i, :1] * torch.cos(2 * math.pi * frequency * time / 100 + made.w[:, i, 1:])
        for i, frequency in enumerate((2, 2, 7))
    )
    assert_close(made.means[:, 0, 0], 3 * torch.tanh(waves), rtol=0, atol=1e-4)


def test_numbers_are_drawn_as_the_data_set_draws_them():
    made = Truth(Sines()).composed("f2, f7", 20_000, SEED)
    amplitude, phase = made.w.flatten(0, 1).unbind(1)
    assert amplitude.mean().item() == pytest.approx(1, abs=0.01)
    assert amplitude.std().item() == pytest.approx(0.3, abs=0.01)
    assert phase.std().item() == pytest.approx(math.pi / 2, abs=0.03)
    first, second = made.w[:, 0, 0], made.w[:, 1, 0]
    assert torch.corrcoef(torch.stack([first, second]))[0, 1].abs() < 0.03


@pytest.mark.parametrize(("kind", "text", "more"), KINDS)
def test_wholes_have_the_law_of_the_data_set(kind, text, more):
    data = kind("test")
    made = Truth(data).composed(text, 1000, SEED)
    real = data.wholes_of(encode_parts([made.parts]), SEED, 1000)[0]
    errors = (2 / 1000) ** 0.5 * real.std(0).clamp(min=0.02)
    assert ((made.means.mean(0) - real.mean(0)).abs() < 5 * errors).all()
    assert made.means.std(0).mean().item() == pytest.approx(real.std(0).mean().item(), rel=0.1)


@pytest.mark.parametrize(("kind", "text", "more"), KINDS)
def test_a_part_that_is_added_and_removed_leaves_no_trace(kind, text, more):
    truth = Truth(kind())
    before = truth.composed(text, 2, SEED)
    after = truth.added(before, more, SEED)
    assert_same(after, truth.composed(f"{text}; {more}", 2, SEED))
    assert (after.means - before.means).abs().max() > 0.01
    assert_same(truth.removed(after, more), before)
    assert torch.equal(after.noise, before.noise)  # the day of a street stays the same


def test_the_rest_of_a_picture_keeps_its_numbers_where_a_part_moves():
    truth = Truth(Sites())
    before = truth.composed("red@0.2,-0.5; red@-0.4,0; blue@0.6,0.1", 2, SEED)
    after = truth.moved(before, "red@0.2,-0.5", -0.9, 0.7)
    assert str(after.parts) == "red@-0.9,0.7; red@-0.4,0; blue@0.6,0.1"
    assert torch.equal(after.w, before.w[:, [1, 0, 2]])
    back = truth.moved(after, "red@-0.9,0.7", 0.2, -0.5)
    assert_same(back, before)


def test_the_order_of_parts_says_nothing():
    truth = Truth(Sines())
    one, two = (truth.composed(text, 2, SEED) for text in ("f2, f7, f2", "f7, 2×f2"))
    assert_same(one, two)
    assert not torch.equal(one.means, truth.composed("f7, 2×f2", 2, SEED + 1).means)


def test_parts_that_are_not_there_are_refused():
    with pytest.raises(UsageError, match="'f11' is not a part here"):
        Truth(Sines()).composed("f11")
