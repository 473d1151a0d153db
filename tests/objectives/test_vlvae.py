"""The bound of pictures and captions, and the bound of captions, against the exact model."""

import pytest
import torch
from torch import Tensor, nn
from torch.distributions import Distribution, MultivariateNormal, kl_divergence
from torch.testing import assert_close

from mindseye.concepts import Attribute, Vocabulary
from mindseye.labels import Labels
from mindseye.models import VLVAE, LinearGaussian
from mindseye.objectives import fit_true_posterior, vlvae, vlvae_bound
from mindseye.objectives.vlvae import dequantised

COPIES = 40_000


class Captioned(nn.Module):
    """The exact model with the parts of a vlvae, and a posterior of its own numbers."""

    def __init__(self, exact: LinearGaussian, q: MultivariateNormal):
        super().__init__()
        self.exact, self.prior = exact, exact.prior
        self.loc = nn.Parameter(q.mean.detach().clone())
        self.tril = nn.Parameter(q.scale_tril.detach().clone())
        self.caption_decoder = exact.p_y

    def image_decoder(self, meant: Tensor) -> Tensor:
        return meant  # what pixels are made of; `plain` makes a distribution of it

    def meant(self, z: Tensor) -> Tensor:
        return z

    def q_xy(self, x: Tensor, y: Tensor) -> MultivariateNormal:
        return MultivariateNormal(
            self.loc.expand(len(x), -1), scale_tril=self.tril.expand(len(x), -1, -1)
        )


def make(tilt: float = 0.0) -> LinearGaussian:
    generator = torch.Generator().manual_seed(3)
    loadings = (torch.randn(n, 2, generator=generator) for n in (5, 3))
    return LinearGaussian(*loadings, tilt=tilt).double()


def drawn(q: MultivariateNormal) -> tuple[Tensor, Tensor]:
    """What a flow does: a draw and its density."""
    z = q.rsample()
    return z, q.log_prob(z)


@pytest.fixture(autouse=True)
def plain(monkeypatch):
    """Pixels are the normals of the exact model, and levels are left where they are."""
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(0)
    monkeypatch.setattr(vlvae, "BetaPixels", make().p_x)
    monkeypatch.setattr(vlvae, "dequantised", lambda x: x)
    monkeypatch.setattr(MultivariateNormal, "rsample_with_log_prob", drawn, raising=False)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.fixture
def pair() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(4)
    return torch.randn(1, 5, generator=generator), torch.randn(1, 3, generator=generator)


def copies(pair, count: int = COPIES) -> tuple[Tensor, Tensor]:
    return pair[0].expand(count, -1), pair[1].expand(count, -1)


def of(q: Distribution) -> Captioned:
    """The exact model under some posterior, that of the first row."""
    assert isinstance(q, MultivariateNormal)
    first = MultivariateNormal(q.loc[0], scale_tril=q.scale_tril[0])
    return Captioned(make(), first)


# The value


@pytest.mark.parametrize("weights", [(1.0, 1.0, 1.0), (0.02, 200.0, 0.5)])
def test_the_bound_is_its_closed_form(pair, weights):
    exact, (w_x, w_y, beta) = make(tilt=0.3), weights
    q = exact.q_x(pair[0])
    expected = (
        w_x * exact.expected_log_px(q, pair[0])
        + w_y * exact.expected_log_py(q, pair[1])
        - beta * kl_divergence(q, exact.prior)
    )
    with torch.no_grad():
        bound = vlvae_bound(of(q), *copies(pair), w_x=w_x, w_y=w_y, beta=beta)
    error = 5 * bound.value.std() / COPIES**0.5
    assert (bound.value.mean() - expected).abs() < error
    assert error < 0.05 * expected.abs()


def test_under_the_posterior_of_both_every_draw_gives_the_evidence(pair):
    bound = vlvae_bound(of(make().q_xy(*pair)), *copies(pair, 50))
    assert_close(bound.value, make().log_evidence(*pair).expand(50))


def test_by_marginal_inference_the_words_are_paid_for_under_the_picture(pair):
    exact, (x, y) = make(), pair
    q = exact.q_x(x)
    with torch.no_grad():
        found = vlvae_bound(of(q), *copies(pair)).value.mean()
    expected = exact.log_evidence(x) + exact.expected_log_py(q, y)
    assert_close(found, expected.detach()[0], rtol=0, atol=0.05)
    assert found < exact.log_evidence(x, y).item()


def test_the_weights_multiply_the_terms(monkeypatch):
    monkeypatch.undo()
    torch.set_default_dtype(torch.float32)
    words = Vocabulary([Attribute("size", ["big", "small"]), Attribute("hue", ["red", "blue"])])
    model = VLVAE(words, (3, 16, 16), 3, "folded", width=2, hidden=8)
    y = Labels.full(torch.tensor([[0, 1], [1, 1], [1, 0], [0, 0]]))
    bound = vlvae_bound(model, torch.rand(4, 3, 16, 16), y, w_x=0.02, w_y=200.0, beta=0.25)
    terms = bound.terms
    expected = 0.02 * terms["log_px_qx"] + 200 * terms["log_py_qx"] - 0.25 * terms["kl_qx_p"]
    assert_close(bound.value, expected)
    assert all(term.shape == (4,) for term in terms.values())


# The gradient


def gradients(model: Captioned, pair, seed: int, **weights: float) -> list[Tensor]:
    torch.manual_seed(seed)
    value = vlvae_bound(model, *pair, **weights).value.sum()
    return list(torch.autograd.grad(value, [model.loc, model.tril]))


def test_the_gradient_is_the_path_derivative(pair):
    exact, weights = make(tilt=0.4), {"w_x": 0.5, "w_y": 3.0, "beta": 2.0}
    q = exact.q_x(pair[0])
    model = of(q)
    of_loc, of_tril = gradients(model, pair, 1, **weights)
    torch.manual_seed(1)
    noise = torch.randn(1, 2)
    z = (model.loc + noise @ model.tril.T).detach().requires_grad_()
    still = MultivariateNormal(model.loc.detach(), scale_tril=model.tril.detach())
    value = (
        0.5 * exact.p_x(z).log_prob(pair[0])
        + 3 * exact.p_y(z).log_prob(pair[1])
        - 2 * (still.log_prob(z) - exact.prior.log_prob(z))
    )
    (of_z,) = torch.autograd.grad(value.sum(), z)
    assert_close(of_loc, of_z[0])
    assert_close(of_tril.tril(), torch.outer(of_z[0], noise[0]).tril())


def test_its_noise_vanishes_at_the_posterior(pair):
    model = of(make().q_xy(*pair))
    for seed in range(5):
        of_loc, of_tril = gradients(model, pair, seed)
        assert of_loc.abs().max() < 1e-9
        assert of_tril.tril().abs().max() < 1e-9
    torch.manual_seed(0)  # and does not where log q is differentiated too
    z = model.q_xy(*pair).rsample()
    value = make().p_x(z).log_prob(pair[0]) + make().p_y(z).log_prob(pair[1])
    whole = value + make().prior.log_prob(z) - model.q_xy(*pair).log_prob(z)
    (noisy,) = torch.autograd.grad(whole.sum(), [model.tril])
    assert noisy.tril().abs().max() > 0.1


def test_the_gradient_is_right_on_average(pair):
    exact = make(tilt=0.4)
    model = of(exact.q_x(pair[0]))
    found = gradients(model, copies(pair), 1)[0] / COPIES
    q = MultivariateNormal(model.loc[None], scale_tril=model.tril[None])
    closed = exact.expected_log_px(q, pair[0]) + exact.expected_log_py(q, pair[1])
    (expected,) = torch.autograd.grad((closed - kl_divergence(q, exact.prior)).sum(), model.loc)
    assert_close(found, expected, rtol=0.02, atol=0.05)


# Levels


def test_pixels_stay_within_their_level():
    levels = torch.arange(256).repeat(200).float() / 255
    torch.set_default_dtype(torch.float32)
    moved = dequantised(levels.view(200, 256))
    low = torch.arange(256) / 256
    assert (moved >= low - 1e-6).all()
    assert (moved <= low + 1 / 256 + 1e-6).all()
    assert_close(moved.mean(0), low + 0.5 / 256, rtol=0, atol=5 * (1 / 256 / 12**0.5) / 200**0.5)
    assert moved.std(0).mean().item() == pytest.approx(1 / 256 / 12**0.5, rel=0.05)
    assert moved.min() >= 0
    assert moved.max() <= 1


def test_levels_may_be_few():
    moved = dequantised(torch.tensor([0.0, 1.0]).expand(1000, 2), levels=2)
    assert moved[:, 0].max() <= 0.5 <= moved[:, 1].min()


# The bound of captions alone


def test_under_the_true_posterior_every_draw_gives_the_evidence_of_a_caption(pair):
    bound = fit_true_posterior(make(), *copies(pair, 50))
    assert_close(bound.value, make().log_evidence(y=pair[1]).expand(50))


@pytest.mark.parametrize("tilt", [-0.5, 0.3])
def test_a_wrong_posterior_costs_exactly_its_divergence(pair, tilt):
    exact, wrong = make(), make(tilt)
    with torch.no_grad():
        found = fit_true_posterior(wrong, *copies(pair)).value.mean()
    gap = kl_divergence(wrong.q_y(pair[1]), exact.q_y(pair[1]))
    expected = exact.log_evidence(y=pair[1]) - gap
    assert_close(found, expected.detach()[0], rtol=0, atol=0.03)
    assert found < exact.log_evidence(y=pair[1]).item()


def test_captions_may_count_more_than_they_do(pair):
    exact = make(tilt=0.2)
    with torch.no_grad():
        bound = fit_true_posterior(exact, *copies(pair), gamma=7.0)
    q = exact.q_y(pair[1])
    expected = 7 * exact.expected_log_py(q, pair[1]) - kl_divergence(q, exact.prior)
    assert_close(bound.value.mean(), expected.detach()[0], rtol=0, atol=0.1)
    assert_close(bound.value, 7 * bound.terms["log_py_qy"] - bound.terms["kl_qy_p"])
