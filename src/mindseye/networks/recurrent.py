r"""Recurrent networks: gated units over the places of a sentence, memories over words and steps.

$$ r, u = σ(W_{ru} x_k + U_{ru} h_{k-1}), \quad
   n = \tanh(W_n x_k + r ⊙ U_n h_{k-1}), \quad h_k = (1 - u) ⊙ n + u ⊙ h_{k-1} $$

The same numbers as those of torch's own `GRU` and `LSTM`, whose kernels want their weights in one
piece and cannot be captured with those of the rest of a model. What words give, $W x_k$, is one
product for all places.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import one_hot

__all__ = ["GRU", "LSTM", "Bidirectional", "State", "Word"]


class GRU(nn.Module):
    """Vectors of the places of a sentence to states.

    Arguments:
        size: Size of a place's vector.
        hidden: Size of the state.
    """

    def __init__(self, size: int, hidden: int):
        super().__init__()
        self.hidden = hidden
        self.words = nn.Linear(size, 3 * hidden)
        self.states = nn.Linear(hidden, 3 * hidden)
        for parameter in self.parameters():
            if not parameter.is_meta:
                nn.init.uniform_(parameter, -(hidden**-0.5), hidden**-0.5)

    def forward(self, x: Tensor) -> Tensor:
        """The states at all places, `(B, K, hidden)`, of vectors `(B, K, size)`."""
        given = self.words(x)
        state = given.new_zeros(len(x), self.hidden)
        states = []
        for k in range(x.shape[1]):
            state = self._next(given[:, k], state)
            states.append(state)
        return torch.stack(states, 1)

    def _next(self, given: Tensor, state: Tensor) -> Tensor:
        reset, update, new = given.chunk(3, -1)
        old_reset, old_update, old_new = self.states(state).chunk(3, -1)
        candidate = torch.tanh(new + torch.sigmoid(reset + old_reset) * old_new)
        return torch.lerp(candidate, state, torch.sigmoid(update + old_update))


class Word(nn.Module):
    """Vectors of words; the last two stand for a place left open and for the beginning.

    Arguments:
        count: How many words there are.
        size: Size of a vector.
    """

    def __init__(self, count: int, size: int):
        super().__init__()
        self.count = count
        self.table = nn.Parameter(torch.empty(count + 2, size))
        if not self.table.is_meta:
            nn.init.normal_(self.table, std=1.0)

    @property
    def open(self) -> int:
        """What stands for a place left open."""
        return self.count

    @property
    def start(self) -> int:
        """What stands before the first place."""
        return self.count + 1

    def forward(self, word: Tensor) -> Tensor:
        """Vectors `(..., size)` of words, int64 `(...)`."""
        # A product, because its gradient is one too: on a GPU the gradient of picking rows is slow.
        return one_hot(word, len(self.table)).to(self.table.dtype) @ self.table


class State(NamedTuple):
    """What a long short-term memory keeps from one step to the next."""

    h: Tensor
    """What it tells, `(B, hidden)`."""
    c: Tensor
    """What it remembers, `(B, hidden)`."""

    def where(self, present: Tensor, other: State) -> State:
        """The same in the rows where `present` `(B,)`, another state in the rest."""
        rows = present[:, None]
        return State(torch.where(rows, self.h, other.h), torch.where(rows, self.c, other.c))


class LSTM(nn.Module):
    r"""One step of a long short-term memory, the same numbers as torch's own `LSTMCell`.

    $$ i, f, o = σ(W x + U h), \quad c' = f ⊙ c + i ⊙ \tanh(W_g x + U_g h), \quad
       h' = o ⊙ \tanh(c') $$

    It begins with a forgetting bias of 1: what is remembered stays, until it is learnt what may go.

    Arguments:
        size: Size of what it is given.
        hidden: Size of its state.
    """

    def __init__(self, size: int, hidden: int):
        super().__init__()
        self.hidden = hidden
        self.given = nn.Linear(size, 4 * hidden)
        self.kept = nn.Linear(hidden, 4 * hidden, bias=False)
        for parameter in self.parameters():
            if not parameter.is_meta:
                nn.init.uniform_(parameter, -(hidden**-0.5), hidden**-0.5)
        if not self.given.bias.is_meta:
            self.given.bias.data[hidden : 2 * hidden] += 1

    def begin(self, like: Tensor) -> State:
        """Nothing remembered, for every row of a tensor."""
        nothing = like.new_zeros(len(like), self.hidden)
        return State(nothing, nothing)

    def forward(self, x: Tensor, state: State) -> State:
        """The state after vectors `(B, size)`."""
        return self.next(self.given(x), state)

    def next(self, given: Tensor, state: State) -> State:
        """The state after what `given` makes of vectors, `(B, 4 hidden)`."""
        i, f, g, o = (given + self.kept(state.h)).chunk(4, -1)
        c = torch.sigmoid(f) * state.c + torch.sigmoid(i) * torch.tanh(g)
        return State(torch.sigmoid(o) * torch.tanh(c), c)


class Bidirectional(nn.Module):
    """A sentence read from left to right, and from right to left.

    Words that are not there change nothing: a state is carried over them. So the states before the
    first word, read backwards, and after the last, read forwards, know the whole sentence.

    Arguments:
        size: Size of a word's vector.
        hidden: Size of the state of either direction.
    """

    def __init__(self, size: int, hidden: int):
        super().__init__()
        self.forwards, self.backwards = LSTM(size, hidden), LSTM(size, hidden)

    def forward(self, x: Tensor, present: Tensor) -> Tensor:
        """States `(B, N, 2 hidden)` of vectors `(B, N, size)`, of which some are `present`."""
        order = range(x.shape[1])
        ahead = self._read(self.forwards, x, present, order)
        back = self._read(self.backwards, x, present, order[::-1])
        return torch.cat([torch.stack(ahead, 1), torch.stack(back[::-1], 1)], -1)

    def _read(self, lstm: LSTM, x: Tensor, present: Tensor, order: range) -> list[Tensor]:
        """What is told at every word, in the order of reading."""
        given, state, told = lstm.given(x), lstm.begin(x), []
        for k in order:
            state = lstm.next(given[:, k], state).where(present[:, k], state)
            told.append(state.h)
        return told
