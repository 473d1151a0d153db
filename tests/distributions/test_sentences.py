"""Sentences against the enumeration of all captions."""

from itertools import product

import pytest
import torch
from scipy.stats import chisquare
from torch import Tensor
from torch.testing import assert_close

from mindseye.distributions import Sentences
from mindseye.labels import Labels

SIZES = (2, 3, 2)
WORDS = torch.tensor([[3, 1, -1], [0, 4, 2], [1, 3, -1]])  # the last place has those of the first
EVERY = torch.tensor(list(product(*map(range, SIZES))))  # (12, 3)
COUNT = 5


def make(rows: int = len(EVERY), impossible: bool = True, seed: int = 0) -> Sentences:
    """A random decoder: other log odds at every place after every beginning.

    Arguments:
        rows: How many rows there are, all alike.
        impossible: Whether words that cannot stand at a place have any chance.
        seed: Chooses the decoder.
    """
    generator = torch.Generator().manual_seed(seed)
    tables = [torch.randn(n, COUNT, generator=generator, dtype=torch.float64) for n in (1, 2, 6)]
    if not impossible:
        for table, words in zip(tables, WORDS, strict=True):
            table[:, [w for w in range(COUNT) if w not in words.tolist()]] = -torch.inf

    def scores(codes: Tensor) -> Tensor:
        first, second = codes[:, 0], codes[:, 0] * SIZES[1] + codes[:, 1]
        return torch.stack([tables[0][0 * first], tables[1][first], tables[2][second]], 1)

    return Sentences(scores, WORDS, SIZES)


def own(sentences: Sentences) -> Tensor:
    """The chance of every caption where words stand at places that know them, `(12,)`."""
    each = sentences.given(EVERY).probs.gather(-1, EVERY[..., None])
    return each[..., 0].prod(-1)


def test_all_captions_have_a_chance_of_one_where_words_know_their_places():
    chance = make(impossible=False).log_prob(Labels.full(EVERY)).exp()
    assert_close(chance.sum(), torch.tensor(1.0))
    assert_close(chance, own(make(impossible=False)))


@pytest.mark.parametrize("seed", range(3))
def test_what_is_given_to_words_out_of_place_is_lost(seed):
    sentences = make(seed=seed)
    chance = sentences.log_prob(Labels.full(EVERY)).exp()
    assert 0 < chance.sum() < 1
    assert_close(own(sentences).sum(), torch.tensor(1.0))
    assert (chance < own(sentences)).all()


def test_the_log_probability_is_the_sum_of_the_conditional_ones():
    sentences = make()
    every = sentences.scores(EVERY).softmax(-1)
    expected = torch.ones(len(EVERY), dtype=torch.float64)
    for row, codes in enumerate(EVERY.tolist()):
        for k, code in enumerate(codes):
            expected[row] *= every[row, k, WORDS[k, code]]
    assert_close(sentences.log_prob(Labels.full(EVERY)), expected.log().float())


@pytest.mark.parametrize("k", range(3))
def test_a_word_left_open_costs_nothing(k):
    sentences, labels = make(), Labels.full(EVERY)
    labels.observed[:, k] = False
    every = sentences.scores(EVERY).float().log_softmax(-1)
    one = every[:, k].gather(-1, WORDS[k][EVERY[:, k], None])[:, 0]
    assert (one < 0).all()
    assert_close(sentences.log_prob(labels), sentences.log_prob(Labels.full(EVERY)) - one)


def test_what_is_expected_of_a_word_does_not_depend_on_later_ones():
    given = make().given(EVERY).probs.view(*SIZES, 3, 3)
    for k in range(3):
        later = tuple(range(k, 3))  # the place itself, too
        assert (given[..., k, :].amax(later) == given[..., k, :].amin(later)).all()
    assert not torch.equal(given[0, 0, 0, 2], given[0, 1, 0, 2])


def test_captions_are_drawn_as_often_as_they_are_likely():
    count = 40_000
    u = torch.rand(count, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    codes, words = make(count).sample(u)
    index = (codes * torch.tensor([6, 2, 1])).sum(1)
    found = torch.bincount(index, minlength=len(EVERY))
    expected = count * own(make()).double()
    assert chisquare(found.numpy(), (expected / expected.sum() * count).numpy()).pvalue > 0.001
    assert torch.equal(words.probs, make(count).given(codes).probs)


def test_captions_of_a_number_are_the_same_alone_or_together():
    u = torch.rand(7, 3, generator=torch.Generator().manual_seed(1))
    together, _ = make(7).sample(u)
    for i in range(7):
        assert torch.equal(make(1).sample(u[i : i + 1])[0][0], together[i])


@pytest.mark.parametrize("end", [2.0**-53, 1 - 2.0**-53, 0.0, 1.0])
def test_no_number_draws_a_word_that_cannot_be(end):
    silent = make(impossible=False)
    sure = torch.zeros(len(EVERY), 3, COUNT, dtype=torch.float64)
    sure[..., [3, 4]] = 60.0  # the first word of the first place, the second of the other two
    certain = Sentences(lambda codes: sure[: len(codes)], WORDS, SIZES)
    u = torch.full((len(EVERY), 3), end, dtype=torch.float64)
    assert (silent.sample(u)[0] < torch.tensor(SIZES)).all()
    if 0 < end < 1:
        assert certain.sample(u)[0].unique(dim=0).tolist() == [[0, 1, 1]]


def test_marginals_are_those_of_all_captions():
    chance = own(make()).double()
    u = torch.rand(20_000, 1, 3, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    stacked = make(20_000).marginals(u.movedim(1, 0))  # a row for each, one caption for each row
    found = stacked.probs.double().mean(0)
    for k, size in enumerate(SIZES):
        expected = torch.stack([chance[EVERY[:, k] == code].sum() for code in range(size)])
        assert_close(found[k, :size], expected, rtol=0, atol=0.01)
        assert (found[k, size:] == 0).all()


def test_marginals_of_many_captions_are_means_of_what_each_word_was_drawn_from():
    u = torch.rand(50, 4, 3, generator=torch.Generator().manual_seed(3))
    found = make(4).marginals(u).probs
    expected = torch.stack([make(4).sample(each)[1].probs for each in u]).mean(0)
    assert_close(found, expected, rtol=1e-5, atol=1e-6)
    assert_close(found[:, 0], make(4).given(EVERY[:4]).probs[:, 0])  # nothing comes before it
