"""The bound with a capacity: how far the divergence is from where it should be."""

import pytest
import torch
from torch.distributions import kl_divergence

from mindseye.models.exact import LinearGaussian
from mindseye.objectives.capacity import capacity_bound
from mindseye.objectives.elbo import image_elbo
from mindseye.objectives.registry import get_objective


@pytest.fixture(autouse=True)
def double():
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(0)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.fixture
def model():
    return LinearGaussian(torch.randn(5, 3), torch.randn(2, 3))


def after(seed, function, *arguments, **weights):
    torch.manual_seed(seed)
    return function(*arguments, **weights)


def mean_kl(model, x):
    return kl_divergence(model.q_x(x), model.prior).mean()


def test_without_capacity_it_is_the_beta_vae(model):
    x = torch.randn(6, 5)
    value = after(1, capacity_bound, model, x, gamma=4.0, capacity=0.0).value
    assert value.shape == (6,)
    expected = after(1, image_elbo, model, x, beta=4.0).value
    torch.testing.assert_close(value.mean(), expected.mean())


def test_at_its_capacity_only_the_likelihood_counts(model):
    x = torch.randn(6, 5)
    found = capacity_bound(model, x, capacity=mean_kl(model, x))
    torch.testing.assert_close(found.value, found.terms["log_px_qx"])


@pytest.mark.parametrize("off", [-0.5, 0.5])
def test_a_nat_too_many_costs_what_a_nat_too_few_does(model, off):
    x = torch.randn(6, 5)
    found = capacity_bound(model, x, gamma=10.0, capacity=mean_kl(model, x) + off)
    torch.testing.assert_close(found.value, found.terms["log_px_qx"] - 5)


def test_value_of_many_draws_is_its_closed_form(model):
    x = torch.randn(1, 5).expand(40_000, -1)
    with torch.no_grad():
        found = capacity_bound(model, x, gamma=3.0, capacity=1.0).value
        kl = mean_kl(model, x[:1])
        expected = model.expected_log_px(model.q_x(x[:1]), x[:1]) - 3 * (kl - 1).abs()
    error = found.std().item() / 40_000**0.5
    assert found.mean().item() == pytest.approx(expected.item(), abs=4 * error)


def test_only_the_mean_of_the_batch_is_held(model):
    x = torch.cat([torch.zeros(3, 5), 3 * torch.randn(3, 5)])
    kl = kl_divergence(model.q_x(x), model.prior)
    assert kl.std() > 1  # picture by picture they are far from it
    found = capacity_bound(model, x, gamma=1000.0, capacity=kl.mean().detach())
    torch.testing.assert_close(found.value, found.terms["log_px_qx"])
    one_by_one = found.terms["log_px_qx"] - 1000 * (kl - kl.mean()).abs()
    assert found.value.mean() > one_by_one.mean()


@pytest.mark.parametrize(("capacity", "sign"), [(0.0, 1.0), (100.0, -1.0)])
def test_divergence_is_pushed_towards_the_capacity(model, capacity, sign):
    x = torch.randn(6, 5)
    found = after(1, capacity_bound, model, x, gamma=10.0, capacity=capacity)
    likelihood = found.terms["log_px_qx"].mean()
    (mine,) = torch.autograd.grad(found.value.mean(), model.A, retain_graph=True)
    (fit,) = torch.autograd.grad(likelihood, model.A)
    (kl,) = torch.autograd.grad(mean_kl(model, x), model.A)
    torch.testing.assert_close(mine, fit - sign * 10 * kl)


def test_capacity_may_be_a_tensor_on_its_way_up(model):
    x = torch.randn(6, 5)
    one = after(1, capacity_bound, model, x, capacity=25.0 * torch.tensor(0.4)).value
    torch.testing.assert_close(one, after(1, capacity_bound, model, x, capacity=10.0).value)


def test_weights_are_registered():
    assert get_objective("capacity").weights == {"gamma": 1000.0, "capacity": 25.0}
