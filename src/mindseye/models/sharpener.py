r"""A sharpener beside a model that paints: what its pictures lack, added level by level.

A mean picture is blurred, since it is the mean of what might be. The model is held still, and its
picture $m$ is taken apart into a Laplacian pyramid: halvings $m_0, \dots, m_L$, and bands $b_l$.
From the coarsest on, a generator adds to every level what it lacks:

$$ y_L = m_L, \qquad
   y_l = u_l + b_l + G_l(u_l, m_l, ε_l, s), \qquad u_l = \mathrm{doubled}(y_{l+1}), $$

given the sentence $s$ and a map of noise $ε_l \sim \mathcal{N}(0, I)$. So $G = 0$ gives back the
picture of the model, and that is how it begins. A discriminator $D_l(y_l, u_l, s)$ learns to tell
these pictures from real ones; it is of no use afterwards. The likelihood never hears of any of it.

The authors' generator has convolutions of 7, 7 and 5 pixels, as these have; how it was trained was
not published. That the band of the model stays, and is added to, is ours.

References:
    Deep Generative Image Models using a Laplacian Pyramid of Adversarial Networks, Denton et al.,
    2015
    https://arxiv.org/abs/1506.05751
    Generating Images from Captions with Attention, Mansimov, Parisotto, Ba and Salakhutdinov, 2016
    https://arxiv.org/abs/1511.02793
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributions import Distribution

from mindseye.errors import UsageError
from mindseye.labels import Labels
from mindseye.models.draw import Drawn, Stroke
from mindseye.models.likelihood import Likelihood, Shape
from mindseye.models.listening import Listener
from mindseye.networks.pyramid import doubled, reduced, sides

__all__ = ["Discriminator", "Generator", "Sharpened"]

WORDS = 8
"""Maps that say a sentence, each the same number at every pixel."""

LARGE = 64
"""Pictures of a side of so many pixels, or more, have two levels."""

SMALL = 8
"""A discriminator halves a picture until its sides are at most this."""


class Sharpened(nn.Module):
    """A painting model that is held still, and networks that sharpen its pictures.

    Arguments:
        base: The model: a `Draw`, a `CaptionedVAE` or another that paints pictures of captions.
        width: Channels of the generators, and of the discriminators' first layers.
        levels: L, how often a picture is halved; 0 for once, or twice from 64 pixels on.
    """

    def __init__(self, base: Any, width: int = 128, levels: int = 0):
        super().__init__()
        _expect_painter(base)
        levels = levels or (1 if max(base.shape[1:]) < LARGE else 2)
        _check(width, levels, base.shape)
        self.base = base.requires_grad_(False)
        self.width, self.levels = width, levels
        channels, height, across = base.shape
        heard = base.listener.size if base.listener else 0
        self.sides = sides(height, across, levels)[:-1]
        self.generators = nn.ModuleList(Generator(channels, heard, width) for _ in self.sides)
        self.discriminators = nn.ModuleList(
            Discriminator((channels, *each), heard, width) for each in self.sides
        )

    def train(self, mode: bool = True) -> Sharpened:
        """Let the sharpener learn; the model below stays as it is used."""
        super().train(mode)
        self.base.eval()
        return self

    def opponents(self) -> list[nn.Parameter]:
        """What plays against the rest."""
        return list(self.discriminators.parameters())

    @property
    def sharpening_noise(self) -> int:
        """How many numbers say what a picture and a sentence leave open: a map for every level."""
        return sum(map(math.prod, self.sides))

    def sharpened(self, y: Labels, picture: Tensor, noise: Tensor) -> Tensor:
        """Sharp pictures `(B, C, H, W)`, of numbers in [0, 1].

        Arguments:
            y: Captions.
            picture: What the model painted of them: means of p(x|z,y), `(B, C, H, W)`.
            noise: Standard normal, `(B, sharpening_noise)`.
        """
        heard, painted, maps = self.heard(y), reduced(picture, self.levels), self._maps(noise)
        sharp = painted[-1]
        for level in reversed(range(self.levels)):
            context = doubled(sharp, self.sides[level])
            sharp = self.refined(level, context, painted, maps[level], heard).clamp(0, 1)
        return sharp

    def refined(
        self,
        level: int,
        context: Tensor,
        painted: Sequence[Tensor],
        noise: Tensor,
        heard: Tensor | None,
    ) -> Tensor:
        """Pictures of a level, of any numbers: context, band and what the generator adds.

        Arguments:
            level: Which, 0 is the finest.
            context: Pictures of the next coarser level, doubled.
            painted: What the model painted, and its halvings.
            noise: Standard normal, `(B, 1, H, W)` of the level.
            heard: Sentences `(B, S)`, or none.
        """
        own = painted[level]
        band = own - doubled(painted[level + 1], self.sides[level])
        return context + band + self.generators[level](context, own, noise, heard)

    @torch.no_grad()
    def heard(self, y: Labels) -> Tensor | None:
        """What captions mean to the model below, `(B, S)`; nothing if it hears nothing."""
        return self.listener(y).whole if self.listener else None

    def drawn(self, x: Tensor, y: Labels, noise: Tensor | None = None) -> Drawn:
        """What the model below believes of pictures and captions."""
        return self.base.drawn(x, y, noise)

    def painted(self, y: Labels, noise: Tensor) -> Iterator[Stroke]:
        """The strokes of the model below; none of them is sharpened."""
        return self.base.painted(y, noise)

    def p_x(self, y: Labels, noise: Tensor) -> Distribution:
        """p(x|z,y) of the model below."""
        return self.base.p_x(y, noise)

    @property
    def vocabulary(self) -> Any:
        """What a caption may say."""
        return self.base.vocabulary

    @property
    def shape(self) -> Shape:
        """Channels, height and width of a picture."""
        return self.base.shape

    @property
    def factorised(self) -> bool:
        """Whether every word has an expert of its own."""
        return self.base.factorised

    @property
    def likelihood(self) -> Likelihood:
        """What a pixel is to the model below."""
        return self.base.likelihood

    @property
    def listener(self) -> Listener | None:
        """Who hears captions, if the model below hears any."""
        return self.base.listener

    @property
    def noise(self) -> int:
        """How many numbers the model below paints a caption with."""
        return self.base.noise

    @property
    def strokes(self) -> int:
        """How many strokes it paints."""
        return self.base.strokes

    def extra_repr(self) -> str:
        """What is added to what, and where."""
        levels = ", ".join(f"{height} x {width}" for height, width in self.sides)
        return f"y_l = u_l + b_l + G_l(u_l, m_l, ε_l, s) at {levels}"

    def _maps(self, noise: Tensor) -> list[Tensor]:
        """The noise of every level, `(B, 1, H, W)`."""
        parts = noise.split([math.prod(each) for each in self.sides], -1)
        return [
            part.unflatten(-1, (1, *each)) for part, each in zip(parts, self.sides, strict=True)
        ]


class Generator(nn.Module):
    """Convolutions of 7, 7 and 5 pixels; the last ones begin at 0.

    Arguments:
        channels: Channels of a picture.
        heard: Size of a sentence; 0 for none.
        width: Channels of the two layers between.
    """

    def __init__(self, channels: int, heard: int, width: int):
        super().__init__()
        self.words = _Maps(heard) if heard else None
        read = 2 * channels + 1 + (WORDS if heard else 0)
        last = nn.Conv2d(width, channels, 5, padding=2)
        for parameter in last.parameters():
            nn.init.zeros_(parameter)
        self.layers = nn.Sequential(
            nn.Conv2d(read, width, 7, padding=3),
            nn.LeakyReLU(0.2),
            nn.Conv2d(width, width, 7, padding=3),
            nn.LeakyReLU(0.2),
            last,
        )

    def forward(
        self, context: Tensor, painted: Tensor, noise: Tensor, heard: Tensor | None
    ) -> Tensor:
        """What a level lacks, `(B, C, H, W)`."""
        read = [context, painted, noise]
        if self.words and heard is not None:
            read.append(self.words(heard, context))
        return self.layers(torch.cat(read, 1))


class Discriminator(nn.Module):
    """Convolutions of stride 2, then one logit: that pictures of a level are real.

    Arguments:
        shape: Channels, height and width of a picture.
        heard: Size of a sentence; 0 for none.
        width: Channels of the first layer; the others have twice as many.
    """

    def __init__(self, shape: Shape, heard: int, width: int):
        super().__init__()
        self.words = _Maps(heard) if heard else None
        channels, *size = shape
        often = max(1, math.ceil(math.log2(max(size) / SMALL)))
        widths = [2 * channels + (WORDS if heard else 0), width, *[2 * width] * (often - 1)]
        layers: list[nn.Module] = []
        for before, after in pairwise(widths):
            layers += [nn.Conv2d(before, after, 5, 2, padding=2), nn.LeakyReLU(0.2)]
        flat = widths[-1] * math.prod(sides(size[0], size[1], often)[-1])
        self.layers = nn.Sequential(*layers, nn.Flatten(), nn.Linear(flat, 1))

    def forward(self, picture: Tensor, context: Tensor, heard: Tensor | None) -> Tensor:
        """The log odds `(B,)` that pictures are real, given the doubled coarser ones."""
        read = [picture, context]
        if self.words and heard is not None:
            read.append(self.words(heard, context))
        return self.layers(torch.cat(read, 1))[:, 0].to(picture)


class _Maps(nn.Linear):
    """Sentences as maps over the pixels of pictures."""

    def __init__(self, heard: int):
        super().__init__(heard, WORDS)

    def forward(self, input: Tensor, like: Tensor) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Map `(B, S)` to `(B, WORDS, H, W)`, as large as other pictures."""
        return super().forward(input)[..., None, None].expand(-1, -1, *like.shape[-2:])


def _expect_painter(base: Any) -> None:
    if not (hasattr(base, "drawn") and hasattr(base, "listener")):
        raise UsageError(
            f"a {type(base).__name__} paints no captions; a sharpener stands beside one that does.",
            "Use a model such as captioned-mnist/align.",
        )


def _check(width: int, levels: int, shape: Shape) -> None:
    if width < 1:
        raise UsageError(f"`width={width}` is too few channels; expected 1 or more.")
    most = math.ceil(math.log2(min(shape[1:])))
    if not 1 <= levels <= most:
        raise UsageError(
            f"`levels={levels}` cannot be had of pictures of {shape[1]} by {shape[2]}; expected 1"
            f" to {most}, or 0 to choose."
        )
