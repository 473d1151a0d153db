"""What every objective returns."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor

__all__ = ["Bound"]


class Bound(NamedTuple):
    """A lower bound per example, in nats: larger is better.

    The loop takes the mean and flips the sign, in one place; nothing here is averaged or negated.
    """

    value: Tensor
    """The bound of every example, `(B,)`."""

    terms: dict[str, Tensor]
    """What it is made of, by name, each `(B,)`: `log_px_qxy` is log p(x|z) under q(z|x,y)."""
