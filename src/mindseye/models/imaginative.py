"""What can be imagined with: the interface that all models of pictures share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.distributions import Distribution, Independent

from mindseye.concepts import Vocabulary
from mindseye.labels import Labels

__all__ = ["Imaginative"]


class Imaginative(Protocol):
    """What a mind asks of its model."""

    vocabulary: Vocabulary
    shape: tuple[int, int, int]
    latent: int

    @property
    def factorised(self) -> bool:
        """Whether every word has an expert of its own."""
        ...

    def q_x(self, x: Tensor) -> Distribution:
        """q(z|x)."""
        ...

    def q_y(self, y: Labels) -> Independent:
        """q(z|y), which is the prior where nothing is said."""
        ...

    def p_x(self, z: Tensor) -> Distribution:
        """p(x|z)."""
        ...

    def eval(self) -> Any:
        """Stop training."""
        ...

    def parameters(self) -> Iterator[Any]:
        """All weights."""
        ...

    def to(self, device: torch.device | str) -> Any:
        """Move the weights."""
        ...
