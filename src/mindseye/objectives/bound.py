"""What every objective returns."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor

__all__ = ["DIVERGENCE", "Bound"]

DIVERGENCE = "kl_qx_p"
"""The term that is the divergence of what is believed of a picture from the prior."""


class Bound(NamedTuple):
    """A lower bound per example, in nats: larger is better.

    The loop takes the mean and flips the sign, in one place; nothing here is averaged or negated.
    """

    value: Tensor
    """The bound of every example, `(B,)`."""

    terms: dict[str, Tensor]
    """What it is made of, by name, each `(B,)`: `log_px_qxy` is log p(x|z) under q(z|x,y)."""

    heavy: Tensor | None = None
    """What heat makes heavier, `(B,)`; the divergence of q(z|x) from the prior if not given."""

    def heated(self, heat: Tensor | float) -> Bound:
        """The same less `heat - 1` times what is heavy: the divergence from the prior.

        >>> import torch
        >>> log_px, kl = torch.tensor([-10.0]), torch.tensor([2.0])
        >>> Bound(log_px - 4 * kl, {"log_px_qx": log_px, "kl_qx_p": kl}).heated(5.0).value
        tensor([-26.])
        """
        heavy = self.terms[DIVERGENCE] if self.heavy is None else self.heavy
        return Bound(self.value - (heat - 1) * heavy, self.terms)
