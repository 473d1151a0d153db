r"""The ladder VAE: layers of latent maps, read on the way up and drawn on the way down.

$$
p(x, z) = p(z_L) \prod_{l<L} p(z_l \mid z_{>l})\; p(x \mid z), \qquad
q(z \mid x) = \prod_l q(z_l \mid x, z_{>l}).
$$

A path goes down from a learnt map at the top. At every layer it says what it expects,
$p(z_l \mid z_{>l}) = \mathcal{N}(\mu_p, \sigma_p^2)$; a draw is added to its state, and it goes on:
each layer and the picture depend on all layers above. What was seen on the way up is, together with
that state, a message $\mathcal{N}(\hat\mu, \hat\sigma^2)$ about the layer. The belief is the
product of both:

$$
\sigma^2 = \frac{1}{\hat\sigma^{-2} + \sigma_p^{-2}}, \qquad
\mu = \sigma^2 \left( \hat\mu\, \hat\sigma^{-2} + \mu_p\, \sigma_p^{-2} \right).
$$

In the paper a message depends on the picture alone, and each layer on the one above alone. Here
the way down is one residual network, as in later models (Kingma et al., 2016; Child, 2021).

References:
    Ladder Variational Autoencoders, Sønderby et al., 2016
    https://arxiv.org/abs/1602.02282
    Improved Variational Inference with Inverse Autoregressive Flow, Kingma et al., 2016
    https://arxiv.org/abs/1606.04934
    Very Deep VAEs Generalize Autoregressive Models and Can Outperform Them on Images, Child, 2021
    https://arxiv.org/abs/2011.10650
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.distributions import Distribution
from torch.types import _size

from mindseye.concepts import Vocabulary
from mindseye.distributions import Latents, diagonal_normal, standard_normal
from mindseye.distributions.normal import DiagonalNormal
from mindseye.errors import UsageError
from mindseye.labels import Labels
from mindseye.models.likelihood import Likelihood, Shape
from mindseye.models.rungs import LadderPosterior, LadderPrior, Message, Rung, TopDown, Weighed
from mindseye.models.vae import normal_prior
from mindseye.networks.residual import BottomUp, sides

__all__ = ["AncestralLadder", "LadderVAE"]

NARROW = -5.0
"""The log deviation of a belief that is meant as a point."""


class LadderVAE(nn.Module):
    """A VAE with L layers of latent maps.

    Layers are vectors to everybody else: a map of C channels is one of `C · H · W` numbers.

    The sizes by default have 1.8 million parameters for pictures of 28 by 28: six layers, since
    their number counts for more than the depth between them, of 7 by 7 and 4 by 4, where a
    convolution costs a fourth and a twelfth of one on the folded picture.

    Arguments:
        shape: Channels, height and width of a picture; the sides are even.
        latents: Channels of the layers, the one nearest to the picture first.
        filters: Channels of all other maps.
        blocks: Residual blocks between two layers; there are twice as many for folded pictures.
        halvings: How often the picture is halved at every layer; by default until a side is at most
            8, and once more for the last third of the layers.
        likelihood: What a pixel is, one of `LIKELIHOODS`.
        dropout: The share of a block's numbers that are left out in training.
        vocabulary: What can be said about the pictures, which is nothing by default.
    """

    def __init__(
        self,
        shape: Shape,
        latents: Sequence[int] = (8, 8, 8, 8, 16, 16),
        filters: int = 64,
        blocks: int = 1,
        halvings: Sequence[int] = (),
        likelihood: str = "bernoulli",
        dropout: float = 0.0,
        vocabulary: Vocabulary | None = None,
    ):
        super().__init__()
        halvings = tuple(halvings) or _usual_halvings(shape, len(latents))
        _check(shape, latents, filters, blocks, halvings, dropout)
        self.shape, self.latents, self.halvings = shape, tuple(latents), halvings
        self.filters = filters
        self.vocabulary = vocabulary or Vocabulary([])
        self.likelihood = Likelihood(likelihood, shape)
        self.top_down = TopDown(
            self.likelihood.decoded, latents, filters, blocks, halvings, dropout
        )
        self.bottom_up = BottomUp(shape, filters, halvings, blocks, dropout)
        self.messages = nn.ModuleList(Message(filters, channels) for channels in latents)

    @property
    def sizes(self) -> tuple[int, ...]:
        """D_l, how many numbers every layer has."""
        return tuple(rung.size for rung in self.top_down.ladder)

    @property
    def latent(self) -> int:
        """How many numbers all layers have."""
        return sum(self.sizes)

    @property
    def widest(self) -> int:
        """How many numbers the largest map of one picture has: memory is in proportion."""
        return self.filters * (self.shape[1] // 2) * (self.shape[2] // 2)

    @property
    def prior(self) -> LadderPrior:
        """p(z): from the last layer down to the first."""
        return LadderPrior(self.top_down)

    def q_x(self, x: Tensor) -> LadderPosterior:
        """q(z|x): from the last layer down to the first, after one look at the pictures."""
        seen = self.bottom_up(self.likelihood.read(x))
        return LadderPosterior(self.top_down, list(self.messages), seen)

    def p_x(self, z: Latents) -> Distribution:
        """p(x|z), over pictures `(C, H, W)`, of layers `(..., D_l)`."""
        state = self.top_down.descend(z[0].shape[:-1], lambda layer, _rung, _state: z[layer])
        return self._pictures(state, z[0].shape[:-1])

    def weights(self, x: Tensor, k: int = 1, q_x: LadderPosterior | None = None) -> Weighed:
        """k draws of q for every picture and their weights, in one way up and one way down.

        Arguments:
            x: The pictures.
            k: Draws for each.
            q_x: q(z|x), if it was found before: the way up is then saved.
        """
        posterior, lead = q_x or self.q_x(x), (k, len(x))
        z, q, p = [], [], []

        def drawn(layer: int, rung: Rung, state: Tensor) -> Tensor:
            belief, expected = posterior.given(layer, rung, state)
            value = belief.rsample()
            for kept, found in zip((z, q, p), (value, belief, expected), strict=True):
                kept.insert(0, found)
            return value

        state = self.top_down.descend(lead, drawn)
        log_px = self._pictures(state, lead).log_prob(x)
        return Weighed(log_px, tuple(v.unflatten(0, lead) for v in z), tuple(q), tuple(p))

    def _pictures(self, state: Tensor, lead: _size) -> Distribution:
        return self.likelihood(self.top_down.output(state).unflatten(0, lead))

    @property
    def decoders(self) -> list[nn.Module]:
        """The generative half."""
        return [self.top_down, self.likelihood]

    @property
    def image_readers(self) -> list[nn.Module]:
        """The modules of q(z|x): the way down is one of them, since the prior is a factor of q."""
        return [self.bottom_up, self.messages, self.top_down]

    def prepare(self, mean: Tensor, some: Tensor | None = None) -> None:
        """Begin with the mean picture `(C, H, W)`, and with the unit of some pictures."""
        self.likelihood.start(self.top_down.output.bias.data.view(-1), mean, some)

    def extra_repr(self) -> str:
        """The factorisation, the pictures and the sizes of the layers."""
        every = sides(self.shape, max(self.halvings))
        maps = [(c, *every[h]) for c, h in zip(self.latents, self.halvings, strict=True)]
        return (
            "p(x, z) = p(z_L) ∏ p(z_l | z_>l) p(x | z)\n"
            "q(z | x) = ∏ q(z_l | x, z_>l),  q(z_l | x, z_>l) ∝ p(z_l | z_>l) N(z_l; message)\n"
            f"pictures {self.shape}, latents {' '.join('x'.join(map(str, m)) for m in maps)}"
        )


class AncestralLadder(nn.Module):
    r"""A ladder seen from its noise, as if it had one layer.

    Layers are drawn from the last to the first, $z_l = \mu_p + \sigma_p\, \epsilon_l$. So
    $\epsilon \sim \mathcal{N}(0, I)$, of all layers side by side, is a latent with a standard
    normal prior, and a picture's noise is a vector that can be kept, mixed and walked along.

    Arguments:
        model: The ladder.
    """

    factorised = True

    def __init__(self, model: LadderVAE):
        super().__init__()
        self.model, self.likelihood = model, model.likelihood
        self.shape, self.vocabulary, self.latent = model.shape, model.vocabulary, model.latent

    @property
    def prior(self) -> Distribution:
        """p(ε)."""
        return normal_prior(self.latent, next(self.parameters()).device)

    def layers(self, noise: Tensor) -> Latents:
        """The layers that noises `(..., D)` lead to."""
        lead, noises, layers = noise.shape[:-1], noise.split(self.model.sizes, -1), []

        def found(layer: int, rung: Rung, state: Tensor) -> Tensor:
            p = rung.prior(state)
            layers.insert(0, p.mean + p.stddev * noises[layer].reshape(p.mean.shape))
            return layers[0]

        self.model.top_down.descend(lead, found)
        return tuple(layer.view(*lead, -1) for layer in layers)

    def p_x(self, z: Tensor) -> Distribution:
        """p(x|ε) of noises `(..., D)`, the layer nearest to the picture first."""
        return self.model.p_x(self.layers(z))

    def q_x(self, x: Tensor) -> Distribution:
        """The noise that leads to where pictures are read: a narrow belief at its mean.

        Every layer is read at the mean of what is believed given the means above.
        """
        posterior, noises = self.model.q_x(x), []

        def read(layer: int, rung: Rung, state: Tensor) -> Tensor:
            q, p = posterior.given(layer, rung, state)
            noises.insert(0, (q.mean - p.mean) / p.stddev)
            return q.mean

        self.model.top_down.descend((len(x),), read)
        mean = torch.cat(noises, -1)
        return diagonal_normal(mean, torch.full_like(mean, NARROW))

    def q_y(self, y: Labels) -> DiagonalNormal:
        """What is believed before a picture is seen, whatever is said: p(ε), for every row."""
        return standard_normal(self.prior.mean.expand(len(y.codes), -1))


def _usual_halvings(shape: Shape, layers: int) -> tuple[int, ...]:
    """Until a side is at most 8, and once more for the last third."""
    first = 1
    while max(sides(shape, first)[-1]) > 8:
        first += 1
    return (first,) * (layers - layers // 3) + (first + 1,) * (layers // 3)


def _check(
    shape: Shape,
    latents: Sequence[int],
    filters: int,
    blocks: int,
    halvings: Sequence[int],
    dropout: float,
) -> None:
    if shape[1] % 2 or shape[2] % 2 or min(shape) < 1:
        raise UsageError(
            f"a ladder folds pictures two by two; these have {shape[1]} by {shape[2]} pixels.",
            "Choose pictures of even sides, or another kind of model.",
        )
    if not latents or min(latents) < 1:
        raise UsageError(f"`latents={tuple(latents)}` must be one or more numbers of at least 1.")
    for name, value in {"filters": filters, "blocks": blocks}.items():
        if value < 1:
            raise UsageError(f"`{name}={value}` must be at least 1.")
    if len(halvings) != len(latents) or list(halvings) != sorted(halvings) or halvings[0] < 1:
        raise UsageError(
            f"`halvings={tuple(halvings)}` must be as many as `latents={tuple(latents)}`, at least"
            " 1, and never fall."
        )
    if not 0 <= dropout < 1:
        raise UsageError(f"`dropout={dropout}` must be at least 0 and below 1.")
