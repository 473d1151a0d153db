"""Pixels are Bernoulli or Beta, all of them independent."""

import pytest
import torch
from torch.distributions import Bernoulli, Beta, Independent
from torch.testing import assert_close

from mindseye.distributions import BetaPixels, Pixels


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


# Pixels between 0 and 1


@pytest.fixture
def grey() -> torch.Tensor:
    return torch.rand(4, 2, 5, 6, generator=torch.Generator().manual_seed(2))


def beta_of(logits: torch.Tensor, concentration: float = 100.0) -> Independent:
    """Torch's own, in float64."""
    mean = logits.double().sigmoid()
    return Independent(Beta(concentration * mean, concentration * (1 - mean)), 3)


@pytest.mark.parametrize("concentration", [2.0, 100.0])
def test_the_density_of_greys_is_that_of_torch(logits, grey, concentration):
    pixels = BetaPixels(logits, concentration)
    expected = beta_of(logits, concentration).log_prob(grey.double())
    assert_close(pixels.log_prob(grey).double(), expected, rtol=1e-5, atol=1e-3)
    assert (pixels.batch_shape, pixels.event_shape) == ((4,), (2, 5, 6))


@pytest.mark.parametrize("logit", [-4.0, -1.0, 0.0, 2.0])
def test_the_density_of_greys_has_a_volume_of_one(logit):
    x = (torch.arange(20_000, dtype=torch.float64) + 0.5) / 20_000
    pixels = BetaPixels(torch.full((1, 1, 1), logit))
    density = pixels.log_prob(x.view(-1, 1, 1, 1).float()).double().exp()
    assert density.mean().item() == pytest.approx(1, abs=2e-3)
    assert (x * density).mean().item() == pytest.approx(pixels.mean.item(), abs=2e-3)


def test_draws_of_greys_have_their_mean_and_variance(logits):
    torch.manual_seed(0)
    pixels = BetaPixels(logits / 2)
    drawn = pixels.sample(torch.Size([20_000]))
    mean = (logits / 2).sigmoid()
    assert drawn.shape == (20_000, *logits.shape)
    assert_close(pixels.mean, mean)
    assert_close(drawn.mean(0), mean, rtol=0, atol=2e-3)
    assert_close(drawn.var(0), mean * (1 - mean) / 101, rtol=0.1, atol=0)


def test_greys_may_lack_leading_sizes(logits, grey):
    pixels = BetaPixels(logits.expand(3, *logits.shape))
    assert pixels.log_prob(grey).shape == (3, 4)
    assert_close(pixels.log_prob(grey)[1], BetaPixels(logits).log_prob(grey))


@pytest.mark.parametrize("logit", [-200.0, -30.0, 0.0, 30.0, 200.0])
@pytest.mark.parametrize("grey", [0.0, 1e-9, 0.5, 1.0])
def test_black_white_and_logits_of_any_size_are_safe(logit, grey):
    logits = torch.full((1, 2, 2), logit, requires_grad=True)
    pixels = BetaPixels(logits)
    value = pixels.log_prob(torch.full((1, 2, 2), grey))
    (grad,) = torch.autograd.grad(value, logits)
    assert value.isfinite()
    assert grad.isfinite().all()
    torch.manual_seed(0)
    drawn = pixels.sample(torch.Size([100]))
    assert ((drawn >= 0) & (drawn <= 1)).all()


def test_the_gradient_of_greys_moves_the_mean_towards_them():
    logits = torch.zeros(2, 1, 1, 1, requires_grad=True)
    BetaPixels(logits).log_prob(torch.tensor([0.9, 0.1]).view(2, 1, 1, 1)).sum().backward()
    # d/dh = s σ' (log x - log(1-x) - ψ(α) + ψ(β)), and ψ(α) = ψ(β) in the middle
    expected = 25 * torch.tensor([9.0, 1 / 9]).log()
    assert_close(logits.grad.flatten(), expected, rtol=1e-4, atol=0)


@pytest.mark.parametrize("logit", [-80.0, -12.0, 12.0, 80.0])
def test_a_mean_that_has_run_away_finds_back(logit):
    logits = torch.full((1, 1, 1), logit, requires_grad=True)
    (grad,) = torch.autograd.grad(BetaPixels(logits).log_prob(torch.full((1, 1, 1), 0.5)), logits)
    assert grad.item() == pytest.approx(-1 if logit > 0 else 1, abs=0.01)  # that of log α


def test_greys_are_measured_in_float32_whatever_the_decoder_says(logits, grey):
    half = BetaPixels(logits.bfloat16()).log_prob(grey)
    assert half.dtype == torch.float32
    assert_close(half, BetaPixels(logits.bfloat16().float()).log_prob(grey))
