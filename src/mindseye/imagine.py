r"""The verbs: a description in, pictures out; a picture in, a distribution over descriptions out.

$$
p(x \mid y_\mathcal{O}) \approx \int p(x \mid z)\, q(z \mid y_\mathcal{O})\, dz, \qquad
p(y_k \mid x) \approx \int p(y_k \mid z)\, q(z \mid x)\, dz .
$$

What a description leaves open is filled at random, picture by picture: the belief is the marginal

$$ \sum_{y_\mathcal{M}} p(y_\mathcal{M})\, q(z \mid y_\mathcal{O}, y_\mathcal{M}), $$

a mixture of beliefs the model was trained on. The paper's way is to leave the experts of open
attributes out of the product: one broad Gaussian, which also covers the empty space between them.
Both are here. When nothing at all is said, the product is the prior.

Every picture has noise of its own, a function of the seed and of its number: picture 7 is the same
alone or in a grid of 64.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.distributions import Independent

from mindseye.concepts import Concept
from mindseye.errors import UsageError
from mindseye.labels import Labels, encode
from mindseye.models import Flowing, Patchwork
from mindseye.models.imaginative import in_parts
from mindseye.randomness import keys, keys_of_each, normals, pixel_uniforms, uniforms
from mindseye.reading import MAX_PICTURES, Reader

__all__ = ["MAX_PICTURES", "Imagined", "Mind", "Query"]


class Query(NamedTuple):
    """Pictures that somebody wants of one description."""

    concept: Concept
    n: int = 16
    seed: int = 0
    fill: bool = True
    temperature: float = 1.0


class Imagined(NamedTuple):
    """Pictures of one description."""

    concept: Concept
    latents: Tensor
    """`(n, D)`."""
    means: Tensor
    """The expected pictures E[x|z], `(n, C, H, W)`: what people look at."""
    samples: Tensor
    """Draws from p(x|z), `(n, C, H, W)`: what observers judge."""


class Mind(Reader):
    """A trained model that imagines, and describes if it knows words."""

    walks = True
    """Whether what lies between two latents means something, and what lies along a dimension."""

    @property
    def factorised(self) -> bool:
        """Whether every word has an expert of its own."""
        return self.model.factorised

    @property
    def draws_bits(self) -> bool:
        """Whether a pixel is 0 or 1; a draw of any other is shown as what is expected."""
        own = getattr(self.model, "draws_bits", None)
        if own is not None:
            return own
        likelihood = getattr(self.model, "likelihood", None)
        return likelihood is None or likelihood.kind == "bernoulli"

    @torch.no_grad()
    def belief(self, description: str | Concept) -> Independent:
        """q(z|y_O): the product of the experts of what is said, or the moments of its symbols."""
        return self._believed(encode([self.concept(description)], self.device))

    def imagine(
        self,
        description: str | Concept,
        n: int = 16,
        seed: int = 0,
        *,
        mean: bool = False,
        fill: bool = True,
        temperature: float = 1.0,
    ) -> Tensor:
        """Pictures of a description, `(n, C, H, W)` in [0, 1].

        Arguments:
            description: A concept, or its text; what it does not say varies.
            n: How many.
            seed: Picture i depends on the seed and i alone.
            mean: The expected picture of every latent rather than a draw.
            fill: Fill what is open at random, picture by picture, before looking for a latent. If
                not, the experts of open attributes are left out of the product, as in the paper.
            temperature: Scales the spread of the latents; 0 gives the most typical picture.
        """
        imagined = self.imagined(description, n, seed, fill=fill, temperature=temperature)
        return imagined.means if mean else imagined.samples

    def imagined(
        self,
        description: str | Concept,
        n: int = 16,
        seed: int = 0,
        *,
        fill: bool = True,
        temperature: float = 1.0,
    ) -> Imagined:
        """Pictures of a description with all that made them."""
        (imagined,) = self.answer([Query(self.concept(description), n, seed, fill, temperature)])
        return imagined

    @torch.no_grad()
    def answer(self, queries: Sequence[Query]) -> list[Imagined]:
        """The pictures of several queries, decoded together; each gets what it would get alone."""
        every = [self._keys(query.n, [query.seed]) for query in queries]
        latents = [self._latents_of(query, key) for query, key in zip(queries, every, strict=True)]
        means, samples = self._drawn(torch.cat(latents), torch.cat(every, 1)[0])
        sizes = [query.n for query in queries]
        parts = zip(queries, latents, means.split(sizes), samples.split(sizes), strict=True)
        return [Imagined(query.concept, *rest) for query, *rest in parts]

    @torch.no_grad()
    def imagine_each(
        self,
        descriptions: Sequence[str | Concept],
        n: int,
        seeds: Sequence[int],
        *,
        fill: bool = True,
    ) -> Tensor:
        """The pictures that `imagine` draws of every description with its seed, all at once.

        Returns:
            `(Q, n, C, H, W)`.
        """
        if len(descriptions) != len(seeds):
            raise UsageError(f"`seeds` has {len(seeds)} for {len(descriptions)} `descriptions`.")
        key = self._keys(n, seeds)
        concepts = [self.concept(description) for description in descriptions]
        z = self._latents(concepts, key, fill=fill)
        return self._drawn(z, key.flatten())[1].unflatten(0, key.shape)

    @torch.no_grad()
    def latents(self, query: Query) -> Tensor:
        """Where the pictures of a query come from, `(n, D)`."""
        return self._latents_of(query, self._keys(query.n, [query.seed]))

    @torch.no_grad()
    def between(
        self,
        start: str | Concept,
        end: str | Concept,
        steps: int = 9,
        n: int = 4,
        seed: int = 0,
    ) -> Tensor:
        """Expected pictures on the way from one concept to another, `(n, steps, C, H, W)`.

        A row keeps its noise, and whatever only one of them says or neither does; the belief's mean
        moves in a straight line and its width geometrically. Where there are no words, the way is
        from the draws of the seed to those of the next.
        """
        if steps < 2:
            raise UsageError(f"`steps={steps}` must be at least 2: both ends are shown.")
        if n * steps > MAX_PICTURES:
            raise UsageError(f"`n={n}` times `steps={steps}` is more than {MAX_PICTURES} pictures.")
        key = self._keys(n, [seed])
        if not len(self.vocabulary):
            return self._between_draws(key, self._keys(n, [seed + 1]), steps)
        start, end = self.concept(start), self.concept(end)
        t = torch.linspace(0, 1, steps, device=self.device)[:, None]
        if isinstance(self.model, Flowing):
            ends = [_merged(end, start), _merged(start, end)]
            first, last = (self._latents([each], key, fill=True)[:, None] for each in ends)
            z = torch.lerp(first, last, t)
            return self.expected(z.flatten(0, 1)).unflatten(0, (n, steps))
        first = self._believed(self._filled(self._said([_merged(end, start)], key), key))
        last = self._believed(self._filled(self._said([_merged(start, end)], key), key))
        loc = torch.lerp(first.mean[:, None], last.mean[:, None], t)  # (n, steps, D)
        scale = torch.lerp(first.stddev.log()[:, None], last.stddev.log()[:, None], t).exp()
        z = loc + scale * normals(key[0], self.model.latent)[:, None]
        return self.expected(z.flatten(0, 1)).unflatten(0, (n, steps))

    def _between_draws(self, start: Tensor, end: Tensor, steps: int) -> Tensor:
        """Expected pictures on the way from some draws of what is believed to others."""
        root = [self.vocabulary.root]
        first, last = (self._latents(root, key, fill=False)[:, None] for key in (start, end))
        z = torch.lerp(first, last, torch.linspace(0, 1, steps, device=self.device)[:, None])
        return self.expected(z.flatten(0, 1)).unflatten(0, z.shape[:2])

    def ladder(
        self, description: str | Concept, n: int = 8, seed: int = 0, *, fill: bool = True
    ) -> Iterator[Imagined]:
        """Pictures while words are added one by one, from nothing said to all that was said."""
        concept = self.concept(description)
        for level in range(concept.level + 1):
            said = concept.observed[:level]
            rung = self.vocabulary.concept(**{name: concept.values[name] for name in said})
            yield self.imagined(rung, n, seed, fill=fill)

    def _believed(self, labels: Labels) -> Independent:
        self._expect("q_y", "imagines nothing from words")
        return self.model.q_y(labels)

    def _latents_of(self, query: Query, key: Tensor) -> Tensor:
        concept, _, _, fill, temperature = query
        if not (math.isfinite(temperature) and temperature >= 0):
            raise UsageError(f"`temperature={temperature}` must be a number of at least 0.")
        return self._latents([concept], key, fill=fill, temperature=temperature)

    def _latents(
        self, concepts: Sequence[Concept], key: Tensor, *, fill: bool, temperature: float = 1.0
    ) -> Tensor:
        """Latents of concepts and keys `(Q, n)`, `(Q · n, D)`."""
        fill = fill and self.fills
        if fill:
            labels = self._filled(self._said(concepts, key), key)
        else:
            labels = encode(concepts, self.device)
        noise = normals(key.flatten(), self.model.latent)
        if isinstance(self.model, Flowing):
            said = labels if fill else self._said(concepts, key)
            return self._flowed(said, temperature * noise)
        belief = self._believed(labels)
        times = len(noise) // len(labels.codes)
        loc, scale = (m.repeat_interleave(times, 0) for m in (belief.mean, belief.stddev))
        return loc + temperature * scale * noise

    def _flowed(self, labels: Labels, noise: Tensor) -> Tensor:
        """The latents that the flow of each description makes of noise `(B, D)`."""
        self._expect("q_y", "imagines nothing from words")
        count = labels.codes.shape[1]
        rows = torch.cat([*(each.float() for each in labels), noise], -1)

        def flow(part: Tensor) -> Tensor:
            codes, observed, noise = part.tensor_split([count, 2 * count], -1)
            return self.model.q_y(Labels(codes.long(), observed.bool())).at(noise)  # pyright: ignore[reportAttributeAccessIssue]

        return in_parts(rows, flow)

    def _said(self, concepts: Sequence[Concept], key: Tensor) -> Labels:
        """Every concept once for each of its keys `(Q, n)`."""
        codes, observed = encode(concepts, self.device)
        n = key.shape[1]
        return Labels(codes.repeat_interleave(n, 0), observed.repeat_interleave(n, 0))

    def _filled(self, said: Labels, key: Tensor) -> Labels:
        """Full labels of every picture: what is said, and the rest at random."""
        sizes = torch.tensor(self.vocabulary.sizes, device=self.device)
        drawn = (uniforms(keys(2, key.flatten()), len(sizes)) * sizes).long()
        return Labels.full(torch.where(said.observed, said.codes, drawn))

    def _drawn(self, z: Tensor, key: Tensor) -> tuple[Tensor, Tensor]:
        """Expected pictures and draws, of latents and keys."""
        means = self.expected(z)
        if self.draws_bits:
            noise = pixel_uniforms(keys(1, key), math.prod(self.model.shape)).view_as(means)
            return means, (noise < means).float()
        if not isinstance(self.model, Patchwork):
            return means, means
        noise = normals(keys(1, key), self.model.numbers)
        drawn = in_parts(torch.cat([z, noise], -1), self.model.noisy)
        return drawn, drawn  # what is expected of a patch is next to nothing

    def _keys(self, n: int, seeds: Sequence[int]) -> Tensor:
        if not 1 <= n <= MAX_PICTURES:
            raise UsageError(f"`n={n}` must be between 1 and {MAX_PICTURES}.")
        if n * len(seeds) > MAX_PICTURES:
            raise UsageError(
                f"`n={n}` of {len(seeds)} descriptions is more than {MAX_PICTURES} pictures."
            )
        return keys_of_each(seeds, n, "imagine", self.device)


def _merged(under: Concept, over: Concept) -> Concept:
    """Both concepts together; `over` has the last word."""
    return over.vocabulary.concept(**{**under.values, **over.values})
