r"""The variational auto-encoder: one latent vector behind a picture.

$$ p(x, z) = p(z)\, p(x \mid z), \qquad q(z \mid x) = \mathcal{N}(\mu(x), \sigma^2(x)). $$

The prior is $\mathcal{N}(0, I)$; the likelihood of a pixel is Bernoulli, a normal whose deviation
is learnt, or the mass of a normal or logistic on grey levels (`distributions.pixels`).

References:
    Auto-Encoding Variational Bayes, Kingma and Welling, 2014
    https://arxiv.org/abs/1312.6114
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import torch
from torch import Tensor, nn
from torch.distributions import Distribution

from mindseye.concepts import Vocabulary
from mindseye.distributions import (
    NormalPixels,
    Pixels,
    QuantisedLogistic,
    QuantisedNormal,
    diagonal_normal,
    standard_normal,
)
from mindseye.distributions.normal import DiagonalNormal, loc_and_log_scale
from mindseye.errors import UsageError, did_you_mean, listed
from mindseye.kernels import wanted
from mindseye.labels import Labels
from mindseye.networks import MLP, ImageNetworks, get_networks

__all__ = ["LIKELIHOODS", "VAE", "ImageEncoder", "Likelihood", "normal_prior"]

Shape = tuple[int, int, int]

_SCALED: dict[str, Callable[[Tensor, Tensor], Distribution]] = {
    "normal": NormalPixels,
    "quantised-normal": QuantisedNormal,
    "quantised-logistic": QuantisedLogistic,
}
LIKELIHOODS = ["bernoulli", *_SCALED, *(f"{name}-shared" for name in _SCALED)]
"""What a pixel may be; a shared deviation is one number a pixel for all pictures."""


class Likelihood(nn.Module):
    """p(x|z) from what a decoder gives.

    Pixels that are not bits have a unit of their own, their spread over the data: networks read and
    write multiples of it.

    Arguments:
        kind: One of `LIKELIHOODS`.
        shape: Channels, height and width of a picture.
    """

    unit: Tensor

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
        self.register_buffer("unit", None if kind == "bernoulli" else torch.ones(()))

    @property
    def decoded(self) -> Shape:
        """Channels, height and width that a decoder has to give."""
        return (self.shape[0] * self.per_pixel, *self.shape[1:])

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
        kind = _SCALED[self.kind.removesuffix("-shared")]
        log_scale = log_scale.float().clamp(LEAST, MOST)
        return kind(self.unit * loc, log_scale + self.unit.log())

    def read(self, x: Tensor) -> Tensor:
        """Pictures as networks read them."""
        return x if self.kind == "bernoulli" else x / self.unit

    @torch.no_grad()
    def start(self, bias: Tensor, mean: Tensor, spread: float = 1.0) -> None:
        """Let a decoder's last bias say the mean picture, which then need not be learnt.

        Arguments:
            bias: Of a number a pixel, or a channel.
            mean: The mean picture, `(C, H, W)`.
            spread: The unit of pixels that are not bits.
        """
        if self.kind != "bernoulli":
            self.unit.fill_(spread)
            mean = mean / spread
        if bias.numel() == self.shape[0] * self.per_pixel:  # one number a channel, not a pixel
            mean = mean.mean((-2, -1))
        if self.kind == "bernoulli":
            mean = mean.clamp(1e-3, 1 - 1e-3).logit()
        if bias.numel() == mean.numel() * self.per_pixel:
            bias[: mean.numel()].copy_(mean.flatten())


LEAST, MOST = -7.0, 5.0
"""Ends of the log deviations of pixels, in their unit: finer than grey levels, and beyond use."""


class VAE(nn.Module):
    r"""A VAE of pictures.

        p(z)      = N(0, I)
        p(x | z)  = likelihood(decoder(z))
        q(z | x)  = N(encoder(x))

    Arguments:
        shape: Channels, height and width of a picture.
        latent: D, the size of z.
        networks: Which pair of image networks, a key of `NETWORKS`.
        width: Channels or units of the pair; its default if 0.
        hidden: Width of the dense layers between encoder and belief; the pair's default if 0.
        likelihood: What a pixel is, one of `LIKELIHOODS`.
        vocabulary: What can be said about the pictures, which is nothing by default.
    """

    factorised = True

    def __init__(
        self,
        shape: Shape,
        latent: int = 50,
        networks: str = "tanh",
        width: int = 0,
        hidden: int = 0,
        likelihood: str = "bernoulli",
        vocabulary: Vocabulary | None = None,
    ):
        super().__init__()
        pair = get_networks(networks)
        width, hidden = width or pair.width, hidden or pair.hidden
        self.shape, self.latent = shape, latent
        self.vocabulary = vocabulary or Vocabulary([])
        self.likelihood = Likelihood(likelihood, shape)
        self.image_decoder = pair.decoder(latent, self.likelihood.decoded, width)
        dense = [hidden] * pair.depth
        self.image_encoder = ImageEncoder(pair, shape, width, [*dense, 2 * latent])

    @property
    def prior(self) -> Distribution:
        """p(z)."""
        return normal_prior(self.latent, next(self.parameters()).device)

    def q_x(self, x: Tensor) -> Distribution:
        """q(z|x)."""
        return diagonal_normal(*loc_and_log_scale(self.image_encoder(self.likelihood.read(x))))

    def p_x(self, z: Tensor) -> Distribution:
        """p(x|z), over pictures `(C, H, W)`, of latents `(..., D)`."""
        features = self.image_decoder(z.reshape(-1, z.shape[-1]))
        return self.likelihood(features.unflatten(0, z.shape[:-1]))

    def q_y(self, y: Labels) -> DiagonalNormal:
        """What is believed before a picture is seen, whatever is said: p(z), for every row."""
        return standard_normal(self.prior.mean.expand(len(y.codes), -1))

    @property
    def decoders(self) -> list[nn.Module]:
        """The generative half."""
        return [self.image_decoder, self.likelihood]

    @property
    def image_readers(self) -> list[nn.Module]:
        """The modules of q(z|x)."""
        return [self.image_encoder]

    def prepare(self, mean: Tensor, spread: float = 1.0) -> None:
        """Begin with the mean picture `(C, H, W)` as the output's bias, and with a unit."""
        self.likelihood.start(last_bias(self.image_decoder), mean, spread)

    def extra_repr(self) -> str:
        """The factorisation, the pictures and the size of the latent."""
        return f"p(x, z) = p(z) p(x | z);  q(z | x)\npictures {self.shape}, latent {self.latent}"


class ImageEncoder(nn.Module):
    """Image networks, then dense layers.

    Arguments:
        pair: The networks.
        shape: Channels, height and width of a picture.
        width: Channels or units of the networks.
        sizes: Widths of the dense layers, the output last.
    """

    def __init__(self, pair: ImageNetworks, shape: Shape, width: int, sizes: list[int]):
        super().__init__()
        self.conv = pair.encoder(shape, width)
        self.mlp = MLP([self.conv.features, *sizes])

    def forward(self, x: Tensor) -> Tensor:
        """Features of pictures `(B, C, H, W)`."""
        return self.mlp(self.conv(x))


@cache
@torch.inference_mode(False)  # made once, it may be differentiated through later
def normal_prior(latent: int, device: torch.device) -> Distribution:
    """N(0, I) on a device."""
    return standard_normal(torch.zeros(latent, device=device))


def last_bias(decoder: nn.Module) -> Tensor:
    """The bias of a decoder's last layer."""
    layers = [m for m in decoder.modules() if getattr(m, "bias", None) is not None]
    bias = layers[-1].bias
    assert isinstance(bias, Tensor)
    return bias.data
