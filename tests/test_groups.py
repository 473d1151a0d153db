"""Sets of different sizes as rows of one tensor."""

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck, gradgradcheck

from mindseye.groups import Groups

SIZES = [[3], [1, 3], [2, 0, 1], [0, 0, 4, 0], [0], [0, 0], [5, 1, 0, 2, 7]]


def groups_of(sizes: list[int]) -> Groups:
    return Groups.of(torch.tensor(sizes, dtype=torch.int64), rows=sum(sizes))


def random(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(7), dtype=torch.float64)


@pytest.mark.parametrize("sizes", SIZES)
def test_every_row_knows_its_set(sizes):
    groups = groups_of(sizes)
    assert groups.owner.tolist() == [b for b, size in enumerate(sizes) for _ in range(size)]
    assert groups.sizes.tolist() == sizes


@pytest.mark.parametrize("sizes", SIZES)
def test_totals_are_sums_over_every_set(sizes):
    values = random(sum(sizes), 3)
    expected = [rows.sum(0) for rows in values.split(sizes)]
    torch.testing.assert_close(groups_of(sizes).totals(values), torch.stack(expected))


@pytest.mark.parametrize("sizes", SIZES)
def test_spread_repeats_what_belongs_to_a_set(sizes):
    values = random(len(sizes), 3)
    expected = [values[b] for b, size in enumerate(sizes) for _ in range(size)]
    found = groups_of(sizes).spread(values)
    assert torch.equal(found, torch.stack(expected) if expected else values[:0])


def test_an_empty_set_has_totals_of_zero_and_spreads_to_no_row():
    groups = groups_of([0, 2, 0])
    assert torch.equal(groups.totals(torch.ones(2, 1)), torch.tensor([[0.0], [2.0], [0.0]]))
    assert torch.equal(groups.spread(torch.tensor([[5.0], [6.0], [7.0]])), torch.full((2, 1), 6.0))


@pytest.mark.parametrize("sizes", SIZES)
def test_totals_and_spread_are_each_others_transpose(sizes):
    groups, rows, sets = groups_of(sizes), random(sum(sizes), 3), random(len(sizes), 3)
    left, right = (groups.totals(rows) * sets).sum(), (rows * groups.spread(sets)).sum()
    torch.testing.assert_close(left, right)


@pytest.mark.parametrize("sizes", SIZES[:4])
def test_gradients_are_those_of_the_sums(sizes):
    groups = groups_of(sizes)
    rows = random(sum(sizes), 2).requires_grad_()
    sets = random(len(sizes), 2).requires_grad_()
    for function, values in ((groups.totals, rows), (groups.spread, sets)):
        assert gradcheck(function, (values,))
        assert gradgradcheck(function, (values,))


def test_gradients_reach_through_views_and_expansions():
    groups, rows = groups_of([2, 0, 1]), random(3, 2).requires_grad_()
    groups.totals(rows).sum().backward()  # its gradient is expanded from one number
    assert torch.equal(rows.grad, torch.ones(3, 2, dtype=torch.float64))


def test_no_sets_have_no_rows():
    groups = groups_of([])
    assert groups.totals(random(0, 3)).shape == groups.spread(random(0, 3)).shape == (0, 3)
