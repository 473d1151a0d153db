r"""Pictures of two things, each drawn where it is by one small network, on a scenery.

A thing $k$ has a centre $c_k$, a scale $s_k$ and an appearance $a_k$, all linear in what dense
layers make of the code. At a place $p$, which seen from the thing is $d = (p - c_k) / s_k$, it has
features $f_k$ and a weight,

$$ (f_k, m_k)(p) = g(a_k,\; d\, e^{-d^2/2},\, e^{-d^2/2},\, \tanh d,\, \log(1 + d^2)), \qquad
   w_k(p) = e^{m_k(p) - d^2/2 + 2} , $$

and the features of the place are $\sum_k w_k f_k / (1 + \sum_k w_k)$, the 1 being the scenery's.
Convolutions make a picture of them and of the scenery, which is of few places, blurred.

So a shape is learnt once, while networks that read maps of a code learn it at every place anew.
Places have half the pixels of the picture in either direction, and a thing is only looked at in a
window of half of these again: that is a quarter of the work, and nothing is that large.

References:
    Spatial Broadcast Decoder, Watters et al., 2019
    https://arxiv.org/abs/1901.07017
    Attend, Infer, Repeat, Eslami et al., 2016
    https://arxiv.org/abs/1603.08575
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from mindseye.networks.dense import initialised
from mindseye.networks.residual import Residual

__all__ = ["ThingsDecoder"]

Shape = tuple[int, int, int]

FOLD = 2
"""Pixels of a place in either direction."""

THINGS = 2
"""How many things are drawn; sums of two do not depend on their order, in any rounding."""

SCENERY = 6
"""Places of the scenery in either direction."""

SMALL = 0.2
"""The scale of a thing at first, where a picture reaches from -1 to 1."""

AHEAD = 2.0
"""The logarithm of a thing's weight at its centre at first."""

HEAVIEST = 15.0
"""The largest logarithm of a weight; a thing of that covers whatever is behind it."""


class ThingsDecoder(nn.Module):
    """Codes to maps of pictures.

    Arguments:
        size: Size of the code.
        shape: Channels, height and width of the result, both even.
        width: Channels of the scenery; things have twice as many, appearances three times.
        hidden: Width of the dense layers.
    """

    def __init__(self, size: int, shape: Shape, width: int, hidden: int):
        super().__init__()
        self.side = shape[1] // FOLD, shape[2] // FOLD
        appearance, features = 3 * width, 2 * width
        self.known = nn.Sequential(
            initialised(nn.Linear(size, hidden)),
            nn.SiLU(),
            initialised(nn.Linear(hidden, hidden)),
            nn.SiLU(),
        )
        self.where = nn.Linear(hidden, THINGS * 3)
        self.what = nn.Linear(hidden, THINGS * appearance)
        self.place = nn.Linear(6, appearance)
        self.looks = nn.Sequential(
            nn.SiLU(),
            nn.Linear(appearance, appearance),
            nn.SiLU(),
            nn.Linear(appearance, features + 1),
        )
        self.scenery = nn.Linear(hidden, SCENERY**2 * width)
        self.layers = nn.Sequential(
            nn.Conv2d(width + features, features, 3, padding=1),
            Residual(features, 1),
            nn.SiLU(),
            initialised(nn.Conv2d(features, shape[0] * FOLD**2, 3, padding=1)),
            nn.PixelShuffle(FOLD),
        )

    def forward(self, code: Tensor) -> Tensor:
        """Map `(B, size)` to `(B, C, H, W)`."""
        known = self.known(code)
        features = torch.cat([self._behind(known), self._things(known)], -1)
        return self.layers(features.mT.unflatten(-1, self.side))

    def _behind(self, known: Tensor) -> Tensor:
        """The scenery at every place, `(B, P, F)`."""
        return self._blur(known) @ self.scenery(known).unflatten(1, (SCENERY**2, -1))

    def _things(self, known: Tensor) -> Tensor:
        """The things at every place, `(B, P, F)`."""
        where = self.where(known).unflatten(1, (THINGS, 1, 3))
        centre, scale = where[..., :2], SMALL * where[..., 2:].clamp(-2, 2).exp()
        window, index = self._window(centre.detach())
        apart = (window - centre) / scale  # (B, K, W, 2)
        far = apart.square().sum(-1, keepdim=True)
        near = (-far / 2).exp()
        seen = torch.cat([apart * near, near, apart.tanh(), far.log1p()], -1)
        what = self.what(known).unflatten(1, (THINGS, 1, -1)) + self.place(seen)
        features, logit = self.looks(what).tensor_split([-1], -1)
        weight = (logit - far / 2 + AHEAD).clamp(max=HEAVIEST).exp()
        each = torch.cat([weight * features, weight], -1).flatten(1, 2)  # (B, K W, F + 1)
        total = each.new_zeros(len(each), self.side[0] * self.side[1], each.shape[-1])
        total = total.scatter_add(1, index.flatten(1)[..., None].expand_as(each), each)
        return total[..., :-1] / (1 + total[..., -1:])

    def _window(self, centre: Tensor) -> tuple[Tensor, Tensor]:
        """The places around centres `(B, K, 1, 2)`: where they are, and their numbers."""
        rows, columns = self.side
        last = _grid(columns, rows, centre.device)[-1]
        across = _grid(-(-columns // 2), -(-rows // 2), centre.device)
        first = ((centre + 1) / 2 * last - across[-1] / 2).round().long()
        places = torch.minimum(first.clamp(min=0), last - across[-1]) + across
        return places.to(centre) * 2 / last - 1, places[..., 1] * columns + places[..., 0]

    def _blur(self, like: Tensor) -> Tensor:
        """How much of every place of the scenery is seen at every place, `(P, S)`."""
        each = torch.eye(SCENERY**2, dtype=like.dtype, device=like.device)
        each = each.unflatten(1, (1, SCENERY, SCENERY))
        return F.interpolate(each, self.side, mode="bilinear").flatten(1).T


def _grid(columns: int, rows: int, device: torch.device) -> Tensor:
    """The columns and rows of all places, row by row, `(P, 2)`."""
    each = torch.arange(columns, device=device), torch.arange(rows, device=device)
    return torch.stack(torch.meshgrid(*each, indexing="xy"), -1).flatten(0, 1)
