"""Measures of links: against scikit-learn, and what the best and the worst have."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score

from mindseye.errors import UsageError
from mindseye.metrics.links import average_precision, hits, resampled, roc_auc

scores = st.lists(st.integers(-4, 4), min_size=1, max_size=40)
"""Few values: many ties."""


@settings(deadline=None)
@given(scores, scores)
def test_areas_are_those_of_scikit_learn_ties_included(linked, apart):
    one, other = torch.tensor(linked).float(), torch.tensor(apart).float()
    truth, told = [1] * len(linked) + [0] * len(apart), linked + apart
    assert roc_auc(one, other) == pytest.approx(roc_auc_score(truth, told))
    assert average_precision(one, other) == pytest.approx(average_precision_score(truth, told))


MEASURES = [roc_auc, average_precision, lambda one, other: hits(one, other, 3)]


@pytest.mark.parametrize("measure", MEASURES)
def test_links_above_all_others_score_one(measure):
    assert measure(torch.tensor([5.0, 6.0]), torch.arange(5).float() - 1) == 1.0


def test_links_below_all_others_score_least():
    linked, apart = torch.tensor([-1.0, -2.0]), torch.arange(4.0)
    assert roc_auc(linked, apart) == 0
    assert hits(linked, apart, 1) == 0
    assert average_precision(linked, apart) == pytest.approx((1 / 5 + 2 / 6) / 2)


def test_who_scores_all_alike_is_right_by_chance():
    same = torch.zeros(50)
    assert roc_auc(same, same) == 0.5
    assert average_precision(same, same) == 0.5
    assert hits(same, same, 10) == 0


@settings(deadline=None)
@given(scores, scores, st.integers(1, 50))
def test_hits_are_links_above_the_kth_best_other(linked, apart, k):
    found = hits(torch.tensor(linked).float(), torch.tensor(apart).float(), k)
    if k > len(apart):
        assert found == 1
    else:
        bar = sorted(apart, reverse=True)[k - 1]
        assert found == pytest.approx(sum(x > bar for x in linked) / len(linked))


@settings(deadline=None)
@given(scores, scores)
def test_only_the_order_of_scores_counts(linked, apart):
    one, other = torch.tensor(linked).double(), torch.tensor(apart).double()
    for measure in MEASURES:
        assert measure(one, other) == measure(one.exp(), other.exp())


def test_the_interval_of_auc_is_that_of_its_closed_form():
    """Normal scores: DeLong's deviation, by Hanley and McNeil's formula, within a tenth."""
    generator = torch.Generator().manual_seed(0)
    linked, apart = (torch.randn(400, generator=generator) + shift for shift in (1.5, 0.0))
    found = resampled(roc_auc, linked, apart)
    area = found.mean
    one, two = area / (2 - area), 2 * area**2 / (1 + area)
    variance = area * (1 - area) + 399 * (one - area**2) + 399 * (two - area**2)
    expected = 2 * 1.96 * (variance / 400**2) ** 0.5
    assert found.low < area < found.high
    assert found.high - found.low == pytest.approx(expected, rel=0.15)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: roc_auc(torch.empty(0), torch.ones(2)), r"`linked` is \(0,\)"),
        (lambda: hits(torch.ones(2), torch.ones(2), 0), r"`k=0` must be at least 1"),
        (
            lambda: average_precision(torch.ones(2), torch.tensor([float("nan")])),
            r"`apart` has scores that are not numbers",
        ),
    ],
)
def test_what_cannot_be_measured_is_refused(call, message):
    with pytest.raises(UsageError, match=message):
        call()
