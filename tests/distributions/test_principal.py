"""Normals along principal components: a full normal, whitened, and exact in float32."""

import pytest
import torch
from torch.distributions import MultivariateNormal
from torch.testing import assert_close

from mindseye.distributions import PrincipalNormal
from mindseye.distributions.pixels import FLATTEST, Axes
from mindseye.models import VAE

SHAPE = (2, 3, 2)
NUMBERS = 12


def scene(count: int = 4000, fine: float = 1e-3):
    """Pictures of a normal whose axes lie across the pixels, the last one fine."""
    generator = torch.Generator().manual_seed(0)
    turned, _ = torch.linalg.qr(torch.randn(NUMBERS, NUMBERS, generator=generator).double())
    lengths = torch.linspace(1.0, 0.2, NUMBERS).double()
    lengths[-1] = fine
    noise = torch.randn(count, NUMBERS, generator=generator).double()
    return (noise * lengths @ turned.T + 0.5).float().view(-1, *SHAPE)


@pytest.fixture
def axes() -> Axes:
    made, x = Axes(SHAPE), scene()
    made.turn(x.mean(0), x)
    return made


def test_components_are_of_variance_one_and_not_correlated(axes):
    c = axes.components(scene()).flatten(1).double()
    assert_close(c.mean(0), torch.zeros(NUMBERS).double(), atol=1e-3, rtol=0)
    assert_close(c.T @ c / len(c), torch.eye(NUMBERS).double(), atol=2e-3, rtol=0)


def test_components_and_pictures_are_each_other_s_inverse(axes):
    c = torch.randn(7, *SHAPE)
    assert_close(axes.components(axes.picture(c)), c, atol=1e-3, rtol=0)


def test_standard_components_are_the_full_normal_of_the_data(axes):
    x = scene()
    flat = x.flatten(1).double()
    centre = axes.centre.double()
    covariance = (flat - centre).T @ (flat - centre) / len(flat)
    full = MultivariateNormal(centre, covariance).log_prob(flat)
    ours = PrincipalNormal(torch.zeros(SHAPE), torch.zeros(SHAPE), axes).log_prob(x)
    assert_close(ours.double(), full, atol=1e-2, rtol=0)


def test_draws_have_the_mean_and_the_spread_that_were_given(axes):
    loc, log_scale = torch.randn(SHAPE), torch.full(SHAPE, -1.0)
    p = PrincipalNormal(loc, log_scale, axes)
    draws = p.sample((20_000,))
    assert draws.shape == (20_000, *SHAPE)
    assert_close(draws.mean(0), p.mean, atol=0.02, rtol=0)
    c = axes.components(draws).flatten(1)
    assert_close(c.std(0), torch.full((NUMBERS,), 1 / torch.e), atol=0.02, rtol=0)


def test_components_keep_their_digits_where_networks_are_rounded(axes):
    """bfloat16 has three digits, and the finest axis is a thousand times shorter than others."""
    x = scene(50)
    with torch.autocast("cpu", torch.bfloat16):
        rounded = axes.components(x)
        density = PrincipalNormal(torch.zeros(SHAPE), torch.zeros(SHAPE), axes).log_prob(x)
    assert torch.equal(rounded, axes.components(x))
    full = PrincipalNormal(torch.zeros(SHAPE), torch.zeros(SHAPE), axes).log_prob(x)
    assert torch.equal(density, full)


def test_gradients_reach_the_means_and_the_deviations(axes):
    loc, log_scale = torch.zeros(3, *SHAPE, requires_grad=True), torch.zeros(SHAPE).requires_grad_()
    x = scene(3)
    PrincipalNormal(loc, log_scale, axes).log_prob(x).sum().backward()
    assert_close(loc.grad, axes.components(x))
    assert_close(log_scale.grad, axes.components(x).square().sum(0) - 3)


def test_an_axis_along_which_pictures_do_not_vary_is_not_infinitely_short():
    axes, x = Axes(SHAPE), scene(fine=0.0)
    axes.turn(x.mean(0), x)
    least = axes.deviations.min() / axes.deviations.max()
    assert least.item() == pytest.approx(FLATTEST, rel=1e-3)
    p = PrincipalNormal(torch.zeros(SHAPE), torch.zeros(SHAPE), axes)
    assert p.log_prob(x).isfinite().all()


def test_a_prepared_model_reads_the_logarithm_of_components_and_begins_at_the_full_normal():
    torch.manual_seed(0)
    model, x = VAE(SHAPE, 3, "tanh", 8, likelihood="principal-normal"), scene()
    assert model.likelihood.examples >= 1000 * NUMBERS
    model.prepare(x.mean(0), x)
    components = model.likelihood.axes.components(x)
    assert components.std().item() == pytest.approx(1, abs=0.01)
    read = model.likelihood.read(x)
    assert read.shape == x.shape
    assert torch.allclose(read.sinh() / 3, components, atol=1e-5)
    again = VAE(SHAPE, 3, "tanh", 8, likelihood="principal-normal")
    again.load_state_dict(model.state_dict())
    z = torch.randn(5, 3)
    assert torch.equal(again.p_x(z).log_prob(x[:5]), model.p_x(z).log_prob(x[:5]))
