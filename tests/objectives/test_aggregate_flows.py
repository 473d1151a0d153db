"""Flows of the exact model: which of them follow its posteriors, and which the truth."""

import pytest
import torch
from torch import Tensor, nn
from torch.distributions import Distribution, MultivariateNormal, kl_divergence
from torch.testing import assert_close

from mindseye.concepts import Attribute, Vocabulary
from mindseye.distributions import Flow, diagonal_normal
from mindseye.labels import Labels, encode
from mindseye.models import Flowing, LinearGaussian
from mindseye.networks import Couplings
from mindseye.objectives import OBJECTIVES, fit_aggregate, fit_true_posterior

TILT = 0.6


@pytest.fixture(scope="module", autouse=True)
def double():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def make(tilt: float = 0.0) -> LinearGaussian:
    generator = torch.Generator().manual_seed(3)
    loadings = (torch.randn(n, 2, generator=generator) for n in (3, 2))
    return LinearGaussian(*loadings, x_noise=0.5, y_noise=0.7, tilt=tilt).double()


class Flows(nn.Module):
    """The exact model with flows beside it, as `Flowing` has them; words are a vector here."""

    def __init__(self, exact: LinearGaussian, *, joint: bool):
        super().__init__()
        self.exact, self.joint = exact.requires_grad_(False), joint
        self.words, self.all = Couplings(2, 1, 8, context=2), Couplings(2, 1, 8)
        self.prior, self.p_y = exact.prior, exact.p_y

    def posterior(self, x: Tensor, y: Tensor) -> Distribution:
        return self.exact.q_xy(x, y) if self.joint else self.exact.q_x(x)

    def q_y(self, y: Tensor) -> Flow:
        return Flow(self.words, y, size=2)

    @property
    def aggregate(self) -> Flow:
        return Flow(self.all, size=2)


def pairs(exact: LinearGaussian, count: int) -> tuple[Tensor, Tensor]:
    """Pictures and words that belong together."""
    z = exact.prior.sample(torch.Size([count]))
    return exact.p_x(z).sample(), exact.p_y(z).sample()


def fitted(exact: LinearGaussian, objective, *, joint: bool = True, **weights: float) -> Flows:
    torch.manual_seed(0)
    model = Flows(exact, joint=joint)
    steps = 120
    adam = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], 0.05)
    fall = torch.optim.lr_scheduler.CosineAnnealingLR(adam, steps)
    for _ in range(steps):
        bound = objective(model, *pairs(exact, 256), **weights)
        adam.zero_grad()
        (-bound.value.mean()).backward()
        adam.step()
        fall.step()
    return model.eval()


@pytest.fixture(scope="module")
def upright() -> Flows:
    return fitted(make(), fit_aggregate, drop=0.0)


@pytest.fixture(scope="module")
def tilted() -> Flows:
    return fitted(make(TILT), fit_aggregate, drop=0.0)


@pytest.fixture(scope="module")
def true() -> Flows:
    return fitted(make(TILT), fit_true_posterior)


@torch.no_grad()
def nats(p: Distribution, q: Distribution) -> float:
    """KL(p || q), the mean over rows, estimated."""
    torch.manual_seed(1)
    z = p.sample(torch.Size([4000]))
    return (p.log_prob(z) - q.log_prob(z)).mean().item()


def words(count: int = 30) -> Tensor:
    torch.manual_seed(2)
    return pairs(make(), count)[1]


# Where posteriors are true


def test_the_aggregate_of_true_posteriors_is_the_true_posterior(upright):
    y = words()
    assert nats(make().q_y(y), upright.q_y(y)) < 0.05
    assert nats(upright.q_y(y), make().q_y(y)) < 0.1


def test_the_aggregate_of_all_true_posteriors_is_the_prior(upright):
    assert nats(make().prior, upright.aggregate) < 0.05


def test_of_pictures_alone_the_aggregate_is_wider_than_the_true_posterior():
    """E q(z|x) over p(x|y), without a look at y: x says of z what it says and no more."""
    exact, y = make(), words()
    flows = fitted(exact, fit_aggregate, joint=False, drop=0.0)
    a, precision = exact.A / exact.x_noise, exact.q_x(torch.zeros(1, 3)).precision_matrix[0]
    gain = torch.linalg.solve(precision, a.T) / exact.x_noise  # E[z|x] = gain x
    of_words, loading = exact.q_y(y), gain @ exact.A
    spread = loading @ of_words.covariance_matrix @ loading.T + exact.x_noise**2 * gain @ gain.T
    expected = MultivariateNormal(of_words.mean @ loading.T, spread + precision.inverse())
    assert nats(expected, flows.q_y(y)) < 0.05
    assert nats(expected, make().q_y(y)) > 0.1
    assert (expected.entropy() > of_words.entropy()).all()


# Where they are not: the point of the paper


def test_the_aggregate_follows_the_posteriors_off_the_truth(tilted):
    y = words()
    assert nats(make(TILT).q_y(y), tilted.q_y(y)) < 0.05
    moved = MultivariateNormal(torch.full((2,), TILT), torch.eye(2))
    assert nats(moved, tilted.aggregate) < 0.05


def test_the_flow_of_the_true_posterior_stays_with_the_truth(true):
    y = words()
    assert nats(true.q_y(y), make().q_y(y)) < 0.05
    assert nats(make().q_y(y), true.q_y(y)) < 0.1


def test_they_are_as_far_apart_as_the_closed_form_says(tilted, true):
    y = words()
    gap = kl_divergence(make(TILT).q_y(y), make().q_y(y)).mean().item()
    assert gap > 0.5
    assert nats(tilted.q_y(y), true.q_y(y)) == pytest.approx(gap, rel=0.15)


@torch.no_grad()
def test_pictures_are_likelier_where_posteriors_are(tilted, true):
    """Log p(x|y) of the bound: log q(z|y) under q(z|x,y) is what the two flows differ by."""
    torch.manual_seed(3)
    x, y = pairs(make(), 4000)
    z = make(TILT).q_xy(x, y).sample()
    better = (tilted.q_y(y).log_prob(z) - true.q_y(y).log_prob(z)).mean().item()
    gap = kl_divergence(make(TILT).q_y(y), make().q_y(y)).mean().item()
    assert better == pytest.approx(gap, rel=0.15)


def test_the_bound_of_words_reaches_their_evidence_and_no_more(true):
    torch.manual_seed(4)
    x, y = pairs(make(), 4000)
    with torch.no_grad():
        bound = fit_true_posterior(true, x, y).value
    gap = (make().log_evidence(y=y) - bound).mean().item()
    assert 0 < gap < 0.05


# The rate, eq. 17


@torch.no_grad()
def test_the_rate_is_information_and_the_divergence_of_the_aggregate(tilted):
    exact = make(TILT)
    torch.manual_seed(5)
    x, y = pairs(exact, 20_000)
    q, aggregate = exact.q_xy(x, y), MultivariateNormal(torch.full((2,), TILT), torch.eye(2))
    rate = kl_divergence(q, exact.prior).mean()
    information = kl_divergence(q, aggregate).mean()
    marginal = kl_divergence(aggregate, exact.prior)  # TILT² of two coordinates, halved
    assert_close(marginal, torch.tensor(TILT**2))
    assert_close(rate, information + marginal, rtol=0, atol=0.02)
    z = q.sample()
    log_r, log_p = tilted.aggregate.log_prob(z), exact.prior.log_prob(z)
    assert_close((log_r - log_p).mean(), marginal, rtol=0, atol=0.05)
    assert_close((q.log_prob(z) - log_r).mean(), information, rtol=0, atol=0.05)


def test_the_value_is_the_sum_of_its_terms(tilted):
    torch.manual_seed(6)
    bound = fit_aggregate(tilted, *pairs(make(), 20), drop=0.0)
    assert_close(bound.value, bound.terms["log_qy_qx"] + bound.terms["log_q_qx"])
    assert bound.value.shape == (20,)


def test_both_fit_what_is_believed_of_words():
    for name in ("aggregate", "true-posterior"):
        assert OBJECTIVES[name].fits == {"q_y"}


# Words left out


class Points(nn.Module):
    """Pictures are where their latents are, nearly."""

    latent, shape, prior = 1, (1,), None

    def q_x(self, x: Tensor) -> Distribution:
        return diagonal_normal(x, torch.full_like(x, 0.5).log())


def test_what_is_left_open_is_the_aggregate_of_all_that_fits():
    """A single coordinate has a normal, whose best numbers are the moments of the aggregate."""
    vocabulary = Vocabulary([Attribute("side", ["left", "right"]), Attribute("far", ["no", "yes"])])
    torch.manual_seed(0)
    model = Flowing(Points(), vocabulary, 2, 8)
    y = Labels.full(torch.cartesian_prod(torch.arange(2), torch.arange(2)).repeat(64, 1))
    x = ((2 * y.codes[:, :1] - 1) * (1 + y.codes[:, 1:])).double()  # -1, -2, 1, 2
    steps = 150
    adam = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], 0.01)
    fall = torch.optim.lr_scheduler.CosineAnnealingLR(adam, steps)
    for _ in range(steps):
        loss = -fit_aggregate(model, x, y, drop=0.5).value.mean()
        adam.zero_grad()
        loss.backward()
        adam.step()
        fall.step()
    for text in ("", "left", "far=yes", "side=right, far=no"):
        said = encode([vocabulary.parse(text)])
        fits = x[((y.codes == said.codes) | ~said.observed).all(1)]
        q = model.q_y(said)
        assert_close(q.mean[0], fits.mean(0), rtol=0, atol=0.15)
        assert_close(q.variance[0], fits.var(0, correction=0) + 0.25, rtol=0.2, atol=0)
    assert_close(model.aggregate.variance, x.var(0, correction=0) + 0.25, rtol=0.15, atol=0)
