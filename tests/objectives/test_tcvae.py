"""β-TCVAE: weights on the parts of the divergence."""

import math

import pytest
import torch
from torch.distributions import kl_divergence

from mindseye.errors import UsageError
from mindseye.models.exact import LinearGaussian
from mindseye.objectives.registry import get_objective
from mindseye.objectives.surgery import decomposed
from mindseye.objectives.tcvae import tcvae, tcvae_mws

BOTH = pytest.mark.parametrize("bound", [tcvae, tcvae_mws])
PARTS = ["mutual_information", "total_correlation", "dimension_kl"]


@pytest.fixture(autouse=True)
def double():
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(0)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.fixture
def model():
    """Loadings that are orthogonal to each other: the true posterior has independent dimensions."""
    loading = torch.linalg.qr(torch.randn(5, 3)).Q * torch.tensor([2.0, 1.0, 0.3])
    return LinearGaussian(loading, torch.randn(2, 3))


def drawn(model, x, seed):
    """The posterior, the draw a bound makes with that seed, and its log likelihood."""
    torch.manual_seed(seed)
    q = model.q_x(x)
    z = q.rsample()
    return q, z, model.p_x(z).log_prob(x)


@BOTH
@pytest.mark.parametrize("size", [8, 1e6])
def test_at_unit_weights_it_is_the_sampled_bound_of_every_picture(model, bound, size):
    x = torch.randn(8, 5)
    q, z, log_px = drawn(model, x, 1)
    torch.manual_seed(1)
    value = bound(model, x, alpha=1.0, beta=1.0, gamma=1.0, size=size).value
    torch.testing.assert_close(value, log_px + model.prior.log_prob(z) - q.log_prob(z))


@BOTH
def test_the_divergence_beside_its_estimated_parts_is_exact(model, bound):
    x = torch.randn(8, 5)
    found = bound(model, x, size=100).terms["kl_qx_p"]
    torch.testing.assert_close(found, kl_divergence(model.q_x(x), model.prior))


@BOTH
def test_at_unit_weights_with_the_true_posterior_every_value_is_the_log_evidence(model, bound):
    x = torch.randn(8, 5)
    value = bound(model, x, alpha=1.0, beta=1.0, gamma=1.0, size=100).value
    torch.testing.assert_close(value, model.log_evidence(x=x))


@BOTH
def test_at_unit_weights_the_estimates_of_the_aggregate_leave_the_gradient(model, bound):
    x = torch.randn(8, 5)
    q, z, log_px = drawn(model, x, 1)
    (log_px + model.prior.log_prob(z) - q.log_prob(z)).sum().backward()
    expected, model.A.grad = model.A.grad, None
    torch.manual_seed(1)
    bound(model, x, alpha=1.0, beta=1.0, gamma=1.0, size=100).value.sum().backward()
    torch.testing.assert_close(model.A.grad, expected)


@BOTH
def test_value_is_the_likelihood_less_the_weighted_terms(model, bound):
    found = bound(model, torch.randn(8, 5), alpha=2.0, beta=7.0, gamma=0.5, size=50)
    information, correlation, divergence = (found.terms[name] for name in PARTS)
    penalty = 2 * information + 7 * correlation + divergence / 2
    torch.testing.assert_close(found.value, found.terms["log_px_qx"] - penalty)
    assert all(term.shape == (8,) for term in found.terms.values())


def test_terms_of_the_whole_data_set_are_its_parts(model):
    x = torch.randn(12, 5) @ torch.randn(5, 5)  # correlated: so are the latents
    with torch.no_grad():
        parts = decomposed(model.q_x(x), model.prior, 6000)
        many = [tcvae(model, x, size=12).terms for _ in range(400)]
    for name in PARTS:
        values = torch.stack([terms[name] for terms in many])
        error = values.mean(1).std().item() / 400**0.5
        expected = getattr(parts, name).item()
        assert values.mean().item() == pytest.approx(expected, abs=6 * error)
        assert values.mean() > 0


def test_terms_of_weighted_sampling_are_off_by_a_constant_on_the_whole_data_set(model):
    x = torch.randn(12, 5)
    torch.manual_seed(1)
    right = tcvae(model, x, size=12).terms
    torch.manual_seed(1)
    off = tcvae_mws(model, x, size=12).terms
    n = math.log(12)
    for name, times in zip(PARTS, (1, 2, -3), strict=True):
        torch.testing.assert_close(off[name], right[name] + times * n)


def test_independent_latents_have_a_larger_value_than_correlated_ones_with_the_same_bound(model):
    with torch.no_grad():
        root = torch.linalg.cholesky(torch.tensor([[1, 0.9, 0], [0.9, 1, 0], [0, 0, 1.0]]))
        apart, tied = (torch.randn(1000, 3) @ r.T @ model.A.T for r in (torch.eye(3), root))
        gaps = []
        for x in (apart, tied):
            q = model.q_x(x)
            plain = model.expected_log_px(q, x) - kl_divergence(q, model.prior)
            gaps.append((plain - tcvae(model, x, beta=6.0, size=1000).value).mean())
    small, large = gaps
    assert small < 0.3
    assert large > 5 * 0.4


def test_a_weight_may_be_a_tensor(model):
    x = torch.randn(4, 5)
    torch.manual_seed(1)
    one = tcvae(model, x, beta=torch.tensor(3.0), size=9).value
    torch.manual_seed(1)
    torch.testing.assert_close(one, tcvae(model, x, beta=3.0, size=9).value)


def test_weights_are_registered():
    weights = {"alpha": 1.0, "beta": 6.0, "gamma": 1.0, "size": 737_280.0}
    assert get_objective("tcvae").weights == get_objective("tcvae-mws").weights == weights


@BOTH
def test_a_single_picture_is_refused(model, bound):
    with pytest.raises(UsageError, match="A batch of 1 cannot tell"):
        bound(model, torch.randn(1, 5))
