import pytest
import torch
from torch.distributions import Independent, Normal, kl_divergence

from mindseye.distributions import ProductOfExperts, diagonal_normal, standard_normal


@pytest.fixture
def experts():
    generator = torch.Generator().manual_seed(0)
    loc = torch.randn(5, 4, 3, generator=generator)
    log_scale = torch.randn(5, 4, 3, generator=generator)
    return loc, log_scale


def said(*flags: bool) -> torch.Tensor:
    return torch.tensor([flags]).expand(5, -1)


def test_product_of_no_experts_is_the_prior(experts):
    product = ProductOfExperts(*experts, said(False, False, False, False))
    assert kl_divergence(product, standard_normal(product.mean)).abs().max() == 0


def test_product_density_is_the_normalised_product_of_densities(experts):
    observed = said(True, False, True, True)
    product = ProductOfExperts(*experts, observed)
    z = torch.randn(100, 5, 3)
    each = Normal(experts[0], experts[1].exp()).log_prob(z[:, :, None]).sum(-1)  # (100, 5, 4)
    unnormalised = (each * observed).sum(-1) + standard_normal(z).log_prob(z)
    difference = product.log_prob(z) - unnormalised  # a constant of z, per row
    torch.testing.assert_close(difference, difference[:1].expand(100, -1), rtol=1e-4, atol=1e-3)


def test_adding_a_word_never_widens(experts):
    scale = said(False, False, False, False)[0]
    before = torch.ones(5, 3)
    for k in range(4):
        scale = scale.clone()
        scale[k] = True
        after = ProductOfExperts(*experts, scale.expand(5, -1)).stddev
        assert (after <= before).all()
        before = after


def test_order_of_words_does_not_matter(experts):
    loc, log_scale = experts
    observed = torch.tensor([[True, False, True, True]]).expand(5, -1)
    order = [2, 0, 3, 1]
    one = ProductOfExperts(loc, log_scale, observed)
    other = ProductOfExperts(loc[:, order], log_scale[:, order], observed[:, order])
    torch.testing.assert_close(one.mean, other.mean)
    torch.testing.assert_close(one.stddev, other.stddev)


@pytest.mark.parametrize("log_scale", [-60.0, -20.0, 20.0, 60.0])
def test_extreme_precisions_stay_finite_with_their_gradients(log_scale):
    loc = torch.full((1, 2, 1), 3.0, requires_grad=True)
    width = torch.full((1, 2, 1), log_scale, requires_grad=True)
    product = ProductOfExperts(loc, width, torch.tensor([[True, True]]))
    expected = 3.0 if log_scale < 0 else 0.0  # a certain expert decides, a vague one is ignored
    assert product.mean.item() == pytest.approx(expected, abs=1e-5)
    product.mean.sum().backward()
    assert loc.grad is not None
    assert width.grad is not None
    assert torch.isfinite(loc.grad).all()
    assert torch.isfinite(width.grad).all()


def test_a_silent_expert_gets_no_gradient(experts):
    loc = experts[0].clone().requires_grad_()
    ProductOfExperts(loc, experts[1], said(True, False, True, False)).mean.sum().backward()
    assert loc.grad is not None
    assert loc.grad[:, [1, 3]].abs().max() == 0
    assert loc.grad[:, [0, 2]].abs().min() > 0


def test_kl_of_a_product_agrees_with_monte_carlo(experts):
    product = ProductOfExperts(*experts, said(True, True, False, False))
    other = diagonal_normal(torch.full((5, 3), 0.3), torch.full((5, 3), 0.2))
    torch.manual_seed(0)
    z = product.sample((200_000,))
    estimate = (product.log_prob(z) - other.log_prob(z)).mean(0)
    torch.testing.assert_close(kl_divergence(product, other), estimate, rtol=0.02, atol=0.02)


def test_expanding_keeps_the_product(experts):
    product = ProductOfExperts(*experts, said(True, True, False, False))
    wide = product.expand(torch.Size([7, 5]))
    assert isinstance(wide, Independent)
    torch.testing.assert_close(wide.mean[3], product.mean)
