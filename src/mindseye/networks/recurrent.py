r"""A gated recurrent unit over the places of a sentence.

$$ r, u = σ(W_{ru} x_k + U_{ru} h_{k-1}), \quad
   n = \tanh(W_n x_k + r ⊙ U_n h_{k-1}), \quad h_k = (1 - u) ⊙ n + u ⊙ h_{k-1} $$

The same numbers as torch's own `GRU`, whose kernels want their weights in one piece and cannot be
captured with those of the rest of a model. What words give, $W x_k$, is one product for all places.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import one_hot

__all__ = ["GRU", "Word"]


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
