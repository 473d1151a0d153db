import numpy as np
import pytest
import torch
from scipy import stats

from mindseye.data.epochs import positions, shuffled


@pytest.mark.parametrize("count", [1, 2, 3, 64, 97, 1000, 59_600])
def test_every_epoch_visits_every_picture_once(count):
    for epoch in (0, 1, 7, 10**6):
        numbers = shuffled(torch.arange(count) + epoch * count, count, seed=3)
        assert torch.equal(numbers.sort().values, torch.arange(count) + epoch * count)


def test_epochs_and_seeds_have_orders_of_their_own():
    orders = [shuffled(torch.arange(1000) + e * 1000, 1000, s) % 1000 for e, s in
              [(0, 0), (1, 0), (0, 1)]]  # fmt: skip
    for a, b in [(0, 1), (0, 2), (1, 2)]:
        assert (orders[a] == orders[b]).sum() < 10  # one is expected


def test_pictures_are_found_without_the_rest_of_their_epoch():
    whole = shuffled(torch.arange(500), 200, seed=1)
    some = torch.tensor([499, 3, 250])
    assert torch.equal(shuffled(some, 200, seed=1), whole[some])


def test_going_back_undoes_the_shuffle():
    position = torch.arange(5000)
    numbers = shuffled(position, 737, seed=2)
    assert torch.equal(shuffled(numbers, 737, seed=2, back=True), position)


def test_pairs_of_neighbours_are_uniform():
    n, epochs = 13, 20_000
    orders = shuffled(torch.arange(n * epochs), n, seed=3).view(epochs, n) % n
    counts = torch.bincount(orders[:, 4] * n + orders[:, 5], minlength=n * n).view(n, n)
    apart = counts[~torch.eye(n, dtype=torch.bool)]
    assert stats.chisquare(apart).pvalue > 1e-3


def test_batches_of_a_sorted_set_mix_its_classes_as_chance_does():
    """The variance of the class counts is that of drawing without replacement."""
    count, size, classes = 6000, 100, 10
    orders = [shuffled(torch.arange(count) + e * count, count, 0) % count for e in range(20)]
    shown = torch.stack(orders).view(-1, size) * classes // count
    counts = torch.nn.functional.one_hot(shown, classes).sum(1).double()
    expected = size / classes * (1 - 1 / classes) * (count - size) / (count - 1)
    assert counts.var(0, correction=0).mean().item() == pytest.approx(expected, rel=0.05)


def test_neighbours_come_apart():
    count = 10_000
    order = shuffled(torch.arange(count), count, seed=0)
    chance = np.random.default_rng(0).permutation(count)
    steps = [len(np.unique(np.diff(each))) for each in (order.numpy(), chance)]
    assert steps[0] == pytest.approx(steps[1], rel=0.03)


def test_a_step_may_be_a_tensor():
    step = torch.tensor(7)
    assert torch.equal(positions(step, 16, 3), positions(7, 16, 3))
    assert positions(7, 16, 3).tolist() == list(range(7 * 16, 10 * 16))
