r"""Sines: a whole is a curve, its parts are oscillations of ten frequencies.

With parts of frequencies $l_i ∈ \{1, …, 10\}$, the paper's 1D problem is, for $t = 0, …, 199$,

$$ x(t) = K \tanh\left(\frac{C}{K} \sum_{i=1}^K a_i \cos(2π l_i t / T + κ_i)\right), $$

with $T = 100$, $C = 3$, amplitudes $a_i ∼ N(1, 0.3^2)$ and phases $κ_i ∼ N(0, (π/2)^2)$. Where many
parts agree the curve is cut off at $\pm K$, so it is not the sum of the curves of its parts.

The text of the paper is followed. The authors' code differs: it has nine frequencies, phases of
standard deviation 0.8, and one $K$ for every quarter of a batch.

References:
    From abstract items to latent spaces to observed data and back: Compositional Variational
    Auto-Encoder, Berger and Sebag, 2020
    https://arxiv.org/abs/2001.07910
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from mindseye.data.wholes import Specifics, Wholes
from mindseye.groups import Groups
from mindseye.parts import Kit
from mindseye.pieces import Pieces
from mindseye.randomness import normals

__all__ = ["Sines"]

LENGTH, PERIOD, FREQUENCIES = 200, 100, 10
GAIN = 3.0
SPREAD, TURN = 0.3, math.pi / 2
"""Standard deviations of amplitudes and phases."""


class Sines(Wholes):
    """Curves of up to 16 oscillations; a part's own numbers are its amplitude and its phase."""

    vocabulary = Kit([f"f{each}" for each in range(1, FREQUENCIES + 1)])
    shape = (1, 1, LENGTH)
    usual = 16
    real = True  # curves reach from -K to K

    def render(self, pieces: Pieces, specifics: Specifics) -> Tensor:
        """The curves of some oscillations, `(B, 1, 1, 200)`."""
        groups = Groups.of(pieces.sizes, len(pieces.codes))
        amplitude, phase = specifics.own.split(1, dim=1)
        time = torch.arange(LENGTH, device=phase.device)
        turned = (pieces.codes[:, None] + 1) * time % PERIOD  # whole numbers: exactly periodic
        waves = amplitude * torch.cos(2 * math.pi / PERIOD * turned + phase)
        many = pieces.sizes[:, None].clamp(min=1)  # nothing is silent
        return (many * torch.tanh(GAIN / many * groups.totals(waves)))[:, None, None]

    def _own(self, key: Tensor) -> Tensor:
        """Amplitude and phase, `(N, 2)`."""
        amplitude, phase = normals(key, 2).unbind(1)
        return torch.stack([1 + SPREAD * amplitude, TURN * phase], 1)
