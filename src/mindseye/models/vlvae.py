r"""The vision-language VAE: one latent behind a picture and a sentence about it.

$$ p(x, y, z) = p(z)\, p(x \mid z) \prod_k p(y_k \mid y_{<k}, z) $$

The latent is inferred from the picture alone (marginal inference, $q(z \mid x)$), so that it holds
what the sentence means and not how it is said; order and choice of words are left to the decoder.
Joint inference, $q(z \mid x, y)$, is there to be compared with. From words alone nothing is
inferred: $q(z \mid y)$ is a flow, fitted afterwards (`models.flowing`).

References:
    On the Importance of Learning Aggregate Posteriors in Multimodal Variational Autoencoders,
    Cremer and Kushman, 2018
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import torch
from torch import Tensor, nn
from torch.distributions import Distribution
from torch.nn import functional as F

from mindseye.concepts import Vocabulary
from mindseye.distributions import BetaPixels, Sentences, diagonal_normal
from mindseye.distributions.normal import loc_and_log_scale
from mindseye.errors import UsageError, did_you_mean, listed
from mindseye.labels import Labels
from mindseye.models.vae import normal_prior
from mindseye.networks.instance import InstanceDecoder, InstanceEncoder
from mindseye.networks.recurrent import GRU, Word

__all__ = ["INFERENCE", "VLVAE", "CaptionEncoder", "words_of"]

INFERENCE = ("marginal", "joint")
"""What the latent is inferred from: the picture, or the picture and its caption."""

CODE, EMBEDDING = 200, 100
"""Sizes of what is known of a picture or a caption, and of a word."""

DROPOUT = 0.5


class VLVAE(nn.Module):
    r"""A VAE of pictures and captions.

        p(z)             = N(0, I)
        p(x | z)         = Beta(100 σ(h), 100 (1 - σ(h))),  h = decoder(shared(z))
        p(y_k | y_<k, z) = Cat(mlp(gru(y_<k, shared(z))))
        q(z | x)         = N(mlp(encoder(x)))              or
        q(z | x, y)      = N(mlp(encoder(x), gru(y)))

    Arguments:
        vocabulary: What a caption may say, place by place.
        shape: Channels, height and width of a picture.
        latent: D, the size of z.
        networks: `residual`, or `folded` without layers at full resolution.
        width: Channels of the image networks at their widest picture; 64 if 0.
        hidden: Width of the dense layers; 500 if 0.
        inference: What z is inferred from, one of `INFERENCE`.
    """

    factorised = False
    draws_bits = False

    def __init__(
        self,
        vocabulary: Vocabulary,
        shape: tuple[int, int, int],
        latent: int = 50,
        networks: str = "residual",
        width: int = 0,
        hidden: int = 0,
        inference: str = "marginal",
    ):
        super().__init__()
        _check(networks, inference)
        fold, width, hidden = _FOLDS[networks], width or 64, hidden or 500
        self.vocabulary, self.shape, self.latent = vocabulary, shape, latent
        self.inference = inference
        self.image_encoder = InstanceEncoder(shape, width, CODE, fold)
        joint = inference == "joint"
        self.caption_encoder = CaptionEncoder(vocabulary, CODE) if joint else None
        self.shared_encoder = _Shared(CODE * (1 + joint), hidden, 2 * latent, layers=3)
        self.shared_decoder = _Shared(latent, hidden, CODE, layers=5)
        self.image_decoder = InstanceDecoder(CODE, shape, width, fold)
        self.caption_decoder = _CaptionDecoder(vocabulary)

    @property
    def prior(self) -> Distribution:
        """p(z)."""
        return normal_prior(self.latent, next(self.parameters()).device)

    @property
    def joint(self) -> bool:
        """Whether z is inferred from captions too."""
        return self.caption_encoder is not None

    def p_x(self, z: Tensor) -> BetaPixels:
        """p(x|z), over pictures `(C, H, W)`, of latents `(..., D)`."""
        logits = self.image_decoder(self.meant(z.reshape(-1, z.shape[-1])))
        return BetaPixels(logits.unflatten(0, z.shape[:-1]))

    def p_y(self, z: Tensor) -> Sentences:
        """p(y|z), over whole captions, of latents `(B, D)`."""
        return self.caption_decoder(self.meant(z))

    def meant(self, z: Tensor) -> Tensor:
        """What both decoders read of latents `(B, D)`."""
        return F.leaky_relu(self.shared_decoder(z))

    def q_x(self, x: Tensor) -> Distribution:
        """q(z|x), by marginal inference."""
        if self.joint:
            raise UsageError(
                "this model infers nothing from a picture alone: it was made by joint inference.",
                "Give its caption too, or train one by marginal inference.",
            )
        return self._inferred(self.image_encoder(x))

    def q_xy(self, x: Tensor, y: Labels) -> Distribution:
        """q(z|x,y): by joint inference, or q(z|x), which does not look at y."""
        if self.caption_encoder is None:
            return self.q_x(x)
        return self._inferred(torch.cat([self.image_encoder(x), self.caption_encoder(y)], -1))

    def q_y(self, y: Labels) -> Distribution:
        """What is believed before a picture is seen, whatever is said: p(z), for every row."""
        return diagonal_normal(*2 * (self.prior.mean.expand(len(y.codes), -1),))

    @property
    def decoders(self) -> list[nn.Module]:
        """The generative half."""
        return [self.shared_decoder, self.image_decoder, self.caption_decoder]

    @property
    def image_readers(self) -> list[nn.Module]:
        """The modules of q(z|x)."""
        return [self.image_encoder, self.shared_encoder]

    @torch.no_grad()
    def prepare(self, mean: Tensor) -> None:
        """Begin with the mean picture `(C, H, W)`, channel by channel."""
        bias = self.image_decoder.layers[-2].bias
        assert isinstance(bias, Tensor)
        each = mean.mean((-2, -1)).clamp(1e-3, 1 - 1e-3).logit()
        bias.copy_(each.repeat_interleave(len(bias) // len(each)))

    def _inferred(self, code: Tensor) -> Distribution:
        return diagonal_normal(*loc_and_log_scale(self.shared_encoder(F.leaky_relu(code))))

    def extra_repr(self) -> str:
        """The factorisation, the pictures, the size of the latent and the words."""
        q = "q(z | x, y)" if self.joint else "q(z | x)"
        return (
            f"p(x, y, z) = p(z) p(x | z) ∏ p(y_k | y_<k, z);  {q}\n"
            f"pictures {self.shape}, latent {self.latent}, {len(self.vocabulary)} places of"
            f" {len(words_of(self.vocabulary)[0])} words"
        )


class CaptionEncoder(nn.Module):
    """What is known of a caption: the last state of a recurrent network that reads it.

    Arguments:
        vocabulary: What a caption may say.
        out: Size of the state.
    """

    def __init__(self, vocabulary: Vocabulary, out: int):
        super().__init__()
        self.vocabulary = vocabulary
        self.word = Word(len(words_of(vocabulary)[0]), EMBEDDING)
        self.gru = GRU(EMBEDDING, out)

    def forward(self, y: Labels) -> Tensor:
        """The state `(B, out)` after captions; places left open are read as such."""
        said = torch.where(y.observed, _words(self.vocabulary, y.codes), self.word.open)
        return self.gru(self.word(said))[:, -1]


class _CaptionDecoder(nn.Module):
    """From what is known of a picture to captions, word by word."""

    def __init__(self, vocabulary: Vocabulary):
        super().__init__()
        self.vocabulary = vocabulary
        count = len(words_of(vocabulary)[0])
        self.word = Word(count, EMBEDDING)
        self.gru = GRU(EMBEDDING + CODE, CODE)
        self.head = _Shared(CODE, CODE, count, layers=3, dropout=DROPOUT)

    def forward(self, code: Tensor) -> Sentences:
        """The distribution over captions of codes `(B, 200)`."""
        table = _table(self.vocabulary, code.device)
        return Sentences(self._scores(code), table, self.vocabulary.sizes)

    def _scores(self, code: Tensor) -> Callable[[Tensor], Tensor]:
        """Log odds of all words at every place, given the words before it."""

        def scores(codes: Tensor) -> Tensor:
            before = _words(self.vocabulary, codes)[:, :-1]
            start = torch.full_like(codes[:, :1], self.word.start)
            read = self.word(torch.cat([start, before], 1))  # (B, K, 100)
            known = code.to(read.dtype)[:, None].expand(-1, read.shape[1], -1)
            states = self.gru(torch.cat([read, known], -1))
            return self.head(states.flatten(0, 1)).unflatten(0, states.shape[:2])

        return scores


class _Shared(nn.Module):
    """Dense layers with batch normalisation; every second one is beside the identity.

    Arguments:
        size: Size of the input.
        hidden: Width of the layers between.
        out: Size of the output.
        layers: How many layers there are.
        dropout: The share of numbers left out before the last.
    """

    def __init__(self, size: int, hidden: int, out: int, layers: int, dropout: float = 0.0):
        super().__init__()
        self.first = _dense(size, hidden)
        self.between = nn.ModuleList(_dense(hidden, hidden) for _ in range(layers - 2))
        self.last = nn.Sequential(nn.Dropout(dropout), nn.Linear(hidden, out))

    def forward(self, x: Tensor) -> Tensor:
        """Map `(B, size)` to `(B, out)`."""
        x = self.first(x)
        for layer in self.between:
            x = x + layer(x)
        return self.last(x)


def _dense(size: int, out: int) -> nn.Module:
    layers = nn.Linear(size, out, bias=False), nn.BatchNorm1d(out, momentum=0.01), nn.LeakyReLU()
    return nn.Sequential(*layers)


def words_of(vocabulary: Vocabulary) -> tuple[list[str], list[list[int]]]:
    """All different words, and which of them every value of every place is."""
    words = list(dict.fromkeys(word for place in vocabulary for word in place.values))
    return words, [[words.index(word) for word in place.values] for place in vocabulary]


@cache
def _table(vocabulary: Vocabulary, device: torch.device) -> Tensor:
    """Which word every code of every place is, `(K, V_k)`, -1 beyond a place's own."""
    rows, most = words_of(vocabulary)[1], max(vocabulary.sizes)
    with torch.inference_mode(False):
        return torch.tensor([row + [-1] * (most - len(row)) for row in rows]).to(device)


def _words(vocabulary: Vocabulary, codes: Tensor) -> Tensor:
    """The words of codes `(B, K)`."""
    table = _table(vocabulary, codes.device)
    return table.expand(len(codes), -1, -1).gather(-1, codes[..., None])[..., 0]


_FOLDS = {"residual": 1, "folded": 2}


def _check(networks: str, inference: str) -> None:
    for name, value, known in (
        ("networks", networks, _FOLDS),
        ("inference", inference, INFERENCE),
    ):
        if value not in known:
            raise UsageError(
                f"`{name}={value!r}` is not known; expected {listed(known)}.",
                did_you_mean(value, known),
            )
