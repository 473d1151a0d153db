"""The parts of the disentanglement measures: information, classifiers, importance, mixtures."""

import math

import numpy as np
import pytest
import torch
from torch.distributions import Categorical, MixtureSameFamily, Normal

from mindseye.errors import UsageError
from mindseye.metrics.disentanglement import mig_chen, mig_lib
from mindseye.metrics.disentanglement.importance import completeness, disentanglement
from mindseye.metrics.disentanglement.information import (
    binned,
    entropy,
    gap_of,
    information_matrix,
    joint_counts,
    mutual_information,
)
from mindseye.metrics.disentanglement.mig_posterior import mixture_entropies
from mindseye.metrics.disentanglement.modular import area_under_curve, modularity_of
from mindseye.metrics.disentanglement.regression import fit_logistic
from mindseye.metrics.disentanglement.separated import fit_hinge
from mindseye.metrics.disentanglement.world import World, pinned


def normal(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def some(high, n, seed=0):
    return torch.randint(high, (n,), generator=torch.Generator().manual_seed(seed))


def blurred(deviation):
    return lambda codes: Normal(codes.double(), torch.tensor(deviation))


# Information


def test_the_information_of_two_coins_is_known():
    # They agree in 8 of 10 throws: log 2 less the entropy of 0.8 and 0.2.
    table = torch.tensor([[4, 1], [1, 4]])
    expected = math.log(2) + 0.8 * math.log(0.8) + 0.2 * math.log(0.2)
    assert mutual_information(table).item() == pytest.approx(expected, abs=1e-15)
    skewed = torch.tensor([[3, 0], [1, 4]])
    cells = [(0.375, 0.375 * 0.5), (0.125, 0.625 * 0.5), (0.5, 0.625 * 0.5)]
    expected = sum(joint * math.log(joint / product) for joint, product in cells)
    assert mutual_information(skewed).item() == pytest.approx(expected, abs=1e-15)


def test_independent_counts_share_no_information():
    table = torch.tensor([2, 3, 5])[:, None] * torch.tensor([1, 4])
    assert mutual_information(table).item() == pytest.approx(0, abs=1e-15)


def test_what_determines_the_other_shares_its_entropy():
    table = torch.tensor([[3, 0, 0], [0, 2, 5]])  # the column tells the row
    assert mutual_information(table).item() == pytest.approx(entropy(table.sum(1)).item())


def test_information_agrees_with_numpy_and_scikit_learn():
    metrics = pytest.importorskip("sklearn.metrics")
    values = torch.stack([some(4, 500, 0), some(7, 500, 1)], dim=-1)
    z = normal(500, 3, seed=2) + values[:, :1] + torch.tensor([0.0, 0.0, 5.0]) * values[:, 1:]
    found = information_matrix(z, values, 20)
    for d in range(3):
        column = z[:, d].numpy()
        bins = np.digitize(column, np.histogram(column, 20)[1][:-1])
        assert torch.equal(binned(z, 20)[:, d], torch.from_numpy(bins - 1))
        for k in range(2):
            expected = metrics.mutual_info_score(values[:, k].numpy(), bins)
            assert found[d, k].item() == pytest.approx(expected, abs=1e-12)


def test_joint_counts_have_the_marginals():
    bins, values = torch.stack([some(5, 99), some(3, 99, 1)], dim=-1), some(4, 99, 2)
    counts = joint_counts(bins, values)
    assert torch.equal(counts.sum(1), torch.bincount(values).expand(2, -1))
    assert torch.equal(counts[1].sum(1), torch.bincount(bins[:, 1], minlength=5))
    assert counts[0, 2, 3] == ((bins[:, 0] == 2) & (values == 3)).sum()


def test_a_constant_column_has_one_bin():
    assert len(binned(torch.full((9, 1), 0.1), 20).unique()) == 1


def test_the_gap_counts_negative_estimates_as_nothing():
    information = torch.tensor([[0.5], [-0.2]], dtype=torch.float64)
    found = gap_of(information, torch.ones(1, dtype=torch.float64))
    assert found.score == 0.5
    assert torch.equal(found.information, information)


# Worlds


def test_states_are_drawn_evenly_and_depend_on_their_number_alone():
    world = World(lambda codes: codes, (3, 5), seed=1)
    codes = world.draw(0, 6000, "a")
    for k, size in enumerate((3, 5)):
        counts = codes[:, k].bincount(minlength=size)
        chi = ((counts - 6000 / size) ** 2 / (6000 / size)).sum().item()
        assert chi < 20
    assert torch.equal(world.draw(100, 120, "a"), codes[100:120])
    assert not torch.equal(world.draw(0, 100, "b"), codes[:100])


def test_the_grid_holds_every_state_once():
    grid = World(lambda codes: codes, (2, 3)).grid()
    assert grid.tolist() == [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]


def test_a_pinned_factor_comes_from_the_source_and_the_others_stay():
    codes, source = torch.zeros(2, 3, 4, dtype=torch.int64), torch.ones(2, 1, 4, dtype=torch.int64)
    found = pinned(codes, torch.tensor([1, 3]), source)
    assert torch.equal(found.sum((1,)), torch.tensor([[0, 3, 0, 0], [0, 0, 0, 3]]))


# Classifiers


@pytest.mark.parametrize("scale", [0.01, 1.0, 100.0])
def test_the_logistic_regression_is_that_of_scikit_learn(scale):
    linear = pytest.importorskip("sklearn.linear_model")
    y = some(4, 400)
    x = scale * (normal(400, 3) + torch.stack([y, y % 2, 0 * y], dim=-1))
    ours = fit_logistic(x, y, 4)
    theirs = linear.LogisticRegression(tol=1e-9, max_iter=10_000).fit(x.numpy(), y.numpy())
    chance = ours.scores(x).softmax(-1)
    expected = torch.from_numpy(theirs.predict_proba(x.numpy()))
    torch.testing.assert_close(chance, expected, atol=1e-4, rtol=0)


def test_the_gradient_vanishes_at_the_logistic_minimum():
    x, y = normal(200, 3) * torch.tensor([1e-3, 1.0, 1e3]), some(5, 200)
    weights, bias = (part.clone().requires_grad_() for part in fit_logistic(x, y, 5, c=0.1))
    loss = torch.nn.functional.cross_entropy(x @ weights + bias, y, reduction="sum")
    (loss + weights.square().sum() / 0.2).backward()
    for gradient, scale in ((weights.grad, x.std(0)[:, None]), (bias.grad, 1)):
        assert gradient is not None
        assert (gradient / scale).abs().max() < 1e-7


def test_a_class_that_was_never_seen_is_never_predicted():
    x, y = normal(50, 2), some(3, 50) * 2
    found = fit_logistic(x, y, 6)
    assert set(found.predict(x).tolist()) <= {0, 2, 4}
    assert found.bias[[1, 3, 5]].tolist() == [-math.inf] * 3
    alone = fit_logistic(x, torch.full((50,), 3), 6)
    assert alone.predict(x).unique().tolist() == [3]


@pytest.mark.parametrize(("values", "spread"), [(2, 1.0), (5, 0.3), (5, 3.0)])
def test_the_support_vector_machine_is_that_of_scikit_learn(values, spread):
    svm = pytest.importorskip("sklearn.svm")
    y = torch.minimum(some(values, 300, 3), some(values, 300, 4))  # not balanced
    x = torch.stack([y + spread * normal(300), 50 + 2 * normal(300, seed=1)])
    ours = fit_hinge(x, y, values, 0.01)
    for d in range(2):
        column = x[d, :, None].numpy()
        machine = svm.LinearSVC(
            C=0.01, class_weight="balanced", dual=False, tol=1e-10, max_iter=10_000
        ).fit(column, y.numpy())
        slope, offset = (
            torch.from_numpy(part) for part in (machine.coef_[:, 0], machine.intercept_)
        )
        if values == 2:  # scikit-learn keeps the machine of the second value only
            slope, offset = torch.cat([-slope, slope]), torch.cat([-offset, offset])
        torch.testing.assert_close(ours.slope[d], slope, atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(ours.offset[d], offset, atol=1e-5, rtol=1e-5)
        predicted = torch.from_numpy(machine.predict(column))
        assert torch.equal(ours.predict(x)[d], predicted)


def test_a_value_that_was_never_seen_is_never_predicted():
    x, y = normal(1, 60), some(2, 60) * 2
    assert set(fit_hinge(x, y, 4, 0.01).predict(x).flatten().tolist()) <= {0, 2}


def test_the_area_under_the_curve_is_that_of_scikit_learn():
    metrics = pytest.importorskip("sklearn.metrics")
    scores, positive = (normal(300) * 3).round(), some(2, 300).bool()  # with ties
    expected = metrics.roc_auc_score(positive.numpy(), scores.numpy())
    assert area_under_curve(scores, positive) == pytest.approx(expected, abs=1e-12)


# Importance and modularity


def test_disentanglement_and_completeness_of_a_known_matrix():
    importance = torch.tensor([[0.5, 0.0], [0.5, 0.0], [0.0, 1.0]])
    assert disentanglement(importance) == 1
    assert completeness(importance) == pytest.approx((2 - math.log(2) / math.log(3)) / 2)
    # Rows weigh by their sum: 3/4 of all importance is in a row of entropy log 2.
    importance = torch.tensor([[0.75, 0.75], [0.5, 0.0]])
    assert disentanglement(importance) == pytest.approx(0.25)


def test_rows_and_columns_without_importance_do_not_count():
    importance = torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    assert disentanglement(importance) == completeness(importance) == 1
    assert disentanglement(torch.zeros(3, 2)) == completeness(torch.zeros(3, 2)) == 0
    assert completeness(torch.ones(1, 3)) == 1  # one dimension serves them all
    assert disentanglement(torch.ones(1, 3)) == pytest.approx(0, abs=1e-12)


def test_modularity_is_one_minus_the_mean_square_of_what_strays():
    information = torch.tensor([[2.0, 1.0, 0.0], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0]])
    found = modularity_of(information)
    assert found.dimensions.tolist() == pytest.approx([1 - 1 / 8, 0, 0])
    torch.testing.assert_close(modularity_of(7 * information).dimensions, found.dimensions)


# Mixtures and Chen's gap


def test_the_entropy_is_that_of_the_mixture():
    mean, deviation = normal(7, 2), normal(7, 2, seed=1).exp()
    z = mean + deviation * normal(7, 2, seed=2)
    for d in range(2):
        parts = Normal(mean[:, d], deviation[:, d])
        mixture = MixtureSameFamily(Categorical(torch.ones(7, dtype=torch.float64)), parts)
        expected = -mixture.log_prob(z[:, d]).mean()
        torch.testing.assert_close(mixture_entropies(z, mean, deviation)[d], expected)


def test_one_normal_has_its_known_entropy():
    z = normal(20_000, 1) * 0.3 + 5
    one = torch.ones(1, 1, dtype=torch.float64)
    found = mixture_entropies(z, 5 * one, 0.3 * one).item()
    known = Normal(5, 0.3).entropy().item()
    assert found == pytest.approx(known, abs=4 / math.sqrt(2 * 20_000))


def test_the_entropy_does_not_depend_on_how_it_is_cut():
    mean, z = normal(50, 3), normal(40, 3, seed=1)
    whole = mixture_entropies(z, mean, torch.ones_like(mean))
    for cells in (1, 1000):
        found = mixture_entropies(z, mean, torch.ones_like(mean), cells)
        torch.testing.assert_close(found, whole)


@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
def test_the_entropy_of_tiny_and_huge_posteriors_is_finite_and_shifts_by_the_log(scale):
    mean, noise = normal(50, 1).float(), normal(50, 1, seed=1).float()
    plain = mixture_entropies(mean + noise, mean, torch.ones_like(mean))
    found = mixture_entropies(scale * (mean + noise), scale * mean, torch.full_like(mean, scale))
    torch.testing.assert_close(found, plain + math.log(scale), atol=1e-4, rtol=1e-5)


def test_chens_information_is_the_integral():
    # z = +1 or -1 by the first factor, plus noise of deviation 0.8.
    z = torch.linspace(-10, 10, 20_001, dtype=torch.float64)
    two = [Normal(m, torch.tensor(0.8, dtype=torch.float64)).log_prob(z).exp() for m in (-1, 1)]
    both = torch.special.entr((two[0] + two[1]) / 2).sum() * 1e-3
    expected = (both - Normal(0, 0.8).entropy()).item()

    def sign(codes):
        return Normal(2.0 * codes[:, :1] - 1, torch.tensor(0.8))

    runs = [mig_chen(sign, (2, 800), factors=[0], seed=seed) for seed in range(16)]
    found = torch.tensor([run.information.item() for run in runs])
    error = found.std().item() / 4
    assert error < 0.01
    assert found.mean().item() == pytest.approx(expected, abs=3 * error)
    other = mig_chen(sign, (2, 800), factors=[1])
    assert other.information.item() == pytest.approx(0, abs=1e-6)


def test_wide_posteriors_tell_nothing():
    found = mig_chen(blurred(1000.0), (3, 4, 5))
    assert found.information.abs().max() < 1e-3


def test_chosen_factors_are_columns_of_all():
    def posteriors(codes):
        return Normal(codes.double() @ normal(3, 4), torch.tensor(0.5))

    whole = mig_chen(posteriors, (3, 4, 5))
    part = mig_chen(posteriors, (3, 4, 5), factors=[2, 0])
    torch.testing.assert_close(part.information, whole.information[:, [2, 0]])
    torch.testing.assert_close(part.gaps, whole.gaps[[2, 0]])


def test_all_points_are_the_whole_world_and_some_are_near_it():
    posteriors = blurred(0.3)
    whole = mig_chen(posteriors, (4, 5, 6))
    assert mig_chen(posteriors, (4, 5, 6), points=120).score == whole.score
    assert mig_chen(posteriors, (4, 5, 6), points=90).score == pytest.approx(whole.score, abs=0.1)
    assert mig_chen(posteriors, (4, 5, 6), samples=60).score == pytest.approx(whole.score, abs=0.1)


def test_both_gaps_agree_where_bins_lose_nothing():
    def mixed(codes):
        return codes.double() @ torch.tensor([[1.0, 0.0], [4.0, 1.0]], dtype=torch.float64)

    lib = mig_lib(mixed, (3, 3), points=None, bins=100)
    chen = mig_chen(lambda codes: Normal(mixed(codes), torch.tensor(1e-3)), (3, 3))
    torch.testing.assert_close(lib.information, chen.information, atol=1e-6, rtol=0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"points": 13}, r"`points=13` does not fit; expected 2 to 12"),
        ({"points": 1}, r"`points=1` does not fit; expected 2 to 12"),
        ({"factors": [0, 2]}, r"`factors=\[0, 2\]` does not fit the world; .* 0 to 1"),
        ({"factors": []}, r"`factors=\[\]` does not fit the world"),
    ],
)
def test_chens_options_must_fit_the_world(options, message):
    with pytest.raises(UsageError, match=message):
        mig_chen(blurred(0.1), (3, 4), **options)


def test_posteriors_need_a_positive_deviation():
    class Sharp:
        mean = torch.zeros(12, 2)
        stddev = torch.zeros(12, 2)

    with pytest.raises(UsageError, match=r"`posteriors` gives a deviation of 0 or less"):
        mig_chen(lambda _: Sharp(), (3, 4))
