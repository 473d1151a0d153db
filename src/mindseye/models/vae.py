r"""The variational auto-encoder: one latent vector behind a picture.

$$ p(x, z) = p(z)\, p(x \mid z), \qquad q(z \mid x) = \mathcal{N}(\mu(x), \sigma^2(x)). $$

The prior is $\mathcal{N}(0, I)$; what a pixel is, `likelihood` says.

References:
    Auto-Encoding Variational Bayes, Kingma and Welling, 2014
    https://arxiv.org/abs/1312.6114
"""

from __future__ import annotations

from functools import cache

import torch
from torch import Tensor, nn
from torch.distributions import Distribution

from mindseye.concepts import Vocabulary
from mindseye.distributions import diagonal_normal, standard_normal
from mindseye.distributions.normal import DiagonalNormal, loc_and_log_scale
from mindseye.labels import Labels
from mindseye.models.likelihood import Likelihood, Shape, last_bias
from mindseye.networks import MLP, ImageNetworks, get_networks

__all__ = ["VAE", "ImageEncoder", "normal_prior"]


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

    def prepare(self, mean: Tensor, some: Tensor | None = None) -> None:
        """Begin with the mean picture `(C, H, W)`, and with the unit of some pictures."""
        self.likelihood.start(last_bias(self.image_decoder), mean, some)

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
