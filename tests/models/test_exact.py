"""The oracle itself: Bayes' rule at any point, limits, and the product of experts."""

from itertools import product

import pytest
import torch
from torch.distributions import kl_divergence
from torch.testing import assert_close

from mindseye.distributions import ProductOfExperts
from mindseye.models import LinearGaussian


@pytest.fixture(autouse=True)
def double():
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(0)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.fixture
def model() -> LinearGaussian:
    return LinearGaussian(torch.randn(5, 3), torch.randn(4, 3), x_noise=0.6, y_noise=0.9)


@pytest.fixture
def data() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Pictures, words and latents, any at all."""
    return torch.randn(7, 5), torch.randn(7, 4), torch.randn(7, 3)


# Bayes: log p(v) = log p(z) + log p(v|z) - log p(z|v), whatever z is.


def test_the_posterior_of_both_obeys_bayes(model, data):
    x, y, z = data
    joint = model.prior.log_prob(z) + model.p_x(z).log_prob(x) + model.p_y(z).log_prob(y)
    assert_close(model.log_evidence(x, y), joint - model.q_xy(x, y).log_prob(z))


def test_the_posteriors_of_one_obey_bayes(model, data):
    x, y, z = data
    prior = model.prior.log_prob(z)
    of_x = prior + model.p_x(z).log_prob(x) - model.q_x(x).log_prob(z)
    of_y = prior + model.p_y(z).log_prob(y) - model.q_y(y).log_prob(z)
    assert_close(model.log_evidence(x), of_x)
    assert_close(model.log_evidence(y=y), of_y)


def test_the_posterior_of_both_is_that_of_words_after_pictures(model, data):
    x, y, _ = data
    q_x, q_y, q_xy = model.q_x(x), model.q_y(y), model.q_xy(x, y)
    # Precisions add; the prior, counted twice, is taken off once.
    precision = q_x.precision_matrix + q_y.precision_matrix - torch.eye(3)
    assert_close(q_xy.precision_matrix, precision)


def test_deaf_to_words_the_posterior_is_the_prior(data):
    model = LinearGaussian(torch.randn(5, 3), torch.zeros(4, 3))
    q = model.q_y(data[1])
    assert_close(q.mean, torch.zeros(7, 3))
    assert_close(q.covariance_matrix, torch.eye(3).expand(7, 3, 3))


def test_without_noise_the_posterior_is_the_inverse(data):
    loading = torch.randn(3, 3)
    model = LinearGaussian(loading, torch.zeros(1, 3), x_noise=1e-5)
    z = data[2]
    assert_close(model.q_x(z @ loading.T).mean, z, atol=1e-6, rtol=1e-4)


def test_samples_have_the_covariance_the_evidence_says(model):
    z = model.prior.sample(torch.Size([200_000]))
    x, y = model.p_x(z).sample(), model.p_y(z).sample()
    both, loading = torch.cat([x, y], 1), torch.cat([model.A, model.B])
    noise = torch.tensor([0.6] * 5 + [0.9] * 4)
    assert_close(both.T.cov(correction=0).diagonal(), ((loading @ loading.T).diagonal() + noise**2),
                 rtol=0.02, atol=0.02)  # fmt: skip


# Expectations


def test_expected_log_likelihoods_are_what_sampling_gives(model, data):
    x, y = data[0][:1], data[1][:1]
    q = model.q_x(x)
    z = q.sample(torch.Size([200_000]))
    assert_close(model.expected_log_px(q, x), model.p_x(z).log_prob(x).mean(0), atol=0.03, rtol=0)
    assert_close(model.expected_log_py(q, y), model.p_y(z).log_prob(y).mean(0), atol=0.05, rtol=0)


def test_the_elbo_of_the_exact_posterior_is_the_evidence(model, data):
    x = data[0]
    q = model.q_x(x)
    elbo = model.expected_log_px(q, x) - kl_divergence(q, model.prior)
    assert_close(elbo, model.log_evidence(x))


def test_a_tilted_posterior_loses_exactly_its_divergence(model, data):
    x = data[0]
    tilted = LinearGaussian(model.A.data, model.B.data, x_noise=0.6, y_noise=0.9, tilt=0.3).q_x(x)
    elbo = model.expected_log_px(tilted, x) - kl_divergence(tilted, model.prior)
    assert_close(elbo, model.log_evidence(x) - kl_divergence(tilted, model.q_x(x)))


# The product of experts is exact where every word speaks of one axis.

SILENT = 40.0  # log width of an expert that says nothing of an axis


def axis_aligned() -> LinearGaussian:
    """Words 0 and 3 speak of axis 0, word 1 of axis 1, word 2 of axis 2."""
    loading = torch.zeros(4, 3)
    loading[[0, 3, 1, 2], [0, 0, 1, 2]] = torch.tensor([1.5, -0.4, 2.0, 0.7])
    return LinearGaussian(torch.randn(5, 3), loading, y_noise=0.8)


def experts(model: LinearGaussian, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Every likelihood p(y_k|z) as a normal in z: N(y_k / b, τ / |b|) along its axis."""
    speaks = model.B != 0
    loc = torch.where(speaks, y[:, :, None] / model.B, 0.0)
    log_scale = torch.where(speaks, (model.y_noise / model.B.abs()).log(), SILENT)
    return loc, log_scale.expand_as(loc)


@pytest.mark.parametrize("said", list(product([False, True], repeat=4)))
def test_exact_experts_multiply_to_the_exact_posterior(said, data):
    model, y = axis_aligned(), data[1]
    observed = torch.tensor(said).expand(7, 4)
    poe = ProductOfExperts(*experts(model, y), observed)
    rows = LinearGaussian(model.A.data, model.B.data[list(said)], y_noise=0.8)
    exact = rows.q_y(y[:, list(said)])
    assert_close(poe.mean, exact.mean)
    assert_close(poe.variance, exact.covariance_matrix.diagonal(dim1=-2, dim2=-1))


def test_where_words_speak_of_one_axis_the_posterior_has_no_correlations(data):
    covariance = axis_aligned().q_y(data[1]).covariance_matrix
    assert_close(covariance, torch.diag_embed(covariance.diagonal(dim1=-2, dim2=-1)))
