r"""A VAE with several layers of latents.

$$
p(x, h) = p(h_L) \prod_{l=1}^{L-1} p(h_l \mid h_{l+1})\; p(x \mid h_1), \qquad
q(h \mid x) = q(h_1 \mid x) \prod_{l=2}^{L} q(h_l \mid h_{l-1}).
$$

Every conditional is a diagonal normal whose mean and log deviation come from two tanh layers; the
prior of the last layer is $\mathcal{N}(0, I)$. With latents (100, 50) and units (200, 100) these
are the two-layer networks of Burda et al.; with (50,) and (200,) their one-layer ones.

References:
    Importance Weighted Autoencoders, Burda, Grosse and Salakhutdinov, 2016
    https://arxiv.org/abs/1509.00519
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.distributions import Distribution

from mindseye.concepts import Vocabulary
from mindseye.distributions import Chain, Latents, diagonal_normal, standard_normal
from mindseye.distributions.normal import DiagonalNormal, loc_and_log_scale
from mindseye.errors import UsageError
from mindseye.labels import Labels
from mindseye.models.likelihood import Likelihood, Shape, last_bias
from mindseye.models.vae import normal_prior
from mindseye.networks import GlorotMLP

__all__ = ["DeepVAE"]


class DeepVAE(nn.Module):
    """A VAE with L layers of latents and dense tanh networks.

    Arguments:
        shape: Channels, height and width of a picture.
        latents: Sizes of the layers, the one nearest to the picture first.
        units: Width of the two tanh layers below every layer of latents.
        likelihood: What a pixel is, one of `LIKELIHOODS`.
        vocabulary: What can be said about the pictures, which is nothing by default.
    """

    def __init__(
        self,
        shape: Shape,
        latents: Sequence[int] = (100, 50),
        units: Sequence[int] = (200, 100),
        likelihood: str = "bernoulli",
        vocabulary: Vocabulary | None = None,
    ):
        super().__init__()
        if not latents or len(latents) != len(units) or min(*latents, *units) < 1:
            raise UsageError(
                f"`latents={tuple(latents)}` and `units={tuple(units)}` must be as many, each at"
                " least 1."
            )
        self.shape, self.latents = shape, tuple(latents)
        self.vocabulary = vocabulary or Vocabulary([])
        self.likelihood = Likelihood(likelihood, shape)
        pixels, decoded = math.prod(shape), math.prod(self.likelihood.decoded)
        below = [pixels, *latents]
        self.readers = nn.ModuleList(
            Conditional([before, unit, unit, after])
            for (before, after), unit in zip(pairwise(below), units, strict=True)
        )
        self.writers = nn.ModuleList(
            Conditional([above, unit, unit, under])
            for (under, above), unit in zip(pairwise(latents), units[1:], strict=True)
        )
        self.decoder = GlorotMLP([latents[0], units[0], units[0], decoded])

    @property
    def prior(self) -> Chain:
        """p(h): from the last layer down to the first."""
        top = normal_prior(self.latents[-1], next(self.parameters()).device)
        return Chain(top, list(self.writers)[::-1], downwards=True)

    def q_x(self, x: Tensor) -> Chain:
        """q(h|x): from the first layer up to the last."""
        first, *links = self.readers
        return Chain(first(self.likelihood.read(x).flatten(1)), links)

    def p_x(self, z: Latents) -> Distribution:
        """p(x|h_1), over pictures `(C, H, W)`, of layers `(..., D_l)`."""
        features = self.decoder(z[0])
        return self.likelihood(features.unflatten(-1, self.likelihood.decoded))

    @property
    def decoders(self) -> list[nn.Module]:
        """The generative half."""
        return [self.decoder, self.writers, self.likelihood]

    @property
    def image_readers(self) -> list[nn.Module]:
        """The modules of q(h|x)."""
        return [self.readers]

    def prepare(self, mean: Tensor, some: Tensor | None = None) -> None:
        """Begin with the mean picture `(C, H, W)`, and with the unit of some pictures."""
        self.likelihood.start(last_bias(self.decoder), mean, some)

    def extra_repr(self) -> str:
        """The factorisation, the pictures and the sizes of the layers."""
        return (
            "p(x, h) = p(h_L) ∏ p(h_l | h_l+1) p(x | h_1)\n"
            "q(h | x) = q(h_1 | x) ∏ q(h_l | h_l-1)\n"
            f"pictures {self.shape}, latents {self.latents}"
        )


class Ancestral(nn.Module):
    r"""A deep model seen from its noise, as if it had one layer.

    Layers are drawn from the last to the first,

    $$ h_l = \mu(h_{l+1}) + \sigma(h_{l+1})\, \epsilon_l, \qquad \epsilon \sim \mathcal{N}(0, I). $$

    So the noise of all layers, side by side, is a latent with a standard normal prior: a vector
    that can be kept, mixed and walked along.

    Arguments:
        model: The deep model.
    """

    factorised = True

    def __init__(self, model: DeepVAE):
        super().__init__()
        self.model, self.likelihood = model, model.likelihood
        self.shape, self.vocabulary, self.latent = model.shape, model.vocabulary, sum(model.latents)

    @property
    def prior(self) -> Distribution:
        """p(ε)."""
        return normal_prior(self.latent, next(self.parameters()).device)

    def p_x(self, z: Tensor) -> Distribution:
        """p(x|ε) of noises `(..., D)`, the layer nearest to the picture first."""
        *noises, value = z.split(self.model.latents, -1)
        layers = [value]
        for noise, writer in zip(noises[::-1], list(self.model.writers)[::-1], strict=True):
            given = writer(layers[-1])
            layers.append(given.mean + given.stddev * noise)
        return self.model.p_x(tuple(layers[::-1]))

    def q_x(self, x: Tensor) -> Distribution:
        """The noise that leads to where pictures are read: a narrow belief at its mean."""
        layers = self._read(x)
        noises = [layers[-1]]
        for value, writer, above in zip(
            layers[-2::-1], list(self.model.writers)[::-1], layers[:0:-1], strict=True
        ):
            given = writer(above)
            noises.append((value - given.mean) / given.stddev)
        mean = torch.cat(noises[::-1], -1)
        return diagonal_normal(mean, torch.full_like(mean, NARROW))

    def q_y(self, y: Labels) -> DiagonalNormal:
        """What is believed before a picture is seen, whatever is said: p(ε), for every row."""
        return standard_normal(self.prior.mean.expand(len(y.codes), -1))

    def _read(self, x: Tensor) -> Latents:
        """The mean of every layer given the mean of the one before."""
        first, *links = self.model.readers
        means = [first(self.model.likelihood.read(x).flatten(1)).mean]
        for link in links:
            means.append(link(means[-1]).mean)
        return tuple(means)


NARROW = -5.0
"""The log deviation of a belief that is meant as a point."""


class Conditional(nn.Module):
    """A diagonal normal given a vector.

    Arguments:
        sizes: Width of what is given, of the tanh layers, and of the normal.
    """

    def __init__(self, sizes: Sequence[int]):
        super().__init__()
        self.mlp = GlorotMLP([*sizes[:-1], 2 * sizes[-1]])

    def forward(self, value: Tensor) -> Distribution:
        """The normal given `(..., first size)`."""
        return diagonal_normal(*loc_and_log_scale(self.mlp(value)))
