"""Mixtures of one coordinate after another: against closed forms, integrals and scipy."""

import math

import pytest
import torch
from scipy import stats
from torch import nn
from torch.distributions import Categorical, MixtureSameFamily, Normal

from mindseye.distributions import Autoregression, Flow
from mindseye.networks import Autoregressive, Couplings


def network(size=3, hidden=24, normals=4, seed=0, dtype=torch.float64):
    """A network that says something else of every latent."""
    torch.manual_seed(seed)
    made = Autoregressive(size, hidden, normals).to(dtype)
    nn.init.normal_(made.last.weight, std=0.3)
    return made


def noise(n, size, seed=1, dtype=torch.float64):
    return torch.randn(n, size, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def test_a_coordinate_depends_on_those_before_it_and_on_all_of_them():
    flow = network(size=5)
    z = noise(1, 5)[0]
    for said in range(3):
        slopes = torch.autograd.functional.jacobian(lambda z, k=said: flow.parameters_of(z)[k], z)
        reads = slopes.abs().sum(1) > 0  # (D, D)
        assert torch.equal(reads, torch.ones(5, 5, dtype=torch.bool).tril(-1))


@pytest.mark.parametrize("seed", range(3))
def test_the_density_integrates_to_one(seed):
    flow = network(size=2, seed=seed)
    side = torch.linspace(-20, 20, 501, dtype=torch.float64)
    with torch.no_grad():
        density = flow.log_prob(torch.cartesian_prod(side, side)).exp().view(501, 501)
    assert torch.trapezoid(torch.trapezoid(density, side), side).item() == pytest.approx(
        1, abs=1e-3
    )


def test_the_density_is_the_product_of_mixtures_of_torch():
    flow, z = network(), noise(50, 3)
    weight, mean, log_scale = flow.parameters_of(z)
    each = MixtureSameFamily(Categorical(logits=weight), Normal(mean, log_scale.exp()))
    assert torch.allclose(flow.log_prob(z), each.log_prob(z).sum(-1))


def test_one_normal_that_reads_nothing_is_a_normal():
    flow = Autoregressive(3, 8, normals=1).double()
    with torch.no_grad():
        flow.last.bias.view(3, 3)[:, 1:] = torch.tensor([[1.0, 0.5], [0.0, 0.0], [-2.0, 1.0]])
    scale = torch.exp(7 * torch.tanh(torch.tensor([0.5, 0.0, 1.0]).double() / 7))
    expected = Normal(torch.tensor([1.0, 0.0, -2.0]).double(), scale)
    z = noise(20, 3)
    assert torch.allclose(flow.log_prob(z), expected.log_prob(z).sum(-1))
    assert torch.allclose(flow.forward(z)[0], expected.mean + expected.stddev * z)


def test_it_begins_next_to_a_standard_normal_and_knows_that_it_learnt_nothing():
    flow = Autoregressive(4, 8)
    z = torch.randn(20_000, 4, generator=torch.Generator().manual_seed(0))
    apart = Normal(0.0, 1.0).log_prob(z).sum(-1) - flow.log_prob(z)
    assert 0 < apart.mean() < 0.07 * 4
    assert not flow.learnt
    flow.log_prob(3 * z).sum().backward()
    with torch.no_grad():
        flow.last.weight -= 1e-3 * flow.last.weight.grad
    assert flow.learnt


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-5), (torch.float32, 2e-4)])
def test_noise_comes_back_from_latents(dtype, tolerance):
    """Also where it is farther out than any draw."""
    flow = network(dtype=dtype)
    given = torch.cat(
        [noise(200, 3, dtype=dtype), torch.full((1, 3), 7.0), torch.full((1, 3), -7.0)]
    )
    given = given.to(dtype)
    z, there = flow.forward(given)
    found, back = flow.inverse(z)
    assert (found - given).abs().max() < tolerance
    assert (there + back).abs().max() < 100 * tolerance


def test_the_log_det_is_that_of_the_map():
    flow, given, step = network(), noise(5, 3), 1e-6
    _, log_det = flow.forward(given)
    for row, expected in zip(given, log_det, strict=True):
        ends = [flow.forward(row + sign * step * torch.eye(3).double())[0] for sign in (1, -1)]
        slopes = (ends[0] - ends[1]) / (2 * step)
        assert torch.linalg.slogdet(slopes)[1].item() == pytest.approx(expected.item(), abs=1e-5)


def test_draws_are_of_the_density():
    """What is below a draw of the first coordinate, by torch's own mixture, is uniform."""
    flow = network()
    z, _ = flow.forward(noise(4000, 3))
    weight, mean, log_scale = flow.parameters_of(z)
    each = MixtureSameFamily(Categorical(logits=weight), Normal(mean, log_scale.exp()))
    below = each.cdf(z)
    for d in range(3):
        assert stats.kstest(below[:, d].detach().numpy(), "uniform").pvalue > 1e-3
    assert stats.spearmanr(below.detach().numpy()).statistic[0, 1] < 0.06


@pytest.mark.parametrize("far", [1e3, 1e6, 1e30])
def test_densities_far_out_are_finite_and_so_are_their_gradients(far):
    flow = network(dtype=torch.float32)
    belief = Autoregression(flow, size=3)
    z = torch.full((1, 3), far)
    belief.log_prob(z).sum().backward()
    assert torch.isfinite(belief.log_prob(z)).all()
    assert torch.isfinite(belief.noise_of(torch.full((1, 3), min(far, 1e6)))).all()
    assert all(torch.isfinite(p.grad).all() for p in flow.parameters() if p.grad is not None)


def test_clusters_with_nothing_between_them_are_learnt_without_bridges():
    """Of 16 narrow clusters couplings of as many steps leave more draws in between."""
    generator = torch.Generator().manual_seed(0)
    corners = torch.cartesian_prod(*[torch.tensor([-1.0, 1.0])] * 4)
    width = 0.1

    def clusters(n):
        which = torch.randint(16, (n,), generator=generator)
        return corners[which] + width * torch.randn(n, 4, generator=generator)

    between, nats = {}, {}
    for name in ("mixtures", "couplings"):
        torch.manual_seed(0)
        flow = Autoregressive(4, 48, 4) if name == "mixtures" else Couplings(4, 6, 48)
        kind = Autoregression if name == "mixtures" else Flow
        belief = kind(flow, size=4)
        adam = torch.optim.Adam(flow.parameters(), lr=5e-3)
        for _ in range(400):
            loss = -belief.log_prob(clusters(128)).mean()
            adam.zero_grad()
            loss.backward()
            adam.step()
        with torch.no_grad():
            z = belief.at(torch.randn(4000, 4, generator=generator))
            nats[name] = belief.log_prob(clusters(4000)).mean().item()
        outside = (z - z.sign()).abs().amax(-1) > 5 * width
        between[name] = outside.float().mean().item()
    entropy = math.log(16) + 4 * (math.log(width) + 0.5 * math.log(2 * math.pi * math.e))
    assert nats["mixtures"] == pytest.approx(-entropy, abs=0.15)
    assert between["mixtures"] < 0.005
    assert between["mixtures"] < 0.5 * between["couplings"]
    assert nats["mixtures"] > nats["couplings"]


def test_one_distribution_for_each_of_some_rows():
    flow = network(dtype=torch.float32)
    rows = Autoregression(flow, torch.zeros(7, 0), size=3)
    assert (rows.batch_shape, rows.event_shape) == ((7,), (3,))
    z = rows.sample()
    assert z.shape == (7, 3)
    assert torch.equal(rows.log_prob(z), Autoregression(flow, size=3).log_prob(z))
    assert not rows.has_rsample
    assert torch.isfinite(rows.mean).all()
    assert torch.isfinite(rows.variance).all()
