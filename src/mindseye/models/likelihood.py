"""What a decoder's numbers say about pixels (`distributions.pixels`), in the unit of the data."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.distributions import Distribution

from mindseye.distributions import (
    ComponentNormal,
    NormalPixels,
    Pixels,
    QuantisedLogistic,
    QuantisedNormal,
)
from mindseye.distributions.axes import Axes, LearntAxes
from mindseye.errors import UsageError, did_you_mean, listed
from mindseye.kernels import wanted

__all__ = ["LIKELIHOODS", "Likelihood", "Shape", "last_bias"]

Shape = tuple[int, int, int]

_SCALED: dict[str, Callable[[Tensor, Tensor], Distribution]] = {
    "normal": NormalPixels,
    "quantised-normal": QuantisedNormal,
    "quantised-logistic": QuantisedLogistic,
}
_ALONG: dict[str, Callable[[Shape], Axes]] = {
    "principal-normal": Axes,
    "independent-normal": LearntAxes,
}
_NAMES = [*_SCALED, *_ALONG]
LIKELIHOODS = ["bernoulli", *_NAMES, *(f"{name}-shared" for name in _NAMES)]
"""What a pixel may be; a shared deviation is one number a pixel for all pictures."""

LEAST, MOST = -7.0, 5.0
"""Ends of the log deviations of pixels, in their unit: finer than grey levels, and beyond use."""

STEEP = 3.0
"""How a network reads components of deviation 1: so many times what they are, if they are small."""


class Likelihood(nn.Module):
    """p(x|z) from what a decoder gives.

    Pixels that are not bits have a unit of their own, their spread over the data: networks read and
    write multiples of it. Along axes every component has its own. What is read are the principal
    components, the large ones, which are many times as large as most, by their logarithm.

    Arguments:
        kind: One of `LIKELIHOODS`.
        shape: Channels, height and width of a picture.
    """

    unit: Tensor | None

    def __init__(self, kind: str, shape: Shape):
        super().__init__()
        if kind not in LIKELIHOODS:
            raise UsageError(
                f"`likelihood={kind!r}` is not known; expected {listed(LIKELIHOODS)}.",
                did_you_mean(kind, LIKELIHOODS),
            )
        self.kind, self.shape = kind, shape
        shared = kind.endswith("-shared")
        self.per_pixel = 1 if kind == "bernoulli" or shared else 2
        self.log_scale = nn.Parameter(torch.full(shape, -1.0)) if shared else None
        along = _ALONG.get(kind.removesuffix("-shared"))
        self.axes = along(shape) if along else None
        self.register_buffer("unit", None if kind == "bernoulli" or self.axes else torch.ones(()))

    @property
    def decoded(self) -> Shape:
        """Channels, height and width that a decoder has to give."""
        return (self.shape[0] * self.per_pixel, *self.shape[1:])

    @property
    def examples(self) -> int:
        """How many pictures tell its unit."""
        return 20_000 if self.axes else 1000

    def forward(self, features: Tensor) -> Distribution:
        """The distribution over pictures of features `(..., *decoded)`."""
        if self.kind == "bernoulli" and wanted(features):
            return Pixels(features)  # its kernel sums in float32 whatever it is given
        features = features.float()
        if self.kind == "bernoulli":
            return Pixels(features)
        loc, log_scale = features, self.log_scale
        if log_scale is None:
            loc, log_scale = features.chunk(2, -3)
        log_scale = log_scale.float().clamp(LEAST, MOST)
        if self.axes:
            return ComponentNormal(loc, log_scale, self.axes)
        assert self.unit is not None
        kind = _SCALED[self.kind.removesuffix("-shared")]
        return kind(self.unit * loc, log_scale + self.unit.log())

    def read(self, x: Tensor) -> Tensor:
        """Pictures as networks read them."""
        if self.axes:
            return torch.asinh(STEEP * self.axes.principal(x))
        return x if self.unit is None else x / self.unit

    @torch.no_grad()
    def start(self, bias: Tensor, mean: Tensor, some: Tensor | None = None) -> None:
        """Let a decoder's last bias say the mean picture, which then need not be learnt.

        Arguments:
            bias: Of a number a pixel, or a channel.
            mean: The mean picture, `(C, H, W)`.
            some: Pictures `(N, C, H, W)` that tell the unit; it stays 1 without them.
        """
        if self.axes:  # the mean is where the axes meet
            return self.axes.turn(mean, some)
        if self.unit is not None:
            self.unit.fill_(1.0 if some is None else some.std())
            mean = mean / self.unit
        if bias.numel() == self.shape[0] * self.per_pixel:  # one number a channel, not a pixel
            mean = mean.mean((-2, -1))
        if self.kind == "bernoulli":
            mean = mean.clamp(1e-3, 1 - 1e-3).logit()
        if bias.numel() == mean.numel() * self.per_pixel:
            bias[: mean.numel()].copy_(mean.flatten())


def last_bias(decoder: nn.Module) -> Tensor:
    """The bias of a decoder's last layer."""
    layers = [m for m in decoder.modules() if getattr(m, "bias", None) is not None]
    bias = layers[-1].bias
    assert isinstance(bias, Tensor)
    return bias.data
