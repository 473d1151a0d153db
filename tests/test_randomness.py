import numpy as np
import pytest
import torch
from scipy import stats

from mindseye import randomness
from mindseye.randomness import integers, keys, normals, pixel_uniforms, uniforms

N = 20_000


def correlations(a, b):
    """The largest correlation between columns of `a` and columns of `b`, in standard errors."""
    a, b = ((x.double() - x.double().mean(0)) / x.double().std(0, correction=0) for x in (a, b))
    return float((a.T @ b / len(a)).abs().max()) * len(a) ** 0.5


def pairs(a, b, cells=16):
    """The p-value of the hypothesis that points (a, b) fill the unit square evenly."""
    counts = np.histogram2d(a, b, bins=cells, range=[[0, 1], [0, 1]])[0]
    return stats.chisquare(counts.ravel()).pvalue


# Known values: a change of the generator changes every picture


def test_keys_are_what_they_were():
    assert keys(0, torch.arange(3)).tolist() == [
        -7522321018191086637,
        -7179174154471936086,
        -8280147771964570748,
    ]
    assert keys(7, torch.tensor([2**40]), "order").tolist() == [-3810664813522027863]


def test_numbers_are_what_they_were():
    key = keys(0, torch.arange(2))
    assert (uniforms(key, 2) * 2**53).tolist() == [
        [1382930571556777, 2305758330336777],
        [2613681560465655, 6932871041135077],
    ]
    assert (pixel_uniforms(key, 4) * 2**24).tolist() == [
        [12440517, 11902047, 11143369, 14747147],
        [9356865, 8941421, 10338327, 6031765],
    ]
    assert integers(key, 10**6).tolist() == [153536, 290176]
    expected = torch.tensor([[-1.021385, -0.655756], [-0.552868, 0.737870]])
    torch.testing.assert_close(normals(key, 2), expected)


def test_the_mixer_is_splitmix64():
    """The first outputs for seed 0 of the reference implementation (Vigna, 2015)."""
    golden = randomness._signed(0x9E3779B97F4A7C15)
    outputs = randomness._mix64(torch.arange(1, 4) * golden)
    assert [x % 2**64 for x in outputs.tolist()] == [
        0xE220A8397B1DCDAF,
        0x6E789E6AA1B965F4,
        0x06C45D188009454F,
    ]


# Alone or together


@pytest.mark.parametrize("draw", [uniforms, normals, pixel_uniforms])
def test_numbers_depend_on_their_own_key_only(draw):
    key = keys(3, torch.arange(65))
    together = draw(key, 50)
    assert torch.equal(draw(key[7:8], 50)[0], together[7])
    assert torch.equal(draw(key.flip(0), 50), together.flip(0))


@pytest.mark.parametrize("draw", [uniforms, normals, pixel_uniforms])
def test_asking_for_more_keeps_the_first(draw):
    key = keys(3, torch.arange(9))
    assert torch.equal(draw(key, 100)[:, :33], draw(key, 33))


def test_a_key_depends_on_its_own_index_only():
    assert torch.equal(keys(1, torch.tensor([5, 3, 5])), keys(1, torch.arange(6))[[5, 3, 5]])


# Uniform


@pytest.mark.parametrize("draw", [uniforms, pixel_uniforms])
def test_numbers_are_uniform(draw):
    by_index = draw(keys(0, torch.arange(N)), 1)[:, 0]
    by_counter = draw(keys(0, torch.arange(1)), N)[0]
    by_seed = torch.cat([draw(keys(seed, torch.arange(1)), 1)[0] for seed in range(2000)])
    for numbers in (by_index, by_counter, by_seed):
        assert stats.kstest(numbers.double(), "uniform").pvalue > 1e-3


@pytest.mark.parametrize("draw", [uniforms, pixel_uniforms])
def test_neighbours_fill_the_square(draw):
    grid = draw(keys(0, torch.arange(200)), 201)
    assert pairs(grid[:, :-1].flatten(), grid[:, 1:].flatten()) > 1e-3
    assert pairs(grid[:-1].flatten(), grid[1:].flatten()) > 1e-3


def test_uniforms_are_inside_the_open_interval():
    numbers = uniforms(keys(0, torch.arange(N)), 4) * 2**53
    assert numbers.dtype == torch.float64
    assert (numbers % 2 == 1).all()  # odd multiples of 2⁻⁵³: neither 0 nor 1 is one


def test_pixel_uniforms_are_inside_the_open_interval():
    numbers = pixel_uniforms(keys(0, torch.arange(500)), 1600) * 2**24
    assert numbers.dtype == torch.float32
    assert (numbers % 2 == 1).all()  # odd multiples of 2⁻²⁴: neither 0 nor 1 is one
    assert numbers.min() >= 1
    assert numbers.max() <= 2**24 - 1


def test_every_bit_of_a_pixel_uniform_is_fair():
    numbers = (pixel_uniforms(keys(1, torch.arange(100)), 1000) * 2**24).long().flatten()
    bits = numbers[:, None] >> torch.arange(1, 24) & 1
    assert (bits.double().mean(0) - 0.5).abs().max() < 4.5 * 0.5 / len(numbers) ** 0.5


# Independent


@pytest.mark.parametrize("draw", [uniforms, pixel_uniforms])
def test_numbers_of_a_key_are_uncorrelated(draw):
    numbers = draw(keys(0, torch.arange(N)), 40)
    assert correlations(numbers[:, :20], numbers[:, 20:]) < 4.5
    assert correlations(numbers[:-1], numbers[1:]) < 5


@pytest.mark.parametrize("draw", [uniforms, pixel_uniforms])
def test_seeds_and_streams_are_uncorrelated(draw):
    index = torch.arange(N)
    first = draw(keys(0, index), 10)
    for other in (keys(1, index), keys(2**31, index), keys(0, index, "order"), keys(-1, index)):
        assert correlations(first, draw(other, 10)) < 4.5


def test_keys_of_keys_are_uncorrelated_with_them():
    key = keys(0, torch.arange(N))
    assert correlations(uniforms(key, 10), uniforms(keys(1, key), 10)) < 4.5


def test_a_key_serves_both_mixers():
    key = keys(0, torch.arange(N))
    assert correlations(uniforms(key, 6), pixel_uniforms(key, 200)) < 5


@pytest.mark.parametrize("draw", [uniforms, pixel_uniforms])
def test_each_bit_of_an_index_changes_everything(draw):
    index = torch.arange(200)
    first = draw(keys(0, index), 100).view(-1, 1)
    for bit in range(64):
        other = draw(keys(0, index ^ (1 << bit if bit < 63 else -(2**63))), 100).view(-1, 1)
        assert correlations(first, other) < 4.5


def test_streams_of_one_seed_share_no_key():
    index = torch.arange(N)
    every = torch.cat([keys(0, index, name) for name in ("", "order", "train", "test")])
    assert len(every.unique()) == 4 * N


# What is made of them


def test_normals_are_normal():
    numbers = normals(keys(0, torch.arange(N)), 4)
    assert numbers.dtype == torch.float32
    flat = numbers.flatten().double()
    assert stats.kstest(flat, "norm").pvalue > 1e-3
    for power, moment, variance in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)):
        error = (variance / len(flat)) ** 0.5
        assert (flat**power).mean() == pytest.approx(moment, abs=4 * error)
    assert correlations(numbers[:, :2], numbers[:, 2:]) < 4.5


def test_the_farthest_normals_are_finite():
    ends = torch.tensor([2.0**-53, 1 - 2.0**-53], dtype=torch.float64)
    assert torch.special.ndtri(ends).isfinite().all()


def test_integers_are_uniform_below_their_bound():
    numbers = integers(keys(0, torch.arange(N)), 7)
    assert numbers.dtype == torch.int64
    assert stats.chisquare(torch.bincount(numbers, minlength=7)).pvalue > 1e-3
    assert (integers(keys(0, torch.arange(50)), 1) == 0).all()


@pytest.mark.parametrize("high", [1, 3, 10, 2**40 - 1, 2**40, 2**40 + 1, 2**50 + 3])
def test_no_integer_reaches_its_bound(high, monkeypatch):
    largest = torch.full((1, 1), 1 - 2.0**-53, dtype=torch.float64)
    monkeypatch.setattr(randomness, "uniforms", lambda key, n: largest.clone())
    assert integers(torch.zeros(1, dtype=torch.int64), high).item() == high - 1
