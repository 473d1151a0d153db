from __future__ import annotations

import pytest
import torch
from torch import nn

from mindseye.training import Average


def scalar(value: float) -> nn.Linear:
    model = nn.Linear(1, 1, bias=False, dtype=torch.float64)
    nn.init.constant_(model.weight, value)
    return model


def followed(values: list[float], decay: float) -> float:
    """The average after the weight took each of the values."""
    model = scalar(values[0])
    average = Average(model, decay)
    for value in values[1:]:
        nn.init.constant_(model.weight, value)
        average.update()
    return average.weights()["weight"].item()


def test_the_first_updates_use_the_warm_up():
    # d_0 = 1/10, d_1 = 2/11, d_2 = 3/12
    expected = (1.0 * 0.1 + 5.0 * 0.9) * 2 / 11 + 7.0 * 9 / 11
    assert followed([1.0, 5.0, 7.0], decay=0.999) == pytest.approx(expected, rel=1e-14)
    assert followed([1.0, 5.0, 7.0, 7.0], decay=0.999) == pytest.approx(
        expected * 3 / 12 + 7.0 * 9 / 12, rel=1e-14
    )


def test_a_long_average_is_the_sum_of_its_closed_form():
    values = torch.linspace(-1, 2, 400, dtype=torch.float64)
    decays = [min(0.9, (1 + t) / (10 + t)) for t in range(399)]
    tail = torch.tensor([*decays, 1.0], dtype=torch.float64).flip(0).cumprod(0).flip(0)
    gains = torch.tensor([1.0, *(1 - d for d in decays)], dtype=torch.float64)
    weights = gains * tail
    assert weights.sum().item() == pytest.approx(1.0)
    assert followed(values.tolist(), 0.9) == pytest.approx((weights * values).sum().item())


def test_a_constant_is_its_own_average():
    assert followed([3.0] * 50, decay=0.99) == pytest.approx(3.0, rel=1e-14)


def test_the_start_is_forgotten_quickly():
    # The product of the first 50 decays, (t + 1)/(t + 10), is 9!/(51 ... 59): under 1e-9.
    assert abs(followed([1e3] + [0.0] * 50, decay=0.9999)) < 1e-6


def test_decay_zero_follows_the_model():
    assert followed([1.0, 2.0, 9.0], decay=0.0) == 9.0


def test_buffers_are_averaged_and_counters_copied():
    model = nn.BatchNorm1d(3)
    average = Average(model, 0.5)
    model(torch.randn(8, 3))
    average.update()
    weights = average.weights()
    assert weights["num_batches_tracked"].item() == 1
    torch.testing.assert_close(weights["running_mean"], 0.9 * model.state_dict()["running_mean"])


def test_the_model_is_left_alone():
    model = scalar(2.0)
    average = Average(model, 0.5)
    nn.init.constant_(model.weight, 4.0)
    average.update()
    assert model.weight.item() == 4.0
    assert average.weights()["weight"].data_ptr() != model.weight.data_ptr()


def test_a_loaded_average_goes_on_where_the_other_was():
    model = scalar(1.0)
    average = Average(model, 0.9)
    for value in (2.0, 3.0):
        nn.init.constant_(model.weight, value)
        average.update()
    other = Average(model, 0.9)
    other.load(average.weights(), average.updates)
    nn.init.constant_(model.weight, 5.0)
    average.update()
    other.update()
    assert torch.equal(average.weights()["weight"], other.weights()["weight"])
    assert other.updates == 3
