r"""Loads: a whole is what a street draws from the grid in a day, its parts are households.

The paper is motivated by the consumption of many customers, and shows none. This data set is made
up: plausible days of a street in quarter hours, in kW, from five kinds of households and three
kinds of what stands beside a house. All hours are periodic, $t ∈ [0, 24)$, and a bump of width $w$
around hour $m$ is

$$ B(t; m, w) = \exp\left(-\frac12 \left(\frac{24}{π w} \sin\frac{π (t - m)}{24}\right)^2\right). $$

A household has a size $g = e^{ε/4}$ and a shift $δ = ε' / 2$ in hours, $ε, ε' ∼ N(0, 1)$, and a
luck $u ∼ U(0, 1)$. A street has a day: its temperature $θ ∼ N(9, 7^2)$ in °C, its cloudiness
$c ∼ U(0, 1)$, and whether there is a football match in the evening, $f ∈ \{0, 1\}$, on 3 days of
10. With the numbers of its kind in `PROFILES`, a part draws $y(t)$ kW,

$$ \begin{aligned}
y(t) = g\, \big( & b + \textstyle\sum_j h_j B(t; m_j + δ, w_j) + l\, n(t) + a\, z(t) - p\, s(t)
\big) \\ & + f\, [u < q]\, k(t) + r\, [u < 0.6]\, e(t):
\end{aligned} $$

- base $b$ and bumps: fridge and standby, getting up, cooking, the evening, hot water;
- lights $l$: cold days are the short ones, so that all of the street go on together,
  $n(t) = σ((12 - θ) / 4)\, B(t; 20, 2)$;
- heating $a$ for every kelvin that it is colder than 15 °C outside,
  $z(t) = \operatorname{softplus}(15 - θ - 3 \cos(2π (t - 15) / 24))$;
- panels $p$, which feed in, under the same clouds,
  $s(t) = (1 - 0.8 c) \max(0, \cos(2π (t - 12.5 - δ) / 24))^{3/2}$;
- kettles of those who watch, a share $q$ of its kind, at half-time and at the end,
  $k(t) = 0.6\, B(t; 21.6, 0.2) + 0.4\, B(t; 22.6, 0.2)$;
- a charger of $r = 7.4$ kW, if the car is plugged in: it comes home at $18 + 3δ$ and needs
  $E ∼ U(5, 30)$ kWh, $e(t) = σ((d - |t - 18 - 3δ - d|) / 0.1)$ with $d = E / 2r$.

A transformer gives in softly where all want too much at once, or feed in too much, so that the
whole is not the sum of its parts, which the weather and the match have made dependent already:

$$ x(t) = \frac{Y(t)}{(1 + (Y(t) / 20)^4)^{1/4}}, \quad Y(t) = \sum_i y_i(t). $$

References:
    From abstract items to latent spaces to observed data and back: Compositional Variational
    Auto-Encoder, Berger and Sebag, 2020
    https://arxiv.org/abs/2001.07910
"""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import softplus

from mindseye.data.wholes import Specifics, Wholes
from mindseye.groups import Groups
from mindseye.parts import Kit
from mindseye.pieces import Pieces
from mindseye.randomness import normals, uniforms

__all__ = ["PROFILES", "Loads", "Profile", "limited", "loads_of"]

QUARTERS = 96
LIMIT = 20.0
"""What the transformer can give, in kW."""

MATCH, PLUGGED = 0.3, 0.6
"""How likely a match is, and a car that is charged."""

POWER = 7.4
"""Of a charger, in kW."""


class Profile(NamedTuple):
    """What a kind of household draws."""

    base: float = 0.0
    """All day, in kW."""

    bumps: tuple[tuple[float, float, float], ...] = ()
    """Up to three, each its height in kW, its hour and its width in hours."""

    lights: float = 0.0
    """In kW, on the darkest evening."""

    watches: float = 0.0
    """How likely it watches football."""

    heating: float = 0.0
    """In kW per kelvin."""

    panels: float = 0.0
    """In kW, with the sun in the south."""

    charger: float = 0.0
    """In kW."""


PROFILES = {
    "worker": Profile(0.12, ((0.6, 6.8, 0.6), (0.9, 19.5, 1.6)), 0.25, 0.5),
    "family": Profile(0.2, ((0.9, 7, 0.8), (0.5, 12.8, 0.9), (1.4, 18.5, 1.6)), 0.4, 0.6),
    "retired": Profile(0.15, ((0.5, 8.8, 1.2), (1.1, 12, 0.7), (0.6, 18.8, 1.6)), 0.25, 0.5),
    "night-shift": Profile(0.12, ((0.7, 6.5, 0.8), (0.6, 15.5, 0.9), (0.8, 19.8, 0.9)), 0.2, 0.1),
    "home-office": Profile(0.15, ((0.4, 8, 0.7), (0.4, 13, 2.5), (0.9, 19.2, 1.6)), 0.25, 0.5),
    "electric-car": Profile(charger=POWER),
    "heat-pump": Profile(0.05, ((0.8, 6, 0.7), (0.4, 20.5, 0.8)), heating=0.12),
    "solar": Profile(panels=4.0),
}


class Loads(Wholes):
    """Days of a street of up to 16 households.

    A part's own numbers are its size, its shift in hours, its luck and the energy its car needs in
    kWh; a whole's are the temperature in °C, the cloudiness and whether there is a match.
    """

    vocabulary = Kit(list(PROFILES))
    shape = (1, 1, QUARTERS)
    usual = 16
    real = True  # kW, below zero where more is fed in than drawn

    def render(self, pieces: Pieces, specifics: Specifics) -> Tensor:
        """The days of some streets, `(B, 1, 1, 96)`."""
        groups = Groups.of(pieces.sizes, len(pieces.codes))
        day = groups.spread(specifics.shared)
        total = groups.totals(loads_of(pieces.codes, specifics.own, day))
        return limited(total)[:, None, None]

    def _own(self, key: Tensor) -> Tensor:
        """Size, shift, luck and energy, `(N, 4)`."""
        size, shift = normals(key, 2).unbind(1)
        luck, energy = uniforms(key, 4)[:, 2:].float().unbind(1)
        return torch.stack([(size / 4).exp(), shift / 2, luck, 5 + 25 * energy], 1)

    def _shared(self, key: Tensor) -> Tensor:
        """Temperature, cloudiness and match, `(B, 3)`."""
        cloud, match = uniforms(key, 3)[:, 1:].float().unbind(1)
        return torch.stack([9 + 7 * normals(key, 1)[:, 0], cloud, (match < MATCH).float()], 1)


def loads_of(codes: Tensor, own: Tensor, day: Tensor) -> Tensor:
    """What parts draw in kW, `(N, 96)`.

    Arguments:
        codes: Their categories, `(N,)`.
        own: Their sizes, shifts, lucks and energies, `(N, 4)`.
        day: Temperature, cloudiness and match of their streets, `(N, 3)`.
    """
    size, shift, luck, energy = own.split(1, dim=1)
    warmth, cloud, match = day.split(1, dim=1)
    time = (torch.arange(QUARTERS, device=own.device) + 0.5) / 4
    rates, bumps = (table[codes] for table in _tables(own.device))
    base, lights, watches, heating, panels, charger = rates.split(1, dim=1)
    high, hour, width = bumps.split(1, dim=2)  # (N, 3, 1)
    usual = base + (high * _bump(time, hour + shift[:, None], width)).sum(1)
    dark = torch.sigmoid((12 - warmth) / 4) * _bump(time, 20, 2)
    cold = softplus(15 - warmth - 3 * torch.cos(math.pi / 12 * (time - 15)))
    sun = torch.cos(math.pi / 12 * (time - 12.5 - shift)).clamp(min=0) ** 1.5
    kettles = 0.6 * _bump(time, 21.6, 0.2) + 0.4 * _bump(time, 22.6, 0.2)
    drawn = usual + lights * dark + heating * cold - panels * (1 - 0.8 * cloud) * sun
    watched = match * (luck < watches) * kettles
    return size * drawn + watched + charger * (luck < PLUGGED) * _charging(time, shift, energy)


def limited(load: Tensor) -> Tensor:
    """What a transformer gives of a load: nearly all of a small one, never more than its limit."""
    return load / (1 + (load / LIMIT) ** 4) ** 0.25


def _bump(time: Tensor, middle: Tensor | float, width: Tensor | float) -> Tensor:
    """A bump of height 1 around an hour, the next day's joined to this day's."""
    return torch.exp(
        -0.5 * (24 / (math.pi * width) * torch.sin(math.pi / 24 * (time - middle))) ** 2
    )


def _charging(time: Tensor, shift: Tensor, energy: Tensor) -> Tensor:
    """The share of its power that a charger gives, `(N, 96)`; what is left at midnight goes on."""
    half = energy / POWER / 2
    away = (time - 18 - 3 * shift - half + 12).remainder(24) - 12
    return torch.sigmoid((half - away.abs()) / 0.1)


@cache
def _tables(device: torch.device) -> tuple[Tensor, Tensor]:
    """The numbers of all profiles, copied to a device once: rates `(8, 6)`, bumps `(8, 3, 3)`."""
    rates = [(each.base, *each[2:]) for each in PROFILES.values()]
    bumps = [each.bumps + ((0.0, 0.0, 1.0),) * (3 - len(each.bumps)) for each in PROFILES.values()]
    return torch.tensor(rates, device=device), torch.tensor(bumps, device=device)
