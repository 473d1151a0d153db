r"""Sites: a whole is a picture of colour gradients, its parts are coloured points.

Site $i$ has a colour $c_i$ of five and a place $u_i$, uniform in $[-0.9, 0.9]^2$. A pixel at $u$ is
a mixture of the colours of all sites, the near ones most, made brighter as screens have it:

$$ x(u) = \left(\sum_i w_i(u) c_i\right)^{1/2.4}, \quad
w_i(u) = \frac{\exp(-s_i |u - u_i|^2)}{\sum_j \exp(-s_j |u - u_j|^2)}, \quad s_i ∼ U(5, 10). $$

The centres of the 32 pixels of a side run linearly from -1 to 1: x from left to right, y from the
top down, as the rows of a picture do.

References:
    From abstract items to latent spaces to observed data and back: Compositional Variational
    Auto-Encoder, Berger and Sebag, 2020
    https://arxiv.org/abs/2001.07910
"""

from __future__ import annotations

from functools import cache

import torch
from torch import Tensor

from mindseye.data.wholes import Specifics, Wholes
from mindseye.groups import Groups
from mindseye.parts import Kit
from mindseye.pieces import Pieces
from mindseye.randomness import uniforms

__all__ = ["PALETTE", "Sites"]

SIDE = 32
WEAKEST, STRONGEST = 5.0, 10.0
GAMMA = 2.4

PALETTE = {
    "red": (1.0, 0.0, 0.0),
    "green": (0.0, 1.0, 0.0),
    "blue": (0.0, 0.0, 1.0),
    "white": (1.0, 1.0, 1.0),
    "black": (0.0, 0.0, 0.0),
}


class Sites(Wholes):
    """Gradients between up to 8 coloured points; a part's own number is its intensity."""

    vocabulary = Kit(list(PALETTE), axes=("x", "y"))
    shape = (3, SIDE, SIDE)
    usual = 8
    reach = 0.9

    def render(self, pieces: Pieces, specifics: Specifics) -> Tensor:
        """The gradients of some sites, in [0, 1], `(B, 3, 32, 32)`; black where there are none."""
        groups = Groups.of(pieces.sizes, len(pieces.codes))
        near = -specifics.own * _squared_distances(pieces.places)  # (N, H W)
        weight = (near - groups.spread(groups.maxima(near))).exp()
        colour = _colours(weight.device)[pieces.codes]  # (N, 4), the last one 1
        *mixed, total = groups.totals((colour[:, :, None] * weight[:, None]).flatten(1)).chunk(4, 1)
        linear = torch.stack(mixed, 1) / total.clamp(min=1)[:, None]  # one site weighs 1
        return linear.pow(1 / GAMMA).unflatten(2, (SIDE, SIDE))

    def _own(self, key: Tensor) -> Tensor:
        """The intensity, `(N, 1)`."""
        return (WEAKEST + (STRONGEST - WEAKEST) * uniforms(key, 1)).float()


def _squared_distances(places: Tensor) -> Tensor:
    """From every place `(N, 2)` to every pixel, `(N, H W)`."""
    line = torch.linspace(-1, 1, SIDE, device=places.device)
    across, down = ((line - place).square() for place in places.split(1, dim=1))
    return (down[:, :, None] + across[:, None]).flatten(1)


@cache
def _colours(device: torch.device) -> Tensor:
    """Red, green, blue and 1 of every category, copied to a device once, `(5, 4)`."""
    return torch.tensor([(*colour, 1.0) for colour in PALETTE.values()], device=device)
