r"""A VAE of pictures given captions: what is drawn at once, beside what is drawn stroke by stroke.

$$ p(x, z \mid y) = \mathcal{N}(z; 0, I)\, p(x \mid z, y), \qquad q(z \mid x, y) $$

The caption is read as alignDRAW reads it, forwards and backwards, and both networks are given what
the whole of it means. With dense or with convolutional networks these are the baselines that the
paper's pictures stand beside.

References:
    Generating Images from Captions with Attention, Mansimov, Parisotto, Ba and Salakhutdinov, 2016
    https://arxiv.org/abs/1511.02793
    Learning Structured Output Representation using Deep Conditional Generative Models, Sohn et al.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.distributions import Distribution

from mindseye.concepts import Vocabulary
from mindseye.distributions import diagonal_normal, standard_normal
from mindseye.distributions.normal import loc_and_log_scale
from mindseye.labels import Labels
from mindseye.models.draw import Drawn, Stroke
from mindseye.models.likelihood import Likelihood, Shape, last_bias
from mindseye.models.listening import Listener
from mindseye.networks import MLP, get_networks

__all__ = ["CaptionedVAE"]


class CaptionedVAE(nn.Module):
    r"""A VAE of pictures, given captions.

        p(z)        = N(0, I)
        p(x | z, y) = likelihood(decoder(z, bilstm(y)))
        q(z | x, y) = N(mlp(encoder(x), bilstm(y)))

    Arguments:
        vocabulary: What a caption may say.
        shape: Channels, height and width of a picture.
        latent: D, the size of z.
        networks: Which pair of image networks, a key of `NETWORKS`.
        width: Channels or units of the pair; its default if 0.
        hidden: Width of the layers between encoder and belief; the pair's default if 0.
        language: Size of the state of either direction of reading a sentence.
        likelihood: What a pixel is, one of `LIKELIHOODS`.
    """

    factorised = False
    strokes = 1
    """It paints everything at once."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        shape: Shape,
        latent: int = 50,
        networks: str = "dense",
        width: int = 0,
        hidden: int = 0,
        language: int = 128,
        likelihood: str = "bernoulli",
    ):
        super().__init__()
        pair = get_networks(networks)
        width, hidden = width or pair.width, hidden or pair.hidden
        self.vocabulary, self.shape, self.latent = vocabulary, shape, latent
        self.likelihood = Likelihood(likelihood, shape)
        self.listener = Listener(vocabulary, language)
        self.image_encoder = pair.encoder(shape, width)
        heard = self.listener.size
        self.posterior = MLP([self.image_encoder.features + heard, hidden, 2 * latent])
        self.image_decoder = pair.decoder(latent + heard, self.likelihood.decoded, width)

    @property
    def noise(self) -> int:
        """How many numbers say everything that a caption leaves open."""
        return self.latent

    def drawn(self, x: Tensor, y: Labels, noise: Tensor | None = None) -> Drawn:
        """What is believed of the latents of pictures and captions, at a draw of q.

        Arguments:
            x: Pictures.
            y: What is said of each.
            noise: Standard normal, `(B, D)`, where the draw is not to be chance's.
        """
        whole = self.listener(y).whole
        read = torch.cat([self.image_encoder(self.likelihood.read(x)), whole], -1)
        q = diagonal_normal(*loc_and_log_scale(self.posterior(read)))
        z = q.rsample() if noise is None else q.at(noise)
        return Drawn(q, standard_normal(z), self._decoded(z, whole), z)

    def p_x(self, y: Labels, noise: Tensor) -> Distribution:
        """p(x|z,y) of captions and latents `(B, D)`."""
        return self._decoded(noise, self.listener(y).whole)

    def painted(self, y: Labels, noise: Tensor) -> Iterator[Stroke]:
        """One stroke, which covers everything."""
        whole = self.listener(y).whole
        features = self.image_decoder(torch.cat([noise, whole], -1))
        middle = [(side - 1) / 2 for side in self.shape[1:]]
        place = noise.new_tensor([*middle, max(self.shape[1:]) - 1]).expand(len(noise), -1)
        yield Stroke(features, noise.new_zeros(len(noise), 0), place)

    @property
    def decoders(self) -> list[nn.Module]:
        """The generative half."""
        return [self.listener, self.image_decoder, self.likelihood]

    @property
    def readers(self) -> list[nn.Module]:
        """The modules of q(z|x,y) alone."""
        return [self.image_encoder, self.posterior]

    def prepare(self, mean: Tensor, some: Tensor | None = None) -> None:
        """Begin with the mean picture `(C, H, W)`, and with the unit of some pictures."""
        self.likelihood.start(last_bias(self.image_decoder), mean, some)

    def extra_repr(self) -> str:
        """The factorisation, the pictures and the size of the latent."""
        return (
            "p(x, z | y) = p(z) p(x | z, y);  q(z | x, y)\n"
            f"pictures {self.shape}, latent {self.latent}"
        )

    def _decoded(self, z: Tensor, whole: Tensor) -> Distribution:
        return self.likelihood(self.image_decoder(torch.cat([z, whole.to(z)], -1)))
