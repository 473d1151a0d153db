r"""The verbs of a model that paints: pictures stroke by stroke, and captions judged by the bound.

To imagine, every stroke has noise of its own, a function of the seed and of the picture's number
alone. So two captions painted with one seed differ in what is said and in nothing else.

Such a model reads a picture together with a caption. What it knows of a picture alone comes from
asking all captions: with $\mathcal{L}$ the bound of $\log p(x \mid y)$ and all captions as likely,

$$ p(y \mid x) \approx \frac{e^{\mathcal{L}(x, y)}}{\sum_{y'} e^{\mathcal{L}(x, y')}}, \qquad
   \log \frac{p(x \mid y)}{p(x)} \approx
   \mathcal{L}(x, y) - \log \frac{1}{Y} \sum_{y'} e^{\mathcal{L}(x, y')} . $$

By the second, pictures are found that a caption describes: the first alone would find those that
are likely whatever is said, such as empty ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.distributions import kl_divergence

from mindseye.concepts import Concept
from mindseye.data import Batch
from mindseye.distributions import Attributes
from mindseye.errors import UsageError
from mindseye.imagine import Mind, Query
from mindseye.labels import Labels, decode, encode
from mindseye.models import Painted
from mindseye.models.imaginative import in_parts
from mindseye.models.listening import words_spoken
from mindseye.randomness import integers, keys, normals

__all__ = ["Painter", "Painting", "Retrieved", "swapped"]

MOST = 1000
"""The most captions that a picture is compared with."""

AGAINST = 64
"""Captions whose mean stands for p(x), where there are more than `MOST`."""

AT_ONCE = {"cuda": 4096, "cpu": 256}
"""Pairs of a picture and a caption that are read at once."""

LOOK = 8
"""Pictures that are compared with all captions before anything is told of how far it is."""


class Painting(NamedTuple):
    """Pictures of one description, stroke by stroke."""

    captions: list[Concept]
    """What each picture was told: the description, and whatever it left open filled in."""
    words: list[list[str]]
    """The same as words that are heard one by one; nothing where there is none."""
    canvases: Tensor
    """The expected picture after every stroke, `(n, T, C, H, W)`."""
    attention: Tensor
    """How much every word is listened to at every stroke, `(n, T, N)`."""
    places: Tensor
    """Row and column of the middle of every patch, and its spacing, in pixels, `(n, T, 3)`."""
    pictures: Tensor
    """What came of it, `(n, C, H, W)`: the last canvas, or that sharpened."""


class Retrieved(NamedTuple):
    """Real pictures, those first that a caption describes best."""

    order: Tensor
    """Where each stands among the pictures that were looked at, `(B,)`."""
    nats: Tensor
    """How much likelier the caption makes each, in that order, `(B,)`."""
    fits: Tensor
    """Whether its own caption says what was asked for, in that order, `(B,)`."""


class Painter(Mind):
    """A trained model that paints what it is told."""

    walks = False  # words are said or not, and noise is of no picture's kind

    @property
    def painted(self) -> Painted:
        """The model, as one whose latents are captions and noise."""
        assert isinstance(self.model, Painted)
        return self.model

    @property
    def listens(self) -> bool:
        """Whether it hears words one by one, with a weight for each at every stroke."""
        base = getattr(self.painted.model, "base", self.painted.model)
        return getattr(base, "hearing", "") == "align"

    @property
    def window(self) -> int:
        """Filters of a patch in either direction; 2 where one patch covers everything."""
        base = getattr(self.painted.model, "base", self.painted.model)
        return getattr(base, "window", 2)

    @property
    def strokes(self) -> int:
        """How many strokes a picture takes."""
        return self.painted.model.strokes

    def _latents(
        self, concepts: Sequence[Concept], key: Tensor, *, fill: bool, temperature: float = 1.0
    ) -> Tensor:
        """Latents of concepts and keys `(Q, n)`; a sentence of free words must have some."""
        if not self.fills and not all(concept.level for concept in concepts):
            raise UsageError(
                "nothing is said, and no sentence can be made up.",
                'Say what to paint, such as "a red bus".',
            )
        return super()._latents(concepts, key, fill=fill, temperature=temperature)

    @torch.no_grad()
    def expected(self, z: Tensor) -> Tensor:
        """What people look at, of latents `(B, D)`, `(B, C, H, W)`."""
        return in_parts(z, self.painted.picture)

    @torch.no_grad()
    def paint(
        self,
        description: str | Concept,
        n: int = 4,
        seed: int = 0,
        *,
        fill: bool = True,
        temperature: float = 1.0,
    ) -> Painting:
        """The pictures that `imagine` gives, with all that happened on the way.

        Arguments:
            description: A caption, or its text; what it does not say varies.
            n: How many.
            seed: Picture i depends on the seed and i alone.
            fill: Fill what is open at random, picture by picture.
            temperature: Scales the noise; 0 gives the most typical picture.
        """
        z = self.latents(Query(self.concept(description), n, seed, fill, temperature))
        said, *_ = self.painted.parted(z)
        numbers = in_parts(z, self._strokes).split(self._sizes, -1)
        canvases, attention, places = (each.flatten(1) for each in numbers)
        return Painting(
            decode(self.vocabulary, said),
            words_spoken(self.vocabulary, said),
            canvases.view(n, self.strokes, *self.model.shape),
            attention.view(n, self.strokes, -1),
            places.view(n, self.strokes, 3),
            self.expected(z),
        )

    def between(self, *args: Any, **kwargs: Any) -> Tensor:
        """Nothing: there is no way between two captions, only from one to the other."""
        raise UsageError(
            f"`{self.name}` is not walked between captions: a word is said or not.",
            "`mindseye paint CAPTION --flip OLD=NEW` shows what a word changes.",
        )

    @torch.no_grad()
    def bounds(
        self, pictures: Tensor, captions: Labels, *, draws: int = 1, seed: int = 0
    ) -> Tensor:
        """At most log p(x|y) of pictures `(B, C, H, W)` and their captions, in nats, `(B,)`.

        All have the same noise: what they differ by is theirs, and a picture has the same nats
        whoever stands beside it.

        Arguments:
            pictures: What is seen.
            captions: What is said of each.
            draws: Over how many draws of the strokes importance weights are averaged.
            seed: Chooses the draws.
        """
        x, y = self._checked(pictures), captions.to(self.device)
        key = keys(seed, torch.arange(draws, device=self.device), "bounds")
        noise = normals(key, self.painted.model.noise)  # (draws, N)
        parts = torch.arange(len(x), device=self.device).split(AT_ONCE[self.device.type])
        found = [self._bound(x[p], Labels(*(each[p] for each in y)), noise) for p in parts]
        return torch.cat(found)

    @torch.no_grad()
    def p_y_given_x(self, pictures: Tensor, samples: int = 1, *, seed: int = 0) -> list[Attributes]:
        """p(y|x) of every picture `(B, C, H, W)`, place by place: all captions are asked."""
        every = self._every()
        chances = self._compared(pictures, every, samples, seed).softmax(-1)  # (B, Y)
        return [self._marginals(every.codes, chance) for chance in chances]

    @torch.no_grad()
    def found(
        self,
        description: str | Concept,
        pictures: Tensor,
        *,
        against: Labels | None = None,
        draws: int = 1,
        seed: int = 0,
    ) -> Tensor:
        """How much likelier a caption makes pictures `(B, C, H, W)`, in nats, `(B,)`.

        Words left open may be any: their captions are averaged over.

        Arguments:
            description: The caption.
            pictures: Among which it is looked for.
            against: Captions whose mean stands for p(x); all of them, or some, if not given.
            draws: Of the strokes, for every pair.
            seed: Chooses the draws.
        """
        concept = self.concept(description)
        if not concept.level:
            raise UsageError("nothing is said, and every picture fits.", "Say what to look for.")
        against = self._against(seed) if against is None else against.to(self.device)
        codes, observed = encode([concept], self.device)
        asked = ((against.codes == codes) | ~observed).all(1) & self.fills
        if not asked.any():  # one of very many captions: it is asked for itself
            against = Labels(*map(torch.cat, zip((codes, observed), against, strict=True)))
            asked = torch.arange(len(against.codes), device=self.device) == 0
        scores = self._compared(pictures, against, draws, seed)
        fitting = scores[:, asked].logsumexp(-1) - math.log(int(asked.sum()))
        return fitting - (scores.logsumexp(-1) - math.log(scores.shape[1]))

    def retrieved(
        self,
        description: str | Concept,
        batch: Batch[Labels],
        *,
        draws: int = 1,
        seed: int = 0,
        track: Callable[[Sequence[Tensor]], Iterable[Tensor]] = iter,
    ) -> Retrieved:
        """Pictures with captions of their own, ranked by how much likelier a caption makes them.

        Arguments:
            description: The caption that is looked for.
            batch: Among what.
            draws: Of the strokes, for every pair.
            seed: Chooses the draws.
            track: Sees the pictures pass, some at a time.
        """
        concept, rivals = self.concept(description), self.rivals(batch.y)
        parts = track(batch.x.split(LOOK))
        how: dict[str, Any] = {"against": rivals, "draws": draws, "seed": seed}
        scores = torch.cat([self.found(concept, part, **how) for part in parts])
        nats, order = scores.cpu().sort(descending=True)
        told = decode(self.vocabulary, batch.y)
        fits = torch.tensor([self._fits(concept, told[i]) for i in order.tolist()])
        return Retrieved(order, nats, fits)

    def rivals(self, known: Labels) -> Labels | None:
        """Captions whose mean is to stand for p(x): of free words some that were really said."""
        return None if self.fills else Labels(*(each[:AGAINST] for each in known))

    def _fits(self, asked: Concept, told: Concept) -> bool:
        """Whether a caption says what is asked for, anywhere in it if words are free."""
        if self.fills:
            return asked.generalizes(told)
        return set(asked.values.values()) <= set(told.values.values())

    def _strokes(self, z: Tensor) -> Tensor:
        """Canvases, weights of words and places of every stroke, as rows of numbers."""
        strokes = list(self.painted.painted(z))
        means = torch.stack([self.painted.likelihood(s.canvas).mean for s in strokes], 1)
        rest = [torch.stack(each, 1) for each in zip(*(s[1:] for s in strokes), strict=True)]
        return torch.cat([each.flatten(1) for each in (means, *rest)], -1)

    @property
    def _sizes(self) -> list[int]:
        """How many of these numbers there are of each kind."""
        words = len(words_spoken(self.vocabulary, encode([self.vocabulary.root]))[0])
        each = (math.prod(self.model.shape), words if self.listens else 0, 3)
        return [self.strokes * count for count in each]

    def _bound(self, x: Tensor, y: Labels, noise: Tensor) -> Tensor:
        """The bound of pictures and captions; of one draw with exact divergences."""
        drawn = [self.painted.drawn(x, y, each.expand(len(x), -1)) for each in noise]
        if len(drawn) == 1:
            (only,) = drawn
            return only.p_x.log_prob(x) - kl_divergence(only.q, only.p)
        weights = torch.stack([each.log_weight(x) for each in drawn])
        return weights.logsumexp(0) - math.log(len(drawn))

    def _compared(self, pictures: Tensor, captions: Labels, draws: int, seed: int) -> Tensor:
        """The bounds of all pictures and all captions, `(B, Y)`."""
        count = len(captions.codes)
        x = pictures.repeat_interleave(count, 0)
        y = Labels(*(each.repeat(len(pictures), 1) for each in captions))
        return self.bounds(x, y, draws=draws, seed=seed).view(len(pictures), count)

    def _every(self) -> Labels:
        """All full captions there are."""
        sizes = self.vocabulary.sizes
        if math.prod(sizes) > MOST or not self.fills:
            raise UsageError(
                f"`{self.name}` describes a picture by asking all captions, and there are more than"
                f" {MOST}.",
                "Ask with fewer: `mindseye retrieve` ranks pictures by one caption.",
            )
        ranges = [torch.arange(size, device=self.device) for size in sizes]
        return Labels.full(torch.cartesian_prod(*ranges).view(-1, len(sizes)))

    def _against(self, seed: int) -> Labels:
        """The captions that stand for all: all of them, or some at random."""
        sizes = self.vocabulary.sizes
        if math.prod(sizes) <= MOST:
            return self._every()
        index = torch.arange(AGAINST, device=self.device)
        columns = [
            integers(keys(seed, index, f"against {k}"), size) for k, size in enumerate(sizes)
        ]
        return Labels.full(torch.stack(columns, 1))

    def _marginals(self, codes: Tensor, chance: Tensor) -> Attributes:
        """The chance of every word at its place, of those `(Y,)` of whole captions."""
        widest = max(self.vocabulary.sizes)
        chances = torch.zeros(codes.shape[1], widest, device=codes.device)
        chances.scatter_add_(1, codes.T, chance.expand(codes.shape[1], -1))
        return Attributes(chances.clamp_min(LEAST).log(), self.vocabulary.sizes)


LEAST = 1e-12
"""The least probability of a word."""


def swapped(concept: Concept, old: str, new: str) -> Concept:
    """A caption with one word for another, wherever it stands.

    >>> from mindseye.data.captioned_mnist import SENTENCE
    >>> str(swapped(SENTENCE.parse("three top left"), "three", "five"))
    'the digit five is at the top left of the image'

    Arguments:
        concept: The caption.
        old: A word that it says, or a place that it says something at.
        new: What is said instead; `*` leaves it open.
    """
    vocabulary = concept.vocabulary
    said = concept.values
    at = [name for name, value in said.items() if old in (value, name)]
    if not at:
        raise UsageError(
            f"'{old}' is not said in '{concept}'.",
            f"Its words are {', '.join(said.values())}." if said else "Nothing is said.",
        )
    for name in at:
        concept = concept.say(name, new)
    return vocabulary.from_codes(concept.codes)
