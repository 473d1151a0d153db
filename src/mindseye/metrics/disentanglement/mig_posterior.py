r"""The mutual information gap of the posteriors themselves, as Chen et al. measure it.

$$ \mathrm{MIG} = \tfrac{1}{K} \sum_k \frac{1}{H(v_k)}
   \left( I(z_{d_k}; v_k) - \max_{d \ne d_k} I(z_d; v_k) \right),
   \qquad I(z_d; v_k) = H(z_d) - H(z_d \mid v_k) $$

What is done, after the authors' own program:

1. All $N$ states of the world are put in one random order and encoded, $q(z_d \mid x_n) =
   \mathcal{N}(\mu_{nd}, \sigma_{nd}^2)$, and one $z_n$ is drawn from each posterior.
2. $H(z_d)$ is the mean of $-\log \tfrac1N \sum_n q(z_d \mid x_n)$ over the first $S$ draws, 10 000
   by default; the sum is over all $N$ states.
3. $H(z_d \mid v_k)$ is the mean over the values of $v_k$ of the same estimate within the $N_v$
   states that have this value: the first $\min(S, N_v)$ of their draws, and a sum over all $N_v$.
4. Information below 0 counts as 0, and the gap is divided by $H(v_k) = \log$ `sizes[k]`.

The cost is $(K + 1) \, S N D$ densities, $4.4 \cdot 10^{11}$ for dSprites with ten dimensions: 6 s
on an H200, more than an hour on one core of a CPU. `points` takes a random part of the states
instead, which is then the world: the weights of step 3 and the entropies of step 4 are those of
this part.

A density is averaged without a log-sum-exp: every draw comes from one of the posteriors summed
over, so the sum never vanishes. No table of all pairs is kept; memory is bounded.

Chen et al. leave the shape of dSprites out: `factors=[1, 2, 3, 4]`.

References:
    - *Isolating Sources of Disentanglement in Variational Autoencoders*, Chen, Li, Grosse and
      Duvenaud, 2018, https://arxiv.org/abs/1802.04942
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from mindseye.errors import UsageError
from mindseye.metrics.disentanglement.information import (
    MutualInformationGap,
    factor_entropies,
    gap_of,
)
from mindseye.metrics.disentanglement.world import (
    Device,
    at_least,
    check_finite,
    check_sizes,
    spans,
)
from mindseye.randomness import keys, normals, uniforms

__all__ = ["Posterior", "Posteriors", "mig_chen", "mixture_entropies"]


class Posterior(Protocol):
    """Independent normals over D dimensions; every diagonal normal of torch is one."""

    @property
    def mean(self) -> Tensor:
        """`(B, D)`."""
        ...

    @property
    def stddev(self) -> Tensor:
        """`(B, D)`."""
        ...


Posteriors = Callable[[Tensor], Posterior]
"""Factor codes `(B, K)` in, q(z|x) of the pictures of these states out."""


def mig_chen(
    posteriors: Posteriors,
    sizes: Sequence[int],
    *,
    samples: int = 10_000,
    points: int | None = None,
    factors: Sequence[int] | None = None,
    seed: int = 0,
    batch: int = 4096,
    device: Device = "cpu",
) -> MutualInformationGap:
    """The mutual information gap of normal posteriors, by sums over the states of the world.

    >>> from torch.distributions import Normal
    >>> narrow = lambda codes: Normal(codes.double(), torch.tensor(0.01))
    >>> round(mig_chen(narrow, (3, 4)).score, 6)
    1.0

    Arguments:
        posteriors: Factor codes `(B, K)` in, diagonal normals over `(B, D)` out.
        sizes: How many values each factor has.
        samples: The most draws S an entropy is the mean of.
        points: How many states to use, drawn without repetition; all of them if not given.
        factors: Which factors to score, by number; all of them if not given.
        seed: The order of the states, and the draws.
        batch: How many states are encoded at once.
        device: Where the codes are made.

    Returns:
        The gap; its information has one column for each of `factors`.
    """
    check_sizes(sizes)
    at_least("samples", samples, 1)
    at_least("batch", batch, 1)
    scored = _scored(factors, len(sizes))
    index = _order(math.prod(sizes), points, seed, device)
    codes = torch.stack(torch.unravel_index(index, tuple(sizes)), dim=-1)  # (N, K)
    drawn = _encoded(posteriors, codes, index, seed, batch)
    codes = codes.to(drawn.z.device)
    whole = _entropies(drawn, samples)  # (D,)
    conditional = [_conditional(drawn, codes[:, k], sizes[k], samples) for k in scored]
    information = whole[:, None] - torch.stack(conditional, dim=-1)  # (D, K)
    return gap_of(information, factor_entropies(codes[:, scored]))


def mixture_entropies(
    z: Tensor, mean: Tensor, deviation: Tensor, cells: int | None = None
) -> Tensor:
    r"""The mean of $-\log \tfrac1N \sum_n \mathcal{N}(z_{sd}; \mu_{nd}, \sigma_{nd}^2)$, `(D,)`.

    Arguments:
        z: Draws from the components, `(S, D)`.
        mean: Of the components, `(N, D)`.
        deviation: Of the components, `(N, D)`.
        cells: How many densities are held at once; by default what suits the device.
    """
    cells = cells or (_CELLS_GPU if z.is_cuda else _CELLS_CPU)
    n, d = mean.shape
    z, mean = z.mT.contiguous(), mean.mT.contiguous()  # (D, S), (D, N)
    inverse = math.sqrt(0.5) / deviation.mT.contiguous()
    # Heights relative to the narrowest component: at most 1, so nothing overflows.
    narrowest = deviation.amin(0)
    height = (narrowest / deviation).log().mT.contiguous()
    total = torch.zeros(d, dtype=torch.float64, device=z.device)
    for start, stop in spans(z.shape[1], max(1, cells // (n * d))):
        distance = (z[:, start:stop, None] - mean[:, None]).mul_(inverse[:, None])  # (D, B, N)
        density = torch.addcmul(height[:, None], distance, distance, value=-1, out=distance).exp_()
        total -= density.sum(-1).to(torch.float64).log_().sum(-1)
    constant = narrowest.to(torch.float64).log() + math.log(n * math.sqrt(2 * math.pi))
    return total / z.shape[1] + constant


_CELLS_CPU = 2**18  # 1 MB of float32: stays in the cache
_CELLS_GPU = 2**25  # 128 MB


class _Drawn(NamedTuple):
    """One draw from each posterior, and the posteriors, each `(N, D)`."""

    z: Tensor
    mean: Tensor
    deviation: Tensor

    def at(self, index: Tensor) -> _Drawn:
        return _Drawn(self.z[index], self.mean[index], self.deviation[index])


def _entropies(drawn: _Drawn, samples: int) -> Tensor:
    """H(z_d) from the first draws, `(D,)`."""
    return mixture_entropies(drawn.z[:samples], drawn.mean, drawn.deviation)


def _conditional(drawn: _Drawn, values: Tensor, size: int, samples: int) -> Tensor:
    """H(z_d | v), each value weighted by how many states have it, `(D,)`."""
    total = torch.zeros(drawn.z.shape[1], dtype=torch.float64, device=values.device)
    for value in range(size):
        (index,) = (values == value).nonzero(as_tuple=True)
        if len(index):
            total += len(index) / len(values) * _entropies(drawn.at(index), samples)
    return total


def _encoded(posteriors: Posteriors, codes: Tensor, index: Tensor, seed: int, batch: int) -> _Drawn:
    """Encode states some at a time; the noise of a state depends on its number alone."""
    parts = []
    for start, stop in spans(len(codes), batch):
        mean, deviation = _moments(posteriors, codes[start:stop])
        key = keys(seed, index[start:stop], "MIG, noise")
        noise = normals(key, mean.shape[1]).to(mean)
        parts.append(_Drawn(torch.addcmul(mean, deviation, noise), mean, deviation))
    return _Drawn(*map(torch.cat, zip(*parts, strict=True)))


@torch.no_grad()
def _moments(posteriors: Posteriors, codes: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation of the posteriors of some states, checked."""
    posterior = posteriors(codes)
    mean, deviation = posterior.mean, posterior.stddev
    if mean.ndim != 2 or len(mean) != len(codes) or mean.shape != deviation.shape:
        raise UsageError(
            f"`posteriors` gives means of shape {tuple(mean.shape)} and deviations of shape"
            f" {tuple(deviation.shape)} for {len(codes)} states; expected ({len(codes)}, D) twice."
        )
    check_finite(torch.cat([mean, deviation], dim=1), "posteriors")
    if (deviation <= 0).any():
        raise UsageError("`posteriors` gives a deviation of 0 or less; expected positive numbers.")
    return mean, deviation


def _order(states: int, points: int | None, seed: int, device: Device) -> Tensor:
    """Numbers of states in random order, `(N,)`."""
    if points is not None and not 2 <= points <= states:
        raise UsageError(f"`points={points}` does not fit; expected 2 to {states}, all states.")
    key = keys(seed, torch.arange(states, device=device), "MIG, order")
    return uniforms(key, 1)[:, 0].argsort(stable=True)[:points]


def _scored(factors: Sequence[int] | None, k: int) -> list[int]:
    """The factors to score, checked."""
    scored = list(range(k)) if factors is None else list(factors)
    wrong = [factor for factor in scored if not 0 <= factor < k]
    if wrong or not scored:
        raise UsageError(
            f"`factors={scored}` does not fit the world; expected numbers from 0 to {k - 1}."
        )
    return scored
