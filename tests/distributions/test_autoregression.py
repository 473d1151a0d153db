"""Mixtures of one coordinate after another: against closed forms, integrals, torch and scipy."""

import math

import pytest
import torch
from scipy import stats
from torch import nn
from torch.distributions import Categorical, MixtureSameFamily, Normal

from mindseye.distributions import Autoregression, Flow
from mindseye.networks import Autoregressive, Couplings


def belief(size=3, hidden=24, normals=4, seed=0, dtype=torch.float64):
    """Of a network that says something else of every latent."""
    torch.manual_seed(seed)
    said = Autoregressive(size, hidden, normals).to(dtype)
    nn.init.normal_(said.last.weight, std=0.3)
    return Autoregression(said)


def noise(n, size=3, seed=1, dtype=torch.float64):
    return torch.randn(n, size, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def mixtures(q, z):
    """The mixtures of all coordinates, as torch has them."""
    weight, mean, log_scale = q.mixtures.forward(z)
    return MixtureSameFamily(Categorical(logits=weight), Normal(mean, log_scale.exp()))


@pytest.mark.parametrize("seed", range(3))
def test_the_density_integrates_to_one(seed):
    q = belief(size=2, seed=seed)
    side = torch.linspace(-20, 20, 501, dtype=torch.float64)
    with torch.no_grad():
        density = q.log_prob(torch.cartesian_prod(side, side)).exp().view(501, 501)
    assert torch.trapezoid(torch.trapezoid(density, side), side).item() == pytest.approx(
        1, abs=1e-3
    )


def test_the_density_is_the_product_of_mixtures_of_torch():
    q, z = belief(), noise(50)
    assert torch.allclose(q.log_prob(z), mixtures(q, z).log_prob(z).sum(-1))


def test_one_normal_that_reads_nothing_is_a_normal():
    said = Autoregressive(3, 8, normals=1).double()
    with torch.no_grad():
        said.last.bias.view(3, 3)[:, 1:] = torch.tensor([[1.0, 0.5], [0.0, 0.0], [-2.0, 1.0]])
    scale = torch.exp(7 * torch.tanh(torch.tensor([0.5, 0.0, 1.0]).double() / 7))
    expected, q = Normal(torch.tensor([1.0, 0.0, -2.0]).double(), scale), Autoregression(said)
    z = noise(20)
    assert torch.allclose(q.log_prob(z), expected.log_prob(z).sum(-1))
    assert torch.allclose(q.at(z), expected.mean + expected.stddev * z)
    assert torch.allclose(q.noise_of(z), (z - expected.mean) / expected.stddev)


def test_it_begins_next_to_a_standard_normal():
    q, z = Autoregression(Autoregressive(4, 8)), noise(20_000, 4, dtype=torch.float32)
    apart = Normal(0.0, 1.0).log_prob(z).sum(-1) - q.log_prob(z)
    assert 0 < apart.mean() < 0.07 * 4


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-9), (torch.float32, 2e-4)])
def test_noise_comes_back_from_latents(dtype, tolerance):
    """Also where it is farther out than any draw."""
    q = belief(dtype=dtype)
    ends = torch.tensor([[12.0] * 3, [-12.0] * 3, [9.0, -9.0, 9.0]], dtype=dtype)
    given = torch.cat([noise(200, dtype=dtype), ends])
    assert (q.noise_of(q.at(given)) - given).abs().max() < tolerance * 12


def test_as_much_is_below_a_latent_as_below_its_noise():
    q, given = belief(), noise(500)
    assert torch.allclose(mixtures(q, q.at(given)).cdf(q.at(given)), Normal(0, 1).cdf(given))


def test_far_out_the_widest_normal_alone_counts():
    """The 12th deviation of a mixture of two of the same mean lies next to that of the wider."""
    said = Autoregressive(1, 4, normals=2).double()
    with torch.no_grad():
        said.last.bias.view(3, 2)[1:] = torch.tensor([[0.0, 0.0], [0.0, math.log(2)]])
    q = Autoregression(said)
    wide = math.exp(7 * math.tanh(math.log(2) / 7))
    for sign in (1, -1):
        z = q.at(torch.full((1, 1), 12.0 * sign).double()).item()
        assert z == pytest.approx(wide * stats.norm.isf(2 * stats.norm.sf(12)) * sign, rel=1e-7)


def test_draws_are_of_the_density():
    """What is below a draw of a coordinate, given those before, is uniform and of no other."""
    torch.manual_seed(0)
    q = belief(dtype=torch.float32)
    z = q.sample(torch.Size([4000]))
    below = mixtures(q, z).cdf(z).detach().numpy()
    assert z.shape == (4000, 3)
    for d in range(3):
        assert stats.kstest(below[:, d], "uniform").pvalue > 1e-3
    for one, two in ((0, 1), (0, 2), (1, 2)):
        assert abs(stats.spearmanr(below[:, one], below[:, two]).statistic) < 0.06


@pytest.mark.parametrize("far", [1e3, 1e6, 1e30])
def test_densities_far_out_are_finite_and_so_are_their_gradients(far):
    q = belief(dtype=torch.float32)
    z = torch.full((1, 3), far)
    q.log_prob(z).sum().backward()
    assert torch.isfinite(q.log_prob(z)).all()
    assert torch.isfinite(q.noise_of(z.clamp(max=1e6))).all()
    assert all(torch.isfinite(p.grad).all() for p in q.mixtures.parameters() if p.grad is not None)


def test_clusters_with_nothing_between_them_are_learnt_without_bridges():
    """Of 16 narrow clusters six couplings leave most draws in between."""
    generator = torch.Generator().manual_seed(0)
    corners = torch.cartesian_prod(*[torch.tensor([-1.0, 1.0])] * 4)
    width = 0.1

    def clusters(n):
        which = torch.randint(16, (n,), generator=generator)
        return corners[which] + width * torch.randn(n, 4, generator=generator)

    between, nats = {}, {}
    for name in ("mixtures", "couplings"):
        torch.manual_seed(0)
        map_ = Autoregressive(4, 48, 4) if name == "mixtures" else Couplings(4, 6, 48)
        q = Autoregression(map_) if name == "mixtures" else Flow(map_, size=4)
        adam = torch.optim.Adam(map_.parameters(), lr=5e-3)
        for _ in range(400):
            loss = -q.log_prob(clusters(128)).mean()
            adam.zero_grad()
            loss.backward()
            adam.step()
        with torch.no_grad():
            z = q.at(torch.randn(4000, 4, generator=generator))
            nats[name] = q.log_prob(clusters(4000)).mean().item()
        outside = (z - z.sign()).abs().amax(-1) > 5 * width
        between[name] = outside.float().mean().item()
    entropy = math.log(16) + 4 * (math.log(width) + 0.5 * math.log(2 * math.pi * math.e))
    assert nats["mixtures"] == pytest.approx(-entropy, abs=0.15)
    assert between["mixtures"] < 0.03
    assert between["mixtures"] < 0.1 * between["couplings"]
    assert nats["mixtures"] > nats["couplings"]


def test_leading_sizes_are_kept():
    q, z = belief(dtype=torch.float32), noise(12, dtype=torch.float32)
    assert torch.allclose(q.log_prob(z.view(3, 4, 3)), q.log_prob(z).view(3, 4))
    assert torch.allclose(q.at(z.view(3, 4, 3)), q.at(z).view(3, 4, 3))
    assert torch.allclose(q.noise_of(z.view(3, 4, 3)), q.noise_of(z).view(3, 4, 3), atol=1e-5)
    assert q.sample(torch.Size([2])).shape == (2, 3)
    assert not q.has_rsample


def test_moments_are_those_of_draws():
    q = belief(dtype=torch.float32)
    z = q.at(noise(40_000, dtype=torch.float32))
    assert torch.allclose(q.mean, z.mean(0), atol=0.15 * z.std(0).max().item())
    assert torch.allclose(q.stddev, z.std(0), rtol=0.15)
