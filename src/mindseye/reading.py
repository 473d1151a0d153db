r"""A trained model that reads: a picture in, latents and descriptions out, and who judges them.

$$ p(y_k \mid x) \approx \int p(y_k \mid z)\, q(z \mid x)\, dz $$
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.distributions import Distribution

from mindseye.concepts import Concept, Vocabulary
from mindseye.distributions import Attributes, Sentences
from mindseye.errors import UsageError
from mindseye.labels import Labels, decode, encode
from mindseye.models import VLVAE, Observer
from mindseye.models.imaginative import Imaginative, in_parts
from mindseye.randomness import keys, normals, uniforms

__all__ = ["MAX_PICTURES", "Reader", "Told"]

MAX_PICTURES = 10_000
"""The most pictures of one request: they are held in memory together."""

JUDGED, GPU_JUDGED = 16, 1024
"""Pictures judged at once; on a CPU as many as its caches hold."""


class Told(NamedTuple):
    """Captions of some latents."""

    captions: list[Concept]
    words: Attributes
    """What every word was drawn from, given the words before it, `(B, K, V)`."""


class Reader:
    """A trained model that reads pictures, and describes them if it knows words.

    Arguments:
        model: The model.
        name: What to call it.
        fits: Which inference networks its objective has trained.
        observer: Who judges what it imagines, if anybody.
        fills: Whether open attributes may be filled in at random before a latent is looked for;
            words that stand in any order may not.
    """

    def __init__(
        self,
        model: Any,
        *,
        name: str = "",
        fits: frozenset[str] = frozenset({"q_x", "q_y", "q_xy"}),
        observer: Callable[[], Observer] | None = None,
        fills: bool = True,
    ):
        self.model: Imaginative = model.eval()
        self.name, self.fits, self.fills = name, fits, fills
        self.source = name
        """What `mindseye.load` opens it by."""
        self._find_observer, self._observer = observer, None

    @property
    def vocabulary(self) -> Vocabulary:
        """What can be said."""
        return self.model.vocabulary

    @property
    def p_y(self) -> Callable[[Tensor], Attributes | Sentences]:
        """p(y|z), of a model that knows words."""
        if not len(self.vocabulary):
            raise UsageError(
                f"`{self.name}` knows no words: it was trained on pictures alone.",
                "Describe with a model of pictures and words, such as mnist-a.",
            )
        return self.model.p_y  # pyright: ignore[reportAttributeAccessIssue] whoever knows words

    @property
    def observer(self) -> Observer:
        """Who judges; read from disk the first time anybody asks."""
        if self._observer is None:
            if self._find_observer is None:
                raise UsageError(
                    f"`{self.name}` has no observer.", "Train one and give it with --observer."
                )
            self._observer = self._find_observer().eval().to(self.device)
        return self._observer

    @property
    def can_judge(self) -> bool:
        """Whether there is an observer."""
        return self._find_observer is not None

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        return next(self.model.parameters()).device

    def concept(self, description: str | Concept) -> Concept:
        """A description as a concept of this mind's vocabulary."""
        return self.vocabulary.parse(str(description))

    def describe(self, picture: Tensor, *, seed: int = 0) -> dict[str, dict[str, float]]:
        """The probability of every value of every attribute of one picture `(C, H, W)`."""
        return self.spelt(self.p_y_given_x(picture[None], seed=seed)[0])

    @torch.no_grad()
    def p_y_given_x(
        self, pictures: Tensor, samples: int = 64, *, seed: int = 0
    ) -> list[Attributes]:
        """p(y|x) of every picture `(B, C, H, W)`, averaged over draws of q(z|x)."""
        if not 1 <= samples <= MAX_PICTURES:
            raise UsageError(f"`samples={samples}` must be between 1 and {MAX_PICTURES}.")
        q = self.read(pictures)
        key = keys(seed, torch.arange(samples, device=self.device), "describe")
        z = q.mean[:, None] + q.stddev[:, None] * normals(key, self.model.latent)  # (B, S, D)
        return [Attributes.mixture(self.said_of(draws, seed)) for draws in z]

    @torch.no_grad()
    def said_of(self, z: Tensor, seed: int = 0) -> Attributes:
        """The chance of every word at its place, of latents `(B, D)`.

        Where words follow one another, the words before are drawn.
        """
        found = self.p_y(z)
        if not isinstance(found, Sentences):
            return found
        key = keys(seed, torch.arange(len(z), device=self.device), "said")
        return found.marginals(uniforms(key, len(self.vocabulary))[None])

    def spelt(self, belief: Attributes) -> dict[str, dict[str, float]]:
        """A distribution over descriptions in words: `{"digit": {"4": 0.97, …}, …}`."""
        return {
            attribute.name: dict(zip(attribute.values, probs.tolist(), strict=True))
            for attribute, probs in zip(self.vocabulary, belief.by_attribute(), strict=True)
        }

    @torch.no_grad()
    def read(self, pictures: Tensor) -> Distribution:
        """q(z|x) of pictures `(B, C, H, W)`."""
        self._expect("q_x", "cannot read pictures")
        return self.model.q_x(self._checked(pictures))

    def reconstruct(self, pictures: Tensor) -> Tensor:
        """The expected pictures at the mean of q(z|x)."""
        return self.expected(self.read(pictures).mean)

    @torch.no_grad()
    def expected(self, z: Tensor) -> Tensor:
        """E[x|z] of latents `(B, D)`, `(B, C, H, W)`."""
        return in_parts(z, lambda part: self.model.p_x(part).mean)

    @property
    def writes(self) -> bool:
        """Whether it writes captions, word after word."""
        return isinstance(getattr(self.model, "base", self.model), VLVAE)

    @torch.no_grad()
    def tell(self, z: Tensor, seed: int = 0) -> Told:
        """A caption of every latent `(B, D)`, drawn word by word."""
        if not self.writes:
            raise UsageError(f"`{self.name}` writes no captions.", "Use a model of kind vlvae.")
        key = keys(seed, torch.arange(len(z), device=self.device), "tell")
        codes, words = self.p_y(z).sample(uniforms(key, len(self.vocabulary)))  # pyright: ignore[reportAttributeAccessIssue]
        return Told(decode(self.vocabulary, Labels.full(codes)), words)

    def judge(self, pictures: Tensor, described: Sequence[Concept] | None = None) -> list[Concept]:
        """What the observer sees in some pictures, told of their descriptions what it asks for."""
        checked = self._checked(pictures)
        told, size = None, GPU_JUDGED if checked.is_cuda else JUDGED
        if self.observer.told is not None and described is not None:
            told = encode(described, self.device).codes[:, self.observer.told]
        codes = [
            self.observer.judge(x, None if told is None else told[i * size : (i + 1) * size])
            for i, x in enumerate(checked.split(size))
        ]
        return decode(self.vocabulary, Labels.full(torch.cat(codes)))

    def _expect(self, network: str, failing: str) -> None:
        if network not in self.fits:
            raise UsageError(
                f"`{self.name}` {failing}: its objective trains no {_FORMULA[network]}.",
                _HELP[network].format(name=self.name),
            )

    def _checked(self, pictures: Tensor) -> Tensor:
        """Pictures that the model can read, where it is."""
        if pictures.ndim != 4 or pictures.shape != (max(1, len(pictures)), *self.model.shape):
            raise UsageError(
                f"`pictures` has shape {tuple(pictures.shape)}; expected (B, "
                f"{', '.join(map(str, self.model.shape))}) with B ≥ 1."
            )
        if not torch.isfinite(pictures).all():
            raise UsageError("`pictures` holds NaN or infinite values.")
        if pictures.min() < 0 or pictures.max() > 1:
            raise UsageError("`pictures` must lie in [0, 1].")
        return pictures.to(self.device, torch.float32)


_HELP = {
    "q_x": "Use a model trained by telbo, jmvae or bivcca.",
    "q_y": "`mindseye aggregate {name}` fits one to it.",
    "q_xy": "Use a model trained by telbo, jmvae or bivcca.",
}
_FORMULA = {"q_x": "q(z|x)", "q_y": "q(z|y)", "q_xy": "q(z|x,y)"}
