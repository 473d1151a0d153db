r"""The order of training pictures: every epoch another permutation, known from the position alone.

Position $t$ of an endless sequence over $N$ pictures lies in epoch $⌊t / N⌋$. Its picture comes
from its place in the epoch by a swap-or-not shuffle: in round $r$, with a pivot $k_r$ and a bit
$b_r$ drawn for the epoch,

$$ x ← (k_r - x) \bmod N \quad\text{if}\quad b_r(\max(x, (k_r - x) \bmod N)) = 1. $$

A round swaps pairs, or does not, so it is a permutation for any $N$; no number depends on another,
so a batch is found without the rest of its epoch, also inside a CUDA graph. The bit is the highest
of a product with a random odd number.

References:
    An Enciphering Scheme Based on a Card Shuffle, Hoang, Morris and Rogaway, 2012
    https://arxiv.org/abs/1208.1176
"""

from __future__ import annotations

import torch
from torch import Tensor

from mindseye.randomness import keys

__all__ = ["positions", "shuffled"]

ROUNDS = 24
"""Enough that batches of a sorted set of 60 000 look as those of a random order do; 12 are not."""


def positions(
    step: int | Tensor, size: int, count: int = 1, device: torch.device | str = "cpu"
) -> Tensor:
    """The positions of `count` batches from batch number `step` on, one behind the other."""
    return step * size + torch.arange(count * size, device=device)


def shuffled(position: Tensor, count: int, seed: int, *, back: bool = False) -> Tensor:
    r"""Numbers of the pictures at some positions `(B,)`; number $n$ is picture $n \bmod N$.

    Pictures of epoch $e$ have the numbers from $eN$ on, each once: so numbers tell epochs apart.

    >>> shuffled(torch.arange(5), 5, seed=0).sort().values
    tensor([0, 1, 2, 3, 4])
    >>> shuffled(torch.arange(5, 10), 5, seed=0).sort().values
    tensor([5, 6, 7, 8, 9])

    Arguments:
        position: Positions in the endless sequence, int64 `(B,)`.
        count: How many pictures there are, N.
        seed: Chooses the permutations.
        back: Whether to go back: from the numbers of pictures to their positions.
    """
    epoch = position // count
    place = position - epoch * count
    rounds = torch.arange(ROUNDS, device=position.device)
    drawn = keys(seed, epoch[:, None] * ROUNDS + rounds, "epochs")  # (B, rounds)
    turns = drawn.flip(1) if back else drawn  # a round undoes itself
    for pivot, odd in zip(turns.remainder(count).unbind(1), (turns | 1).unbind(1), strict=True):
        mirror = (pivot - place).remainder(count)
        place = torch.where(torch.maximum(place, mirror) * odd < 0, mirror, place)
    return epoch * count + place
