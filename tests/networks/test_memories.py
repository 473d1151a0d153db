"""Long short-term memories against torch's own, and sentences that are read both ways."""

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from torch.testing import assert_close

from mindseye.networks.recurrent import LSTM, Bidirectional, State


def randn(*shape: int, seed: int = 1) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


@pytest.fixture(scope="module")
def reader() -> Bidirectional:
    torch.manual_seed(0)
    return Bidirectional(5, 7).double()


@pytest.fixture(scope="module")
def reference(reader) -> nn.LSTM:
    """Torch's own, with the same weights."""
    made = nn.LSTM(5, 7, batch_first=True, bidirectional=True).double()
    for end, lstm in (("", reader.forwards), ("_reverse", reader.backwards)):
        getattr(made, f"weight_ih_l0{end}").data.copy_(lstm.given.weight)
        getattr(made, f"bias_ih_l0{end}").data.copy_(lstm.given.bias)
        getattr(made, f"weight_hh_l0{end}").data.copy_(lstm.kept.weight)
        getattr(made, f"bias_hh_l0{end}").data.zero_()
    return made


def there(*lengths: int, most: int = 6) -> Tensor:
    return torch.arange(most) < torch.tensor(lengths)[:, None]


def test_a_step_is_that_of_torch():
    torch.manual_seed(0)
    lstm, cell = LSTM(5, 7).double(), nn.LSTMCell(5, 7).double()
    cell.load_state_dict(
        {
            "weight_ih": lstm.given.weight,
            "bias_ih": lstm.given.bias,
            "weight_hh": lstm.kept.weight,
            "bias_hh": torch.zeros(28),
        }
    )
    x, h, c = randn(4, 5), randn(4, 7, seed=2), randn(4, 7, seed=3)
    mine, its = lstm(x, State(h, c)), cell(x, (h, c))
    assert_close(mine.h, its[0], rtol=0, atol=1e-12)
    assert_close(mine.c, its[1], rtol=0, atol=1e-12)


def test_sentences_are_read_both_ways_as_torch_reads_them(reader, reference):
    x, lengths = 2 * randn(3, 6, 5), torch.tensor([6, 3, 1])
    packed = pack_padded_sequence(x, lengths, batch_first=True)
    its, _ = pad_packed_sequence(reference(packed)[0], batch_first=True, total_length=6)
    mine = reader(x, there(6, 3, 1))
    assert_close(mine[there(6, 3, 1)], its[there(6, 3, 1)], rtol=0, atol=1e-12)


def test_the_other_sentences_of_a_batch_say_nothing(reader):
    x, present = randn(3, 6, 5), there(6, 3, 1)
    other = x.clone()
    other[1:] = randn(2, 6, 5, seed=9)
    assert torch.equal(reader(x, present)[0], reader(other, present)[0])


def test_words_that_are_not_there_change_nothing(reader):
    x, present = randn(1, 6, 5), torch.tensor([[True, False, True, True, False, True]])
    short = x[present][None]
    assert_close(reader(x, present)[present], reader(short, there(4, most=4))[0])


def test_the_ends_of_reading_know_the_whole_sentence(reader):
    x = randn(1, 6, 5).requires_grad_()
    states = reader(x, there(6))
    for state in (states[:, -1, :7], states[:, 0, 7:]):
        (grad,) = torch.autograd.grad(state.sum(), x, retain_graph=True)
        assert (grad.abs().amax((0, 2)) > 0).all()


def test_a_memory_begins_by_keeping_what_it_has():
    torch.manual_seed(0)
    bias = LSTM(3, 64).given.bias.detach()
    assert bias[64:128].mean() == pytest.approx(1, abs=0.05)
    assert bias[:64].mean() == pytest.approx(0, abs=0.05)
