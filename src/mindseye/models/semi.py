r"""The semi-supervised deep generative model: a picture has a description and a manner.

A picture $x$ is made from a description $y = (y_1, \dots, y_K)$, which may be known, and from a
continuous $z \in \mathbb{R}^D$, which never is. The readers have the same two parts:

$$
p(x, y, z) = p(z)\, p(x \mid y, z) \prod_k p(y_k), \qquad
q(y, z \mid x) = q(z \mid x, y) \prod_k q(y_k \mid x).
$$

Since the description is handed to the decoder, $z$ need not hold it: it is left with the manner,
how a 4 is written. With one attribute this is the model M2 of Kingma et al.

References:
    Learning Disentangled Representations with Semi-Supervised Deep Generative Models,
    Narayanaswamy et al., 2017
    https://arxiv.org/abs/1706.00400
    Semi-Supervised Learning with Deep Generative Models, Kingma et al., 2014
    https://arxiv.org/abs/1406.5298
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.distributions import Distribution
from torch.nn.functional import one_hot

from mindseye.concepts import Vocabulary
from mindseye.distributions import Attributes, Pixels, diagonal_normal
from mindseye.distributions.normal import DiagonalNormal, loc_and_log_scale
from mindseye.errors import UsageError, did_you_mean, listed
from mindseye.labels import Labels
from mindseye.models.vae import normal_prior
from mindseye.networks import MLP
from mindseye.networks.convolutional import DenseEncoder
from mindseye.networks.dense import initialised
from mindseye.networks.normalised import BatchNormELU, Block

__all__ = ["Described", "SemiModel", "SemiVAE"]

Shape = tuple[int, int, int]


class SemiModel(Protocol):
    """What an objective asks of a model with a description and a manner.

    A description `y` is a tensor `(..., B, K, V)`: for every attribute a one-hot vector, or a
    relaxed one.
    """

    @property
    def vocabulary(self) -> Vocabulary:
        """The attributes."""
        ...

    @property
    def prior(self) -> Distribution:
        """p(z)."""
        ...

    @property
    def prior_y(self) -> Attributes:
        """p(y), of no batch."""
        ...

    def p_x(self, z: Tensor, y: Tensor) -> Any:
        """p(x|y,z), of manners `(..., B, D)`."""
        ...

    def q_y_given_x(self, x: Tensor) -> Attributes:
        """q(y|x)."""
        ...

    def q_xy(self, x: Tensor, y: Tensor) -> Distribution:
        """q(z|x,y); a description may have more leading dimensions than there are pictures."""
        ...


class SemiVAE(nn.Module):
    r"""The semi-supervised VAE of pictures and attributes.

        p(y_k)       = Cat(1/V_k), or the marginals given
        p(z)         = N(0, I)
        p(x | y, z)  = Bernoulli(mlp(y, z))
        q(y_k | x)   = Cat(network_k(x))
        q(z | x, y)  = N(mlp(mlp(x), y))

    Two networks read y in a picture: `dense`, an MLP, as in both papers (for MNIST 0.65 M weights),
    and `conv`, four convolutions with batch normalisation that halve the picture three times, then
    dropout (0.26 M). The others are dense in both. The picture is read once for all descriptions
    that q(z|x,y) is asked about.

    Arguments:
        vocabulary: The attributes.
        shape: Channels, height and width of a picture; for `conv` of at least 16 by 16 pixels.
        latent: D, the size of z.
        networks: `dense` or `conv`.
        width: Channels of the first convolution of `conv`; 32 if 0.
        hidden: Width of the dense layers; 500 if 0.
        marginals: p(y_k) for every attribute, up to a factor; uniform by default.
        dropout: The share of features that `conv` leaves out in training.
    """

    log_marginals: Tensor

    def __init__(
        self,
        vocabulary: Vocabulary,
        shape: Shape = (1, 28, 28),
        latent: int = 50,
        networks: str = "dense",
        width: int = 0,
        hidden: int = 0,
        marginals: Sequence[Sequence[float]] | None = None,
        dropout: float = 0.5,
    ):
        super().__init__()
        if networks not in _READERS:
            raise UsageError(
                f"`networks={networks!r}` is not known; expected {listed(_READERS)}.",
                did_you_mean(networks, _READERS),
            )
        if not len(vocabulary):
            raise UsageError(
                "a semi-supervised model reads words; nothing can be said of these pictures.",
                "Choose other data, or another kind of model.",
            )
        width, hidden = width or 32, hidden or 500
        self.vocabulary, self.shape, self.latent = vocabulary, shape, latent
        self.widest = max(vocabulary.sizes)
        words = len(vocabulary) * self.widest
        self.label_reader = _READERS[networks](shape, width, hidden, words, dropout)
        self.image_encoder = DenseEncoder(shape, hidden)
        self.joint_encoder = MLP([hidden + words, hidden, 2 * latent])
        self.image_decoder = MLP([words + latent, hidden, hidden, math.prod(shape)])
        self.register_buffer("log_marginals", _log_marginals(vocabulary, marginals))  # (K, V)

    @property
    def prior(self) -> Distribution:
        """p(z)."""
        return normal_prior(self.latent, self.log_marginals.device)

    @property
    def prior_y(self) -> Attributes:
        """p(y), of no batch."""
        return Attributes(self.log_marginals, self.vocabulary.sizes)

    def p_x(self, z: Tensor, y: Labels | Tensor) -> Pixels:
        """p(x|y,z), over pictures `(C, H, W)`.

        Arguments:
            z: Manners, `(..., B, D)`.
            y: Descriptions: labels that leave nothing open, or (relaxed) one-hot `(..., B, K, V)`.
        """
        both = torch.cat([self._flat(y), z], -1)
        logits = self.image_decoder(both.flatten(0, -2)).float()
        return Pixels(logits.view(*z.shape[:-1], *self.shape))

    def q_y_given_x(self, x: Tensor) -> Attributes:
        """q(y|x)."""
        logits = self.label_reader(x).unflatten(-1, (len(self.vocabulary), self.widest))
        return Attributes(logits.float(), self.vocabulary.sizes)

    def q_xy(self, x: Tensor, y: Labels | Tensor) -> Distribution:
        """q(z|x,y).

        Arguments:
            x: Pictures, `(B, C, H, W)`.
            y: Descriptions: labels that leave nothing open, or (relaxed) one-hot `(..., B, K, V)`.
        """
        words, features = self._flat(y), self.image_encoder(x)
        both = torch.cat([features.expand(*words.shape[:-1], -1), words], -1)
        found = self.joint_encoder(both.flatten(0, -2)).unflatten(0, both.shape[:-1])
        return diagonal_normal(*loc_and_log_scale(found))

    def forward(self, x: Tensor) -> Attributes:
        """q(y|x): the model as a classifier."""
        return self.q_y_given_x(x)

    def filled(self, y: Labels, u: Tensor) -> Labels:
        """The labels with what they leave open drawn from p(y), by uniform numbers `(B, K)`."""
        below = (u[..., None] > self.prior_y.probs.cumsum(-1)).sum(-1)
        last = torch.tensor(self.vocabulary.sizes, device=below.device) - 1  # the sum may miss 1
        return Labels.full(torch.where(y.observed, y.codes, below.minimum(last)))

    @property
    def decoders(self) -> list[nn.Module]:
        """The generative half, p(x|y,z)."""
        return [self.image_decoder]

    @property
    def image_readers(self) -> list[nn.Module]:
        """The modules of q(y|x) and q(z|x,y)."""
        return [self.label_reader, self.image_encoder, self.joint_encoder]

    def decayed(self) -> list[nn.Parameter]:
        """The weights that few labels cannot hold: those of q(y|x)."""
        return [p for p in self.label_reader.parameters() if p.ndim > 1]

    def extra_repr(self) -> str:
        """The factorisation, the pictures, the size of the latent and the attributes."""
        words = ", ".join(f"{a.name} ({len(a.values)})" for a in self.vocabulary)
        return (
            "p(x, y, z) = p(z) p(x | y, z) ∏ p(y_k);  q(y, z | x) = q(z | x, y) ∏ q(y_k | x)\n"
            f"pictures {self.shape}, latent {self.latent}, attributes {words}"
        )

    def _flat(self, y: Labels | Tensor) -> Tensor:
        """A description as one vector, `(..., B, K V)`."""
        each = one_hot(y.codes, self.widest).float() if isinstance(y, Labels) else y
        return each.flatten(-2)


class Described(nn.Module):
    r"""A semi-supervised model seen as one with a single latent: a description beside a manner.

    The latent is $(y, z)$: for every attribute the weights of its values, one-hot where it is
    known, then the manner. So a picture is read into a vector that can be kept, mixed and walked
    along, and half-way between two vectors lies a mixed description.

    Arguments:
        model: The semi-supervised model.
    """

    factorised = False

    def __init__(self, model: SemiVAE):
        super().__init__()
        self.model = model
        self.shape, self.vocabulary = model.shape, model.vocabulary
        self.words = len(model.vocabulary) * model.widest
        self.latent = self.words + model.latent

    def q_y(self, y: Labels) -> DiagonalNormal:
        """What is said, p(y) of what is not, and any manner."""
        said = one_hot(y.codes, self.model.widest).float()
        open_ = self.model.prior_y.probs
        words = torch.where(y.observed[..., None], said, open_).flatten(-2)
        manner = words.new_zeros(*words.shape[:-1], self.model.latent)
        return self._beside(words, manner, manner + 1)

    def q_x(self, x: Tensor) -> DiagonalNormal:
        """q(y|x) as weights, and q(z|x,y) of the most probable description."""
        q = self.model.q_y_given_x(x)
        manner = self.model.q_xy(x, Labels.full(q.mode))
        return self._beside(q.probs.flatten(-2), manner.mean, manner.stddev)

    def p_x(self, z: Tensor) -> Pixels:
        """p(x|y,z), of latents `(..., D)`."""
        words, manner = z.tensor_split([self.words], -1)
        return self.model.p_x(manner, words.unflatten(-1, (-1, self.model.widest)))

    def p_y(self, z: Tensor) -> Attributes:
        """The weights as probabilities."""
        weights = z[..., : self.words].unflatten(-1, (-1, self.model.widest))
        return Attributes(weights.clamp_min(LEAST).log(), self.vocabulary.sizes)

    def _beside(self, words: Tensor, manner: Tensor, deviation: Tensor) -> DiagonalNormal:
        """A belief that is a point in the description, and that of the manner."""
        point = torch.full_like(words, POINT)
        return DiagonalNormal(torch.cat([words, manner], -1), torch.cat([point, deviation], -1))


POINT = 1e-5
"""The deviation of a belief that is meant as a point."""

LEAST = 1e-6
"""The least weight of a value: those of a mixed or a moved latent may be negative."""


def _dense(shape: Shape, width: int, hidden: int, out: int, dropout: float) -> nn.Module:
    """Two dense layers and the logits."""
    del width, dropout  # as in the papers
    return nn.Sequential(nn.Flatten(), MLP([math.prod(shape), hidden, hidden, out]))


def _conv(shape: Shape, width: int, hidden: int, out: int, dropout: float) -> nn.Module:
    """Four convolutions, dropout and the logits."""
    del hidden
    if min(shape[1:]) < 16:
        raise UsageError(
            f"`networks='conv'` reads pictures of at least 16 by 16 pixels; "
            f"`shape` has {shape[1]} by {shape[2]}.",
            "Try networks=dense.",
        )
    rows, columns = (-(-side >> 3) for side in shape[1:])  # halvings round up
    return nn.Sequential(
        _block(shape[0], width, stride=1),
        _block(width, 2 * width, stride=2),
        _block(2 * width, 4 * width, stride=2),
        _block(4 * width, 4 * width, stride=2),
        nn.Flatten(),
        nn.Dropout(dropout),
        MLP([4 * width * rows * columns, out]),
    )


def _block(before: int, after: int, stride: int) -> Block:
    """A convolution, batch normalisation and ELU."""
    conv = initialised(nn.Conv2d(before, after, 3, stride, padding=1, bias=False))
    return Block(conv, BatchNormELU(after))


_READERS = {"dense": _dense, "conv": _conv}
"""What reads y in a picture."""


def _log_marginals(vocabulary: Vocabulary, marginals: Sequence[Sequence[float]] | None) -> Tensor:
    """Unnormalised log-probabilities of every attribute, `(K, V)`, 0 in the padding."""
    if marginals is None:
        marginals = [[1.0] * size for size in vocabulary.sizes]
    if [len(each) for each in marginals] != list(vocabulary.sizes):
        raise UsageError(
            f"`marginals` has {[len(each) for each in marginals]} values; expected "
            f"{list(vocabulary.sizes)}, one probability for each value of each attribute."
        )
    if not all(0 < p < math.inf for each in marginals for p in each):
        raise UsageError("`marginals` must be positive: what has no probability is no value.")
    table = torch.zeros(len(vocabulary), max(vocabulary.sizes))
    for row, each in zip(table, marginals, strict=True):
        row[: len(each)] = torch.tensor(each, dtype=torch.float32).log()
    return table
