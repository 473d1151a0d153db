"""HFVAE: groups of latents, between `tcvae` and itself."""

import pytest
import torch

from mindseye.errors import UsageError
from mindseye.models.exact import LinearGaussian
from mindseye.objectives.hfvae import hfvae, hfvae_mws
from mindseye.objectives.registry import get_objective
from mindseye.objectives.surgery import decomposed
from mindseye.objectives.tcvae import tcvae, tcvae_mws

BOTH = pytest.mark.parametrize("bound", [hfvae, hfvae_mws])
PAIRS = pytest.mark.parametrize(("bound", "other"), [(hfvae, tcvae), (hfvae_mws, tcvae_mws)])
GROUPS = pytest.mark.parametrize("groups", [1, 2, 3, 4])


@pytest.fixture(autouse=True)
def double():
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(0)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.fixture
def model():
    """Loadings that are orthogonal to each other: the true posterior has independent dimensions."""
    loading = torch.linalg.qr(torch.randn(6, 4)).Q * torch.tensor([2.0, 1.0, 1.5, 0.7])
    return LinearGaussian(loading, torch.randn(2, 4))


def valued(bound, model, x, **weights):
    torch.manual_seed(1)
    return bound(model, x, **weights)


@BOTH
@GROUPS
def test_at_unit_weights_with_the_true_posterior_every_value_is_the_log_evidence(
    model, bound, groups
):
    x = torch.randn(8, 6)
    value = bound(model, x, alpha=1.0, beta=1.0, gamma=1.0, groups=groups, size=100).value
    torch.testing.assert_close(value, model.log_evidence(x=x))


@PAIRS
def test_groups_of_one_dimension_are_the_tcvae_whatever_gamma_is(model, bound, other):
    x = torch.randn(8, 6)
    value = valued(bound, model, x, alpha=0.5, beta=4.0, gamma=9.0, groups=4, size=50).value
    expected = valued(other, model, x, alpha=0.5, beta=4.0, size=50).value
    torch.testing.assert_close(value, expected)


@PAIRS
def test_one_group_is_the_tcvae_with_gamma_on_its_correlation(model, bound, other):
    x = torch.randn(8, 6)
    value = valued(bound, model, x, alpha=0.5, beta=9.0, gamma=4.0, groups=1, size=50).value
    expected = valued(other, model, x, alpha=0.5, beta=4.0, size=50).value
    torch.testing.assert_close(value, expected)


@PAIRS
@GROUPS
def test_equal_weights_on_both_correlations_are_the_tcvae(model, bound, other, groups):
    x = torch.randn(8, 6)
    value = valued(bound, model, x, beta=4.0, gamma=4.0, groups=groups, size=50).value
    torch.testing.assert_close(value, valued(other, model, x, beta=4.0, size=50).value)


@BOTH
def test_value_is_the_likelihood_less_the_weighted_terms(model, bound):
    found = bound(model, torch.randn(8, 6), alpha=2.0, beta=7.0, gamma=0.5, groups=2, size=50)
    names = ["mutual_information", "correlation_between", "correlation_within", "dimension_kl"]
    information, between, within, divergence = (found.terms[name] for name in names)
    penalty = 2 * information + 7 * between + within / 2 + divergence
    torch.testing.assert_close(found.value, found.terms["log_px_qx"] - penalty)
    assert all(term.shape == (8,) for term in found.terms.values())


@pytest.mark.parametrize(
    ("tied", "where"), [((0, 1), "correlation_within"), ((1, 2), "correlation_between")]
)
def test_correlation_is_found_where_it_is(model, tied, where):
    covariance = torch.eye(4)
    covariance[tied] = covariance[tied[::-1]] = 0.95
    z = torch.randn(1000, 4) @ torch.linalg.cholesky(covariance).T
    with torch.no_grad():
        x = z @ model.A.T
        terms = hfvae(model, x, groups=2, size=1000).terms
        q = model.q_x(x)
        shrunk = q.mean / z  # the posterior's mean is the latent, pulled to 0
        aggregate = shrunk[0][:, None] * covariance * shrunk[0] + q.covariance_matrix[0]
    scale = aggregate.diagonal().sqrt()
    expected = -torch.linalg.det(aggregate / scale / scale[:, None]).log().item() / 2
    assert terms[where].mean().item() == pytest.approx(expected, abs=0.1)
    assert expected > 0.4
    other = {"correlation_within", "correlation_between"} - {where}
    assert terms[other.pop()].mean().abs() < 0.1


def test_terms_of_the_whole_data_set_are_its_parts(model):
    x = torch.randn(12, 6) @ torch.randn(6, 6)  # correlated: so are the latents
    with torch.no_grad():
        parts = decomposed(model.q_x(x), model.prior, 6000, groups=2)
        many = [hfvae(model, x, size=12).terms for _ in range(400)]
    for name, part in ("correlation_between", parts.between), ("correlation_within", parts.within):
        values = torch.stack([terms[name].mean() for terms in many])
        error = values.std().item() / 400**0.5
        assert values.mean().item() == pytest.approx(part.item(), abs=6 * error)


def test_weights_are_registered():
    weights = {"alpha": 1.0, "beta": 6.0, "gamma": 1.0, "groups": 2, "size": 737_280.0}
    assert get_objective("hfvae").weights == get_objective("hfvae-mws").weights == weights


@BOTH
def test_more_groups_than_dimensions_are_refused(model, bound):
    with pytest.raises(UsageError, match=r"`groups` \(=5\) must be a whole number from 1 to 4"):
        bound(model, torch.randn(8, 6), groups=5)
