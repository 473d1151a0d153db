r"""A model of pictures given captions, seen as one with a single latent.

The latent is $(y, ε)$: the codes of a caption, which of them are said, then the standard normal
noise of all strokes, $z_t = μ_t + σ_t\, ε_t$. So a picture comes from one vector that can be kept,
and two captions can be painted with the same noise: what a word changes is then all that changes.
A sharpener has noise of its own, which stands behind that of the strokes.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.distributions import Distribution

from mindseye.distributions.normal import DiagonalNormal
from mindseye.errors import UsageError
from mindseye.labels import Labels
from mindseye.models.captioned import CaptionedVAE
from mindseye.models.draw import Draw, Drawn, Stroke
from mindseye.models.sharpener import Sharpened

__all__ = ["Painted"]

POINT = 1e-5
"""The deviation of a belief that is meant as a point."""


class Painted(nn.Module):
    """A caption and noise as a latent of a painting model.

    Arguments:
        model: The model.
    """

    factorised = False

    def __init__(self, model: Draw | CaptionedVAE | Sharpened):
        super().__init__()
        self.model = model
        self.shape, self.vocabulary = model.shape, model.vocabulary
        self.likelihood = model.likelihood
        self.said = 2 * len(model.vocabulary)
        self.sharpener = model if isinstance(model, Sharpened) else None
        more = self.sharpener.sharpening_noise if self.sharpener else 0
        self.latent = self.said + model.noise + more

    @property
    def draws_bits(self) -> bool:
        """Whether a pixel is 0 or 1; of a sharp picture it is what it is."""
        return self.likelihood.kind == "bernoulli" and not self.sharpener

    def q_y(self, y: Labels) -> DiagonalNormal:
        """A caption as it is, and any noise."""
        said = torch.cat([y.codes, y.observed], -1).float()
        noise = said.new_zeros(len(said), self.latent - self.said)
        deviation = torch.cat([torch.full_like(said, POINT), noise + 1], -1)
        return DiagonalNormal(torch.cat([said, noise], -1), deviation)

    def q_x(self, x: Tensor) -> Distribution:
        """Nothing: what is read in a picture depends on what is said of it."""
        raise UsageError(
            "this model reads a picture together with its caption, and not alone.",
            "`mindseye describe` says which captions fit a picture.",
        )

    def p_x(self, z: Tensor) -> Distribution:
        """p(x|y,ε), of latents `(B, D)`, before anything is sharpened."""
        y, noise, _ = self.parted(z)
        return self.model.p_x(y, noise)

    def picture(self, z: Tensor) -> Tensor:
        """What people look at, `(B, C, H, W)`: the expected picture, sharpened if it can be."""
        y, noise, rest = self.parted(z)
        mean = self.model.p_x(y, noise).mean
        return self.sharpener.sharpened(y, mean, rest) if self.sharpener else mean

    def painted(self, z: Tensor) -> Iterator[Stroke]:
        """The strokes of latents `(B, D)`."""
        y, noise, _ = self.parted(z)
        return self.model.painted(y, noise)

    def drawn(self, x: Tensor, y: Labels, noise: Tensor | None = None) -> Drawn:
        """What is believed of the strokes of pictures and captions."""
        return self.model.drawn(x, y, noise)

    def parted(self, z: Tensor) -> tuple[Labels, Tensor, Tensor]:
        """The caption, the noise of the strokes and that of a sharpener, of latents `(B, D)`."""
        said, noise, rest = z.tensor_split([self.said, self.said + self.model.noise], -1)
        codes, observed = said.round().long().chunk(2, -1)
        return Labels(codes, observed.bool()), noise, rest
