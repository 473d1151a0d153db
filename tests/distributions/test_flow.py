"""Flows against the normals that they begin as or learn, and against zuko's."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.distributions import AffineTransform, MultivariateNormal, kl_divergence
from torch.testing import assert_close
from zuko.distributions import DiagNormal, NormalizingFlow
from zuko.transforms import ComposedTransform, CouplingTransform, PermutationTransform

from mindseye.distributions import Autoregression, Flow, RelativeFlow, standard_normal
from mindseye.distributions.normal import DiagonalNormal
from mindseye.models.exact import LinearGaussian
from mindseye.networks import Autoregressive, Couplings
from mindseye.networks.coupling import WIDEST, _Affine, _Coupling, _Permutation


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


@pytest.fixture
def double():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def shaken(size: int, context: int = 0, by: float = 0.2) -> Couplings:
    """Couplings of random weights."""
    couplings = Couplings(size, hidden=16, context=context)
    for weight in couplings.parameters():
        nn.init.normal_(weight, 0, by)
    return couplings


# Densities


@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize("context", [0, 3])
def test_a_flow_begins_as_the_standard_normal(size, context):
    given = torch.randn(7, context) if context else None
    q, z = Flow(Couplings(size, context=context), given, size=size), 2 * torch.randn(7, size)
    assert_close(q.log_prob(z), standard_normal(z).log_prob(z))
    assert torch.equal(q.at(z).sort(-1).values, z.sort(-1).values)


@pytest.mark.parametrize("context", [0, 3])
def test_draws_come_with_their_density(context, double):
    given, couplings = torch.randn(7, context) if context else None, shaken(5, context)
    q = Flow(couplings, given, size=5)
    z, log_q = q.rsample_with_log_prob()
    assert z.shape == (*q.batch_shape, 5)
    assert_close(log_q, q.log_prob(z))
    weights = list(couplings.parameters())
    found, expected = (
        torch.autograd.grad(each.sum(), weights, retain_graph=True)
        for each in (log_q, q.log_prob(z))
    )
    for one, other in zip(found, expected, strict=True):
        assert_close(one, other)


@pytest.mark.parametrize("context", [0, 3])
def test_a_density_integrates_to_one(context):
    couplings = shaken(2, context)
    q = Flow(couplings, torch.randn(context) if context else None, size=2)
    with torch.no_grad():
        centre, spread = q.mean, q.stddev
        side, step = 320, 24 / 320
        line = (torch.arange(side) + 0.5) * step - 12
        grid = torch.cartesian_prod(line, line) * spread + centre
        total = q.log_prob(grid).double().exp().sum() * step**2 * spread.prod()
    assert total.item() == pytest.approx(1, abs=1e-3)
    assert q.log_prob(grid[::7]).exp().sub(gaussian(q, grid[::7])).abs().max() > 0.01


def gaussian(q: Flow, z: Tensor) -> Tensor:
    """The density of the normal with the moments of a flow."""
    return torch.distributions.Normal(q.mean, q.stddev).log_prob(z).sum(-1).exp()


def test_a_draw_has_the_density_of_its_noise_over_the_volume(double):
    couplings, y = shaken(4, 2), torch.randn(5, 2)
    q, noise = Flow(couplings, y, size=4), torch.randn(3, 5, 4)
    _, log_det = couplings(noise, y)
    expected = standard_normal(noise).log_prob(noise) - log_det
    assert_close(q.log_prob(q.at(noise)), expected, rtol=0, atol=1e-9)


# The same in zuko


def scaled(features: Tensor) -> AffineTransform:
    loc, raw = features.chunk(2, -1)
    return AffineTransform(loc, (WIDEST * torch.tanh(raw / WIDEST)).exp(), event_dim=1)


def half(network: nn.Module, stays: Tensor, y: Tensor) -> CouplingTransform:
    """One half of a coupling as zuko has it: some coordinates stay, the others move."""
    return CouplingTransform(lambda rest: scaled(network(torch.cat([rest, y], -1))), stays)


def in_zuko(couplings: Couplings, y: Tensor) -> NormalizingFlow:
    parts = []
    for step in couplings.steps:
        match step:
            case _Affine():
                parts.append(scaled(step.bias + y @ step.weight))
            case _Coupling():
                late = torch.arange(couplings.size) >= couplings.size // 2
                parts += [half(step.first, late, y), half(step.second, ~late, y)]
            case _Permutation():
                parts.append(PermutationTransform(step.order))
    noise = DiagNormal(torch.zeros(couplings.size), torch.ones(couplings.size))
    return NormalizingFlow(ComposedTransform(*parts).inv, noise)


@pytest.mark.parametrize("size", [2, 5, 8])
def test_zuko_says_the_same(size, double):
    couplings, y = shaken(size, 3), torch.randn(7, 3)
    q, z = Flow(couplings, y, size=size), 2 * torch.randn(7, size)
    assert_close(q.log_prob(z), in_zuko(couplings, y).log_prob(z), rtol=0, atol=1e-6)


# Fitting


def fitted(couplings: Couplings, log_prob: Callable[[], Tensor], steps: int) -> None:
    """Maximum likelihood, the rate falling to nothing."""
    optimiser = torch.optim.Adam(couplings.parameters(), 5e-3)
    falling = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    for _ in range(steps):
        optimiser.zero_grad()
        (-log_prob().mean()).backward()
        optimiser.step()
        falling.step()


def test_a_flow_learns_a_correlated_normal():
    exact = MultivariateNormal(
        torch.tensor([3.0, -1.0]), torch.tensor([[4.0, 0.54], [0.54, 0.09]])
    )  # a correlation of 0.9
    couplings = Couplings(2, hidden=16)
    q = Flow(couplings, size=2)
    fitted(couplings, lambda: q.log_prob(exact.sample((256,))), steps=150)
    z = exact.sample((20_000,))
    with torch.no_grad():
        # KL(exact || q) ≥ 0 by the same draws, so that their own scatter cancels.
        gap = (exact.log_prob(z) - q.log_prob(z)).mean().item()
        entropy = -q.log_prob(z).mean().item()
    assert -0.005 < gap < 0.05
    assert entropy == pytest.approx(exact.entropy().item(), abs=0.05)


def test_a_flow_learns_the_posteriors_of_the_exact_model():
    generator = torch.Generator().manual_seed(3)
    loadings = (torch.randn(n, 2, generator=generator) for n in (5, 3))
    model = LinearGaussian(*loadings)
    couplings = Couplings(2, hidden=32, context=3)

    def log_prob(n: int) -> Tensor:
        z = model.prior.sample((n,))
        y = model.p_y(z).sample()
        return Flow(couplings, y, size=2).log_prob(z)

    with torch.no_grad():
        entropy = model.q_y(torch.zeros(1, 3)).entropy().item()  # the same for every y
        assert -log_prob(20_000).mean() > entropy + 0.3
    fitted(couplings, lambda: log_prob(256), steps=150)
    with torch.no_grad():
        assert -log_prob(20_000).mean().item() == pytest.approx(entropy, abs=0.1)


# Far out


@pytest.mark.parametrize("far", [1e4, 1e8, 1e30, 3e38])
@pytest.mark.parametrize("by", [0.0, 0.2, 1.0])
def test_a_density_is_finite_however_far_out(far, by):
    q = Flow(shaken(6, 2, by), torch.randn(4, 2), size=6)
    z = far * torch.randn(4, 6).sign()
    z.requires_grad_()
    log_q = q.log_prob(z)
    log_q.sum().backward()
    assert log_q.isfinite().all()
    assert z.grad is not None
    assert z.grad.isfinite().all()
    assert (log_q < -1e3).all()


@pytest.mark.parametrize("context", [0, 2])
def test_autocast_rounds_nothing(context):
    couplings = shaken(3, context)
    y = torch.randn(5, context).bfloat16() if context else None
    q, z = Flow(couplings, y, size=3), torch.randn(4, 5, 3)
    with torch.autocast("cpu", torch.bfloat16):
        rounded, drawn = q.log_prob(z), q.at(z)
    assert torch.equal(rounded, q.log_prob(z))
    assert torch.equal(drawn, q.at(z))
    assert q.log_prob(z.bfloat16()).dtype == torch.float32


# Draws


def test_the_same_noise_is_the_same_latent_alone_or_in_a_crowd(double):
    couplings, y, noise = shaken(3, 2), torch.randn(5, 2), torch.randn(4, 3)
    crowd = Flow(couplings, y, size=3).at(noise[:, None])  # (4, 5, 3)
    alone = Flow(couplings, y[2], size=3).at(noise[1])
    assert_close(crowd[1, 2], alone, rtol=0, atol=1e-12)


def test_a_context_of_no_width_makes_a_batch_of_one_flow():
    couplings, noise = shaken(3), torch.randn(4, 5, 3)
    one, batch = Flow(couplings, size=3), Flow(couplings, torch.zeros(5, 0), size=3)
    assert (one.batch_shape, batch.batch_shape) == ((), (5,))
    assert batch.rsample((2,)).shape == (2, 5, 3)
    assert torch.equal(one.at(noise), batch.at(noise))
    assert torch.equal(one.log_prob(noise), batch.log_prob(noise))
    assert_close(batch.mean, one.mean.expand(5, 3))


def test_without_noise_a_fresh_flow_is_in_the_middle():
    assert (Flow(Couplings(3), size=3).at(torch.zeros(2, 3)) == 0).all()


def test_draws_are_those_of_torch_s_noise_and_pass_gradients_on():
    couplings, y = shaken(3, 2), torch.randn(5, 2, requires_grad=True)
    q = Flow(couplings, y, size=3)
    torch.manual_seed(4)
    z = q.rsample((6,))
    torch.manual_seed(4)
    assert torch.equal(z, q.at(torch.randn(6, 5, 3)))
    z.square().sum().backward()
    assert y.grad is not None
    assert (y.grad != 0).all()
    assert all(weight.grad is not None for weight in couplings.parameters())
    assert not q.sample((6,)).requires_grad


def test_the_divergence_from_the_prior_can_be_estimated_and_is_not_claimed_exact():
    q = Flow(shaken(2), size=2)
    prior = standard_normal(torch.zeros(2))
    with torch.no_grad():
        z = q.rsample((20_000,))
        assert (q.log_prob(z) - prior.log_prob(z)).mean() > 0
    for pair in [(q, prior), (prior, q), (q, q)]:
        with pytest.raises(NotImplementedError):
            kl_divergence(*pair)


# Moments


@pytest.mark.parametrize("shape", [(), (5,), (2, 5)])
def test_moments_of_a_fresh_flow_are_those_of_the_standard_normal(shape):
    q = Flow(Couplings(3, context=2), torch.randn(*shape, 2), size=3)
    assert q.mean.shape == q.stddev.shape == (*shape, 3)
    assert_close(q.mean, torch.zeros(*shape, 3), rtol=0, atol=1e-5)
    assert_close(q.stddev, torch.ones(*shape, 3), rtol=0, atol=1e-5)


def test_moments_are_near_those_of_many_draws():
    q = Flow(shaken(3, 2), torch.randn(5, 2), size=3)
    with torch.no_grad():
        drawn = q.rsample((40_000,))
        deviation = drawn.std(0)
        off = (q.mean - drawn.mean(0)) / deviation
        wide = q.stddev / deviation
    assert off.abs().max() < 5 / math.sqrt(512)
    assert wide.log().abs().max() < 0.3


def test_moments_are_the_same_whenever_they_are_asked_for():
    q = Flow(shaken(3), size=3)
    mean, variance = q.mean, q.variance
    torch.manual_seed(9)
    assert torch.equal(q.mean, mean)
    assert torch.equal(q.variance, variance)
    assert torch.equal(q.stddev, variance.sqrt())


def test_a_flow_is_printed_by_its_sizes():
    q = Flow(Couplings(3, context=2), torch.randn(5, 2), size=3)
    assert repr(q) == "Flow(size=3, batch_shape=(5,))"
    assert (q.batch_shape, q.event_shape) == ((5,), (3,))


def test_noise_is_what_latents_are_made_of(double):
    q, noise = Flow(shaken(5, 2), torch.randn(7, 2), size=5), torch.randn(3, 7, 5)
    assert_close(q.noise_of(q.at(noise)), noise, rtol=0, atol=1e-8)
    z = q.sample()
    assert_close(q.at(q.noise_of(z)), z, rtol=0, atol=1e-8)


# Relative to a normal


def relative(couplings: Couplings, rows: int = 7) -> RelativeFlow:
    size = couplings.size
    normal = DiagonalNormal(3 * torch.randn(rows, size), 0.2 + torch.rand(rows, size))
    return RelativeFlow(normal, Flow(couplings, torch.randn(rows, couplings.context), size=size))


def test_a_relative_flow_begins_as_its_normal():
    q, z = relative(Couplings(5, context=2)), 4 * torch.randn(3, 7, 5)
    assert_close(q.log_prob(z), q.normal.log_prob(z))
    assert_close(q.mean, q.normal.mean)
    assert_close(q.stddev, q.normal.stddev)


def test_a_relative_flow_has_the_density_of_its_noise_over_the_volume(double):
    q, noise = relative(shaken(4, 2)), torch.randn(7, 4)
    log_q = q.log_prob(q.at(noise))
    for row in range(7):
        jacobian = torch.autograd.functional.jacobian(lambda e, row=row: q.at(e)[row], noise)
        log_det = jacobian[:, row].slogdet().logabsdet
        expected = standard_normal(noise[row]).log_prob(noise[row]) - log_det
        assert_close(log_q[row], expected, rtol=0, atol=1e-8)
    assert_close(q.noise_of(q.at(noise)), noise, rtol=0, atol=1e-8)


def test_moments_of_a_relative_flow_are_near_those_of_many_draws():
    with torch.no_grad():
        q = relative(shaken(3, 2, by=0.1))
        z = q.rsample(torch.Size([4000]))
        assert z.shape == (4000, 7, 3)
        assert_close(q.mean, z.mean(0), rtol=0, atol=0.2)
        assert_close(q.stddev, z.std(0), rtol=0.25, atol=0)


def test_draws_of_a_relative_flow_pass_gradients_on():
    q = relative(couplings := shaken(3, 2))
    q.rsample().sum().backward()
    assert all(p.grad is not None for p in couplings.parameters())
    assert repr(q) == "RelativeFlow(size=3, batch_shape=(7,))"


# Another base than a normal


def based(size=3, batch=None):
    """Couplings over mixtures of one coordinate after another."""
    torch.manual_seed(0)
    couplings, said = Couplings(size, 2, 8), Autoregressive(size, 12, 3)
    with torch.no_grad():
        for p in (*couplings.parameters(), *said.parameters()):
            p += 0.2 * torch.randn_like(p)
    context = None if batch is None else torch.zeros(batch, 0)
    return Flow(couplings, context, size=size, base=Autoregression(said))


def test_a_base_gives_its_density_to_the_noise_of_the_map():
    flow = based()
    z = torch.randn(50, 3)
    noise, log_det = flow.couplings.inverse(z)
    assert_close(flow.log_prob(z), flow.base.log_prob(noise) + log_det)


def test_a_flow_of_a_base_integrates_to_one():
    flow = based(size=2)
    side = torch.linspace(-25, 25, 601)
    with torch.no_grad():
        density = flow.log_prob(torch.cartesian_prod(side, side)).exp().view(601, 601)
    assert torch.trapezoid(torch.trapezoid(density, side), side).item() == pytest.approx(
        1, abs=5e-3
    )


def test_noise_comes_back_through_a_base():
    flow, noise = based(), torch.randn(200, 3)
    assert_close(flow.noise_of(flow.at(noise)), noise, atol=1e-3, rtol=1e-3)


def test_draws_of_a_base_have_its_density_and_every_row_the_same():
    flow, rows = based(), based(batch=4)
    torch.manual_seed(0)
    z, log_q = flow.rsample_with_log_prob()
    assert_close(log_q, flow.log_prob(z), atol=1e-4, rtol=1e-4)
    assert rows.sample().shape == (4, 3)
    assert_close(rows.log_prob(z.expand(4, 3)), flow.log_prob(z).expand(4))
    assert_close(rows.mean, flow.mean.expand(4, 3))
