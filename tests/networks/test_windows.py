"""Windows of attention: where their filters stand, what they read and what they write."""

import math

import pytest
import torch
from torch.testing import assert_close

from mindseye.networks.windows import Aim, window

SHAPE = (1, 20, 30)


def numbers(across=0.0, down=0.0, variance=0.0, spacing=0.0, strength=0.0):
    return torch.tensor([[across, down, variance, spacing, strength]])


def test_zeros_are_a_window_over_the_whole_picture():
    found = window(numbers(), SHAPE, 5)
    row, column, spacing = found.place[0].tolist()
    assert (row, column) == (9.5, 14.5)
    assert spacing == pytest.approx(29 / 4)  # the longer side
    ends = column - 2 * spacing, column + 2 * spacing
    assert ends == pytest.approx((0, 29))


def test_every_filter_sums_to_one_even_outside_the_picture():
    for far in (0.0, 3.0, -50.0):
        found = window(numbers(far, far, -3.0), SHAPE, 4)
        assert_close(found.rows.sum(-1), torch.ones(1, 4))
        assert_close(found.columns.sum(-1), torch.ones(1, 4))


def test_a_filter_is_a_gaussian_about_its_place():
    found = window(numbers(variance=math.log(4.0), spacing=math.log(0.5)), SHAPE, 3)
    centre, spacing = 14.5, 29 / 2 / 2
    pixel = torch.arange(30.0)
    expected = torch.exp(-((pixel - (centre + spacing)) ** 2) / (2 * 4.0))
    assert_close(found.columns[0, 2], expected / expected.sum())


def test_narrow_filters_read_the_pixels_they_stand_on():
    picture = torch.randn(1, 2, 9, 9, generator=torch.Generator().manual_seed(0))
    found = window(numbers(variance=-9.0), (2, 9, 9), 9)  # spacing 1: one filter a pixel
    assert_close(found.read(picture), picture.flatten(1), rtol=0, atol=1e-5)
    assert_close(found.write(picture), picture, rtol=0, atol=1e-5)


def test_strength_multiplies_what_is_read_and_divides_what_is_written():
    picture = torch.rand(1, 1, 20, 30, generator=torch.Generator().manual_seed(0))
    patch = torch.rand(1, 1, 4, 4, generator=torch.Generator().manual_seed(1))
    plain, strong = (window(numbers(strength=s), SHAPE, 4) for s in (0.0, math.log(3.0)))
    assert_close(strong.read(picture), 3 * plain.read(picture))
    assert_close(strong.write(patch), plain.write(patch) / 3)


def test_writing_is_the_transpose_of_reading():
    draws = torch.Generator().manual_seed(2)
    picture = torch.randn(1, 1, 20, 30, generator=draws)
    patch = torch.randn(1, 1, 4, 4, generator=draws)
    found = window(torch.randn(1, 5, generator=draws) * 0.3, SHAPE, 4)
    strength = found.strength[0, 0]
    read = (found.read(picture) / strength * patch.flatten(1)).sum()
    written = (found.write(patch) * strength * picture).sum()
    assert_close(read, written)


def test_moving_the_centre_moves_what_is_written():
    patch = torch.ones(1, 1, 3, 3)
    for across, down in ((-0.5, 0.4), (0.3, -0.2)):
        found = window(numbers(across, down, -1.0, -2.0), SHAPE, 3)
        ink = found.write(patch)[0, 0]
        row = ink.sum(1) @ torch.arange(20.0) / ink.sum()
        column = ink.sum(0) @ torch.arange(30.0) / ink.sum()
        assert row.item() == pytest.approx(9.5 * (down + 1), abs=0.05)
        assert column.item() == pytest.approx(14.5 * (across + 1), abs=0.05)


def test_numbers_that_ran_away_stay_finite():
    found = window(torch.full((1, 5), 1e4), SHAPE, 4)
    assert torch.isfinite(found.read(torch.rand(1, 1, 20, 30))).all()
    assert torch.isfinite(found.write(torch.rand(1, 1, 4, 4))).all()


def test_an_aim_is_a_window_of_five_linear_numbers():
    torch.manual_seed(0)
    aim, state = Aim(6, SHAPE, 4), torch.randn(3, 6)
    five = state @ aim.weight.T + aim.bias
    assert_close(aim(state).place, window(five, SHAPE, 4).place)
