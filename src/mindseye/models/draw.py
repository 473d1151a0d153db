r"""alignDRAW: a canvas painted patch by patch, with attention over places and over words.

$$ p(x, z_{1:T} \mid y) = p(x \mid z_{1:T}, y) \prod_t p(z_t \mid z_{<t}, y), \qquad
   q(z_{1:T} \mid x, y) = \prod_t q(z_t \mid x, z_{<t}, y) $$

A stroke begins with what the generator knows, $h_{t-1}$, which is 0 at first:

$$
\begin{aligned}
z_t &\sim \mathcal{N}(\tanh(W_μ h_{t-1}), e^{2 \tanh(W_σ h_{t-1})}), &
α^t_k &\propto \exp v^\top \tanh(U h^{lang}_k + W h_{t-1} + b), \\
s_t &= \textstyle\sum_k α^t_k h^{lang}_k, &
h_t &= \mathrm{LSTM}(h_{t-1}, [z_t, s_t]), \\
c_t &= c_{t-1} + F_Y(h_t)^\top K(h_t)\, F_X(h_t), &
p(x \mid z_{1:T}, y) &= \textstyle\prod_i p(x_i \mid c_{T,i}) .
\end{aligned}
$$

So $z_1 \sim \mathcal{N}(0, I)$. In learning, a second memory reads the picture, and what of it is
not on the canvas yet, through a window of its own: $q(z_t \mid \cdot)$ is a normal of its state.

The canvas begins with the mean picture, which may change in training; authors begin with 0.

References:
    Generating Images from Captions with Attention, Mansimov, Parisotto, Ba and Salakhutdinov, 2016
    https://arxiv.org/abs/1511.02793
    DRAW: A Recurrent Neural Network for Image Generation, Gregor et al., 2015
    https://arxiv.org/abs/1502.04623
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.distributions import Distribution

from mindseye.concepts import Vocabulary
from mindseye.distributions import diagonal_normal
from mindseye.distributions.normal import DiagonalNormal, loc_and_log_scale
from mindseye.errors import UsageError, did_you_mean, listed
from mindseye.labels import Labels
from mindseye.models.likelihood import Likelihood, Shape
from mindseye.models.listening import Heard, Listener
from mindseye.networks.recurrent import LSTM, State
from mindseye.networks.windows import Aim

__all__ = ["HEARING", "Draw", "Drawn", "Stroke"]

HEARING = ("align", "noalign", "alone")
"""What the generator hears at every stroke: words by attention, the whole sentence, or nothing."""


Hearing = Callable[[Tensor], tuple[Tensor, Tensor]]
"""From what is known `(B, hidden)` to what is heard `(B, S)`, and the weights of the words."""


class Drawn(NamedTuple):
    """What is believed of the latents of pictures, before and after they are seen."""

    q: Distribution
    """q(z|x,y) of every stroke, given the draws of those before it, side by side, `(B, N)`."""
    p: Distribution
    """p(z|y) of every stroke, given the same."""
    p_x: Distribution
    """p(x|z,y) at the draws."""
    z: Tensor
    """The draws, side by side, `(B, N)`."""

    def log_weight(self, x: Tensor) -> Tensor:
        """log p(x, z|y) / q(z|x,y) of pictures at the draws, `(B,)`."""
        return self.p_x.log_prob(x) + self.p.log_prob(self.z) - self.q.log_prob(self.z)


class Stroke(NamedTuple):
    """What one step leaves behind."""

    canvas: Tensor
    """What the likelihood reads, `(B, C, H, W)`."""
    attention: Tensor
    """α, over the words of the sentence, `(B, N)`; N is 0 where no word is heard by itself."""
    place: Tensor
    """Row and column of the middle of the patch, and its spacing, in pixels, `(B, 3)`."""


class Draw(nn.Module):
    r"""A model that paints a picture of a caption stroke by stroke.

        p(z_t | z_<t, y) = N(tanh(W h_t-1))
        p(x | z, y)      = likelihood(c_T),  c_t = c_t-1 + write(h_t)
        q(z_t | x, z_<t) = N(lstm(read(x, x - mean(c_t-1)), h_t-1))
        h_t              = lstm(h_t-1, [z_t, align(h_t-1, bilstm(y))])

    Arguments:
        vocabulary: What a caption may say.
        shape: Channels, height and width of a picture.
        latent: D, the size of the latent of one stroke.
        strokes: T, how many there are.
        hidden: Size of the states of both memories, and of the alignment.
        window: p, filters of a window in either direction.
        language: Size of the state of either direction of reading a sentence.
        hearing: What the generator hears, one of `HEARING`.
        likelihood: What a pixel is: one of `LIKELIHOODS` with one number a pixel.
    """

    factorised = False

    def __init__(
        self,
        vocabulary: Vocabulary,
        shape: Shape,
        latent: int = 150,
        strokes: int = 32,
        hidden: int = 300,
        window: int = 8,
        language: int = 128,
        hearing: str = "align",
        likelihood: str = "bernoulli",
    ):
        super().__init__()
        _check(hearing)
        self.vocabulary, self.shape, self.latent = vocabulary, shape, latent
        self.strokes, self.hearing = strokes, hearing
        self.likelihood = Likelihood(likelihood, shape)
        _expect_one(self.likelihood)
        self.listener = Listener(vocabulary, language) if hearing != "alone" else None
        heard = self.listener.size if self.listener else 0
        self.alignment = Alignment(heard, hidden, hidden) if hearing == "align" else None
        self.generator = LSTM(latent + heard, hidden)
        self.prior_of = nn.Linear(hidden, 2 * latent, bias=False)
        patch = shape[0] * window**2
        self.reader = LSTM(2 * patch + hidden, hidden)
        self.posterior = nn.Linear(hidden, 2 * latent)
        self.look, self.point = Aim(hidden, shape, window), Aim(hidden, shape, window)
        self.patch = nn.Linear(hidden, patch)
        self.start = nn.Parameter(torch.zeros(shape))
        self.window = window

    @property
    def noise(self) -> int:
        """How many numbers say everything that a caption leaves open."""
        return self.strokes * self.latent

    def drawn(self, x: Tensor, y: Labels, noise: Tensor | None = None) -> Drawn:
        """What is believed of the strokes of pictures and captions, at draws of q.

        Arguments:
            x: Pictures.
            y: What is said of each.
            noise: Standard normal, `(B, T D)`, where the draws are not to be chance's.
        """
        given = None if noise is None else noise.split(self.latent, -1)
        heard, canvas = self._heard(y), self.start.expand(len(x), *self.shape)
        known, read = self.generator.begin(x), self.reader.begin(x)
        before, beliefs, draws = [], [], []
        for t in range(self.strokes):
            before.append(known.h)
            window = self.look(known.h)
            error = x - self.likelihood(canvas).mean
            glimpse = window.read(torch.cat([x, error], 1))
            read = self.reader(torch.cat([glimpse, known.h], -1), read)
            q = diagonal_normal(*loc_and_log_scale(self.posterior(read.h)))
            beliefs.append(q)
            draws.append(q.rsample() if given is None else q.at(given[t]))
            known, (canvas, *_) = self._stroke(draws[-1], heard, known, canvas)
        q = DiagonalNormal(*(torch.cat(each, -1) for each in _moments(beliefs)))
        p = self._prior(torch.stack(before, 1))
        return Drawn(q, p, self.likelihood(canvas), torch.cat(draws, -1))

    def painted(self, y: Labels, noise: Tensor) -> Iterator[Stroke]:
        """The strokes of captions, of standard normal noise `(B, T D)`."""
        heard, canvas = self._heard(y), self.start.expand(len(noise), *self.shape)
        known = self.generator.begin(noise)
        for each in noise.split(self.latent, -1):
            z = self._prior(known.h[:, None]).at(each)
            known, stroke = self._stroke(z, heard, known, canvas)
            canvas = stroke.canvas
            yield stroke

    def p_x(self, y: Labels, noise: Tensor) -> Distribution:
        """p(x|z,y) of captions, where noise `(B, T D)` leads."""
        *_, last = self.painted(y, noise)
        return self.likelihood(last.canvas)

    @property
    def decoders(self) -> list[nn.Module]:
        """The generative half."""
        own = [self.generator, self.prior_of, self.point, self.patch, self.likelihood]
        return [module for module in (*own, self.listener, self.alignment) if module]

    @property
    def readers(self) -> list[nn.Module]:
        """The modules of q(z|x,y) alone."""
        return [self.reader, self.posterior, self.look]

    def prepare(self, mean: Tensor, some: Tensor | None = None) -> None:
        """Begin with the mean picture `(C, H, W)`, and with the unit of some pictures."""
        self.likelihood.start(self.start.data.view(-1), mean, some)

    def extra_repr(self) -> str:
        """The factorisation, the pictures, the strokes and what is heard."""
        return (
            "p(x, z | y) = p(x | c_T) ∏ p(z_t | z_<t, y);  q(z | x, y) = ∏ q(z_t | x, z_<t, y)\n"
            f"pictures {self.shape}, {self.strokes} strokes of latent {self.latent} by windows of"
            f" {self.window} x {self.window}, {self.hearing}"
        )

    def _heard(self, y: Labels) -> Hearing:
        """What is heard of captions at every stroke."""
        if not self.listener:
            nothing = y.codes.new_zeros(len(y.codes), 0, dtype=torch.float32)
            return lambda known: (nothing, nothing)
        heard = self.listener(y)
        if self.alignment:
            return self.alignment(heard)
        nothing = heard.whole.new_zeros(len(heard.whole), 0)
        return lambda known: (heard.whole, nothing)

    def _prior(self, before: Tensor) -> DiagonalNormal:
        """p(z_t|z_<t,y) of the states before strokes `(B, T, hidden)`, side by side."""
        loc, log_scale = torch.tanh(self.prior_of(before)).float().chunk(2, -1)
        return diagonal_normal(loc.flatten(1), log_scale.flatten(1))

    def _stroke(
        self, z: Tensor, heard: Hearing, known: State, canvas: Tensor
    ) -> tuple[State, Stroke]:
        """What the generator knows and the canvas shows after latents `(B, D)`."""
        said, attention = heard(known.h)
        known = self.generator(torch.cat([z, said], -1), known)
        window = self.point(known.h)
        patch = self.patch(known.h).unflatten(-1, (self.shape[0], self.window, self.window))
        canvas = canvas + window.write(patch.float())
        return known, Stroke(canvas, attention, window.place)


class Alignment(nn.Module):
    r"""Which words are listened to: $α ∝ \exp e$, $e_k = v^\top \tanh(U h_k + W h + b)$.

    Arguments:
        words: Size of what a word means.
        state: Size of what is known.
        size: Width of the comparison.
    """

    def __init__(self, words: int, state: int, size: int):
        super().__init__()
        self.words, self.state = nn.Linear(words, size), nn.Linear(state, size, bias=False)
        self.score = nn.Linear(size, 1, bias=False)

    def forward(self, heard: Heard) -> Hearing:
        """What is heard of sentences, by what is known `(B, state)`.

        The words' mean by their weights `(B, S)`, and the weights `(B, N)`; 0 without words.
        """
        words = self.words(heard.states)
        least = torch.finfo(torch.float32).min  # not -inf: there may be no words at all

        def listen(known: Tensor) -> tuple[Tensor, Tensor]:
            compared = torch.tanh(words + self.state(known)[:, None])
            scores = self.score(compared)[..., 0].float().masked_fill(~heard.present, least)
            weights = scores.softmax(-1) * heard.present
            return (weights[:, None].to(heard.states) @ heard.states)[:, 0], weights

        return listen


def _moments(beliefs: list[DiagonalNormal]) -> tuple[list[Tensor], list[Tensor]]:
    return [q.mean for q in beliefs], [q.stddev for q in beliefs]


def _check(hearing: str) -> None:
    if hearing not in HEARING:
        raise UsageError(
            f"`networks={hearing!r}` is not known; expected {listed(HEARING)}.",
            did_you_mean(hearing, HEARING),
        )


def _expect_one(likelihood: Likelihood) -> None:
    if likelihood.per_pixel != 1:
        raise UsageError(
            f"`likelihood={likelihood.kind!r}` wants two numbers a pixel, and a canvas has one.",
            f"Try likelihood={likelihood.kind}-shared.",
        )
