"""Networks of attribute values.

K attributes have few values between them (19 in MNIST-A), whatever the size of the batch. So the
network of every attribute runs once over all its values, as one batched product for all attributes,
and a batch looks its rows up: the same numbers as one pass per example, for a fraction of the work.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from mindseye.networks.dense import ParallelMLP, truncated_normal

__all__ = ["AttributeTower"]


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
        return table[torch.arange(len(table), device=codes.device), codes]
