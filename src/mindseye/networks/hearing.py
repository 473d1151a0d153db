r"""Graph convolutions: what is known of nodes, carried to their neighbours hop by hop.

`GraphConvolutions` are those of Kipf and Welling (2016), $\tilde A\,\mathrm{ReLU}(\tilde A X W_0)
W_1$. `LinearHops` first carry and then compute: $\mathrm{ELU}(\mathrm{BN}(\tilde A^2 X W_0))\,W_1$,
with a part of the features dropped at every step. A product of two latents,
read by `HadamardMLP`, tells more of a link than their inner product does.

Features are sparse, and so are the hops; both are told by what a model is shown (`graphs.Seen`).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout, elu

from mindseye.graphs import Seen
from mindseye.networks.dense import MLP
from mindseye.sparse import Sparse

__all__ = ["GraphConvolutions", "HadamardMLP", "LinearHops"]


class GraphConvolutions(nn.Module):
    """Two layers, `(M, F)` to `(n, D)`.

    Arguments:
        columns: How many features a node has, F.
        hidden: Width of the first layer.
        size: Width of the second, D.
    """

    def __init__(self, columns: int, hidden: int, size: int):
        super().__init__()
        self.first, self.last = _weights(columns, hidden), _weights(hidden, size)

    def forward(self, x: Seen) -> Tensor:
        """What is told of the nodes that are asked about."""
        heard, told = x.hops
        hidden = (heard @ (x.features @ self.first)).relu()
        return told @ (hidden @ self.last)


class LinearHops(nn.Module):
    """All hops, then one hidden layer, `(M, F)` to `(n, D)`.

    Arguments:
        columns: How many features a node has, F.
        hidden: Width of the hidden layer.
        size: Width of the output, D.
        drop: The share of the features that is dropped in training.
    """

    def __init__(self, columns: int, hidden: int, size: int, drop: float = 0.6):
        super().__init__()
        self.first = _weights(columns, hidden)
        self.norm = nn.BatchNorm1d(hidden)
        self.last = nn.Linear(hidden, size)
        self.drop = drop

    def forward(self, x: Seen) -> Tensor:
        """What is told of the nodes that are asked about."""
        known = _dropped(x.features, self.drop) if self.training else x.features
        carried = known @ self.first
        for hop in x.hops:
            carried = hop @ carried
        return self.last(elu(self.norm(carried)))


class HadamardMLP(nn.Module):
    """Log odds of a link, read from the product of two latents coordinate by coordinate.

    Arguments:
        size: Of a latent.
        hidden: Width of the hidden layer.
    """

    def __init__(self, size: int, hidden: int):
        super().__init__()
        self.layers = MLP([size, hidden, 1])

    def forward(self, one: Tensor, other: Tensor) -> Tensor:
        """From two latents `(..., D)` to `(...)`, the same either way round."""
        return self.layers(one * other)[..., 0]


def _weights(rows: int, columns: int) -> nn.Parameter:
    """A matrix to begin with: uniform, as Glorot and Bengio (2010) scale it."""
    return nn.Parameter(nn.init.xavier_uniform_(torch.empty(rows, columns)))


def _dropped(features: Sparse, share: float) -> Sparse:
    return features.weighted(dropout(features.values, share))
