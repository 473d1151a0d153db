"""Normals of sets against the matrices that they stand for, one for each set and coordinate."""

import math

import pytest
import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd import gradcheck
from torch.distributions import MultivariateNormal, kl_divergence
from torch.testing import assert_close

from mindseye.distributions import CorrelatedNormals, PartNormals, floored
from mindseye.groups import Groups

SIZES = [3, 1, 0, 5, 2]
ROWS, SIZE = sum(SIZES), 4


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def grouped(*sizes: int) -> Groups:
    return Groups.of(torch.tensor(sizes), rows=sum(sizes))


def random_rows(n: int = 4, rows: int = ROWS) -> list[Tensor]:
    """Means, deviations, logits and values, float64."""
    loc, log_scale, logits, value = torch.randn(4, rows, SIZE, dtype=torch.float64)
    return [loc, (log_scale / 2).exp(), logits, value][:n]


def correlated(sizes: tuple[int, ...] = tuple(SIZES)) -> CorrelatedNormals:
    loc, scale, logits = random_rows(3, sum(sizes))
    return CorrelatedNormals(loc, scale, logits, grouped(*sizes))


def apart(sizes: tuple[int, ...] = tuple(SIZES)) -> PartNormals:
    loc, scale = random_rows(2, sum(sizes))
    return PartNormals(loc, scale, grouped(*sizes))


# The matrices


def root(scale: Tensor, logits: Tensor) -> Tensor:
    """The matrix that noise is multiplied by, of one coordinate of one set."""
    rho = logits.exp() / (1 + logits.exp().sum())
    return scale.diag() @ (torch.eye(len(rho), dtype=rho.dtype) - rho[:, None])


def normal(loc: Tensor, scale: Tensor, logits: Tensor) -> MultivariateNormal:
    made = root(scale, logits)
    return MultivariateNormal(loc, made @ made.T)


def explicit(q: CorrelatedNormals | PartNormals) -> list[list[MultivariateNormal]]:
    """A normal with a full covariance for every coordinate of every set; none for an empty one."""
    parameters = q.loc, q.scale, getattr(q, "logits", torch.full_like(q.loc, -torch.inf))
    sets = zip(*(rows.split(q.groups.sizes.tolist()) for rows in parameters), strict=True)
    columns = [list(zip(*(rows.T for rows in each), strict=True)) for each in sets]
    return [[normal(*column) for column in each if len(column[0])] for each in columns]


def summed(numbers: list[list[Tensor]]) -> Tensor:
    """The sum over the coordinates of every set; 0 of an empty one."""
    zero = torch.zeros((), dtype=torch.float64)
    return torch.stack([sum(each, zero) for each in numbers])


@pytest.mark.parametrize("made", [correlated, apart])
def test_log_densities_are_those_of_the_matrices(made):
    q, value = made(), random_rows()[3]
    by_set = value.split(SIZES)
    expected = summed(
        [
            [normal.log_prob(rows[:, j]) for j, normal in enumerate(normals)]
            for rows, normals in zip(by_set, explicit(q), strict=True)
        ]
    )
    assert_close(q.log_prob(value), expected)


@pytest.mark.parametrize("made", [correlated, apart])
def test_entropies_are_those_of_the_matrices(made):
    q = made()
    assert_close(q.entropy(), summed([[n.entropy() for n in each] for each in explicit(q)]))


@pytest.mark.parametrize("made", [correlated, apart])
def test_divergences_from_independent_normals_are_those_of_the_matrices(made):
    q, p = made(), apart()
    pairs = zip(explicit(q), explicit(p), strict=True)
    expected = summed([list(map(kl_divergence, *pair)) for pair in pairs])
    assert_close(kl_divergence(q, p), expected)
    assert (kl_divergence(q, p)[torch.tensor(SIZES) > 0] > 0).all()


def test_covariances_are_those_of_the_matrices():
    q = correlated()
    for index, normals in enumerate(explicit(q)):
        shape = (SIZE, SIZES[index], SIZES[index])
        expected = [normal.covariance_matrix for normal in normals] or [torch.zeros(0).double()]
        assert_close(q.covariance(index), torch.stack(expected).view(shape))


@pytest.mark.parametrize("made", [correlated, apart])
def test_variances_of_the_elements_are_the_diagonals_of_the_matrices(made):
    q = made()
    expected = [torch.stack([n.variance for n in each], -1) for each in explicit(q) if each]
    assert_close(q.variance, torch.cat(expected))
    assert_close(q.stddev, torch.cat(expected).sqrt())
    assert torch.equal(q.mean, q.loc)


def test_the_variance_of_the_sum_is_the_sum_of_the_matrix():
    q = correlated()
    expected = [[n.covariance_matrix.sum() for n in each] or [0.0] * SIZE for each in explicit(q)]
    assert_close(q.total_variance, torch.tensor(expected, dtype=torch.float64))


# Draws


def test_a_draw_is_its_noise_times_the_matrix():
    q, noise = correlated(), random_rows()[3]
    found = q.at(noise)
    for rows in torch.arange(ROWS).split(SIZES):
        for j in range(SIZE if len(rows) else 0):
            expected = q.loc[rows, j] + root(q.scale[rows, j], q.logits[rows, j]) @ noise[rows, j]
            assert_close(found[rows, j], expected)


@pytest.mark.parametrize("made", [correlated, apart])
def test_draws_are_those_of_torch_s_noise_alone_or_with_their_density(made):
    q = made()
    torch.manual_seed(4)
    drawn = q.rsample((6,))
    torch.manual_seed(4)
    again, log_q = q.rsample_with_log_prob((6,))
    torch.manual_seed(4)
    noise = torch.randn(6, ROWS, SIZE, dtype=torch.float64)
    assert torch.equal(drawn, again)
    assert torch.equal(drawn, q.at(noise))
    assert torch.equal(drawn[2], q.at(noise[2]))
    assert_close(log_q, q.log_prob(drawn))
    assert_close(log_q[2], q.log_prob(drawn[2]))
    assert log_q.shape == (6, len(SIZES))


def test_draws_have_the_moments_that_are_claimed():
    q, n = correlated(), 20_000
    drawn = q.sample((n,))
    total = torch.stack([rows.sum(1) for rows in drawn.split(SIZES, 1)], 1)
    off = (drawn.mean(0) - q.mean) / q.stddev
    assert off.abs().max() < 5 / math.sqrt(n)
    assert (drawn.var(0) / q.variance - 1).abs().max() < 5 * math.sqrt(2 / n)
    filled = torch.tensor(SIZES) > 0
    wide = total.var(0)[filled] / q.total_variance[filled]
    assert (wide - 1).abs().max() < 5 * math.sqrt(2 / n)
    assert not q.sample().requires_grad


# Sets


def test_the_order_of_the_elements_of_a_set_does_not_matter():
    loc, scale, logits, value = random_rows()
    groups = grouped(*SIZES)
    order = torch.cat([r[torch.randperm(len(r))] for r in torch.arange(ROWS).split(SIZES)])
    one = CorrelatedNormals(loc, scale, logits, groups)
    other = CorrelatedNormals(loc[order], scale[order], logits[order], groups)
    p = apart()
    moved = PartNormals(p.loc[order], p.scale[order], groups)
    assert_close(other.log_prob(value[order]), one.log_prob(value))
    assert_close(other.at(value[order]), one.at(value)[order])
    assert_close(other.entropy(), one.entropy())
    assert_close(other.variance, one.variance[order])
    assert_close(other.total_variance, one.total_variance)
    assert_close(kl_divergence(other, moved), kl_divergence(one, p))


def test_a_set_is_the_same_alone_or_in_a_batch():
    q, p, value = correlated(), apart(), random_rows()[3]
    for index, rows in enumerate(torch.arange(ROWS).split(SIZES)):
        groups = grouped(SIZES[index])
        alone = CorrelatedNormals(q.loc[rows], q.scale[rows], q.logits[rows], groups)
        prior = PartNormals(p.loc[rows], p.scale[rows], groups)
        assert_close(alone.log_prob(value[rows]), q.log_prob(value)[[index]])
        assert_close(alone.at(value[rows]), q.at(value)[rows])
        assert_close(alone.entropy(), q.entropy()[[index]])
        assert_close(alone.variance, q.variance[rows])
        assert_close(alone.total_variance, q.total_variance[[index]])
        assert_close(kl_divergence(alone, prior), kl_divergence(q, p)[[index]])


def test_an_element_alone_is_a_narrower_normal():
    q = correlated((1, 1, 1))
    narrow = PartNormals(q.loc, q.scale * torch.sigmoid(-q.logits), q.groups)
    p, value = apart((1, 1, 1)), random_rows(rows=3)[3]
    assert_close(q.stddev, narrow.stddev)
    assert_close(q.total_variance, narrow.variance)
    assert_close(q.log_prob(value), narrow.log_prob(value))
    assert_close(q.entropy(), narrow.entropy())
    assert_close(kl_divergence(q, p), kl_divergence(narrow, p))


@pytest.mark.parametrize("made", [correlated, apart])
def test_nothing_is_known_of_an_empty_set(made):
    q, p = made((0, 2, 0)), apart((0, 2, 0))
    numbers = [q.log_prob(q.sample()), q.entropy(), kl_divergence(q, p)]
    assert all((each[[0, 2]] == 0).all() for each in numbers)
    assert all((each[1] != 0).all() for each in numbers)


@pytest.mark.parametrize("made", [correlated, apart])
def test_a_batch_may_have_no_rows_at_all(made):
    q = made((0, 0))
    assert q.rsample().shape == (0, SIZE)
    assert q.log_prob(q.sample()).tolist() == [0, 0]


# Limits


@pytest.mark.parametrize("logit", [-40.0, -1e4, -torch.inf])
def test_without_leaning_elements_are_independent(logit):
    loc, scale, _, value = random_rows()
    groups, p = grouped(*SIZES), apart()
    q = CorrelatedNormals(loc, scale, torch.full_like(loc, logit), groups)
    plain = PartNormals(loc, scale, groups)
    assert_close(q.at(value), plain.at(value))
    assert_close(q.log_prob(value), plain.log_prob(value))
    assert_close(q.entropy(), plain.entropy())
    assert_close(q.variance, plain.variance)
    assert_close(q.total_variance, groups.totals(plain.variance))
    assert_close(kl_divergence(q, p), kl_divergence(plain, p))


def test_elements_that_lean_fully_are_certain_of_their_sum_and_not_of_themselves():
    groups, zero = grouped(2, 5), torch.zeros(7, 1, dtype=torch.float64)
    totals, each = [], []
    for logit in (-5.0, 0.0, 5.0, 10.0, 15.0):
        q = CorrelatedNormals(zero, zero + 0.7, zero + logit, groups)
        size = groups.sizes[:, None].double()
        assert_close(q.total_variance, 0.7**2 * size / (1 + size * math.exp(logit)) ** 2)
        totals.append(q.total_variance)
        each.append(q.variance)
    assert (torch.stack(totals).diff(dim=0) < 0).all()
    assert totals[-1].max() < 1e-12
    certain = torch.tensor([1 / 2] * 2 + [4 / 5] * 5, dtype=torch.float64)[:, None]
    assert_close(each[-1], 0.7**2 * certain, rtol=1e-5, atol=0)  # 1 - 1/K of what it was


def test_leaning_costs_information_by_the_volume_that_it_takes():
    groups, zero = grouped(3), torch.zeros(3, 1, dtype=torch.float64)
    p = PartNormals(zero, zero + 1, groups)
    logits = torch.tensor([20.0, 21.0], dtype=torch.float64)
    less, more = (
        kl_divergence(CorrelatedNormals(zero, zero + 1, zero + r, groups), p) for r in logits
    )
    assert_close(more - less, torch.ones(1, dtype=torch.float64), rtol=0, atol=1e-6)


EXTREMES = {
    "all": [1e4] * ROWS,
    "none": [-1e4] * ROWS,
    "some": [1e4, -1e4, 0.0] * (ROWS // 3) + [1e4] * (ROWS % 3),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("extreme", EXTREMES)
def test_extreme_logits_give_finite_numbers_and_gradients(extreme, dtype):
    logits = torch.tensor(EXTREMES[extreme], dtype=dtype)[:, None].repeat(1, SIZE)
    loc, scale, _, value = (rows.to(dtype) for rows in random_rows())
    p = apart()
    p = PartNormals(p.loc.to(dtype), p.scale.to(dtype), p.groups)
    given = [tensor.requires_grad_() for tensor in (loc, scale, logits)]
    q = CorrelatedNormals(*given, p.groups)
    drawn, log_q = q.rsample_with_log_prob()
    numbers = [
        drawn,
        log_q,
        q.log_prob(value),
        q.log_prob(drawn),
        q.entropy(),
        q.variance,
        q.total_variance,
        kl_divergence(q, p),
    ]
    for number in numbers:
        assert number.isfinite().all()
        slopes = torch.autograd.grad(number.sum(), given, retain_graph=True, allow_unused=True)
        assert all(slope.isfinite().all() for slope in slopes if slope is not None)


def test_shares_sum_to_one_and_the_rest_is_kept_as_a_logarithm():
    groups = grouped(2)
    logits = torch.tensor([[1e4, 300.0], [1e4, 299.0]])
    q = CorrelatedNormals(torch.zeros(2, 2), torch.ones(2, 2), logits, groups)
    assert_close(q.rho, torch.tensor([[0.5, 0.73105858], [0.5, 0.26894142]]))
    expected = -(1e4 + math.log(2)) - (300 + math.log1p(math.exp(-1)))
    assert_close(q.log_det, torch.tensor([expected]))


def test_a_draw_of_a_tight_set_has_the_density_of_its_noise_in_float32():
    groups, zero = grouped(4), torch.zeros(4, 2)
    q = CorrelatedNormals(zero, zero + 0.3, zero + 18, groups)
    torch.manual_seed(5)
    _, log_q = q.rsample_with_log_prob()
    torch.manual_seed(5)
    noise = torch.randn(4, 2).double()
    wide = CorrelatedNormals(*(t.double() for t in (q.loc, q.scale, q.logits)), groups)
    assert_close(log_q.double(), wide.log_prob(wide.at(noise)), rtol=0, atol=1e-3)


# Gradients


def leaves() -> list[Tensor]:
    return [tensor.requires_grad_() for tensor in random_rows(3, 6)]


@pytest.mark.parametrize("name", ["log_prob", "at"])
@pytest.mark.parametrize("lead", [(), (2,)])
def test_gradients_of_densities_and_draws_are_those_of_differences(name, lead):
    given = torch.randn(*lead, 6, SIZE, dtype=torch.float64, requires_grad=True)
    groups = grouped(3, 0, 1, 2)
    assert gradcheck(
        lambda given, *rows: getattr(CorrelatedNormals(*rows, groups), name)(given),
        (given, *leaves()),
    )
    assert gradcheck(
        lambda given, *rows: getattr(PartNormals(*rows, groups), name)(given),
        (given, *leaves()[:2]),
    )


def test_gradients_of_divergences_and_moments_are_those_of_differences():
    groups, prior = grouped(3, 0, 1, 2), leaves()[:2]

    def numbers(loc: Tensor, scale: Tensor, logits: Tensor, *prior: Tensor) -> tuple[Tensor, ...]:
        q, p = CorrelatedNormals(loc, scale, logits, groups), PartNormals(*prior, groups)
        plain = PartNormals(loc, scale, groups)
        divergences = kl_divergence(q, p), kl_divergence(plain, p)
        return *divergences, q.entropy(), q.variance, q.total_variance

    assert gradcheck(numbers, (*leaves(), *prior))


def test_what_no_formula_is_known_for_is_not_claimed():
    q, p = correlated(), apart()
    for pair in [(p, q), (q, q)]:
        with pytest.raises(NotImplementedError):
            kl_divergence(*pair)


# Digits


@pytest.mark.parametrize("made", [CorrelatedNormals, PartNormals])
def test_autocast_rounds_nothing(made):
    groups, (loc, scale, logits, value) = grouped(*SIZES), (t.bfloat16() for t in random_rows())
    parameters = (loc, scale, logits) if made is CorrelatedNormals else (loc, scale)
    p = PartNormals(value, scale, groups)

    def numbers() -> list[Tensor]:
        torch.manual_seed(1)
        q = made(*parameters, groups)
        moments = [q.mean, q.variance, q.entropy(), kl_divergence(q, p)]
        if isinstance(q, CorrelatedNormals):
            moments += [q.covariance(0), q.total_variance]
        return [q.log_prob(value), q.at(value), q.rsample(), *q.rsample_with_log_prob(), *moments]

    expected = numbers()
    with torch.autocast("cpu", torch.bfloat16):
        found = numbers()
    assert all(each.dtype == torch.float32 for each in found)
    assert all(map(torch.equal, found, expected))


def test_sets_are_printed_by_their_sizes():
    assert repr(correlated()) == "CorrelatedNormals(sets=5, rows=11, size=4)"
    assert repr(apart((2, 1))) == "PartNormals(sets=2, rows=3, size=4)"
    assert (correlated().batch_shape, correlated().event_shape) == ((5,), (4,))


def test_no_number_is_read_back_from_the_device():
    with FakeTensorMode():  # tensors without numbers: to ask for one is an error
        groups = Groups(torch.empty(len(SIZES)).long(), torch.empty(ROWS).long())
        given = [torch.empty(ROWS, SIZE, requires_grad=True) for _ in range(4)]
        loc, log_variance, logits, value = given
        scale = (floored(log_variance, 0.1) / 2).exp()
        q, p = CorrelatedNormals(loc, scale, logits, groups), PartNormals(value, scale, groups)
        numbers = [*q.rsample_with_log_prob((3,)), q.log_prob(value), q.entropy()]
        numbers += [q.variance, q.total_variance, kl_divergence(q, p), kl_divergence(p, p)]
        slopes = torch.autograd.grad(sum(each.sum() for each in numbers), given)
    assert [each.shape for each in slopes] == [(ROWS, SIZE)] * 4


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_captured_numbers_are_those_of_a_cpu():
    there = [tensor.float().cuda().requires_grad_() for tensor in random_rows()]
    groups = Groups(*(tensor.cuda() for tensor in grouped(*SIZES)))

    def numbers(given: list[Tensor], groups: Groups) -> list[Tensor]:
        loc, scale, logits, value = given
        q, p = CorrelatedNormals(loc, scale, logits, groups), PartNormals(value, scale, groups)
        found = [q.log_prob(value), q.at(value), q.total_variance, kl_divergence(q, p)]
        return [*found, *torch.autograd.grad(sum(each.sum() for each in found), given)]

    expected = numbers([t.detach().cpu().requires_grad_() for t in there], grouped(*SIZES))
    numbers(there, groups)  # the first run loads what a capture may not
    lane, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
    lane.wait_stream(torch.cuda.current_stream())
    with torch.cuda.graph(graph, stream=lane):
        found = numbers(there, groups)
    graph.replay()
    torch.cuda.synchronize()
    for one, two in zip(found, expected, strict=True):
        assert_close(one.cpu(), two, rtol=1e-4, atol=1e-4)


# Floors


@pytest.mark.parametrize("least", [1e-3, 0.1, 2.0])
def test_no_deviation_falls_below_its_floor(least):
    v = torch.linspace(-1e4, 1e4, 20_001, dtype=torch.float64)
    bounded = floored(v, least)
    assert bounded.min().item() == pytest.approx(2 * math.log(least), abs=1e-12)
    assert (bounded >= 2 * math.log(least) - 1e-12).all()
    assert (bounded.diff() >= 0).all()
    assert (floored(v.float(), least) / 2).exp().min().item() == pytest.approx(least, rel=1e-5)


@pytest.mark.parametrize("least", [1e-3, 0.1, 2.0])
def test_log_variances_well_above_the_floor_are_left_alone(least):
    v = 2 * math.log(least) + torch.linspace(1, 50, 50, dtype=torch.float64)
    assert_close(floored(v, least), v)
    below = 2 * math.log(least) + torch.linspace(-5, 0.9, 50, dtype=torch.float64)
    assert (floored(below, least) > below).all()


def test_a_floor_has_no_kink():
    knee = 2 * math.log(0.1) + 1
    v = torch.tensor([knee - 1e-6, knee + 1e-6], dtype=torch.float64, requires_grad=True)
    floor = floored(v, 0.1)
    floor.sum().backward()
    assert v.grad is not None
    assert_close(floor, v, rtol=0, atol=1e-11)
    assert_close(v.grad, torch.ones_like(v), rtol=0, atol=2e-6)


def test_the_slope_of_a_floor_is_its_height_above_the_ground():
    c = 2 * math.log(0.1)
    v = (c + torch.linspace(-20, 0.99, 50, dtype=torch.float64)).requires_grad_()
    height = floored(v, 0.1) - c
    (slope,) = torch.autograd.grad(height.sum(), v)
    assert_close(slope, height.detach())
    assert_close(slope, (v.detach() - c - 1).exp())
    assert gradcheck(lambda v: floored(v, 0.1), (v,))
    assert (slope > 0).all()


def test_a_floor_is_computed_in_float32_at_least():
    v = torch.linspace(-9, 3, 13).bfloat16()
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(floored(v, 0.1), floored(v.float(), 0.1))
    assert floored(v.double(), 0.1).dtype == torch.float64
