r"""Glances: learned questions that look for their answers in the places of a picture.

A question $q_k$ attends to the features $f_p$ of all places $p$ and to where they are,

$$g_k = \sum_p a_{kp}\, V [f_p, p], \qquad
  a_{kp} = \operatorname{softmax}_p \frac{q_k^\top K [f_p, p]}{\sqrt{D}} ,$$

so that what is seen in one place is known in every other: "the colour of the leftmost thing" is
the same sum of a thing's features and of how far left it is, wherever the things are. Networks
without it learn the answer at every place anew, from pictures that have a thing there.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

__all__ = ["Glances"]


class Glances(nn.Module):
    """What each of some questions sees in a map of features.

    Arguments:
        channels: Features of a place.
        questions: How many questions there are.
        width: Numbers that answer a question.
        kinds: Sets of questions; every picture is asked those of one.
        heads: Places that a question looks at, each with its share of the width.
    """

    def __init__(
        self, channels: int, questions: int, width: int, *, kinds: int = 1, heads: int = 4
    ):
        super().__init__()
        self.heads = heads
        self.questions = nn.Parameter(torch.randn(kinds, questions, width))
        self.places = nn.Conv2d(channels + 2, 2 * width, 1)

    def forward(self, features: Tensor, kind: Tensor) -> Tensor:
        """What is seen `(B, Q, D)` in features `(B, C, H, W)` by the questions of kinds `(B,)`."""
        where = _places(features).expand(len(features), -1, -1, -1)
        keys, values = self.places(torch.cat([features, where], 1)).flatten(2).mT.chunk(2, -1)
        seen = F.scaled_dot_product_attention(
            self._split(self.questions[kind]), self._split(keys), self._split(values)
        )
        return seen.transpose(1, 2).flatten(2)

    def _split(self, x: Tensor) -> Tensor:
        """The heads of `(B, N, D)`, `(B, heads, N, D / heads)`."""
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)


def _places(features: Tensor) -> Tensor:
    """How far right and how far down every place is, from -1 to 1, `(2, H, W)`."""
    rows, columns = features.shape[-2:]
    down = torch.linspace(-1, 1, rows, dtype=features.dtype, device=features.device)
    right = torch.linspace(-1, 1, columns, dtype=features.dtype, device=features.device)
    return torch.stack(torch.meshgrid(right, down, indexing="xy"))
