"""What can be imagined with: the interface that all models of pictures share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.distributions import Distribution, Independent
from torch.nn.functional import pad

from mindseye.concepts import Vocabulary
from mindseye.labels import Labels

__all__ = ["Imaginative", "in_parts"]

CHUNK, GPU_CHUNK = 64, 1024
"""Latents decoded at once; on a CPU as many as its caches hold."""

EVEN = 8
"""On a CPU the decoder meets whole multiples of this many latents: its kernels then sum in the same
order whoever stands beside a latent, and a picture has the same bits alone or in a crowd."""


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


def in_parts(rows: Tensor, decode: Callable[[Tensor], Tensor]) -> Tensor:
    """What rows `(B, …)` are decoded to, in parts that fit."""
    if rows.is_cuda:
        return torch.cat([decode(part) for part in rows.split(GPU_CHUNK)])
    even = pad(rows, (0, 0, 0, -len(rows) % EVEN))
    return torch.cat([decode(part) for part in even.split(CHUNK)])[: len(rows)]
