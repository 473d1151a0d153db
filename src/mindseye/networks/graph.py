r"""Blocks over the elements of sets: every element hears the sum of what all others say.

$$ h_i' = f\Big(h_i,\; g_2\Big(\sum_{j \ne i} g_1(h_j)\Big)\Big) $$

The elements of all sets of a batch are rows of one tensor (`mindseye.groups`), so that sets of
different sizes go through the same products, and nothing is padded. Permuting the elements of a set
permutes what comes out, and nothing else.

References:
    From abstract items to latent spaces to observed data and back: Compositional Variational
    Auto-Encoder, Berger and Sebag, 2020, section 3.3.1
    https://arxiv.org/abs/2001.07910
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from mindseye.groups import Groups
from mindseye.networks.dense import initialised

__all__ = ["GraphBlock", "Residual"]

FAINT = 0.3
"""How much smaller than usual the second layer of a residual block begins."""


class Residual(nn.Module):
    """Two dense layers with ELU between them, beside the identity: h + W₂ elu(W₁ h).

    Arguments:
        size: Size of rows.
    """

    def __init__(self, size: int):
        super().__init__()
        self.first = initialised(nn.Linear(size, size))
        self.second = initialised(nn.Linear(size, size))
        with torch.no_grad():
            self.second.weight.mul_(FAINT)

    def forward(self, h: Tensor) -> Tensor:
        """Map `(..., size)` to the same."""
        return h + self.second(nn.functional.elu(self.first(h)))


class GraphBlock(nn.Module):
    """What an element is after it has heard the others.

    Arguments:
        size: Size of an element, N.
        out: Size of what it becomes, M.
    """

    def __init__(self, size: int, out: int):
        super().__init__()
        self.says = nn.Sequential(Residual(size), nn.ELU())
        self.heard = nn.Sequential(Residual(size), nn.Tanh(), Residual(size))
        self.becomes = nn.Sequential(
            initialised(nn.Linear(2 * size, out)), nn.ELU(), Residual(out), nn.ELU()
        )

    def forward(self, h: Tensor, groups: Groups) -> Tensor:
        """Map the elements of all sets, `(rows, N)` to `(rows, M)`."""
        said = self.says(h).float()
        others = groups.spread(groups.totals(said)) - said
        return self.becomes(torch.cat([h, self.heard(others)], -1))
