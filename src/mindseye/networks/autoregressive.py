r"""One network for the mixtures of all coordinates, each of which reads those before it alone.

It says log weights, means and log deviations of K normals for every coordinate $z_d$, of
$z_1, …, z_{d-1}$. Weights are masked: every unit has a number, and reads no unit with a larger one.
Between the first and the last layer are residual blocks. So all mixtures are one pass.

References:
    MADE: Masked Autoencoder for Distribution Estimation, Germain et al., 2015
    https://arxiv.org/abs/1502.03509
    Autoregressive Energy Machines, Nash and Durkan, 2019 (masked residual blocks)
    https://arxiv.org/abs/1904.05626
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn.functional import elu, linear

from mindseye.networks.dense import initialised
from mindseye.networks.unrounded import Unrounded

__all__ = ["Autoregressive"]

WIDEST = 7.0
"""The end of the log deviation of a normal, in both directions."""

Said = tuple[Tensor, Tensor, Tensor]
"""Log weights, means and log deviations, `(..., K)` each."""


class Autoregressive(Unrounded, nn.Module):
    """Mixtures of normals for the coordinates of latents `(..., D)`.

    Arguments:
        size: D.
        hidden: Width of the network; D at least, or a coordinate would miss some before it.
        normals: Normals of a mixture, K.
        blocks: Residual blocks.
    """

    def __init__(self, size: int, hidden: int = 256, normals: int = 16, blocks: int = 2):
        super().__init__()
        self.size, self.normals = size, normals
        inputs, units = torch.arange(1, size + 1), torch.arange(max(hidden, size)) % size
        outputs = torch.arange(size).repeat_interleave(3 * normals)
        self.first = _Masked(inputs, units)
        self.inside = nn.ModuleList(_Masked(units, units) for _ in range(2 * blocks))
        self.last = _Masked(units, outputs)
        self._begin()

    def forward(self, z: Tensor) -> Said:
        """The mixtures of all coordinates, `(..., D, K)`."""
        said = linear(self._features(z, self._seen()), self.last.seen, self.last.bias)
        return self._mixture(said.unflatten(-1, (self.size, -1)))

    def one_by_one(self, z: Tensor) -> Iterator[Said]:
        """The mixture of each coordinate in turn, `(..., K)`; what comes before is read by then."""
        seen, weight = self._seen(), self.last.seen
        for d in range(self.size):
            rows = slice(3 * self.normals * d, 3 * self.normals * (d + 1))
            yield self._mixture(linear(self._features(z, seen), weight[rows], self.last.bias[rows]))

    def extra_repr(self) -> str:
        """The sizes of latents and mixtures."""
        return f"size {self.size}, normals {self.normals}"

    def _seen(self) -> list[Tensor]:
        """The weights of all layers but the last."""
        return [layer.seen for layer in (self.first, *self._inside)]

    @property
    def _inside(self) -> list[_Masked]:
        return [layer for layer in self.inside if isinstance(layer, _Masked)]

    def _features(self, z: Tensor, seen: list[Tensor]) -> Tensor:
        """What the last layer reads, `(..., H)`."""
        h = linear(z, seen[0], self.first.bias)
        layers = iter(zip(self._inside, seen[1:], strict=True))
        for (one, first), (two, second) in zip(layers, layers, strict=True):
            h = h + linear(elu(linear(elu(h), first, one.bias)), second, two.bias)
        return elu(h)

    def _mixture(self, said: Tensor) -> Said:
        """What the last layer says `(..., 3 K)`, as a mixture."""
        logits, mean, raw = said.unflatten(-1, (3, self.normals)).unbind(-2)
        return logits.log_softmax(-1), mean, WIDEST * torch.tanh(raw / WIDEST)

    @torch.no_grad()
    def _begin(self) -> None:
        """Begin with a standard normal, nearly: normals side by side, as wide as they are apart."""
        if self.last.bias.is_meta:
            return
        nn.init.zeros_(self.last.weight)
        middle = (torch.arange(self.normals, dtype=torch.float64) + 0.5) / self.normals
        bias = self.last.bias.view(self.size, 3, self.normals)
        bias[:, 1] = torch.special.ndtri(middle).to(bias)
        bias[:, 2] = -0.5 * math.log(self.normals)


class _Masked(nn.Linear):
    """The weights of a dense layer in which a unit reads only those whose number is no larger.

    The numbers are saved with the weights: a model is built without numbers before it is loaded.
    """

    read: Tensor
    units: Tensor

    def __init__(self, read: Tensor, units: Tensor):
        super().__init__(len(read), len(units))
        initialised(self)
        self.register_buffer("read", read)
        self.register_buffer("units", units[:, None])

    @property
    def seen(self) -> Tensor:
        """The weights, 0 where nothing may be read."""
        return self.weight * (self.read <= self.units)
