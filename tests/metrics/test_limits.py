from itertools import product

import pytest
import torch

from mindseye.errors import UsageError
from mindseye.metrics import (
    collapsed_coverage,
    expected_similarity,
    jensen_shannon,
    perfect_coverage,
)

SKEWED = [[0.55, *([0.05] * 9)], [0.9, 0.1], [0.2, 0.0, 0.8], [0.25] * 4]


def mean(coverage):
    return 100 * sum(coverage.values()) / len(coverage)


@pytest.mark.parametrize(
    ("base", "samples", "known"),
    [
        ("e", 10, 93.75),
        ("e", 20, 97.12),
        ("e", 50, 99.00),
        ("e", 100, 99.52),
        ("e", 200, 99.77),
        ("e", 1000, 99.95),
        ("2", 10, 90.98),
        ("2", 20, 95.85),
        ("2", 50, 98.56),
        ("2", 100, 99.30),
        ("2", 200, 99.66),
        ("2", 1000, 99.93),
    ],
)
def test_the_ceiling_meets_the_known_table(words, base, samples, known):
    # The known numbers are Monte Carlo, so they are good to about 0.02.
    assert mean(perfect_coverage(words, samples, base)) == pytest.approx(known, abs=0.02)


@pytest.mark.parametrize(("base", "known"), [("e", 64.0), ("2", 48.1)])
def test_the_floor_meets_the_known_numbers(words, base, known):
    assert mean(collapsed_coverage(words, base)) == pytest.approx(known, abs=0.05)


@pytest.mark.parametrize("base", ["2", "e"])
def test_the_expectation_is_that_of_all_outcomes(base):
    p = torch.tensor([0.5, 0.2, 0.3, 0.0], dtype=torch.float64)
    r = torch.tensor([0.1, 0.6, 0.0, 0.3], dtype=torch.float64)
    total = 0.0
    for outcome in product(range(4), repeat=5):
        counts = torch.bincount(torch.tensor(outcome), minlength=4)
        chance = r[list(outcome)].prod().item()
        total += chance * (1 - jensen_shannon(p, counts.to(torch.float64) / 5, base).item())
    assert expected_similarity(p, r, 5, base).item() == pytest.approx(total, abs=1e-12)


@pytest.mark.parametrize("base", ["2", "e"])
@pytest.mark.parametrize("samples", [10, 100])
def test_simulation_of_a_perfect_sampler_agrees(words, samples, base):
    generator = torch.Generator().manual_seed(0)
    ceiling = perfect_coverage(words, samples, base, SKEWED)
    for name, probabilities in zip(words.names, SKEWED, strict=True):
        p = torch.tensor(probabilities, dtype=torch.float64)
        draws = torch.multinomial(p.expand(4000, -1), samples, True, generator=generator)
        shown = torch.nn.functional.one_hot(draws, len(p)).to(torch.float64).mean(1)
        values = 1 - jensen_shannon(p, shown, base)
        error = values.std().item() / 4000**0.5
        assert values.mean().item() == pytest.approx(ceiling[name], abs=4 * error)


def test_the_ceiling_grows_with_samples_up_to_one(words):
    found = [mean(perfect_coverage(words, samples)) for samples in (1, 2, 5, 10, 100, 1000, 10_000)]
    assert found == sorted(found)
    assert found[-1] == pytest.approx(100, abs=0.02)


def test_the_floor_repeats_one_draw_of_the_reference(words):
    for name, probabilities in zip(words.names, SKEWED, strict=True):
        p = torch.tensor(probabilities, dtype=torch.float64)
        stuck = 1 - jensen_shannon(p, torch.eye(len(p), dtype=torch.float64))
        floor = collapsed_coverage(words, "2", SKEWED)[name]
        assert floor == pytest.approx((p * stuck).sum().item(), abs=1e-12)


def test_certainty_is_covered_by_any_number_of_samples():
    certain = torch.tensor([0.0, 1.0, 0.0], dtype=torch.float64)
    for samples in (1, 10, 1000):
        assert expected_similarity(certain, certain, samples).item() == 1


def test_a_ceiling_needs_a_sample(words):
    with pytest.raises(UsageError, match=r"`samples=0` is too few; expected 1 or more"):
        perfect_coverage(words, 0)
