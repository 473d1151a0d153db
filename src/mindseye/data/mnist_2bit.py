r"""MNIST with two abstract attributes: parity, and whether the digit is at least five.

The pictures are MNIST's own, binarised anew each time (Vedantam et al., 2018, A.3). Neither
attribute can be seen: pictures of 4 and 9 look alike and differ in both.

References:
    Generative Models of Visually Grounded Imagination, Vedantam et al., 2018
    https://arxiv.org/abs/1705.10762
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from mindseye.concepts import Attribute, Concept, Vocabulary
from mindseye.data.batch import Batch
from mindseye.data.sources import Sources
from mindseye.data.splits import source_split
from mindseye.errors import UsageError
from mindseye.labels import Labels, encode
from mindseye.randomness import integers, keys, keys_of_each, pixel_uniforms, uniforms

__all__ = ["VOCABULARY", "Mnist2Bit"]

ENDLESS = 2**40

VOCABULARY = Vocabulary(
    [Attribute("parity", ["even", "odd"]), Attribute("magnitude", ["small", "large"])]
)


class Mnist2Bit:
    """Digits with their parity and their magnitude.

    Arguments:
        sources: The digits.
        part: `train`, `validation`, `test` or `observer`.
        compositional: Must be false: four concepts leave none to hold out.
        split_seed: Chooses the division of the sources.
        replications: How often every source is binarised; 0 for anew each time.
        labelled: The share of pictures whose description is known.
        seed: Chooses the noise.
    """

    vocabulary = VOCABULARY
    shape = (1, 28, 28)

    def __init__(
        self,
        sources: Sources,
        part: str = "train",
        *,
        compositional: bool = False,
        split_seed: int = 0,
        replications: int = 0,
        labelled: float = 1.0,
        seed: int = 0,
    ):
        if compositional:
            raise UsageError("`mnist-2bit` has four concepts; `compositional` must be false.")
        index = source_split(len(sources.images), part, split_seed)
        self.part, self.labelled, self.seed = part, labelled, seed
        self.images, self.digits = sources.images[index].contiguous(), sources.digits[index]
        if not len(self.images):
            raise UsageError(f"`part={part!r}` has no source digits; give more than a few sources.")
        self.count = len(self.images) * replications or ENDLESS

    def batch(self, step: int | Tensor, size: int, count: int = 1) -> Batch:
        """Training batch number `step`: pictures drawn at random with replacement."""
        rows = step * size + torch.arange(count * size, device=self.images.device)
        return self.examples(integers(keys(self.seed, rows, "order"), self.count))

    def examples(self, index: Tensor) -> Batch:
        """The pictures of some indices: the same alone or together."""
        source = index % len(self.images)
        key = keys(self.seed, index, self.part)
        codes = codes_of(self.digits[source])
        said = uniforms(key, 1) < self.labelled
        return Batch(self._binarised(source, key), Labels(codes, said.expand(codes.shape)))

    def pictures_of(self, concept: Concept, n: int, seed: int) -> Tensor:
        """Real pictures of a concept: sources of the part that fit it."""
        return self.pictures_of_each([concept], n, [seed])[0]

    def pictures_of_each(self, concepts: Sequence[Concept], n: int, seeds: Sequence[int]) -> Tensor:
        """The pictures of every concept with its seed, all at once, `(Q, n, C, H, W)`."""
        key = keys_of_each(seeds, n, f"real {self.part}", self.images.device)
        fits = [self._fitting(concept) for concept in concepts]
        pairs = zip(fits, key, strict=True)
        source = torch.cat([fit[integers(some, len(fit))] for fit, some in pairs])
        return self._binarised(source, key.flatten()).unflatten(0, key.shape)

    def facts(self) -> dict[str, Any]:
        """How many sources, combinations and pictures there are, and of which digits."""
        return {
            "sources": len(self.images),
            "combinations": 4,
            "pictures": "endless" if self.count == ENDLESS else self.count,
            "sources of each digit": " ".join(
                map(str, self.digits.bincount(minlength=10).tolist())
            ),
        }

    def to(self, device: torch.device | str) -> Mnist2Bit:
        """Move the sources."""
        self.images, self.digits = self.images.to(device), self.digits.to(device)
        return self

    def _fitting(self, concept: Concept) -> Tensor:
        """The sources that a concept describes."""
        said = encode([concept], self.images.device)
        fits = ((codes_of(self.digits) == said.codes) | ~said.observed).all(1).nonzero()[:, 0]
        if not len(fits):
            raise UsageError(f"`part={self.part!r}` has no source of {concept}.")
        return fits

    def _binarised(self, source: Tensor, key: Tensor) -> Tensor:
        grey = self.images.index_select(0, source).float().div_(255)
        return pixel_uniforms(key, 28 * 28).view_as(grey).lt_(grey)[:, None]


def codes_of(digits: Tensor) -> Tensor:
    """Parity and magnitude of digits `(B,)`, `(B, 2)`.

    >>> codes_of(torch.tensor([4, 9]))
    tensor([[0, 0],
            [1, 1]])
    """
    return torch.stack([digits % 2, (digits >= 5).long()], -1)
