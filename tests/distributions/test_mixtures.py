"""Mixtures of the parts of wholes, against torch's own and against densities on a grid."""

import math

import pytest
import torch
from torch import Tensor
from torch.distributions import Categorical, Independent, MixtureSameFamily, Normal, kl_divergence
from torch.testing import assert_close

from mindseye.distributions import CorrelatedNormals, PartMixtures, PartNormals, divergence
from mindseye.groups import Groups

SIZES, M, D = (3, 1, 0, 2), 4, 2
ROWS = sum(SIZES)


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def groups(*sizes: int) -> Groups:
    return Groups.of(torch.tensor(sizes), rows=sum(sizes))


def parameters(rows: int = ROWS) -> tuple[Tensor, Tensor, Tensor]:
    logits, loc, log_scale = torch.randn(rows, M), torch.randn(rows, M, D), torch.randn(rows, M, D)
    return logits.double(), 2 * loc.double(), (log_scale.double() / 2).exp()


def torchs(logits: Tensor, loc: Tensor, scale: Tensor) -> MixtureSameFamily:
    return MixtureSameFamily(Categorical(logits=logits), Independent(Normal(loc, scale), 1))


def test_densities_of_sets_are_sums_of_those_of_rows():
    given, value = parameters(), torch.randn(7, ROWS, D).double()
    rows = torchs(*given).log_prob(value)
    expected = torch.stack([each.sum(-1) for each in rows.split(SIZES, -1)], -1)
    found = PartMixtures(*given, groups(*SIZES)).log_prob(value)
    assert_close(found, expected)
    assert torch.equal(found[:, 2], torch.zeros(7).double())


def test_moments_are_torchs():
    given = parameters()
    ours, theirs = PartMixtures(*given, groups(*SIZES)), torchs(*given)
    assert_close(ours.mean, theirs.mean)
    assert_close(ours.variance, theirs.variance)


def test_draws_have_the_moments_and_the_shares():
    given = parameters()
    p = PartMixtures(*given, groups(*SIZES))
    draws = p.sample(torch.Size([40_000]))
    error = 5 * (p.variance / 40_000).sqrt()
    assert ((draws.mean(0) - p.mean).abs() < error).all()
    assert_close(draws.var(0), p.variance, rtol=0.06, atol=0)
    apart = 1e3 * torch.arange(M).double()[:, None].expand(ROWS, M, D)
    far = PartMixtures(given[0], apart, given[2], groups(*SIZES))
    chosen = (far.sample(torch.Size([40_000]))[..., 0] / 1e3).round()
    shares = torch.stack([(chosen == m).double().mean(0) for m in range(M)], -1)
    assert_close(shares, given[0].softmax(-1), rtol=0, atol=0.015)


def test_noise_is_a_map_and_the_first_number_chooses():
    p = PartMixtures(*parameters(), groups(*SIZES))
    noise = torch.randn(ROWS, 1 + D).double()
    assert torch.equal(p.at(noise), p.at(noise))
    low, high = noise.clone(), noise.clone()
    low[:, 0], high[:, 0] = -40.0, 40.0
    assert_close(p.at(low), p.loc[:, 0] + p.scale[:, 0] * noise[:, 1:])
    assert_close(p.at(high), p.loc[:, -1] + p.scale[:, -1] * noise[:, 1:])
    assert p.chances == 1 + D


def test_the_density_is_one_in_all():
    p = PartMixtures(*(each[:1] for each in parameters()), groups(1))
    edge = torch.linspace(-14, 14, 561).double()
    z = torch.cartesian_prod(edge, edge)[:, None]
    assert_close(
        p.log_prob(z).exp().sum() * (edge[1] - edge[0]) ** 2,
        torch.ones(()).double(),
        rtol=0,
        atol=1e-4,
    )


def lean(rows: int, sets: Groups) -> CorrelatedNormals:
    loc, log_scale, logits = torch.randn(3, rows, D).double()
    return CorrelatedNormals(loc, (log_scale / 2).exp(), logits, sets)


def test_of_one_normal_the_estimated_divergence_is_the_closed_one():
    sets = groups(3, 1)
    q = lean(4, sets)
    loc, scale = torch.randn(4, 1, D).double(), torch.rand(4, 1, D).double() + 0.5
    mixture = PartMixtures(torch.zeros(4, 1).double(), loc, scale, sets)
    normal = PartNormals(loc[:, 0], scale[:, 0], sets)
    closed = divergence(q, normal, q.rsample())
    assert_close(closed, kl_divergence(q, normal))
    each = torch.stack([divergence(q, mixture, q.rsample()) for _ in range(4000)])
    assert ((each.mean(0) - closed).abs() < 5 * each.std(0) / 4000**0.5).all()


def test_a_ring_is_learnt_where_a_normal_has_its_most_in_the_middle():
    """Waves of any phase: nothing is in the middle of a ring."""
    turns = 2 * math.pi * torch.rand(2000)
    ring = torch.stack([turns.cos(), turns.sin()], 1) + 0.1 * torch.randn(2000, 2)
    logits = torch.zeros(1, 16, requires_grad=True)
    loc = (0.8 * torch.randn(1, 16, 2)).requires_grad_()
    log_scale = torch.full((1, 16, 2), -0.5, requires_grad=True)
    adam = torch.optim.Adam([logits, loc, log_scale], 0.05)
    for _ in range(200):
        p = PartMixtures(logits, loc, log_scale.exp(), groups(1))
        adam.zero_grad()
        (-p.log_prob(ring[:, None]).mean()).backward()
        adam.step()
    drawn = p.sample(torch.Size([4000])).norm(dim=-1)
    assert (drawn < 0.3).float().mean() < 0.01  # of a normal with these moments 8 %
    best_normal = -math.log(2 * math.pi * math.e * (0.5 + 0.01))
    truth = -math.log(2 * math.pi) - math.log(2 * math.pi * math.e * 0.01) / 2
    assert best_normal + 1 < p.log_prob(ring[:, None]).mean() < truth + 0.05
