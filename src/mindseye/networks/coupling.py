r"""Real-NVP couplings: noise to latents and back, with the volume of the map.

A coupling splits $z$ into halves and moves each by what the other and the context $y$ say,

$$
z_1' = z_1 \, \sigma_1(z_2, y) + \mu_1(z_2, y), \qquad
z_2' = z_2 \, \sigma_2(z_1', y) + \mu_2(z_1', y) ,
$$

so it can be undone, and its $\log |\det|$ is $\sum \log \sigma_1 + \sum \log \sigma_2$. The paper
chains six. Log scales are $s = S \tanh(r / S)$ of what a network says, $r$, with $S = 2$.

Three things are ours. Between couplings the coordinates are permuted, or the same ones would stay
in a half for ever. The chain begins and ends with an elementwise affine map, whose mean and width
are learnt at once. Last layers begin at zero, so that the chain begins as a permutation.

References:
    On the Importance of Learning Aggregate Posteriors in Multimodal Variational Autoencoders,
    Cremer and Kushman, 2018, section 5.1.1
    Density estimation using Real NVP, Dinh et al., 2017
    https://arxiv.org/abs/1605.08803
"""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn

from mindseye.networks.dense import MLP
from mindseye.networks.unrounded import Unrounded

__all__ = ["Couplings"]

WIDEST = 2.0
"""S, the end of the log scale of a single step, in both directions."""

Moved = tuple[Tensor, list[Tensor]]
"""Rows after a step, and the log scales of what it moved, each `(N, ...)`."""


class Couplings(Unrounded, nn.Module):
    """A chain of couplings between noise and latents `(..., D)`.

    One coordinate has no halves: its couplings read the context alone, and without a context only
    the affine maps are left. Of an odd number the second half has one more.

    Arguments:
        size: D.
        count: How many couplings.
        hidden: Width of the two hidden layers of every network.
        context: Width of the context, C; 0 if there is none.
    """

    def __init__(self, size: int, count: int = 6, hidden: int = 128, context: int = 0):
        super().__init__()
        self.size, self.context = size, context
        steps: list[_Step] = [_Affine(size, context)]
        for order in _orders(size, count):
            steps += [_Coupling(size, hidden, context), _Permutation(order)]
        steps[-1] = _Affine(size, context)  # nothing is left to mix after the last coupling
        self.steps = nn.ModuleList(steps)

    def forward(self, noise: Tensor, context: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The latents that noise becomes, and log |det dz/dnoise|, `(...)`.

        Arguments:
            noise: `(..., D)`.
            context: `(..., C)`; leading sizes broadcast with those of the noise.
        """
        z, y, shape = self._rows(noise, context)
        logs: list[Tensor] = []
        for step in self._chain:
            z, more = step.forward(z, y)
            logs += more
        return z.view(*shape, self.size), torch.cat(logs, -1).sum(-1).view(shape)

    def inverse(self, z: Tensor, context: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The noise that became some latents, and log |det dnoise/dz|; shapes as in `forward`."""
        noise, y, shape = self._rows(z, context)
        logs: list[Tensor] = []
        for step in reversed(self._chain):
            noise, more = step.inverse(noise, y)
            logs += more
        return noise.view(*shape, self.size), torch.cat(logs, -1).sum(-1).view(shape)

    @property
    def _chain(self) -> list[_Step]:
        return cast("list[_Step]", list(self.steps))

    def _rows(self, z: Tensor, context: Tensor | None) -> tuple[Tensor, Tensor, torch.Size]:
        """Points and contexts as rows `(N, D)` and `(N, C)`, and their leading sizes.

        A kernel of `MLP` knows rows only.
        """
        y = z.new_zeros(0) if context is None else context
        shape = torch.broadcast_shapes(z.shape[:-1], y.shape[:-1])
        z = z.expand(*shape, -1).reshape(shape.numel(), self.size)
        return z, y.expand(*shape, -1).reshape(shape.numel(), self.context), shape

    def extra_repr(self) -> str:
        """The sizes of latents and context."""
        return f"size {self.size}, context {self.context}"


class _Step(nn.Module):
    """A map of rows `(N, D)` that can be undone, given `(N, C)`; either way with its log scales.

    Their sum is its log |det|. It is taken of all steps at once: on a GPU a step of training is as
    long as the number of its kernels.
    """

    def forward(self, z: Tensor, y: Tensor) -> Moved:
        raise NotImplementedError

    def inverse(self, z: Tensor, y: Tensor) -> Moved:
        raise NotImplementedError


class _Affine(_Step):
    """Every coordinate times a scale plus a shift, both linear in the context."""

    def __init__(self, size: int, context: int):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(2 * size))
        self.weight = nn.Parameter(torch.zeros(context, 2 * size)) if context else None

    def forward(self, z: Tensor, y: Tensor) -> Moved:
        z, log_scale = _there(z, self._features(y))
        return z, [log_scale.expand_as(z)]

    def inverse(self, z: Tensor, y: Tensor) -> Moved:
        z, log_scale = _back(z, self._features(y))
        return z, [log_scale.expand_as(z)]

    def _features(self, y: Tensor) -> Tensor:
        return self.bias if self.weight is None else torch.addmm(self.bias, y, self.weight)


class _Coupling(_Step):
    """The first half given the second, then the second given the new first."""

    def __init__(self, size: int, hidden: int, context: int):
        super().__init__()
        self.sizes = size // 2, size - size // 2
        self.first = _network(self.sizes[1] + context, hidden, self.sizes[0])
        self.second = _network(self.sizes[0] + context, hidden, self.sizes[1])

    def forward(self, z: Tensor, y: Tensor) -> Moved:
        one, two = z.split(self.sizes, -1)
        logs: list[Tensor] = []
        if self.first is not None:
            one, more = _there(one, self.first(torch.cat([two, y], -1)))
            logs.append(more)
        if self.second is not None:
            two, more = _there(two, self.second(torch.cat([one, y], -1)))
            logs.append(more)
        return torch.cat([one, two], -1), logs

    def inverse(self, z: Tensor, y: Tensor) -> Moved:
        one, two = z.split(self.sizes, -1)
        logs: list[Tensor] = []
        if self.second is not None:
            two, more = _back(two, self.second(torch.cat([one, y], -1)))
            logs.append(more)
        if self.first is not None:
            one, more = _back(one, self.first(torch.cat([two, y], -1)))
            logs.append(more)
        return torch.cat([one, two], -1), logs


class _Permutation(_Step):
    """The coordinates in another order, which is saved with the weights."""

    order: Tensor

    def __init__(self, order: list[int]):
        super().__init__()
        self.register_buffer("order", torch.tensor(order))

    def forward(self, z: Tensor, y: Tensor) -> Moved:
        return z.index_select(-1, self.order), []

    def inverse(self, z: Tensor, y: Tensor) -> Moved:
        return z.index_copy(-1, self.order, z), []


def _network(read: int, hidden: int, moved: int) -> MLP | None:
    """A network for the shifts and scales of a half; None if nothing is read or moved."""
    if not read or not moved:
        return None
    network = MLP([read, hidden, hidden, 2 * moved])
    last = network[-1]
    assert isinstance(last, nn.Linear)
    nn.init.zeros_(last.weight)
    return network


def _orders(size: int, count: int) -> list[list[int]]:
    """`count` orders of the coordinates, always the same ones, whatever the default device."""
    generator = torch.Generator("cpu").manual_seed(0)
    return [torch.randperm(size, generator=generator, device="cpu").tolist() for _ in range(count)]


def _there(z: Tensor, features: Tensor) -> tuple[Tensor, Tensor]:
    """z σ + μ and log σ, of features `(..., 2D)`."""
    loc, log_scale = _loc_and_log_scale(features, WIDEST)
    return torch.addcmul(loc, z, log_scale.exp()), log_scale


def _back(z: Tensor, features: Tensor) -> tuple[Tensor, Tensor]:
    """(z - μ) / σ and -log σ, of features `(..., 2D)`."""
    loc, log_scale = _loc_and_log_scale(features, -WIDEST)
    return (z - loc) * log_scale.exp(), log_scale


def _loc_and_log_scale(features: Tensor, widest: float) -> tuple[Tensor, Tensor]:
    loc, raw = features.chunk(2, -1)
    return loc, widest * torch.tanh(raw / WIDEST)
