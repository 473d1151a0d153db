"""Pixels are Bernoulli, all of them independent."""

import pytest
import torch
from torch.distributions import Bernoulli, Independent
from torch.testing import assert_close

from mindseye.distributions import Pixels


@pytest.fixture
def logits() -> torch.Tensor:
    return 3 * torch.randn(4, 2, 5, 6, generator=torch.Generator().manual_seed(0))


@pytest.fixture
def pictures() -> torch.Tensor:
    return (torch.rand(4, 2, 5, 6, generator=torch.Generator().manual_seed(1)) < 0.4).float()


def test_the_log_likelihood_is_that_of_independent_bernoullis(logits, pictures):
    plain = Independent(Bernoulli(logits=logits), 3)
    assert torch.equal(Pixels(logits).log_prob(pictures), plain.log_prob(pictures))
    p = logits.double().sigmoid()
    by_hand = (pictures * p.log() + (1 - pictures) * (1 - p).log()).sum((1, 2, 3))
    assert_close(Pixels(logits).log_prob(pictures).double(), by_hand, rtol=1e-5, atol=0)


def test_pixels_between_0_and_1_are_allowed(logits):
    grey = torch.full_like(logits, 0.5)
    both = Pixels(logits).log_prob(torch.zeros_like(grey)) + Pixels(logits).log_prob(grey * 2)
    assert_close(Pixels(logits).log_prob(grey), both / 2)


def test_the_gradient_is_the_pixel_minus_its_probability(logits, pictures):
    logits.requires_grad_()
    Pixels(logits).log_prob(pictures).sum().backward()
    assert_close(logits.grad, pictures - logits.detach().sigmoid())


def test_logits_of_any_size_are_safe():
    extreme = torch.tensor([-200.0, 200.0]).view(2, 1, 1, 1)
    assert Pixels(extreme).log_prob(torch.zeros(2, 1, 1, 1)).tolist() == [0.0, -200.0]


def test_shapes_and_means_are_those_of_pictures(logits):
    pixels = Pixels(logits)
    assert (pixels.batch_shape, pixels.event_shape) == ((4,), (2, 5, 6))
    assert_close(pixels.mean, logits.sigmoid())
    assert pixels.sample().unique().tolist() == [0.0, 1.0]
