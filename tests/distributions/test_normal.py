import pytest
import torch
from torch.distributions import Independent, MultivariateNormal, Normal, kl_divergence
from torch.distributions.kl import _dispatch_kl

from mindseye.distributions import (
    ProductOfExperts,
    detached,
    diagonal_normal,
    moment_matched,
    standard_normal,
)
from mindseye.distributions.normal import DiagonalNormal, _divergence, soft_bounded
from mindseye.labels import Labels


def test_soft_bounds_hold_everywhere():
    bounded = soft_bounded(torch.linspace(-1e4, 1e4, 1001))
    assert bounded.min() >= -7
    assert bounded.max() <= 3
    assert (bounded.diff() >= 0).all()


def test_soft_bounds_leave_widths_near_one_alone():
    x = torch.linspace(-0.1, 0.1, 21)
    torch.testing.assert_close(soft_bounded(x), x, rtol=1e-3, atol=1e-6)


def test_soft_bounds_have_slope_one_at_zero_from_both_sides():
    x = torch.tensor([-1e-4, 1e-4], requires_grad=True)
    soft_bounded(x).sum().backward()
    assert x.grad is not None
    torch.testing.assert_close(x.grad, torch.ones(2))


@pytest.mark.parametrize(
    "made",
    [
        lambda loc: diagonal_normal(loc, loc / 2),
        lambda loc: MultivariateNormal(loc, torch.diag_embed(loc.exp())),
    ],
)
def test_a_detached_normal_is_the_same_and_passes_no_gradient_on(made):
    q = made(torch.tensor([[0.3, -1.0]], requires_grad=True))
    still = detached(q)
    assert kl_divergence(q, still).abs().max() < 1e-6
    assert type(still) is type(q)
    assert q.rsample().requires_grad
    assert not still.rsample().requires_grad
    assert not still.entropy().requires_grad


# Divergences


def random_normal(seed: int, *shape: int) -> DiagonalNormal:
    loc, log_scale = torch.randn(2, *shape, generator=torch.Generator().manual_seed(seed)).double()
    return diagonal_normal(loc, log_scale)


def closed_form(p: DiagonalNormal, q: DiagonalNormal) -> torch.Tensor:
    ratio, far = p.variance / q.variance, (p.mean - q.mean).square() / q.variance
    return 0.5 * (ratio + far - 1 - ratio.log()).sum(-1)


@pytest.mark.parametrize("shape", [(5, 3), (2, 5, 3)])
def test_the_divergence_of_two_normals_is_the_closed_form(shape):
    p, q = random_normal(0, *shape), random_normal(1, *shape)
    torch.testing.assert_close(kl_divergence(p, q), closed_form(p, q))
    assert kl_divergence(p, q).shape == shape[:-1]
    assert (kl_divergence(p, p) == 0).all()


def test_one_normal_may_be_compared_with_many():
    p, prior = random_normal(0, 5, 3), standard_normal(torch.zeros(3).double())
    expected = closed_form(p, random_normal(1, 3))
    torch.testing.assert_close(kl_divergence(p, random_normal(1, 3)), expected)
    torch.testing.assert_close(kl_divergence(p, prior), closed_form(p, prior))


@pytest.mark.parametrize("p", [DiagonalNormal, ProductOfExperts])
@pytest.mark.parametrize("q", [DiagonalNormal, ProductOfExperts])
def test_our_own_divergence_is_the_one_that_is_used(p, q):
    assert _dispatch_kl(p, q) is _divergence


def test_a_diagonal_normal_is_what_torch_makes_of_independent_ones():
    q = random_normal(0, 5, 3)
    plain = Independent(Normal(q.mean, q.stddev), 1)
    z = torch.randn(5, 3).double()
    assert torch.equal(q.log_prob(z), plain.log_prob(z))
    assert (q.batch_shape, q.event_shape) == (plain.batch_shape, plain.event_shape)
    wider = q.expand((4, 5))
    assert wider.batch_shape == (4, 5)
    assert torch.equal(wider.mean[2], q.mean)


# Noise


def beliefs() -> list[DiagonalNormal]:
    """A normal of every kind, with batches of two."""
    loc, log_scale = torch.randn(2, 2, 4, 3, generator=torch.Generator().manual_seed(0)) / 2
    said = Labels(torch.tensor([[0, 1], [1, 3]]), torch.tensor([[True, True], [True, False]]))
    return [
        diagonal_normal(loc[:, 0], log_scale[:, 0]),
        standard_normal(loc[:, 0]),
        ProductOfExperts(loc, log_scale, torch.tensor([[True] * 4, [False, True] * 2])),
        moment_matched(loc, log_scale, said),
    ]


@pytest.mark.parametrize("q", beliefs(), ids=["normal", "standard", "product", "symbols"])
def test_noise_becomes_latents_by_mean_and_deviation(q):
    zero, one = torch.zeros(2, 3), torch.ones(2, 3)
    assert torch.equal(q.at(zero), q.mean)
    torch.testing.assert_close(q.at(one) - q.at(zero), q.stddev)
    noise = torch.randn(5, 1, 3, generator=torch.Generator().manual_seed(1))
    z, volume = q.at(noise), q.stddev.log().sum(-1)
    expected = standard_normal(noise).log_prob(noise) - volume
    torch.testing.assert_close(q.log_prob(z), expected, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(q.noise_of(z), noise.expand_as(z), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("q", beliefs(), ids=["normal", "standard", "product", "symbols"])
def test_draws_are_the_latents_of_torch_s_noise(q):
    torch.manual_seed(0)
    z = q.rsample((6,))
    torch.manual_seed(0)
    torch.testing.assert_close(z, q.at(torch.randn(6, 2, 3)))
