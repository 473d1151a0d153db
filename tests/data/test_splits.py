from itertools import chain

import pytest
import torch

from mindseye.data.splits import PARTS, combinations, compositional_split, source_split
from mindseye.errors import UsageError

MNIST_A = (10, 2, 3, 4)


def rows(tensor):
    return [tuple(row) for row in tensor.tolist()]


# Known values: a change would leak test digits into models trained before it


def test_sources_are_divided_as_they_were():
    assert source_split(30, "validation").tolist() == [7]
    assert source_split(30, "test").tolist() == [5, 10]
    assert source_split(30, "observer").tolist() == [0, 1, 2, 6, 9, 11, 13, 16, 19]
    assert source_split(70_000, "test", seed=3)[:4].tolist() == [21, 55, 57, 62]


def test_combinations_are_divided_as_they_were():
    assert rows(compositional_split([2, 3, 4], "test")) == [(0, 0, 3), (0, 1, 3), (0, 2, 0)]
    held_out = compositional_split(MNIST_A, "validation", seed=3)
    assert rows(held_out[:3]) == [(3, 1, 1, 3), (3, 1, 2, 2), (4, 0, 1, 2)]


# Sources


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("count", [0, 1, 2, 7, 30, 1797, 70_000])
def test_every_source_belongs_to_one_part(count, seed):
    parts = [source_split(count, part, seed) for part in PARTS]
    assert torch.equal(torch.cat(parts).sort().values, torch.arange(count))
    assert all(torch.equal(part, part.sort().values) for part in parts)


def test_shares_are_those_of_the_paper_after_the_observer():
    sizes = [len(source_split(70_000, part, seed=1)) for part in PARTS]
    assert sizes == [42_500, 2_500, 5_000, 20_000]


def test_a_part_is_spread_over_all_sources():
    for part in PARTS:
        middle = source_split(70_000, part).double().mean()
        assert middle == pytest.approx(35_000, abs=4 * 70_000 / 12**0.5 / 2500**0.5)


def test_seeds_divide_sources_differently():
    first, second = (set(source_split(70_000, "test", seed).tolist()) for seed in (0, 1))
    assert len(first & second) == pytest.approx(5000 * 5000 / 70_000, abs=80)


# Combinations


def test_combinations_are_all_and_in_order():
    assert rows(combinations([2, 3])) == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]
    assert combinations([3]).shape == (3, 1)


@pytest.mark.parametrize("seed", [0, 1, 2, 41, 12345])
def test_every_combination_belongs_to_one_part(seed):
    parts = [rows(compositional_split(MNIST_A, part, seed)) for part in PARTS[:3]]
    assert [len(part) for part in parts] == [204, 12, 24]
    assert sorted(chain(*parts)) == rows(combinations(MNIST_A))


def test_seeds_divide_combinations_differently():
    assert rows(compositional_split(MNIST_A, "test", 0)) != rows(
        compositional_split(MNIST_A, "test", 1)
    )


# What goes wrong


def test_an_unknown_part_is_named_with_a_near_one():
    with pytest.raises(UsageError, match=r"`part='trian'` is not known; expected ") as caught:
        source_split(10, "trian")
    assert "train" in str(caught.value.hint)


def test_the_observer_has_no_combinations_of_its_own():
    with pytest.raises(UsageError, match=r"`part='observer'` is not known"):
        compositional_split(MNIST_A, "observer")
