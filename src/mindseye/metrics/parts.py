r"""Whether a whole has the parts that were said, and how far wholes are from those of a generator.

**Sines.** The aggregation is undone, and what is left is a sum of waves. Two hundred points are two
periods, so that frequency $l$ is bin $2 l$ of their Fourier transform:

$$ u(t) = \frac{K}{C} \operatorname{atanh} \frac{x(t)}{K}, \qquad
   A_l = \frac{2}{200} \sum_t u(t)\, e^{-2 π i l t / T}, $$

and $a \cos(2π l t / T + κ)$ alone gives $A_l = a e^{iκ}$. Where a curve is cut off, $x / K$ is kept
within ±0.995. A frequency is heard if $|A_l| \ge 0.3$.

**Sites.** A site is seen if the picture, its gamma undone, has at its place a colour that is nearer
to the site's than to the four others. Many sites are overshadowed by others, so those that a
generator shows itself, in nine of ten draws, are told apart.

**Loads.** No part has a peak of its own. The mean curve is compared with that of a generator.

**Any wholes.** The energy distance between the law of $X$ and that of $Y$,

$$ 2\, \mathbb{E} |X - Y| - \mathbb{E} |X - X'| - \mathbb{E} |Y - Y'| , $$

is 0 if they are the same and positive if not. Means over pairs of different draws estimate it
without bias, so that it may be a little below 0. Divided by $2\, \mathbb{E} |X - Y|$ it has no
unit, and is 1 at most.

References:
    Energy statistics: A class of statistics based on distances, Székely and Rizzo, 2013
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor

from mindseye.data.sines import FREQUENCIES, GAIN, LENGTH, PERIOD
from mindseye.data.sites import GAMMA, PALETTE, SIDE
from mindseye.errors import UsageError
from mindseye.groups import Groups
from mindseye.pieces import Pieces

__all__ = [
    "Energy",
    "Information",
    "amplitudes",
    "colours_at",
    "correlation",
    "counts",
    "energy_distance",
    "energy_distances",
    "flow_error",
    "information",
    "peaks",
    "phase_spread",
    "ratio",
    "share",
    "shown",
]

LOUDEST = 0.995
"""The largest |x| / K that is believed: beyond it a curve is cut off."""

HEARD = 0.3
"""The least amplitude of a frequency that is heard; the generator's are 1, give or take 0.3."""

SHOWN = 0.9
"""The least share of its own draws in which a generator shows a site."""

VALUES, PAIRS = 2**24, 2**22
"""Values of draws that are compared at once, and distances between them."""

ROUNDING = 1e-9
"""Distances that are nothing but rounding."""


# Curves


def amplitudes(x: Tensor, sizes: Tensor) -> Tensor:
    """The waves that curves are made of: amplitude and phase of every frequency, complex.

    Arguments:
        x: Curves, `(..., 200)`.
        sizes: How many parts each has, of a shape that expands to `x.shape[:-1]`.

    Returns:
        `(..., 10)`, one number for every category.
    """
    many = sizes[..., None]
    u = many / GAIN * torch.atanh((x / many).clamp(-LOUDEST, LOUDEST))
    periods = LENGTH // PERIOD
    return torch.fft.rfft(u)[..., periods : periods * (FREQUENCIES + 1) : periods] * 2 / LENGTH


def peaks(coefficients: Tensor) -> Tensor:
    """Which frequencies are heard, of the shape of their complex amplitudes."""
    return coefficients.abs() >= HEARD


def counts(pieces: Pieces, categories: int) -> Tensor:
    """How often every category is said, `(B, categories)`.

    >>> counts(Pieces(torch.tensor([1, 0, 1]), torch.zeros(3, 0), torch.tensor([1, 2])), 3)
    tensor([[0, 1, 0],
            [1, 1, 0]])
    """
    groups = Groups.of(pieces.sizes, len(pieces.codes))
    found = torch.zeros(
        len(pieces.sizes), categories, dtype=torch.int64, device=groups.owner.device
    )
    return found.index_put_(
        (groups.owner, pieces.codes), pieces.codes.new_ones(()), accumulate=True
    )


def share(there: Tensor, of: Tensor) -> Tensor:
    """How many of those that count are there, `(B,)`; NaN where nothing counts.

    Recall is the share of what was said, false alarms are the share of what was not.

    >>> heard = torch.tensor([[[True, False, True], [True, True, False]]])
    >>> said = torch.tensor([[True, True, False]])
    >>> share(heard, said), share(heard, ~said)
    (tensor([0.7500]), tensor([0.5000]))

    Arguments:
        there: What is there in every draw, bool `(B, n, C)`.
        of: What counts, bool `(B, C)`.
    """
    found = (there & of[:, None]).sum((1, 2)).double()
    return (found / (of.sum(1) * there.shape[1])).float()


def phase_spread(coefficients: Tensor, once: Tensor) -> tuple[Tensor, Tensor]:
    r"""How far phases agree over draws, and around which.

    The resultant $r e^{iθ} = \overline{e^{iκ}}$ has the length 1 if all phases are the same, 0 if
    they are anything; normal phases of deviation $σ$ have $e^{-σ^2 / 2}$. Both are given as numbers
    of every whole, whose means they are; to first order the intervals of these are right too.

    Arguments:
        coefficients: Complex amplitudes, `(B, n, F)`.
        once: Which frequencies count, bool `(B, F)`: those said once.

    Returns:
        Lengths and angles, `(B,)` each; NaN where nothing counts.
    """
    many = (once.sum(1) * coefficients.shape[1]).double()
    each = (torch.sgn(coefficients) * once[:, None]).sum((1, 2)) / many
    mean = each[~each.isnan()].mean()
    turned = each * torch.sgn(mean).conj()
    return turned.real, mean.angle() + turned.imag / mean.abs()


def correlation(a: Tensor, b: Tensor) -> Tensor:
    """Pearson's, of curves `(B, T)` with curves; 0 where one is flat."""
    a, b = (each.double() - each.double().mean(1, keepdim=True) for each in (a, b))
    norm = a.norm(dim=1) * b.norm(dim=1)
    return torch.where(norm > 0, (a * b).sum(1) / norm, 0.0)


def flow_error(x: Tensor, y: Tensor) -> Tensor:
    """How far the mean energy of days `x` is from that of `y`, relative to what flows in `y`.

    What flows is counted in both directions: a street with panels may draw nothing on balance.

    Arguments:
        x: Loads, `(B, n, T)`.
        y: Loads of the same streets, `(B, m, T)`.

    Returns:
        `(B,)`.
    """
    apart = (x.double().sum(2).mean(1) - y.double().sum(2).mean(1)).abs()
    return apart / y.double().abs().sum(2).mean(1)


# Pictures


def colours_at(x: Tensor, pieces: Pieces) -> Tensor:
    """The category whose colour is nearest to the picture's at the place of every site.

    Arguments:
        x: Pictures, `(B, ..., 3, 32, 32)`.
        pieces: Their sites.

    Returns:
        Categories, int64 `(N, ...)`.
    """
    owner = Groups.of(pieces.sizes, len(pieces.codes)).owner
    pixels = x.movedim((-2, -1), (1, 2))  # (B, 32, 32, ..., 3)
    at = ((pieces.places + 1) / 2 * (SIDE - 1)).clamp(0, SIDE - 1)
    first = at.floor().clamp(max=SIDE - 2)
    colour = torch.zeros((), device=x.device)
    for right, down in ((0, 0), (0, 1), (1, 0), (1, 1)):
        corner = first + first.new_tensor([right, down])
        weight = (1 - (at - corner).abs()).prod(1)
        across, line = corner.long().unbind(1)
        linear = pixels[owner, line, across].clamp(0, 1).pow(GAMMA)  # (N, ..., 3)
        colour = colour + weight.view(-1, *[1] * (linear.ndim - 1)) * linear
    apart = (colour[..., None, :] - _palette(x.device)).square().sum(-1)
    return apart.argmin(-1)


def shown(right: Tensor) -> Tensor:
    """Sites that a generator shows, bool `(...)`, by the draws in which it does, `(..., n)`."""
    return right.double().mean(-1) >= SHOWN


@cache
def _palette(device: torch.device) -> Tensor:
    """The five colours, copied to a device once, `(5, 3)`."""
    return torch.tensor(list(PALETTE.values()), device=device)


# Laws


class Energy(NamedTuple):
    """Energy distances."""

    distance: Tensor
    scaled: Tensor
    """The same by twice the mean distance between draws of the two; 0 where that is 0."""


def energy_distance(a: Tensor, b: Tensor) -> Energy:
    """The energy distance between two laws, by draws `(n, ...)` and `(m, ...)` of them.

    >>> energy_distance(torch.tensor([0.0, 2.0]), torch.tensor([3.0, 5.0]))
    Energy(distance=tensor(2., dtype=torch.float64), scaled=tensor(0.3333, dtype=torch.float64))
    """
    distance, scaled = energy_distances(a[None], b[None])
    return Energy(distance[0], scaled[0])


def energy_distances(a: Tensor, b: Tensor) -> Energy:
    """Energy distances between pairs of laws, float64 `(B,)`.

    Arguments:
        a: Draws of B laws, `(B, n, ...)`.
        b: Draws of B others, `(B, m, ...)`.
    """
    n, m = a.shape[1], b.shape[1]
    if min(n, m) < 2:
        raise UsageError(f"energy distances need 2 draws or more of both; {n} and {m} came.")
    laws = max(1, VALUES // ((n + m) * max(1, a[0, 0].numel())))
    pairs = zip(a.split(laws), b.split(laws), strict=True)
    between, within = (
        torch.cat(each) for each in zip(*(_means(*some) for some in pairs), strict=True)
    )
    distance = between - within
    return Energy(distance, torch.where(between > ROUNDING, distance / between, 0.0))


def _means(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Mean distances between draws of two laws, twice, and within both, `(B,)` each."""
    n, m = a.shape[1], b.shape[1]
    middle = b.double().mean(1, keepdim=True)  # as it costs digits to be far from 0
    a, b = ((each.double() - middle).unflatten(1, (-1, 1)).flatten(2) for each in (a, b))
    within = _total(a, a) / (n * (n - 1)) + _total(b, b) / (m * (m - 1))
    return 2 * _total(a, b) / (n * m), within


def _total(a: Tensor, b: Tensor) -> Tensor:
    """Sums of the distances of all pairs `(B, n, D)` and `(B, m, D)`, some at a time, `(B,)`."""
    rows = max(1, PAIRS // (len(a) * b.shape[1]))
    total = a.new_zeros(len(a))
    for some in a.split(rows, 1):
        total += torch.cdist(some, b, compute_mode="use_mm_for_euclid_dist").sum((1, 2))
    return total


# Bounds


class Information(NamedTuple):
    """Nats of a batch of wholes, `(B,)` each."""

    bound: Tensor
    log_px: Tensor
    """How well a whole is told by its latents."""

    kl_w: Tensor
    """What the latents of its parts tell, all together."""

    kl_z: Tensor
    """What the latent of the whole tells beside them."""

    share: Tensor
    """Numbers whose mean is the share of z: mean `kl_z` by the mean of both."""


def information(terms: Mapping[str, Tensor]) -> Information:
    """What a bound of the compositional VAE is made of, from its terms."""
    log_px, kl_w, kl_z = (terms[name] for name in ("log_px_qzw", "kl_qw_pw", "kl_qz_pz"))
    return Information(log_px - kl_w - kl_z, log_px, kl_w, kl_z, ratio(kl_z, kl_w + kl_z))


def ratio(top: Tensor, bottom: Tensor) -> Tensor:
    """Numbers `(B,)` whose mean is a ratio of means, and whose interval is its, to first order.

    >>> ratio(torch.tensor([1.0, 2.0]), torch.tensor([2.0, 10.0]))
    tensor([0.3333, 0.1667])
    """
    below = bottom.mean()
    of_means = top.mean() / below
    return of_means + (top - of_means * bottom) / below
