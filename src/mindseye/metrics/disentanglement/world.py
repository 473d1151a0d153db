r"""A world of known factors: its states are drawn by seed, and a model represents them.

The world has $K$ factors, factor $k$ with `sizes[k]` values, all combinations equally likely. A
state is a row of codes. `represent` stands for "show the state as a picture and encode it": codes
`(B, K)` in, representations `(B, D)` out, usually the mean of $q(z \mid x)$.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from mindseye.errors import UsageError
from mindseye.randomness import integers, keys, uniforms

__all__ = [
    "Device",
    "Represent",
    "Sample",
    "World",
    "at_least",
    "check_finite",
    "check_sizes",
    "pinned",
    "spans",
]

Represent = Callable[[Tensor], Tensor]
"""Factor codes `(B, K)` in, representations `(B, D)` out."""

Device = torch.device | str
"""Where codes are made: `represent` is called with codes on this device."""


class Sample(NamedTuple):
    """States of a world and what a model makes of them."""

    representations: Tensor
    """Float64, `(N, D)`."""
    codes: Tensor
    """The factors, `(N, K)`."""


@dataclass(frozen=True)
class World:
    """The factors, the model and the seed of one measurement.

    Arguments:
        represent: The model.
        sizes: How many values each factor has.
        seed: Which states are drawn.
        batch: How many states are represented at once.
        device: Where codes are made.
        least: The number of factors below which the metric is not defined.
    """

    represent: Represent
    sizes: Sequence[int]
    seed: int = 0
    batch: int = 4096
    device: Device = "cpu"
    least: int = 1

    def __post_init__(self) -> None:
        check_sizes(self.sizes, self.least)
        at_least("batch", self.batch, 1)

    def sample(self, points: int | None, stream: str) -> Sample:
        """Independent states, or every state once if `points` is none."""
        codes = self.grid() if points is None else self.draw(0, points, stream)
        found = self.represented(codes)
        return Sample(found, codes.to(found.device))

    def grid(self) -> Tensor:
        """Every state once, `(N, K)`; the last factor changes fastest."""
        index = torch.arange(math.prod(self.sizes), device=self.device)
        return torch.stack(torch.unravel_index(index, tuple(self.sizes)), dim=-1)

    def draw(self, start: int, stop: int, stream: str) -> Tensor:
        """States number `start` to `stop` of a stream, `(B, K)`."""
        u = uniforms(self._keys(start, stop, stream), len(self.sizes))
        return (u * torch.tensor(self.sizes, device=self.device)).to(torch.int64)

    def draw_groups(self, start: int, stop: int, length: int, stream: str) -> Tensor:
        """Groups number `start` to `stop` of `length` states each, `(B, L, K)`."""
        return self.draw(start * length, stop * length, stream).unflatten(0, (-1, length))

    def choose(self, start: int, stop: int, stream: str) -> Tensor:
        """One factor for each of the groups number `start` to `stop`, `(B,)`."""
        return integers(self._keys(start, stop, f"{stream}, factor"), len(self.sizes))

    def represented(self, codes: Tensor) -> Tensor:
        """Representations of states `(..., K)`, float64 `(..., D)`, some at a time."""
        rows = codes.flatten(0, -2)
        found = [self._represented(part) for part in rows.split(self.batch)]
        widths = sorted({part.shape[1] for part in found})
        if len(widths) > 1:
            raise UsageError(f"`represent` gives rows of {widths} numbers; expected one width.")
        return torch.cat(found).unflatten(0, codes.shape[:-1])

    def _keys(self, start: int, stop: int, stream: str) -> Tensor:
        return keys(self.seed, torch.arange(start, stop, device=self.device), stream)

    @torch.no_grad()
    def _represented(self, codes: Tensor) -> Tensor:
        found = self.represent(codes)
        if found.ndim != 2 or len(found) != len(codes) or found.shape[1] == 0:
            raise UsageError(
                f"`represent` gives shape {tuple(found.shape)} for {len(codes)} states;"
                f" expected ({len(codes)}, D), one row per state."
            )
        check_finite(found, "represent")
        return found.to(torch.float64)


def pinned(codes: Tensor, factor: Tensor, source: Tensor) -> Tensor:
    """Groups whose chosen factor takes the value it has in `source`.

    Arguments:
        codes: Groups of states, `(B, L, K)`.
        factor: The factor of each group, `(B,)`.
        source: Where its values come from, `(B, L, K)` or `(B, 1, K)`.
    """
    chosen = one_hot(factor, codes.shape[-1]).to(torch.bool)[:, None]  # (B, 1, K)
    return torch.where(chosen, source, codes)


def spans(n: int, step: int) -> Iterator[tuple[int, int]]:
    """Cut `n` things into runs of at most `step`.

    >>> list(spans(5, 2))
    [(0, 2), (2, 4), (4, 5)]
    """
    return ((start, min(start + step, n)) for start in range(0, n, step))


def check_sizes(sizes: Sequence[int], least: int = 1) -> None:
    """Refuse a world with too few factors, or with a factor that never varies."""
    if len(sizes) < least:
        raise UsageError(f"`sizes={tuple(sizes)}` has too few factors; expected {least} or more.")
    for k, size in enumerate(sizes):
        if size < 2:
            raise UsageError(
                f"`sizes={tuple(sizes)}` gives factor {k} the size {size};"
                " expected 2 values or more.",
                "Leave out factors that never vary.",
            )


def at_least(name: str, value: int, least: int) -> None:
    """Refuse a number that is too small."""
    if value < least:
        raise UsageError(f"`{name}={value}` is too few; expected {least} or more.")


def check_finite(values: Tensor, source: str) -> None:
    """Refuse numbers that are not finite."""
    wrong = int((~values.isfinite()).any(-1).sum())
    if wrong:
        raise UsageError(
            f"`{source}` gives numbers that are not finite for {wrong} of {len(values)} states;"
            " expected finite numbers.",
            "Look at the model: its training may have run away.",
        )
