r"""What can be done with wholes and their parts: compose, take apart, add, remove, replace, move.

A composition is a number of wholes of the same parts, with the latents behind them: $w_i$ for every
part, and the noise $\varepsilon$ that $z$ is made of, $z = \mu(\tilde w) + \sigma(\tilde w)\,
\varepsilon$. When a part comes, goes or moves, all other $w_i$ and $\varepsilon$ stay as they are,
and the whole is written anew. A generator of wholes has the same verbs (`generating`): whoever
makes wholes of parts is a `Maker`.

The noise of a part depends on the seed, on what the part is and on how many like it stand before
it. So "f2, f7" and "f2, f7, f3" have the same f2 and the same f7, and parts in another order are
the same whole, to the last bit.

References:
    From abstract items to latent spaces to observed data and back: Compositional Variational
    Auto-Encoder, Berger and Sebag, 2020
    https://arxiv.org/abs/2001.07910
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from mindseye.errors import DataError, UsageError, did_you_mean, listed
from mindseye.models.compositional import Compositional
from mindseye.parts import Kit, Part, Parts
from mindseye.pieces import Pieces, encode_parts
from mindseye.randomness import keys, normals

__all__ = ["STATISTICS", "Composer", "Composition", "Maker"]

STATISTICS: dict[str, Callable[[Tensor], Tensor]] = {
    "max": lambda x: x.amax(1),
    "min": lambda x: x.amin(1),
    "mean": lambda x: x.mean(1),
    "range": lambda x: x.amax(1) - x.amin(1),
    "energy": lambda x: x.square().mean(1),
}
"""Numbers of wholes `(n, values)`, by name."""

MANY = 2**20
"""Draws times parts that one call may ask for."""

AT_ONCE = 2**10
"""Wholes that are written at once."""

TRIES = 64
"""Draws for every whole that is kept, when wholes are chosen by a statistic."""


@dataclass(frozen=True)
class Composition:
    """Wholes of the same parts, and the latents behind them: of a generator, its numbers."""

    parts: Parts
    w: Tensor
    """A latent for every part in its canonical order, `(n, K, D)`."""
    noise: Tensor
    """What z is made of, `(n, Z)`; of a generator, what the parts of a whole share."""
    means: Tensor
    """The expected wholes, `(n, C, H, W)`."""
    deviations: Tensor
    """How far wholes are from what is expected, in every value."""

    def __len__(self) -> int:
        return len(self.w)

    def spread(self) -> tuple[Tensor, Tensor]:
        """The mean of all wholes, and how far they are from it in every value, `(C, H, W)` each."""
        deviation, mean = torch.std_mean(self.means, 0, correction=0)
        return mean, deviation

    def draws(self, seed: int = 0) -> Tensor:
        """Wholes with the noise of their values, `(n, C, H, W)`."""
        key = keys(seed, torch.arange(len(self), device=self.w.device), "values")
        noise = normals(key, self.means[0].numel()).view_as(self.means)
        return self.means + self.deviations * noise


class Maker(ABC):
    """Whoever makes wholes of parts: a model, or the generator that it has learnt from."""

    @property
    @abstractmethod
    def vocabulary(self) -> Kit:
        """What parts there are."""

    @torch.no_grad()
    def composed(self, parts: str | Parts, n: int = 1, seed: int = 0) -> Composition:
        """Wholes of some parts, all that is not said drawn.

        Arguments:
            parts: What they are made of.
            n: How many.
            seed: Chooses the noise; whole i of a seed is the same however many there are.
        """
        parts = self._meant(parts, n)
        drawn = [self._drawn(part, like, n, seed) for part, like in _occurrences(parts)]
        return self._written(parts, torch.stack(drawn, 1), self._noise(n, seed))

    @torch.no_grad()
    def added(self, before: Composition, part: str | Part, seed: int = 0) -> Composition:
        """The same wholes with one more part, everything else as it was."""
        (new,) = self._one(part)
        like = before.parts.count(new)
        drawn = self._drawn(new, like, len(before), seed)
        return self._joined(before.parts, before.w, before.noise, new, drawn)

    @torch.no_grad()
    def removed(self, before: Composition, part: str | Part) -> Composition:
        """The same wholes without a part, the last of those that are alike."""
        (old,) = self._one(part)
        rest = before.parts - old
        if not len(rest):
            raise UsageError(f"{str(before.parts)!r} without {str(old)!r} has no parts left.")
        return self._written(rest, _without(before, old), before.noise)

    def replaced(
        self, before: Composition, old: str | Part, new: str | Part, seed: int = 0
    ) -> Composition:
        """The same wholes with another part in place of one."""
        before.parts.replaced(*self._one(old), *self._one(new))  # an error, if it is not there
        return self.removed(self.added(before, new, seed), old)

    @torch.no_grad()
    def moved(self, before: Composition, part: str | Part, *place: float) -> Composition:
        """The same wholes with a part somewhere else; what it has of its own goes with it.

        Arguments:
            before: The wholes.
            part: The part where it is; of several that are alike, the last.
            place: Where it goes to, a number for every axis.
        """
        (old,) = self._one(part)
        rest = before.parts - old  # an error, if it is not there
        (new,) = self.vocabulary.parts([Part(old.category, place)])
        carried = self._carried(before.w[:, _last(before.parts, old)], old, new)
        return self._joined(rest, _without(before, old), before.noise, new, carried)

    def _joined(
        self, parts: Parts, w: Tensor, noise: Tensor, new: Part, its: Tensor
    ) -> Composition:
        """The wholes of some parts and one more, whose latents are `(n, D)`."""
        whole = parts + new
        at = _last(whole, new)
        return self._written(whole, torch.cat([w[:, :at], its[:, None], w[:, at:]], 1), noise)

    @abstractmethod
    def _written(self, parts: Parts, w: Tensor, noise: Tensor) -> Composition:
        """The wholes of latents."""

    @abstractmethod
    def _drawn(self, part: Part, like: int, n: int, seed: int) -> Tensor:
        """Latents of a part with so many like it before it, `(n, D)`."""

    @abstractmethod
    def _noise(self, n: int, seed: int) -> Tensor:
        """What wholes have beside their parts, `(n, Z)`."""

    @abstractmethod
    def _carried(self, w: Tensor, old: Part, new: Part) -> Tensor:
        """Latents of a part that has moved, `(n, D)`, by those that it had."""

    def _meant(self, parts: str | Parts, n: int) -> Parts:
        """The parts of a text, if there are any and not too many."""
        parts = self.vocabulary.parse(parts) if isinstance(parts, str) else parts
        if parts.kit != self.vocabulary:
            raise UsageError(f"{str(parts)!r} are parts of another kit.")
        if not len(parts):
            raise UsageError("there are no parts to make a whole of.", "Say at least one.")
        if n < 1:
            raise UsageError(f"`n={n}` must be at least 1.")
        if n * len(parts) > MANY:
            raise UsageError(
                f"{n:,} wholes of {len(parts):,} parts are too many at once.",
                f"Ask for at most {MANY // len(parts):,}.",
            )
        return parts

    def _one(self, part: str | Part) -> Parts:
        found = self.vocabulary.parse(part if isinstance(part, str) else str(part))
        if len(found) != 1:
            raise UsageError(f"{str(found)!r} is {len(found)} parts; expected one.")
        return found


class Composer(Maker):
    """A trained model of wholes, with its verbs.

    Arguments:
        model: The model.
        name: What it is called.
    """

    def __init__(self, model: Compositional, name: str = ""):
        self.model, self.name = model.eval(), name

    @property
    def vocabulary(self) -> Kit:
        """What parts there are."""
        return self.model.vocabulary

    @property
    def device(self) -> torch.device:
        """Where it is."""
        return next(self.model.parameters()).device

    def imagine(self, parts: str | Parts, n: int = 1, seed: int = 0) -> Tensor:
        """Wholes of some parts, `(n, C, H, W)`, as the model expects them."""
        return self.composed(parts, n, seed).means

    @torch.no_grad()
    def extracted(self, x: Tensor, parts: str | Parts, seed: int = 0) -> Composition:
        """The latents of the parts of observed wholes, and what is written from them.

        Arguments:
            x: Wholes of these parts, `(n, C, H, W)`.
            parts: What they are made of.
            seed: Tells parts of one category apart.
        """
        x = self._observed(x)
        parts = self._meant(parts, len(x))
        y = self._pieces(parts, len(x))
        groups = self.model.groups(y)
        seen = self.model.seen(x)
        z = self.model.q_z(seen).mean
        w = self.model.q_w(seen, z, y, groups, self._tags(y, seed)).mean
        noise = self.model.p_z(self.model.total(w, y, groups)).noise_of(z)
        return self._written(parts, w.view(len(x), len(parts), -1), noise)

    def sum_of_parts(self, parts: str | Parts, n: int = 1, seed: int = 0) -> Tensor:
        """What independent simulators would give: every part written alone, then put together."""
        return self.summed(self.composed(parts, n, seed))

    @torch.no_grad()
    def summed(self, whole: Composition) -> Tensor:
        """Every part of some wholes written alone, with its own latent, then put together.

        Curves are added, colours are averaged. The whole is not this.
        """
        total = torch.zeros_like(whole.means)
        for i, part in enumerate(whole.parts):
            alone = self.vocabulary.parts([part])
            total += self._written(alone, whole.w[:, i : i + 1], whole.noise).means
        return total if self.model.shape[1] == 1 else total / len(whole.parts)

    def biased(
        self,
        parts: str | Parts,
        statistic: str = "max",
        low: float = 0.9,
        high: float = 1.0,
        n: int = 1,
        seed: int = 0,
    ) -> Composition:
        """Wholes whose statistic lies between two of its quantiles, by drawing latents again.

        Arguments:
            parts: What they are made of.
            statistic: One of `STATISTICS`.
            low: The lower quantile, from 0 to 1.
            high: The upper one.
            n: How many.
            seed: Chooses the noise.
        """
        if statistic not in STATISTICS:
            raise UsageError(
                f"`statistic={statistic!r}` is not known; expected {listed(STATISTICS)}.",
                did_you_mean(statistic, STATISTICS),
            )
        if not 0 <= low < high <= 1:
            raise UsageError(f"`low={low}` and `high={high}` are not quantiles, low below high.")
        parts = self._meant(parts, n)
        tries = math.ceil(max(TRIES, min(2 / (high - low), MANY + 1)))
        if tries * n * len(parts) > MANY:
            raise UsageError(
                f"{n:,} wholes of {len(parts):,} parts, each chosen of {tries:,}, are too many.",
                "Ask for fewer, or for quantiles that are further apart.",
            )
        many = self.composed(parts, tries * n, seed)
        values = STATISTICS[statistic](many.means.flatten(1))
        first, last = (values.quantile(part) for part in (low, high))
        (fits,) = ((values >= first) & (values <= last)).nonzero(as_tuple=True)
        kept = fits[:n]
        return Composition(
            many.parts, many.w[kept], many.noise[kept], many.means[kept], many.deviations[kept]
        )

    def _written(self, parts: Parts, w: Tensor, noise: Tensor) -> Composition:
        """The wholes of latents."""
        means, deviations = [], []
        for own, rest in zip(w.split(AT_ONCE), noise.split(AT_ONCE), strict=True):
            y = self._pieces(parts, len(own))
            total = self.model.total(own.flatten(0, 1), y, self.model.groups(y))
            p_x = self.model.p_x(self.model.p_z(total).at(rest), total)
            means.append(p_x.mean)
            deviations.append(p_x.stddev)
        return Composition(parts, w, noise, torch.cat(means), torch.cat(deviations))

    def _drawn(self, part: Part, like: int, n: int, seed: int) -> Tensor:
        """Latents of a part with so many like it before it, `(n, D)`."""
        y = self._pieces(self.vocabulary.parts([part]))
        p_w = self.model.p_w(y, self.model.groups(y))
        index = torch.arange(n, device=self.device)
        noise = normals(keys(seed, index, f"{part} {like}"), p_w.chances)
        return p_w.at(noise[:, None])[:, 0]

    def _carried(self, w: Tensor, old: Part, new: Part) -> Tensor:
        """Latents of a part that has moved: what it has of its own goes with it."""
        here, there = (self._pieces(self.vocabulary.parts([each])) for each in (old, new))
        return self.model.moved(w, here, there)

    def _pieces(self, parts: Parts, n: int = 1) -> Pieces:
        """The parts of `n` wholes that have the same."""
        one = encode_parts([parts], self.device)
        return Pieces(one.codes.repeat(n), one.places.repeat(n, 1), one.sizes.repeat(n))

    def _noise(self, n: int, seed: int) -> Tensor:
        index = torch.arange(n, device=self.device)
        return normals(keys(seed, index, "whole"), self.model.latent)

    def _tags(self, y: Pieces, seed: int) -> Tensor:
        """What tells parts of one category apart, the same in every whole that is taken apart."""
        per = len(y.codes) // len(y.sizes)
        size = self.model.tags
        one = normals(keys(seed, torch.arange(per, device=self.device), "tags"), size)
        return one.repeat(len(y.sizes), 1)

    def _observed(self, x: Tensor) -> Tensor:
        """Wholes, if they have the right shape and are numbers."""
        if tuple(x.shape[1:]) != self.model.shape:
            raise DataError(
                f"wholes of shape {tuple(x.shape[1:])} came; this model knows {self.model.shape}."
            )
        if not x.isfinite().all():
            bad = int((~x.isfinite()).sum())
            raise DataError(f"{bad:,} values of the wholes are not numbers (NaN or infinite).")
        return x.to(self.device, torch.float32)


def _occurrences(parts: Parts) -> list[tuple[Part, int]]:
    """Every part, and how many like it stand before it."""
    seen: Counter[Part] = Counter()
    found = []
    for part in parts:
        found.append((part, seen[part]))
        seen[part] += 1
    return found


def _without(whole: Composition, part: Part) -> Tensor:
    """The latents of all parts but the last of its kind, `(n, K - 1, D)`."""
    at = _last(whole.parts, part)
    return torch.cat([whole.w[:, :at], whole.w[:, at + 1 :]], 1)


def _last(parts: Parts, part: Part) -> int:
    """Where the last part of its kind stands."""
    return max(i for i, each in enumerate(parts) if each == part)
