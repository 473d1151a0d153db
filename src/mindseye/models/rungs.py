r"""What a ladder is made of: rungs, messages, and the distributions of all its layers.

Values of all layers are tuples, one tensor `(..., D_l)` a layer, the layer nearest to the picture
first. Whatever is asked of a ladder is one way down it: `TopDown.descend` goes from rung to rung,
and who calls it chooses the latents of each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.distributions import kl_divergence
from torch.nn import functional as F
from torch.types import _size

from mindseye.distributions import Latents, diagonal_normal
from mindseye.distributions.normal import ONE, DiagonalNormal, loc_and_log_scale
from mindseye.models.likelihood import Shape
from mindseye.networks.dense import truncated_normal
from mindseye.networks.residual import FAINT, GAIN, Double, Residual, Side, Unfolded, scaled, sides

__all__ = [
    "LadderPosterior",
    "LadderPrior",
    "Message",
    "Rung",
    "TopDown",
    "Weighed",
    "merged",
]

WIDE = 1.5
"""The log deviation of messages before training: what they say costs about a nat a layer."""


def merged(message: DiagonalNormal, prior: DiagonalNormal) -> DiagonalNormal:
    """The normal in proportion to the product of two: their precisions are added."""
    towards = prior.stddev / torch.hypot(prior.stddev, message.stddev)
    loc = torch.lerp(prior.mean, message.mean, towards.square())
    return DiagonalNormal(loc, message.stddev * towards)


class Rung(nn.Module):
    """A layer of latents on the way down.

    Arguments:
        filters: Channels of the state.
        channels: Channels of the latents.
        side: Height and width of both.
        count: How many layers there are; their draws together begin at the scale of the state.
        then: What happens to the state afterwards.
    """

    def __init__(
        self, filters: int, channels: int, side: Side, count: int, then: Sequence[nn.Module]
    ):
        super().__init__()
        self.map = (*side, channels)
        self.size = math.prod(self.map)
        self.before = scaled(nn.Conv2d(filters, filters, 3, padding=1), GAIN)
        self.expected = scaled(nn.Conv2d(filters, 2 * channels, 1), FAINT)
        self.write = scaled(nn.Conv2d(channels, filters, 1), count**-0.5)
        self.then = nn.Sequential(*then)

    def prior(self, state: Tensor) -> DiagonalNormal:
        """p(z_l|z_>l) given a state `(N, F, H, W)`."""
        return _normal(self.expected(F.silu(self.before(F.silu(state)))))

    def forward(self, state: Tensor, z: Tensor) -> Tensor:
        """The next state, after latents `(N, D)`."""
        latents = z.reshape(-1, *self.map).permute(0, 3, 1, 2)
        return self.then(state + self.write(latents))


class Message(nn.Module):
    """What a picture says about a layer, given a state of the way down.

    Arguments:
        filters: Channels of the state, and of what was seen in the picture.
        channels: Channels of the latents.
    """

    def __init__(self, filters: int, channels: int):
        super().__init__()
        self.before = scaled(nn.Conv2d(filters, filters, 3, padding=1), GAIN)
        self.said = scaled(nn.Conv2d(filters, 2 * channels, 1), GAIN)
        assert self.said.bias is not None
        self.said.weight.data[channels:] *= FAINT
        nn.init.constant_(self.said.bias[channels:], WIDE)

    def forward(self, state: Tensor, seen: Tensor) -> DiagonalNormal:
        """A normal for every state `(k · B, F, H, W)`, of what was seen `(B, F, H, W)`."""
        both = self.before(F.silu(state)).unflatten(0, (-1, len(seen))) + seen
        return _normal(self.said(F.silu(both.flatten(0, 1))))


Choose = Callable[[int, Rung, Tensor], Tensor]
"""The latents `(N, D_l)` of a layer, given its number, its rung and the state there."""


class TopDown(nn.Module):
    """The way down: a learnt map, a rung for every layer, and the pixels.

    Arguments:
        decoded: Channels, height and width of the result.
        latents: Channels of the layers.
        filters: Channels of all other maps.
        blocks: Residual blocks between two layers.
        halvings: How often the picture is halved at every layer.
        dropout: The share of a block's numbers that are left out in training.
    """

    def __init__(
        self,
        decoded: Shape,
        latents: Sequence[int],
        filters: int,
        blocks: int,
        halvings: Sequence[int],
        dropout: float,
    ):
        super().__init__()
        every, below = sides(decoded, max(halvings)), [halvings[0], *halvings[:-1]]
        count = blocks * (len(latents) + halvings[-1] - halvings[0])

        def then(start: int, end: int) -> list[nn.Module]:
            layers: list[nn.Module] = []
            for size in range(start, end - 1, -1):
                layers += [] if size == start else [Double(every[size])]
                layers += [Residual(filters, count, dropout) for _ in range(blocks)]
            return layers

        self.top = nn.Parameter(truncated_normal((1, filters, *every[halvings[-1]]), std=1.0))
        self.rungs = nn.ModuleList(
            Rung(filters, channels, every[size], len(latents), then(size, end))
            for channels, size, end in zip(latents, halvings, below, strict=True)
        )
        doubled = every[1 : halvings[0]][::-1]
        self.output = Unfolded(decoded, filters, doubled, blocks, dropout)

    @property
    def ladder(self) -> list[Rung]:
        """The rungs, the one nearest to the picture first."""
        return cast(list[Rung], list(self.rungs))

    def descend(self, lead: _size | tuple[int, ...], choose: Choose) -> Tensor:
        """The state below the last rung, `(N, F, H, W)`, for N the product of `lead`.

        Arguments:
            lead: The leading sizes of all latents.
            choose: Called for every layer, from the last to the first.
        """
        state = self.top.expand(math.prod(lead), -1, -1, -1)
        for layer, rung in reversed(list(enumerate(self.ladder))):
            state = rung(state, choose(layer, rung, state))
        return state


class LadderPrior:
    """p(z), whose values are tuples, one tensor a layer.

    Arguments:
        top_down: The way down.
    """

    def __init__(self, top_down: TopDown):
        self.top_down = top_down

    def rsample(self, sample_shape: _size = ONE) -> Latents:
        """Draws, `(*sample_shape, D_l)`."""
        layers: list[Tensor] = []

        def drawn(_layer: int, rung: Rung, state: Tensor) -> Tensor:
            layers.insert(0, rung.prior(state).rsample())
            return layers[0]

        self.top_down.descend(sample_shape, drawn)
        return tuple(layer.view(*sample_shape, -1) for layer in layers)

    def log_prob(self, z: Latents) -> Tensor:
        """The log density of draws `(..., D_l)`, summed over layers."""
        return _summed(self.top_down, z, lambda _layer, rung, state: rung.prior(state))


class LadderPosterior:
    """q(z|x) of B pictures, whose values are tuples, one tensor a layer.

    Arguments:
        top_down: The way down.
        messages: What every layer is told, of what was seen.
        seen: What was seen in the pictures for every layer, `(B, F, H_l, W_l)`.
    """

    def __init__(self, top_down: TopDown, messages: Sequence[nn.Module], seen: Latents):
        self.top_down, self.seen = top_down, seen
        self.messages = cast(list[Message], list(messages))

    def given(self, layer: int, rung: Rung, state: Tensor) -> tuple[DiagonalNormal, DiagonalNormal]:
        """q(z_l|x, z_>l) and p(z_l|z_>l) at states `(... · B, F, H, W)` of the way down."""
        prior = rung.prior(state)
        return merged(self.messages[layer](state, self.seen[layer]), prior), prior

    def rsample(self, sample_shape: _size = ONE) -> Latents:
        """Draws, `(*sample_shape, B, D_l)`."""
        lead, layers = (*sample_shape, len(self.seen[0])), []

        def drawn(layer: int, rung: Rung, state: Tensor) -> Tensor:
            layers.insert(0, self.given(layer, rung, state)[0].rsample())
            return layers[0]

        self.top_down.descend(lead, drawn)
        return tuple(layer.unflatten(0, lead) for layer in layers)

    def log_prob(self, z: Latents) -> Tensor:
        """The log density of draws `(..., B, D_l)`, summed over layers."""
        return _summed(self.top_down, z, lambda *at: self.given(*at)[0])

    def means(self, samples: int) -> Latents:
        """The expectation of every layer, `(B, D_l)`, over so many draws of those above."""
        lead, means = (samples, len(self.seen[0])), []

        def drawn(layer: int, rung: Rung, state: Tensor) -> Tensor:
            belief = self.given(layer, rung, state)[0]
            means.insert(0, belief.mean.unflatten(0, lead).mean(0))
            return belief.rsample()

        self.top_down.descend(lead, drawn)
        return tuple(means)


class Weighed(NamedTuple):
    """Draws of q for pictures, and all that their weights are made of."""

    log_px: Tensor
    """log p(x|z), `(k, B)`."""

    z: Latents
    """The draws, `(k, B, D_l)`, the layer nearest to the picture first."""

    q: tuple[DiagonalNormal, ...]
    """What every layer was drawn from, `(k · B, D_l)`."""

    p: tuple[DiagonalNormal, ...]
    """What was expected there, `(k · B, D_l)`."""

    @property
    def log_q(self) -> Latents:
        """log q(z_l|x, z_>l) of every layer, `(k, B)`."""
        return self._of_draws(self.q)

    @property
    def log_p(self) -> Latents:
        """log p(z_l|z_>l) of every layer, `(k, B)`."""
        return self._of_draws(self.p)

    @property
    def kl(self) -> Latents:
        """KL(q(z_l|x, z_>l) || p(z_l|z_>l)) of every layer, given the draws above it, `(k, B)`."""
        pairs = zip(self.q, self.p, strict=True)
        return tuple(kl_divergence(q, p).view_as(self.log_px) for q, p in pairs)

    @property
    def log_w(self) -> Tensor:
        """log p(x, z) - log q(z|x), `(k, B)`."""
        return self.log_px + torch.stack(self.log_p).sum(0) - torch.stack(self.log_q).sum(0)

    def _of_draws(self, layers: tuple[DiagonalNormal, ...]) -> Latents:
        return tuple(
            layer.log_prob(z.flatten(0, -2)).view_as(self.log_px)
            for layer, z in zip(layers, self.z, strict=True)
        )


def _summed(
    top_down: TopDown, z: Latents, given: Callable[[int, Rung, Tensor], DiagonalNormal]
) -> Tensor:
    """The log density of layers under what is given at each, summed."""
    lead, found = z[0].shape[:-1], []

    def scored(layer: int, rung: Rung, state: Tensor) -> Tensor:
        value = z[layer].reshape(-1, rung.size)
        found.append(given(layer, rung, state).log_prob(value))
        return value

    top_down.descend(lead, scored)
    return torch.stack(found).sum(0).view(lead)


def _normal(features: Tensor) -> DiagonalNormal:
    """Maps `(N, 2C, H, W)` as normals over `(N, H · W · C)` numbers."""
    loc, log_scale = loc_and_log_scale(features.permute(0, 2, 3, 1))
    return diagonal_normal(loc.flatten(1), log_scale.flatten(1))
