"""Every objective against the model that can be solved by hand."""

from functools import partial

import pytest
import torch
from torch.distributions import MultivariateNormal, Normal, kl_divergence

from mindseye.distributions import diagonal_normal
from mindseye.labels import Labels
from mindseye.models.exact import LinearGaussian
from mindseye.objectives import (
    Aggregate,
    bivcca,
    image_elbo,
    jmvae,
    jmvae_agg,
    joint_elbo,
    scan,
    split_average_kl,
    telbo,
    unimodal_bounds,
    words_elbo,
    words_to_aggregate,
)

COPIES = 40_000


def make(tilt: float = 0.0) -> LinearGaussian:
    generator = torch.Generator().manual_seed(3)
    return LinearGaussian(
        torch.randn(5, 2, generator=generator),
        torch.randn(3, 2, generator=generator),
        tilt=tilt,
    ).double()


@pytest.fixture(autouse=True)
def double():
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(0)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.fixture
def pair():
    generator = torch.Generator().manual_seed(4)
    return torch.randn(1, 5, generator=generator), torch.randn(1, 3, generator=generator)


def mean_of(bound_of, x, y):
    """The expectation of a one-sample bound, over many copies of one example."""
    with torch.no_grad():
        return bound_of(x.expand(COPIES, -1), y.expand(COPIES, -1)).value.mean()


def close(value, expected):
    torch.testing.assert_close(value, expected.detach().squeeze(), rtol=5e-3, atol=2e-2)


def test_exact_evidence_agrees_with_monte_carlo(pair):
    model, (x, y) = make(), pair
    z = model.prior.sample((400_000,))
    log_joint = model.p_x(z).log_prob(x) + model.p_y(z).log_prob(y)
    estimate = log_joint.logsumexp(0) - torch.tensor(400_000.0).log()
    torch.testing.assert_close(
        model.log_evidence(x, y), estimate.detach()[None], rtol=0.02, atol=0.05
    )


def test_joint_elbo_with_the_true_posterior_is_the_log_evidence(pair):
    model, (x, y) = make(), pair
    close(mean_of(lambda a, b: joint_elbo(model, a, b), x, y), model.log_evidence(x, y))


def test_image_elbo_with_the_true_posterior_is_the_log_evidence(pair):
    model, (x, y) = make(), pair
    close(mean_of(lambda a, b: image_elbo(model, a, b), x, y), model.log_evidence(x=x))


def test_words_elbo_with_the_true_posterior_is_the_log_evidence(pair):
    model, (x, y) = make(), pair
    close(mean_of(lambda a, b: words_elbo(model, b), x, y), model.log_evidence(y=y))


def test_a_wrong_posterior_costs_exactly_its_divergence(pair):
    right, wrong, (x, y) = make(), make(tilt=0.4), pair
    gap = kl_divergence(wrong.q_xy(x, y), right.q_xy(x, y))
    bound = mean_of(lambda a, b: joint_elbo(wrong, a, b), x, y)
    close(bound, right.log_evidence(x, y) - gap)


@pytest.mark.parametrize("beta", [1.0, 4.0])
@pytest.mark.parametrize("lam", [1.0, 7.0])
def test_weighted_joint_elbo_is_its_closed_form(pair, lam, beta):
    model, (x, y) = make(), pair
    q = model.q_xy(x, y)
    expected = (
        model.expected_log_px(q, x)
        + lam * model.expected_log_py(q, y)
        - beta * kl_divergence(q, model.prior)
    )
    close(mean_of(lambda a, b: joint_elbo(model, a, b, lam=lam, beta=beta), x, y), expected)


def test_weighted_image_elbo_is_its_closed_form(pair):
    model, (x, y) = make(), pair
    q = model.q_x(x)
    expected = 2 * model.expected_log_px(q, x) - 3 * kl_divergence(q, model.prior)
    close(mean_of(lambda a, b: image_elbo(model, a, lam=2.0, beta=3.0), x, y), expected)


def test_telbo_at_unit_weights_is_the_sum_of_three_evidences(pair):
    model, (x, y) = make(), pair
    expected = model.log_evidence(x, y) + model.log_evidence(x=x) + model.log_evidence(y=y)
    close(mean_of(lambda a, b: telbo(model, a, b, lam=1.0, gamma=1.0), x, y), expected)


def test_telbo_is_its_closed_form_at_any_weights(pair):
    model, (x, y) = make(), pair
    q, q_x, q_y = model.q_xy(x, y), model.q_x(x), model.q_y(y)
    expected = (
        model.expected_log_px(q, x)
        + 5 * model.expected_log_py(q, y)
        - kl_divergence(q, model.prior)
        + model.expected_log_px(q_x, x)
        - kl_divergence(q_x, model.prior)
        + 9 * model.expected_log_py(q_y, y)
        - kl_divergence(q_y, model.prior)
    )
    close(mean_of(lambda a, b: telbo(model, a, b, lam=5.0, gamma=9.0), x, y), expected)


def test_two_stages_add_up_to_the_telbo(pair):
    model, (x, y) = make(), pair
    stages = mean_of(lambda a, b: joint_elbo(model, a, b, lam=5.0), x, y) + mean_of(
        lambda a, b: unimodal_bounds(model, a, b, gamma=9.0), x, y
    )
    close(stages, mean_of(lambda a, b: telbo(model, a, b, lam=5.0, gamma=9.0), x, y))


@pytest.mark.parametrize("alpha", [0.0, 0.3, 2.0])
def test_jmvae_is_the_joint_bound_less_two_divergences(pair, alpha):
    model, (x, y) = make(), pair
    q = model.q_xy(x, y)
    pull = kl_divergence(q, model.q_y(y)) + kl_divergence(q, model.q_x(x))
    expected = model.log_evidence(x, y) - alpha * pull
    close(mean_of(lambda a, b: jmvae(model, a, b, lam=1.0, alpha=alpha), x, y), expected)


@pytest.mark.parametrize("alpha", [0.0, 0.3, 2.0])
def test_jmvae_agg_of_full_descriptions_has_the_value_of_jmvae(pair, alpha):
    model, (x, y) = make(tilt=0.2), pair
    weights = {"lam": 3.0, "alpha": alpha, "beta": 2.0}
    torch.manual_seed(1)
    one = jmvae_agg(model, x, y, drop=0.0, **weights)
    torch.manual_seed(1)
    other = jmvae(model, x, y, **weights)
    torch.testing.assert_close(one.value, other.value)
    assert one.terms.keys() == other.terms.keys()


@pytest.mark.parametrize("alpha", [0.0, 0.3, 10.0])
def test_scan_is_the_words_bound_less_the_divergence_of_the_picture(pair, alpha):
    model, (x, y) = make(), pair
    q_x, q_y = model.q_x(x), model.q_y(y)
    expected = (
        3 * model.expected_log_py(q_y, y)
        - 2 * kl_divergence(q_y, model.prior)
        - alpha * kl_divergence(q_x, q_y)
    )
    bound = mean_of(lambda a, b: scan(model, a, b, gamma=3.0, alpha=alpha, beta_y=2.0), x, y)
    close(bound, expected)


def test_scan_without_pictures_is_the_words_bound(pair):
    model, (x, y) = make(tilt=0.3), pair
    torch.manual_seed(1)
    value = scan(model, x, y, gamma=3.0, alpha=0.0, beta_y=2.0).value
    torch.manual_seed(1)
    torch.testing.assert_close(value, words_elbo(model, y, gamma=3.0, beta=2.0).value)


def test_scan_at_unit_weights_is_the_evidence_of_the_words_less_a_divergence(pair):
    model, (x, y) = make(), pair
    expected = model.log_evidence(y=y) - kl_divergence(model.q_x(x), model.q_y(y))
    close(mean_of(lambda a, b: scan(model, a, b, alpha=1.0), x, y), expected)


@pytest.mark.parametrize("mu", [0.0, 0.7, 1.0])
def test_bivcca_weighs_the_bounds_of_both_readers(pair, mu):
    model, (x, y) = make(), pair
    expected = sum(
        weight
        * (
            model.expected_log_px(q, x)
            + 3 * model.expected_log_py(q, y)
            - kl_divergence(q, model.prior)
        )
        for weight, q in [(mu, model.q_x(x)), (1 - mu, model.q_y(y))]
    )
    close(mean_of(lambda a, b: bivcca(model, a, b, lam=3.0, mu=mu), x, y), expected)


def test_no_bound_exceeds_the_evidence_it_bounds(pair):
    (x, y) = pair
    truth = make()
    for model in (make(tilt=-1.0), make(tilt=-0.2), make(tilt=0.5)):
        bound = mean_of(partial(joint_elbo, model), x, y)
        assert bound < truth.log_evidence(x, y).item()


def test_average_kl_is_aggregate_kl_plus_mutual_information():
    loc = torch.randn(12, 3)
    q = MultivariateNormal(loc, scale_tril=0.4 * torch.eye(3).expand(12, 3, 3))
    r = MultivariateNormal(torch.full((3,), 0.2), 1.5 * torch.eye(3))
    split = split_average_kl(q, r, samples=2000)
    total = split.aggregate_kl + split.mutual_information
    torch.testing.assert_close(split.average_kl, total, rtol=0, atol=0.03)
    assert 0 < split.mutual_information < torch.tensor(12.0).log()


def test_equal_posteriors_carry_no_information_about_their_picture():
    q = MultivariateNormal(torch.ones(6, 2), torch.eye(2))
    r = MultivariateNormal(torch.zeros(2), torch.eye(2))
    split = split_average_kl(q, r, samples=4000)
    assert split.mutual_information.abs() < 1e-9
    torch.testing.assert_close(split.average_kl, torch.tensor(1.0))  # |μ|²/2
    torch.testing.assert_close(split.aggregate_kl, torch.tensor(1.0), atol=0.02, rtol=0)


def test_distant_posteriors_tell_their_picture_apart():
    q = MultivariateNormal(100.0 * torch.arange(8.0)[:, None].expand(8, 2), torch.eye(2))
    split = split_average_kl(q, MultivariateNormal(torch.zeros(2), 1e4 * torch.eye(2)))
    torch.testing.assert_close(split.mutual_information, torch.tensor(8.0).log())


def make_aggregate(count: int = 50) -> tuple[Aggregate, torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(6)
    loc = torch.randn(count, 3, generator=generator)
    scale = 0.2 + torch.rand(count, 3, generator=generator)
    codes = torch.stack([torch.arange(count) % 4, torch.arange(count) % 3], 1)
    return Aggregate(loc, scale, codes), loc, scale, codes


@pytest.mark.parametrize("observed", [(True, True), (True, False), (False, False)])
def test_aggregate_is_the_mean_density_of_the_pictures_that_fit(observed):
    aggregate, loc, scale, codes = make_aggregate()
    z = torch.randn(7, 3)
    y = Labels(codes[:7], torch.tensor([observed]).expand(7, -1))
    each = Normal(loc, scale).log_prob(z[:, None]).sum(-1).exp()  # (7, 50)
    fits = ((codes == codes[:7, None]) | ~torch.tensor(observed)).all(-1)
    expected = ((each * fits).sum(-1) / fits.sum(-1)).log()
    found = aggregate.log_prob(z, y)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


def test_words_that_are_the_aggregate_have_no_divergence_from_it():
    aggregate = Aggregate(
        torch.full((1, 3), 0.7), torch.full((1, 3), 0.5), torch.zeros(1, 2).long()
    )

    class Same:
        def q_y(self, y):
            loc = torch.full((len(y.codes), 3), 0.7)
            return diagonal_normal(loc, torch.full_like(loc, 0.5).log())

    y = Labels.full(torch.zeros(4000, 2, dtype=torch.long))
    bound = words_to_aggregate(Same(), aggregate, y)
    assert bound.value.mean().abs() < 0.05
