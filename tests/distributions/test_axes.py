"""Normals along axes, given or learnt: a full normal, whitened, and exact in float32."""

import pytest
import torch
from torch.distributions import MultivariateNormal
from torch.testing import assert_close

from mindseye.distributions import ComponentNormal
from mindseye.distributions.axes import FLATTEST, Axes, LearntAxes
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
    ours = ComponentNormal(torch.zeros(SHAPE), torch.zeros(SHAPE), axes).log_prob(x)
    assert_close(ours.double(), full, atol=1e-2, rtol=0)


def test_draws_have_the_mean_and_the_spread_that_were_given(axes):
    loc, log_scale = torch.randn(SHAPE), torch.full(SHAPE, -1.0)
    p = ComponentNormal(loc, log_scale, axes)
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
        density = ComponentNormal(torch.zeros(SHAPE), torch.zeros(SHAPE), axes).log_prob(x)
    assert torch.equal(rounded, axes.components(x))
    full = ComponentNormal(torch.zeros(SHAPE), torch.zeros(SHAPE), axes).log_prob(x)
    assert torch.equal(density, full)


def test_gradients_reach_the_means_and_the_deviations(axes):
    loc, log_scale = torch.zeros(3, *SHAPE, requires_grad=True), torch.zeros(SHAPE).requires_grad_()
    x = scene(3)
    ComponentNormal(loc, log_scale, axes).log_prob(x).sum().backward()
    assert_close(loc.grad, axes.components(x))
    assert_close(log_scale.grad, axes.components(x).square().sum(0) - 3)


def test_an_axis_along_which_pictures_do_not_vary_is_not_infinitely_short():
    axes, x = Axes(SHAPE), scene(fine=0.0)
    axes.turn(x.mean(0), x)
    least = axes.deviations.min() / axes.deviations.max()
    assert least.item() == pytest.approx(FLATTEST, rel=1e-3)
    p = ComponentNormal(torch.zeros(SHAPE), torch.zeros(SHAPE), axes)
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


@pytest.fixture
def learnt(axes) -> LearntAxes:
    """Axes of random factors."""
    torch.manual_seed(3)
    made, x = LearntAxes(SHAPE), scene()
    made.turn(x.mean(0), x)
    for part in (made.lower, made.upper, made.log_stretch):
        torch.nn.init.normal_(part, std=0.3)
    return made


def test_learnt_axes_begin_as_those_of_the_data(axes):
    made, x = LearntAxes(SHAPE), scene(50)
    made.load_state_dict(axes.state_dict(), strict=False)
    loc, log_scale = torch.randn(SHAPE), torch.randn(SHAPE)
    one, other = (ComponentNormal(loc, log_scale, each) for each in (made, axes))
    assert torch.equal(one.log_prob(x), other.log_prob(x))
    assert torch.equal(one.mean, other.mean)


def test_pictures_are_put_together_again_from_learnt_components(learnt):
    c = torch.randn(4, 5, *SHAPE)
    assert_close(learnt.components(learnt.picture(c)), c, atol=5e-3, rtol=1e-3)
    assert_close(learnt.picture(c[0, 0]), learnt.picture(c)[0, 0])


def test_the_density_along_learnt_axes_is_a_full_normal_in_pixels(learnt):
    loc, log_scale = torch.randn(SHAPE), torch.randn(SHAPE) / 2
    p = ComponentNormal(loc, log_scale, learnt)
    centre = p.mean.detach().double().flatten()
    steps = torch.eye(NUMBERS).view(NUMBERS, *SHAPE)
    zero = learnt.picture(torch.zeros(SHAPE)).double().flatten()
    along = learnt.picture(steps).detach().double().flatten(1) - zero.detach()  # one axis a row
    spread = along * log_scale.flatten().exp().double()[:, None]
    full = MultivariateNormal(centre, spread.T @ spread)
    x = p.sample((200,))
    assert_close(p.log_prob(x).double(), full.log_prob(x.double().flatten(1)), atol=0.05, rtol=1e-3)


def test_learning_axes_finds_independent_components_that_no_covariance_shows():
    """Two peaked numbers, turned by 30 degrees: their covariance is the same in every direction."""
    torch.manual_seed(0)
    sources = torch.distributions.Laplace(0.0, 0.5**0.5).sample((4000, 2))
    turn = torch.tensor([[0.75**0.5, 0.5], [-0.5, 0.75**0.5]])
    x = (sources @ turn).view(-1, 2, 1, 1)
    axes = LearntAxes((2, 1, 1))
    optimiser = torch.optim.Adam(axes.parameters(), 0.02)
    for _ in range(300):
        c = axes.components(x).flatten(1)
        loss = 2**0.5 * c.abs().sum(1).mean() + axes.log_volume  # of Laplace components
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    found = axes.components(x).flatten(1).detach()
    similar = torch.corrcoef(torch.cat([found, sources], 1).T)[:2, 2:].abs()
    assert similar.max(1).values.min() > 0.99
    assert similar.min(1).values.max() < 0.1


def test_a_model_along_learnt_axes_reads_the_components_of_the_data():
    torch.manual_seed(0)
    model, x = VAE(SHAPE, 3, "silu", 8, likelihood="independent-normal"), scene()
    model.prepare(x.mean(0), x)
    read = model.likelihood.read(x[:5])
    torch.nn.init.normal_(model.likelihood.axes.lower)
    assert torch.equal(model.likelihood.read(x[:5]), read)
    again = VAE(SHAPE, 3, "silu", 8, likelihood="independent-normal")
    again.load_state_dict(model.state_dict())
    z = torch.randn(5, 3)
    assert torch.equal(again.p_x(z).log_prob(x[:5]), model.p_x(z).log_prob(x[:5]))
    model.p_x(z).log_prob(x[:5]).sum().backward()
    assert model.likelihood.axes.upper.grad.triu(1).abs().max() > 0
