"""Networks of attribute values.

K attributes have few values between them (19 in MNIST-A), whatever the size of the batch. So the
network of every attribute runs once over all its values, as one batched product for all attributes,
and a batch looks its rows up, by products with ones and zeros, whose gradient is a product too: the
same numbers as one pass per example, for a fraction of the work.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from torch import Tensor, nn
from torch.nn.functional import one_hot

from mindseye.networks.dense import MLP, ParallelMLP, truncated_normal

__all__ = ["AttributeTower", "SymbolTower"]


class AttributeTower(nn.Module):
    """One embedding and one MLP per attribute, nothing shared between attributes.

    Arguments:
        sizes: The number of values of every attribute.
        hidden: Widths of the hidden layers.
        out: Width of the output.
        embedding: Width of the embedding of a value.
    """

    def __init__(self, sizes: Sequence[int], hidden: Sequence[int], out: int, embedding: int = 32):
        super().__init__()
        self.embedding = nn.Parameter(
            truncated_normal((len(sizes), max(sizes), embedding), std=1.0)
        )
        self.mlp = ParallelMLP(len(sizes), [embedding, *hidden, out])

    def forward(self, codes: Tensor) -> Tensor:
        """Map codes `(B, K)` to the outputs of their own networks, `(B, K, out)`."""
        table = self.mlp(self.embedding)  # (K, V, out)
        chosen = one_hot(codes.T, table.shape[1]).to(table)  # (K, B, V)
        return (chosen @ table).transpose(0, 1)


class SymbolTower(nn.Module):
    """One embedding per combination of values and one MLP for all: a description is one symbol.

    Combinations share no embedding, so nothing is known about one that was never seen.

    Arguments:
        sizes: The number of values of every attribute.
        hidden: Widths of the hidden layers.
        out: Width of the output.
        embedding: Width of the embedding of a symbol.
    """

    def __init__(self, sizes: Sequence[int], hidden: Sequence[int], out: int, embedding: int = 32):
        super().__init__()
        self.sizes = tuple(sizes)
        self.embedding = nn.Parameter(truncated_normal((math.prod(sizes), embedding), std=1.0))
        self.mlp = MLP([embedding, *hidden, out])

    def forward(self) -> Tensor:
        """The outputs of all symbols, `(V_1, …, V_K, out)`."""
        return self.mlp(self.embedding).unflatten(0, self.sizes)
