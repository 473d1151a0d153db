"""The recurrent unit against torch's own, and words that do not look ahead."""

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from mindseye.networks.recurrent import GRU, Word


def randn(*shape: int, seed: int = 1) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


@pytest.fixture(scope="module")
def gru() -> GRU:
    torch.manual_seed(0)
    return GRU(5, 7).double()


@pytest.fixture(scope="module")
def reference(gru) -> nn.GRU:
    """Torch's own, with the same weights."""
    made = nn.GRU(5, 7, batch_first=True).double()
    made.load_state_dict(
        {
            "weight_ih_l0": gru.words.weight,
            "bias_ih_l0": gru.words.bias,
            "weight_hh_l0": gru.states.weight,
            "bias_hh_l0": gru.states.bias,
        }
    )
    return made


def test_states_are_those_of_torch(gru, reference):
    x = 3 * randn(4, 6, 5)
    assert_close(gru(x), reference(x)[0], rtol=0, atol=1e-12)


def test_gradients_are_those_of_torch(gru, reference):
    x, weight = randn(4, 6, 5).requires_grad_(), randn(4, 6, 7, seed=2)
    mine = torch.autograd.grad((gru(x) * weight).sum(), [x, gru.words.weight, gru.states.bias])
    its = torch.autograd.grad(
        (reference(x)[0] * weight).sum(),
        [x, reference.weight_ih_l0, reference.bias_hh_l0],
    )
    for a, b in zip(mine, its, strict=True):
        assert_close(a, b, rtol=0, atol=1e-12)


@pytest.mark.parametrize("k", range(6))
def test_a_state_knows_no_later_word(gru, k):
    x = randn(2, 6, 5).requires_grad_()
    (grad,) = torch.autograd.grad(gru(x)[:, k].sum(), x)
    reached = grad.abs().amax((0, 2)) > 0
    assert reached.tolist() == [i <= k for i in range(6)]


def test_sentences_of_a_batch_do_not_know_each_other(gru):
    x = randn(3, 6, 5).requires_grad_()
    (grad,) = torch.autograd.grad(gru(x)[1].sum(), x)
    assert (grad.abs().amax((1, 2)) > 0).tolist() == [False, True, False]


def test_states_stay_within_one(gru):
    assert gru(1e3 * randn(4, 50, 5)).abs().max() <= 1


def test_weights_begin_as_those_of_torch():
    torch.manual_seed(0)
    made = GRU(50, 100)
    for weight in made.parameters():
        assert weight.abs().max() <= 0.1
        assert weight.std().item() == pytest.approx(0.1 / 3**0.5, rel=0.1)


def test_open_and_the_beginning_are_words_of_their_own():
    torch.manual_seed(0)
    word = Word(4, 3)
    vectors = word(torch.tensor([[0, 1, 2], [3, word.open, word.start]]))
    assert vectors.shape == (2, 3, 3)
    assert len(vectors.flatten(0, 1).unique(dim=0)) == 6
    with pytest.raises(RuntimeError):
        word(torch.tensor([6]))


def test_words_and_their_gradients_are_rows_of_the_table():
    torch.manual_seed(0)
    word, said = Word(4, 3), torch.tensor([[0, 1, 1], [3, 5, 0]])
    assert torch.equal(word(said), word.table[said])
    weight = torch.randn(2, 3, 3)
    found, expected = (
        torch.autograd.grad((vectors * weight).sum(), word.table)[0]
        for vectors in (word(said), word.table[said])
    )
    assert_close(found, expected)


def test_blank_ones_take_weights(gru):
    with torch.device("meta"):
        blank, words = GRU(5, 7), Word(4, 3)
    assert all(weight.is_meta for weight in [*blank.parameters(), *words.parameters()])
    blank.load_state_dict(gru.state_dict(), assign=True)
    assert torch.equal(blank(randn(2, 3, 5)), gru(randn(2, 3, 5)))
