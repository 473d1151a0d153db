"""Atomic symbols: a partial description against the mixture of the symbols that fit it."""

from itertools import product

import pytest
import torch
from torch.distributions import Categorical, Independent, MixtureSameFamily, Normal, kl_divergence
from torch.testing import assert_close

from mindseye.distributions import diagonal_normal, moment_matched
from mindseye.labels import Labels

SIZES, D = (3, 2, 4), 5
SYMBOLS = list(product(*map(range, SIZES)))
PARTIAL = [observed for observed in product([True, False], repeat=3) if any(observed)]


@pytest.fixture
def table() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    loc = 2 * torch.randn(*SIZES, D, generator=generator)
    return loc, torch.randn(*SIZES, D, generator=generator) - 1


def fitting(codes: list[int], observed: tuple[bool, ...]) -> list[tuple[int, ...]]:
    """The symbols that agree with all that is said."""
    said = [k for k in range(len(SIZES)) if observed[k]]
    return [symbol for symbol in SYMBOLS if all(symbol[k] == codes[k] for k in said)]


def mixture(table, symbols) -> MixtureSameFamily:
    """The equal mixture of some symbols."""
    loc, log_scale = (torch.stack([part[symbol] for symbol in symbols]) for part in table)
    return MixtureSameFamily(Categorical(torch.ones(len(symbols))), diagonal_normal(loc, log_scale))


def test_a_full_description_has_the_numbers_of_its_own_symbol(table):
    q = moment_matched(*table, Labels.full(torch.tensor(SYMBOLS)))
    assert torch.equal(q.mean, table[0].flatten(0, -2))
    assert_close(q.stddev, table[1].flatten(0, -2).exp())


@pytest.mark.parametrize("observed", PARTIAL)
def test_a_partial_description_has_the_moments_of_the_mixture_that_fits(table, observed):
    codes = [2, 0, 3]
    q = moment_matched(*table, Labels(torch.tensor([codes]), torch.tensor([observed])))
    expected = mixture(table, fitting(codes, observed))
    assert_close(q.mean[0], expected.mean)
    assert_close(q.variance[0], expected.variance)


def test_rows_of_a_batch_say_different_things(table):
    codes = torch.tensor([[2, 0, 3]]).expand(len(PARTIAL), -1)
    together = moment_matched(*table, Labels(codes, torch.tensor(PARTIAL)))
    for row, observed in enumerate(PARTIAL):
        alone = moment_matched(*table, Labels(codes[:1], torch.tensor([observed])))
        assert torch.equal(together.mean[row], alone.mean[0])
        assert torch.equal(together.stddev[row], alone.stddev[0])


def test_no_gaussian_is_nearer_to_the_mixture(table):
    codes, observed = [1, 1, 0], (True, False, False)
    q = moment_matched(*table, Labels(torch.tensor([codes]), torch.tensor([observed])))
    symbols = torch.tensor(fitting(codes, observed))
    each = moment_matched(*table, Labels.full(symbols))

    def distance(shift: float, factor: float) -> float:
        """The mean divergence of the symbols, which is the mixture's and a constant."""
        other = Independent(Normal(q.mean + shift, q.stddev * factor), 1)
        return kl_divergence(each, other.expand((len(symbols),))).mean().item()

    best = distance(0.0, 1.0)
    assert all(distance(*moved) > best for moved in [(0.1, 1), (-0.1, 1), (0, 1.1), (0, 0.9)])


def test_nothing_said_leaves_the_prior(table):
    q = moment_matched(*table, Labels(torch.tensor([[2, 1, 0]]), torch.zeros(1, 3).bool()))
    assert torch.equal(q.mean, torch.zeros(1, D))
    assert torch.equal(q.stddev, torch.ones(1, D))


def test_codes_that_were_not_said_mean_nothing(table):
    observed = torch.tensor([[False, True, False]]).expand(2, -1)
    q = moment_matched(*table, Labels(torch.tensor([[2, 1, 3], [0, 1, 0]]), observed))
    assert torch.equal(q.mean[0], q.mean[1])
    assert torch.equal(q.stddev[0], q.stddev[1])


def test_an_attribute_of_one_value_changes_nothing_when_it_is_said(table):
    loc, log_scale = (part[:, :, :1] for part in table)
    observed = torch.tensor([[True, False, True], [True, False, False]])
    q = moment_matched(loc, log_scale, Labels(torch.tensor([[1, 0, 0]]).expand(2, -1), observed))
    assert_close(q.mean[0], q.mean[1])
    assert_close(q.stddev[0], q.stddev[1])


def test_gradients_reach_the_symbols_that_fit_and_no_others(table):
    loc, log_scale = (part.requires_grad_() for part in table)
    y = Labels(torch.tensor([[2, 1, 0]]), torch.tensor([[True, True, False]]))
    q = moment_matched(loc, log_scale, y)
    (q.mean.sum() + q.stddev.sum()).backward()
    for part in (loc, log_scale):
        reached = part.grad.abs().sum(-1).nonzero().tolist()
        assert reached == [[2, 1, k] for k in range(4)]


def test_symbols_of_extreme_width_stay_finite():
    loc = torch.full((2, 2, D), 1000.0, requires_grad=True)
    log_scale = torch.full((2, 2, D), -7.0, requires_grad=True)
    y = Labels(torch.zeros(2, 2).long(), torch.tensor([[True, True], [True, False]]))
    q = moment_matched(loc, log_scale, y)
    assert_close(q.stddev, torch.full((2, D), -7.0).exp())
    (q.mean + q.stddev).sum().backward()
    assert loc.grad.isfinite().all()
    assert log_scale.grad.isfinite().all()
