"""What can be composed with: the interface that models of wholes and their parts share."""

from __future__ import annotations

from abc import ABC, abstractmethod

from torch import Tensor, nn

from mindseye.distributions import NormalPixels, RelativeFlow
from mindseye.distributions.correlated import CorrelatedNormals, PartNormals
from mindseye.distributions.normal import DiagonalNormal
from mindseye.groups import Groups
from mindseye.parts import Kit
from mindseye.pieces import Pieces

__all__ = ["Compositional"]


class Compositional(nn.Module, ABC):
    """A model of wholes by their parts: a latent for each part, their sum, one for the whole."""

    vocabulary: Kit
    shape: tuple[int, int, int]
    latent: int
    """Size of z."""
    part: int
    """Size of the latent of a part."""

    @property
    @abstractmethod
    def tags(self) -> int:
        """How many numbers tell parts of one category apart in the posterior."""

    @abstractmethod
    def p_w(self, y: Pieces, groups: Groups) -> PartNormals:
        """p(w_i|l_i) of all parts of a batch."""

    @abstractmethod
    def p_z(self, total: Tensor) -> DiagonalNormal | RelativeFlow:
        """p(z|w~), of sums `(B, part)`."""

    @abstractmethod
    def p_x(self, z: Tensor, total: Tensor) -> NormalPixels:
        """p(x|z,w~)."""

    @abstractmethod
    def seen(self, x: Tensor) -> Tensor:
        """What both posteriors are told of wholes `(B, C, H, W)`: they are read once."""

    @abstractmethod
    def q_z(self, seen: Tensor) -> DiagonalNormal:
        """q(z|x), by what is seen in x."""

    @abstractmethod
    def q_w(
        self, seen: Tensor, z: Tensor, y: Pieces, p_w: PartNormals, noise: Tensor | None = None
    ) -> CorrelatedNormals:
        """q({w_i}|x,z,{l_i}); `noise` tells parts of one category apart, drawn if not given."""

    @staticmethod
    def groups(y: Pieces) -> Groups:
        """Which parts belong to which whole."""
        return Groups.of(y.sizes, len(y.codes))
