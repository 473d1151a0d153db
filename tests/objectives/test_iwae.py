"""The importance-weighted bound on the linear-Gaussian model, whose evidence is known."""

import math

import pytest
import torch
from torch import Tensor, nn
from torch.distributions import Independent, Normal

from mindseye.distributions import Chain, diagonal_normal, standard_normal
from mindseye.errors import UsageError
from mindseye.models import LinearGaussian
from mindseye.models.deep import DeepVAE
from mindseye.objectives.iwae import (
    iwae,
    iwae_dreg,
    iwae_stl,
    log_mean_exp,
    log_weights,
    vae,
)

EVERY = [vae, iwae, iwae_stl, iwae_dreg]
TIGHT = [iwae, iwae_stl, iwae_dreg]


@pytest.fixture
def exact() -> LinearGaussian:
    torch.manual_seed(0)
    return LinearGaussian(torch.randn(5, 2), torch.randn(3, 2)).double()


@pytest.fixture(autouse=True)
def double():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("bound", EVERY)
@pytest.mark.parametrize("k", [1, 3])
def test_with_the_true_posterior_every_bound_is_the_evidence(exact, bound, k):
    x = torch.randn(6, 5)
    torch.testing.assert_close(bound(exact, x, k=k).value, exact.log_evidence(x=x))


@pytest.mark.parametrize("bound", EVERY)
def test_one_draw_of_a_wrong_posterior_is_the_elbo(exact, bound):
    exact.tilt = 0.3
    x = torch.randn(1, 5).expand(40_000, 5)
    q = exact.q_x(x[:1])
    expected = exact.expected_log_px(q, x[:1]) - torch.distributions.kl_divergence(q, exact.prior)
    found = bound(exact, x, k=1).value
    assert found.mean().item() == pytest.approx(expected.item(), abs=5 * found.std().item() / 200)


@pytest.mark.parametrize("bound", TIGHT)
def test_more_draws_are_a_tighter_bound_that_ends_at_the_evidence(exact, bound):
    exact.tilt = 0.2
    torch.manual_seed(1)
    x = torch.randn(1, 5)
    truth = exact.log_evidence(x=x).item()
    many = [bound(exact, x.expand(4000, 5), k=k).value.mean().item() for k in (1, 4, 16, 64)]
    assert many == sorted(many)
    assert many[0] < truth - 0.1
    assert many[-1] < truth + 0.01
    assert bound(exact, x, k=200_000).value.item() == pytest.approx(truth, abs=0.02)


def test_the_vae_bound_does_not_tighten_with_draws(exact):
    exact.tilt = 0.5
    torch.manual_seed(1)
    x = torch.randn(1, 5).expand(20_000, 5)
    one, many = vae(exact, x, k=1).value, vae(exact, x, k=8).value
    assert many.mean().item() == pytest.approx(one.mean().item(), abs=5 * one.std().item() / 141)
    assert many.std() < 0.5 * one.std()


class Slope(nn.Module):
    """p(z) = N(0, 1), p(x|z) = N(z, 1), q(z|x) = N(φ x, s²): gradients of φ are known for k = 1."""

    def __init__(self, phi: float, theta: float = 1.0):
        super().__init__()
        self.reader, self.writer = nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False)
        with torch.no_grad():
            self.reader.weight.fill_(phi)
            self.writer.weight.fill_(theta)

    @property
    def prior(self):
        return standard_normal(torch.zeros(1))

    @property
    def image_readers(self):
        return [self.reader]

    def q_x(self, x: Tensor):
        loc = self.reader(x)
        return diagonal_normal(loc, torch.full_like(loc, math.log(0.8)))

    def p_x(self, z: Tensor):
        return Independent(Normal(self.writer(z), 1.0), 1)


def gradients(bound, model: nn.Module, x: Tensor, k: int) -> dict[str, float]:
    model.zero_grad()
    bound(model, x, k=k).value.mean().backward()
    return {name: p.grad.item() for name, p in model.named_parameters()}


@pytest.mark.parametrize("bound", EVERY)
def test_gradients_of_one_draw_are_those_of_the_elbo(bound):
    # elbo = -½ ((x - θφx)² + θ²s²) - ½ φ²x² + …, at θ = 1:
    # d/dφ = x² (1 - 2φ), d/dθ = x² (φ - φ²) - s²
    x = torch.full((200_000, 1), 1.5)
    torch.manual_seed(0)
    found = gradients(bound, Slope(0.2), x, 1)
    assert found["reader.weight"] == pytest.approx(1.5**2 * (1 - 0.4), abs=0.03)
    assert found["writer.weight"] == pytest.approx(1.5**2 * (0.2 - 0.04) - 0.64, abs=0.03)


def test_the_doubly_reparameterised_gradient_is_that_of_the_bound():
    x = torch.full((400_000, 1), 1.5)
    torch.manual_seed(0)
    plain, dreg = (gradients(bound, Slope(0.2), x, 8) for bound in (iwae, iwae_dreg))
    assert dreg["reader.weight"] == pytest.approx(plain["reader.weight"], abs=0.01)
    assert dreg["writer.weight"] == pytest.approx(plain["writer.weight"], abs=0.01)


def test_the_path_gradient_alone_is_biased_for_several_draws():
    x = torch.full((400_000, 1), 1.5)
    torch.manual_seed(0)
    plain, stl = (gradients(bound, Slope(0.2), x, 8) for bound in (iwae, iwae_stl))
    assert abs(stl["reader.weight"] - plain["reader.weight"]) > 0.05
    assert stl["writer.weight"] == pytest.approx(plain["writer.weight"], abs=0.01)


def test_the_doubly_reparameterised_gradient_is_less_noisy():
    def spread(bound) -> float:
        torch.manual_seed(0)
        x = torch.full((1, 1), 1.5)
        found = [gradients(bound, Slope(0.2), x, 64)["reader.weight"] for _ in range(300)]
        return torch.tensor(found).std().item()

    assert spread(iwae_dreg) < 0.5 * spread(iwae)


@pytest.mark.parametrize("bound", [iwae_stl, iwae_dreg])
def test_path_gradients_vanish_at_the_true_posterior_of_two_layers(bound):
    """There every weight is the evidence, whatever was drawn: no draw pulls at q."""
    model = Ladder()
    bound(model, torch.randn(3, 1), k=4).value.sum().backward()
    for parameter in (model.a, model.b):
        assert abs(parameter.grad.item()) < 1e-10


class Ladder(nn.Module):
    """h_2 ~ N(0, 1), h_1 ~ N(h_2, 1), x ~ N(h_1, 1), read by its true posterior."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Parameter(torch.tensor(2 / 3)), nn.Parameter(torch.tensor(0.5))

    @property
    def prior(self) -> Chain:
        top = standard_normal(torch.zeros(1))
        return Chain(top, [lambda h: Independent(Normal(h, 1.0), 1)], downwards=True)

    @property
    def image_readers(self) -> list[nn.Module]:
        return [self]

    def q_x(self, x: Tensor) -> Chain:
        first = Independent(Normal(self.a * x, math.sqrt(2 / 3)), 1)
        return Chain(first, [lambda h: Independent(Normal(self.b * h, math.sqrt(0.5)), 1)])

    def p_x(self, z):
        return Independent(Normal(z[0], 1.0), 1)


def test_two_layers_read_by_the_true_posterior_give_the_evidence():
    x = torch.randn(6, 1)
    truth = Independent(Normal(torch.zeros(1), math.sqrt(3)), 1).log_prob(x)
    for bound in EVERY:
        torch.testing.assert_close(bound(Ladder(), x, k=3).value, truth)


def test_weights_of_layers_have_one_row_a_draw():
    torch.set_default_dtype(torch.float32)
    model = DeepVAE((1, 4, 4), latents=(5, 3), units=(8, 6))
    x = (torch.rand(7, 1, 4, 4) < 0.5).float()
    assert log_weights(model, x, 9).shape == (9, 7)


@pytest.mark.parametrize("shift", [-1e5, 0.0, 1e5])
def test_the_mean_of_exponentials_is_safe_far_from_zero(shift):
    log_w = torch.tensor([0.0, math.log(3.0)]) + shift
    assert log_mean_exp(log_w).item() == pytest.approx(shift + math.log(2.0), rel=1e-12)


@pytest.mark.parametrize("value", [-12.7, -0.1, 3.7])
def test_the_mean_of_equal_weights_of_half_the_digits_is_exact(value):
    log_w = torch.full((2,), value, dtype=torch.float32)
    assert log_mean_exp(log_w).item() == log_w[0].item()
    assert (log_w.logsumexp(0) - math.log(2)).item() != log_w[0].item()  # that of float32 is not


@pytest.mark.parametrize("k", [0, -1, 2.5])
def test_draws_are_a_whole_number_of_at_least_one(exact, k):
    with pytest.raises(UsageError, match="`k="):
        iwae(exact, torch.randn(2, 5), k=k)
