import pytest
import torch
from scipy.stats import binomtest

from mindseye.metrics import bootstrap, fraction
from mindseye.randomness import keys, uniforms


def test_the_interval_holds_the_true_mean_about_as_often_as_it_says():
    generator = torch.Generator().manual_seed(0)
    samples = torch.randn(400, 60, generator=generator, dtype=torch.float64)
    intervals = [bootstrap(values, seed) for seed, values in enumerate(samples)]
    held = sum(interval.low <= 0 <= interval.high for interval in intervals)
    assert 0.90 <= held / 400 <= 0.98


def test_the_interval_is_as_wide_as_the_normal_one():
    values = torch.randn(2000, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    found = bootstrap(values)
    half = 1.96 * values.std().item() / 2000**0.5
    assert found.high - found.mean == pytest.approx(half, rel=0.15)
    assert found.mean - found.low == pytest.approx(half, rel=0.15)


def test_the_spread_of_the_paper_is_that_of_means_over_four_fifths():
    values = torch.randn(500, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    spreads = torch.tensor([bootstrap(values, seed, resamples=2).spread for seed in range(300)])
    # The variance of five draws, divided by five and not by four, is 4/5 of the true one.
    expected = 0.8 * values.var(correction=0) / 400
    assert spreads.square().mean().item() == pytest.approx(expected.item(), rel=0.15)


def test_a_seed_gives_one_interval():
    values = torch.arange(30) / 30
    assert bootstrap(values, 5) == bootstrap(values, 5)
    assert bootstrap(values, 5) != bootstrap(values, 6)


def test_draws_made_some_at_a_time_are_the_same_draws():
    values = torch.arange(300_000) % 7
    many = bootstrap(values, 5, resamples=5)  # two chunks
    u = uniforms(keys(5, torch.arange(5), "bootstrap"), 300_000)
    means = values[(u * 300_000).to(torch.int64)].to(torch.float64).mean(-1)
    assert many.low == pytest.approx(means.quantile(0.025).item())
    assert many.high == pytest.approx(means.quantile(0.975).item())


def test_one_value_is_its_own_interval():
    found = bootstrap(torch.tensor([0.25]))
    assert found == (0.25, 0.25, 0.25, 1, 0.0)


@pytest.mark.parametrize(("successes", "n"), [(0, 10), (7, 10), (10, 10), (935, 1000)])
def test_a_share_has_the_interval_of_wilson(successes, n):
    known = binomtest(successes, n).proportion_ci(0.95, method="wilson")
    found = fraction(successes, n)
    assert (found.mean, found.n) == (successes / n, n)
    assert found.low == pytest.approx(known.low, abs=1e-12)
    assert found.high == pytest.approx(known.high, abs=1e-12)
