"""The divergence in parts: by enumeration, in closed form and by quadrature."""

import math
from itertools import combinations

import pytest
import torch
from torch import Tensor
from torch.distributions import Normal, kl_divergence

from mindseye.distributions.normal import DiagonalNormal, standard_normal
from mindseye.errors import UsageError
from mindseye.objectives.surgery import (
    Split,
    decomposed,
    decomposed_draws,
    split_batch,
    stratified,
    weighted,
)


@pytest.fixture(autouse=True)
def double():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def posteriors(count: int = 5, latent: int = 3) -> DiagonalNormal:
    generator = torch.Generator().manual_seed(count)
    loc = torch.randn(count, latent, generator=generator)
    return DiagonalNormal(loc, 0.3 + torch.rand(count, latent, generator=generator))


def prior(latent: int = 3) -> DiagonalNormal:
    return standard_normal(torch.zeros(latent))


def rows(q: DiagonalNormal, which) -> DiagonalNormal:
    return DiagonalNormal(q.mean[which], q.stddev[which])


def exact(q: DiagonalNormal, z: Tensor, groups: int = 1) -> Tensor:
    """q(z), ∏ q(z_g) and ∏ q(z_j) with all pictures, `(3, B)`, written out."""
    each = Normal(q.mean, q.stddev).log_prob(z[:, None]).exp()  # (B, N, D)
    together = [part.prod(-1).mean(1) for part in each.tensor_split(groups, -1)]
    product = torch.stack(together).prod(0)
    return torch.stack([each.prod(-1).mean(1), product, each.mean(1).prod(-1)])


def densities(q: DiagonalNormal, z: Tensor, split: Split) -> Tensor:
    """What `exact` computes, read off the parts of a split."""
    joint = q.log_prob(z) - split.mutual_information
    together = joint - split.between
    return torch.stack([joint, together, together - split.within]).exp()


def estimates(estimator, batch: int) -> tuple[Tensor, Tensor, Tensor]:
    """Estimates of q(z) at one draw of picture 0, in all batches that hold it; q(z); q(z|x_0)."""
    q = posteriors()
    torch.manual_seed(1)
    z = q.sample()
    found = []
    for others in combinations(range(1, 5), batch - 1):
        which = [0, *others]
        split = split_batch(rows(q, which), prior(), z[which], 5, estimator)
        found.append(densities(rows(q, which), z[which], split)[0, 0])
    return torch.stack(found), exact(q, z)[0, 0], q.log_prob(z)[0].exp()


# The weights of a batch


@pytest.mark.parametrize("batch", [2, 3, 4, 5])
def test_stratified_sampling_is_unbiased(batch):
    found, true, _ = estimates(stratified, batch)
    torch.testing.assert_close(found.mean(), true)


@pytest.mark.parametrize("batch", [2, 3, 4, 5])
def test_weighted_sampling_has_the_bias_it_is_known_for(batch):
    found, true, own = estimates(weighted, batch)
    others = (5 * true - own) / 4  # the mean over the other pictures
    torch.testing.assert_close(found.mean(), (own + (batch - 1) * others) / (5 * batch))


@pytest.mark.parametrize("size", [3, 4, 10, 1e6])
def test_stratified_weights_are_those_of_the_paper_averaged_over_its_last_picture(size):
    batch = 3
    own, other = stratified(batch, size)
    rest, last = 1 / (batch - 1), (size - batch + 1) / (size * (batch - 1))
    assert own == 1 / size
    assert other == pytest.approx(((batch - 2) * rest + last) / (batch - 1))
    assert own + (batch - 1) * other == pytest.approx(1)


def test_stratified_sampling_varies_less_than_with_the_weights_of_the_paper():
    q, batch, size = posteriors(), 3, 5
    torch.manual_seed(1)
    each = q.log_prob(q.sample()[0]).exp()  # (N,): a draw of picture 0
    own, other = stratified(batch, size)
    pairs = [(each[a], each[b]) for a in range(1, 5) for b in range(1, 5) if a != b]
    ours = torch.stack([own * each[0] + other * (a + b) for a, b in pairs])
    papers = torch.stack([each[0] / 5 + a / 2 + 3 / 10 * b for a, b in pairs])
    torch.testing.assert_close(ours.mean(), papers.mean())
    assert ours.var() < 0.9 * papers.var()


@pytest.mark.parametrize("groups", [1, 2, 3])
def test_stratified_sampling_of_the_whole_data_set_is_exact(groups):
    q = posteriors()
    torch.manual_seed(2)
    z = q.sample()
    split = split_batch(q, prior(), z, 5, stratified, groups)
    torch.testing.assert_close(densities(q, z, split), exact(q, z, groups))


@pytest.mark.parametrize("groups", [1, 2, 3])
def test_weighted_sampling_of_the_whole_data_set_is_too_small_by_its_size(groups):
    q, n = posteriors(), math.log(5)
    torch.manual_seed(2)
    z = q.sample()
    found = split_batch(q, prior(), z, 5, weighted, groups)
    true = split_batch(q, prior(), z, 5, stratified, groups)
    torch.testing.assert_close(found.mutual_information, true.mutual_information + n)
    torch.testing.assert_close(found.between, true.between + (groups - 1) * n)
    torch.testing.assert_close(found.within, true.within + (3 - groups) * n)
    torch.testing.assert_close(found.dimension_kl, true.dimension_kl - 3 * n)


@pytest.mark.parametrize("estimator", [stratified, weighted])
@pytest.mark.parametrize("groups", [1, 2, 3])
def test_parts_of_a_batch_add_up_to_the_sampled_divergence(estimator, groups):
    q = posteriors()
    torch.manual_seed(3)
    z = q.sample()
    split = split_batch(q, prior(), z, 1000, estimator, groups)
    torch.testing.assert_close(split.kl, q.log_prob(z) - prior().log_prob(z))


def test_parts_of_a_batch_follow_its_order():
    q, order = posteriors(), [3, 1, 4, 0, 2]
    torch.manual_seed(3)
    z = q.sample()
    split = split_batch(q, prior(), z, 1000)
    other = split_batch(rows(q, order), prior(), z[order], 1000)
    for a, b in zip(split, other, strict=True):
        torch.testing.assert_close(a[order], b)


def test_a_posterior_of_tiny_width_far_from_all_others_stays_finite():
    loc = torch.tensor([[-50.0, 0.0], [0.0, 50.0], [50.0, 50.0]], dtype=torch.float32)
    loc.requires_grad_()
    q = DiagonalNormal(loc, torch.full_like(loc, 1e-3))
    split = split_batch(q, standard_normal(torch.zeros(2)), q.rsample(), 3)
    split.total_correlation.sum().backward()
    torch.testing.assert_close(split.mutual_information, torch.full((3,), math.log(3)).float())
    assert loc.grad.isfinite().all()


def test_small_batches_put_stratified_correlation_below_the_truth_and_weighted_above():
    torch.manual_seed(4)
    size, width = 1e5, 0.2
    root = torch.linalg.cholesky(torch.tensor([[1.0, 0.5], [0.5, 1.0]]) - width**2 * torch.eye(2))
    true = -math.log(1 - 0.5**2) / 2
    below, above = [], []
    for batch in (16, 64, 256):
        loc = torch.randn(20, batch, 2) @ root.T
        some = [DiagonalNormal(each, torch.full_like(each, width)) for each in loc]
        for estimator, found in (stratified, below), (weighted, above):
            splits = [split_batch(q, prior(2), q.sample(), size, estimator) for q in some]
            found.append(torch.stack([s.total_correlation for s in splits]).mean().item())
    assert below == sorted(below)
    assert below[0] < true - 0.5
    assert below[-1] == pytest.approx(true, abs=0.1)
    above = [value - math.log(size) for value in above]  # (D - 1) log N
    assert above == sorted(above, reverse=True)
    assert above[0] > true + 0.5
    assert above[-1] == pytest.approx(true, abs=0.2)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_captured_parts_are_those_of_a_cpu():
    q = posteriors(64)
    z = q.sample()
    expected = split_batch(q, prior(), z, 1000, stratified, 2)
    loc, scale, there = (tensor.cuda() for tensor in (q.mean, q.stddev, z))
    wanted = standard_normal(torch.zeros(3, device="cuda"))
    lane, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
    lane.wait_stream(torch.cuda.current_stream())
    with torch.cuda.graph(graph, stream=lane):
        found = split_batch(DiagonalNormal(loc, scale), wanted, there, 1000, stratified, 2)
    graph.replay()
    torch.cuda.synchronize()
    for one, two in zip(found, expected, strict=True):
        torch.testing.assert_close(one.cpu(), two)


# The whole data set


def test_pairs_of_copied_signs_have_the_information_and_correlations_of_fair_coins():
    a, s = 4.0, 0.1
    signs = torch.tensor([[i, i, j, j] for i in (-a, a) for j in (-a, a)])
    q = DiagonalNormal(signs, torch.full_like(signs, s))
    halves = decomposed(q, prior(4), 4000, groups=2)
    bit = math.log(2)
    torch.testing.assert_close(halves.mutual_information, torch.tensor(2 * bit))
    torch.testing.assert_close(halves.within, torch.tensor(2 * bit))
    torch.testing.assert_close(halves.between, torch.tensor(0.0))
    # KL of ½ N(-a, s²) + ½ N(a, s²), whose halves do not meet, from N(0, 1)
    each = (a**2 + s**2 - 1) / 2 - math.log(s) - bit
    assert halves.dimension_kl.item() == pytest.approx(4 * each, abs=4 * 4 * a * s / 4000**0.5)
    crossed = DiagonalNormal(signs[:, [0, 2, 1, 3]], q.stddev)
    other = decomposed(crossed, prior(4), 4000, groups=2)
    torch.testing.assert_close(other.between, torch.tensor(2 * bit))
    torch.testing.assert_close(other.within, torch.tensor(0.0))
    torch.testing.assert_close(other.total_correlation, halves.total_correlation)


def test_equal_posteriors_have_no_information_and_no_correlation():
    q = DiagonalNormal(torch.full((7, 3), 0.4), torch.full((7, 3), 0.6))
    split = decomposed(q, prior(), 20_000)
    zero = torch.tensor(0.0)
    torch.testing.assert_close(split.mutual_information, zero, atol=1e-10, rtol=0)
    torch.testing.assert_close(split.total_correlation, zero, atol=1e-10, rtol=0)
    torch.testing.assert_close(
        split.dimension_kl, kl_divergence(q, prior()).mean(), atol=0.03, rtol=0
    )


def test_posteriors_that_are_the_prior_have_no_parts():
    q = DiagonalNormal(torch.zeros(6, 2), torch.ones(6, 2))
    for part in decomposed(q, prior(2), 10, groups=2):
        torch.testing.assert_close(part, torch.tensor(0.0), atol=1e-12, rtol=0)


def quadrature(q: DiagonalNormal) -> tuple[float, float, float]:
    """I(n; z), TC and the dimensions' divergences in the plane, summed over a fine grid."""
    line = torch.linspace(-12, 12, 701)
    cell = (line[1] - line[0]) ** 2
    z = torch.cartesian_prod(line, line)
    each = Normal(q.mean, q.stddev).log_prob(z[:, None])  # (G², N, 2)
    log_n = math.log(len(q.mean))
    joint, alone = each.sum(-1).logsumexp(1) - log_n, each.logsumexp(1) - log_n
    weight = joint.exp() * cell
    entropy = q.entropy().mean()
    information = -(weight * joint).sum() - entropy
    correlation = (weight * (joint - alone.sum(-1))).sum()
    divergence = (weight * (alone.sum(-1) - prior(2).log_prob(z))).sum()
    return information.item(), correlation.item(), divergence.item()


def test_parts_in_the_plane_agree_with_quadrature():
    q = posteriors(6, 2)
    draws = decomposed_draws(q, prior(2), 30_000, groups=2)
    true = quadrature(q)
    found = [draws.mutual_information, draws.total_correlation, draws.dimension_kl]
    for values, expected in zip(found, true, strict=True):
        error = values.std().item() / len(values) ** 0.5
        assert values.mean().item() == pytest.approx(expected, abs=4 * error)
        assert 4 * error < 0.2 * expected
    assert sum(true) == pytest.approx(kl_divergence(q, prior(2)).mean().item(), abs=1e-6)


@pytest.mark.parametrize("groups", [1, 2, 3])
def test_parts_of_the_data_set_add_up_to_the_average_divergence(groups):
    q = posteriors(40)
    draws = decomposed_draws(q, prior(), 20_000, groups=groups)
    error = draws.kl.std().item() / len(draws.kl) ** 0.5
    average = kl_divergence(q, prior()).mean().item()
    assert draws.kl.mean().item() == pytest.approx(average, abs=4 * error)
    assert error < 0.02


def test_gaussian_aggregate_has_the_total_correlation_of_its_correlations():
    generator = torch.Generator().manual_seed(0)
    covariance = torch.tensor([[1.0, 0.6, 0.0], [0.6, 1.0, -0.3], [0.0, -0.3, 1.0]])
    root = torch.linalg.cholesky(covariance - 0.3 * torch.eye(3))
    loc = torch.randn(3000, 3, generator=generator) @ root.T
    q = DiagonalNormal(loc, torch.full_like(loc, 0.3**0.5))
    split = decomposed(q, prior(), 1000, groups=2)  # the groups are z_1, z_2 and z_3
    total = -torch.linalg.det(covariance).log() / 2
    within = -math.log(1 - 0.6**2) / 2
    assert split.total_correlation.item() == pytest.approx(total.item(), abs=0.05)
    assert split.within.item() == pytest.approx(within, abs=0.04)
    assert split.dimension_kl.item() == pytest.approx(0, abs=0.02)
    information = torch.linalg.det(covariance / 0.3).log() / 2
    assert split.mutual_information.item() == pytest.approx(information.item(), abs=0.1)


def test_blocks_do_not_change_the_result_and_seeds_do():
    q = posteriors(20)
    whole = decomposed_draws(q, prior(), 50)
    small = decomposed_draws(q, prior(), 50, block=1)
    for a, b in zip(whole, small, strict=True):
        torch.testing.assert_close(a, b)
    assert not torch.allclose(whole.kl, decomposed_draws(q, prior(), 50, seed=1).kl)


def test_every_picture_is_drawn_as_often_as_any_other():
    loc = 100.0 * torch.arange(8.0)[:, None]
    q = DiagonalNormal(loc, torch.ones_like(loc))
    for samples, times in (5, {0, 1}), (16, {2}), (19, {2, 3}):
        nats = decomposed_draws(q, prior(1), samples).dimension_kl  # about (100 n)² / 2
        pictures = (nats.clamp(0).mul(2).sqrt() / 100).round().long()
        assert set(pictures.bincount(minlength=8).tolist()) == times


# Mistakes


def test_sizes_and_groups_that_cannot_be_are_refused():
    q = posteriors()
    z = q.mean
    with pytest.raises(UsageError, match=r"A batch of 1 cannot.*larger batch_size"):
        split_batch(rows(q, [0]), prior(), z[:1], 5)
    with pytest.raises(UsageError, match=r"`size` \(=1\) must be the number of pictures"):
        split_batch(q, prior(), z, 1)
    for groups in (0, 4, 1.5):
        with pytest.raises(
            UsageError, match=r"`groups` \(=.*\) must be a whole number from 1 to 3"
        ):
            split_batch(q, prior(), z, 5, groups=groups)
    with pytest.raises(UsageError, match=r"`samples` \(=0\) must be at least 1"):
        decomposed(q, prior(), 0)
