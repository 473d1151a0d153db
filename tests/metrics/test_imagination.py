import math

import pytest
import torch
from scipy.spatial.distance import jensenshannon

from mindseye.errors import UsageError
from mindseye.metrics import combined, correctness, coverage, jensen_shannon


def simplex(n, width, seed, zeros=0.0):
    generator = torch.Generator().manual_seed(seed)
    raw = torch.rand(n, width, generator=generator, dtype=torch.float64)
    keep = torch.rand(n, width, generator=generator) >= zeros
    keep[:, 0] = True
    return raw * keep / (raw * keep).sum(-1, keepdim=True)


def answers(sizes, n, seed):
    generator = torch.Generator().manual_seed(seed)
    return torch.stack([torch.randint(s, (n,), generator=generator) for s in sizes], dim=-1)


@pytest.mark.parametrize(("base", "number"), [("2", 2), ("e", math.e)])
@pytest.mark.parametrize("zeros", [0.0, 0.6])
def test_jensen_shannon_agrees_with_scipy(base, number, zeros):
    p, q = simplex(50, 7, 0, zeros), simplex(50, 7, 1, zeros)
    expected = torch.tensor([jensenshannon(a, b, number) ** 2 for a, b in zip(p, q, strict=True)])
    torch.testing.assert_close(jensen_shannon(p, q, base), expected, atol=1e-14, rtol=1e-12)


@pytest.mark.parametrize(("base", "most"), [("2", 1.0), ("e", math.log(2))])
def test_jensen_shannon_is_symmetric_bounded_and_zero_on_equals(base, most):
    p, q = simplex(200, 5, 2, 0.5), simplex(200, 5, 3, 0.5)
    found = jensen_shannon(p, q, base)
    torch.testing.assert_close(found, jensen_shannon(q, p, base))
    assert found.min() >= 0
    assert found.max() <= most + 1e-12
    assert torch.equal(jensen_shannon(p, p, base), torch.zeros(200, dtype=torch.float64))


@pytest.mark.parametrize(("base", "most"), [("2", 1.0), ("e", math.log(2))])
def test_jensen_shannon_of_disjoint_certainties_is_the_largest(base, most):
    apart = torch.eye(3, dtype=torch.float64)
    assert jensen_shannon(apart[0], apart[1], base).item() == pytest.approx(most, abs=1e-15)


def test_correctness_is_the_fraction_of_words_seen(words):
    concept = words.parse("digit=4, size=big")
    judged = torch.tensor([[4, 0, 0, 0], [4, 1, 2, 3], [5, 1, 1, 1], [5, 0, 0, 2]])
    assert correctness(judged, concept) == 0.5


def test_coverage_is_one_minus_the_mean_divergence_of_the_open_attributes(words):
    concept = words.parse("digit=4, size=big")
    judged = torch.tensor([[4, 0, 0, 0], [4, 0, 0, 1], [4, 0, 1, 2], [4, 0, 2, 3]])
    orientation = 1 - jensenshannon([0.5, 0.25, 0.25], [1 / 3] * 3, 2) ** 2
    assert coverage(judged, concept) == pytest.approx((orientation + 1) / 2, abs=1e-12)


def test_coverage_is_one_when_the_histogram_is_the_given_reference(words):
    concept = words.parse("digit=4, size=big, orientation=upright")
    judged = torch.tensor([[4, 0, 1, 0], [4, 0, 1, 0], [4, 0, 1, 1], [4, 0, 1, 3]])
    reference = [[0.1] * 10, [0.5] * 2, [1 / 3] * 3, [0.5, 0.25, 0.0, 0.25]]
    assert coverage(judged, concept, reference) == pytest.approx(1, abs=1e-15)
    assert coverage(judged, concept, "uniform") < 1


@pytest.mark.parametrize("base", ["2", "e"])
def test_combined_compares_said_attributes_with_certainty(words, base):
    concept = words.parse("digit=4")
    judged = answers(words.sizes, 20, seed=4)
    judged[:15, 0] = 4
    columns = zip(judged.mT, words.sizes, strict=True)
    histograms = [torch.bincount(codes, minlength=size).tolist() for codes, size in columns]
    certain = [float(digit == 4) for digit in range(10)]
    wanted = [certain, *([1 / size] * size for size in words.sizes[1:])]
    number = 2 if base == "2" else math.e
    terms = [1 - jensenshannon(p, q, number) ** 2 for p, q in zip(wanted, histograms, strict=True)]
    assert combined(judged, concept, "uniform", base) == pytest.approx(sum(terms) / 4, abs=1e-12)


def test_scores_stay_in_bounds_and_forget_the_order_of_pictures(words):
    concept = words.parse("digit=4, location=top-left")
    for seed in range(20):
        judged = answers(words.sizes, 10, seed)
        turned = judged[torch.randperm(10, generator=torch.Generator().manual_seed(seed))]
        for score in (correctness, coverage, combined):
            assert 0 <= score(judged, concept) <= 1
            assert score(judged, concept) == score(turned, concept)


def test_a_concept_without_words_has_no_correctness(words):
    with pytest.raises(UsageError, match=r"`concept='\*'` says nothing, so it has no correctness"):
        correctness(answers(words.sizes, 3, 0), words.root)


def test_a_full_concept_has_no_coverage(words):
    full = words.from_codes([4, 0, 1, 2])
    with pytest.raises(UsageError, match=r"`concept='digit=4, .*'` leaves nothing open"):
        coverage(answers(words.sizes, 3, 0), full)


def test_a_log_base_is_bits_or_nats(words):
    with pytest.raises(UsageError, match=r"`base='10'` is not a log base; expected '2' \(bits\)"):
        coverage(answers(words.sizes, 3, 0), words.root, base="10")  # pyright: ignore[reportArgumentType]


def test_judged_codes_must_fit_the_vocabulary(words):
    concept = words.parse("digit=4")
    with pytest.raises(UsageError, match=r"`judged` has shape \(3, 2\); expected one row per"):
        correctness(torch.zeros(3, 2, dtype=torch.int64), concept)
    with pytest.raises(UsageError, match=r"`judged` holds torch.float32; expected torch.int64"):
        correctness(torch.zeros(3, 4), concept)
    with pytest.raises(UsageError, match=r"`judged` holds the code 2 for `size`; expected 0 to 1"):
        correctness(torch.tensor([[4, 2, 0, 0]]), concept)
