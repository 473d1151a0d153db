"""Likelihoods of grey levels: masses that add up, against their integrals."""

import math

import pytest
import torch
from torch.distributions import Normal

from mindseye.distributions import NormalPixels, QuantisedLogistic, QuantisedNormal

KINDS = [QuantisedNormal, QuantisedLogistic]


def levels(count: int) -> torch.Tensor:
    return torch.linspace(0, 1, count, dtype=torch.float64).view(count, 1, 1, 1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loc", [-0.3, 0.0, 0.31, 1.0, 1.4])
@pytest.mark.parametrize("log_scale", [-6.0, -2.0, 1.0])
def test_the_masses_of_all_levels_add_up_to_one(kind, loc, log_scale):
    value = levels(256)
    p = kind(torch.full_like(value, loc), torch.full_like(value, log_scale))
    assert p.log_prob(value).exp().sum().item() == pytest.approx(1.0, abs=1e-9)


def test_a_mass_is_the_integral_of_the_normal_over_its_interval():
    value, normal = levels(4), Normal(torch.tensor(0.4, dtype=torch.float64), 0.3)
    p = QuantisedNormal(torch.full_like(value, 0.4), torch.full_like(value, math.log(0.3)), 4)
    edges = torch.tensor([1 / 6, 1 / 2, 5 / 6], dtype=torch.float64)
    below = torch.cat([torch.zeros(1), normal.cdf(edges), torch.ones(1)])
    torch.testing.assert_close(p.log_prob(value).exp(), below.diff().double())


def test_a_mass_is_the_difference_of_two_sigmoids():
    value = levels(4)
    p = QuantisedLogistic(torch.full_like(value, 0.4), torch.full_like(value, math.log(0.1)), 4)
    edges = torch.tensor([1 / 6, 1 / 2, 5 / 6], dtype=torch.float64)
    edges = ((edges - 0.4) / 0.1).sigmoid()
    below = torch.cat([torch.zeros(1), edges, torch.ones(1)])
    torch.testing.assert_close(p.log_prob(value).exp(), below.diff().double())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("value", [0.0, 0.5019608, 1.0])
@pytest.mark.parametrize("loc", [-20.0, 0.5, 20.0])
def test_far_levels_have_finite_masses_and_gradients_in_float32(kind, value, loc):
    x = torch.full((1, 1, 1, 1), value)
    centre = torch.full_like(x, loc, requires_grad=True)
    width = torch.full_like(x, -4.0, requires_grad=True)
    log_p = kind(centre, width).log_prob(x)
    log_p.sum().backward()
    for number in (log_p, centre.grad, width.grad):
        assert torch.isfinite(number).all()


@pytest.mark.parametrize("kind", KINDS)
def test_draws_are_levels_with_the_masses_that_are_said(kind):
    torch.manual_seed(0)
    loc = torch.full((1, 1, 1), 0.4)
    p = kind(loc, torch.full_like(loc, math.log(0.2)), 4)
    drawn = p.sample((100_000,)).flatten()
    for level in torch.linspace(0, 1, 4):
        share = (drawn - level).abs().lt(1e-6).float().mean().item()
        expected = p.log_prob(torch.full((1, 1, 1), level.item())).exp().item()
        assert share == pytest.approx(expected, abs=0.008)


def test_a_picture_is_the_sum_of_its_pixels():
    torch.manual_seed(0)
    loc, log_scale = torch.rand(5, 2, 3, 4), torch.randn(5, 2, 3, 4)
    x = torch.rand(5, 2, 3, 4)
    assert NormalPixels(loc, log_scale).log_prob(x).shape == (5,)
    expected = Normal(loc, log_scale.exp()).log_prob(x).sum((1, 2, 3))
    torch.testing.assert_close(NormalPixels(loc, log_scale).log_prob(x), expected)


def test_a_shared_deviation_is_one_for_all_pictures():
    loc, shared = torch.rand(5, 2, 3, 4), torch.randn(2, 3, 4)
    each = NormalPixels(loc, shared.expand(5, 2, 3, 4)).log_prob(loc)
    torch.testing.assert_close(NormalPixels(loc, shared).log_prob(loc), each)
