r"""MNIST with two abstract attributes: parity, and whether the digit is at least five.

The pictures are MNIST's own, binarised anew each time (Vedantam et al., 2018, A.3). Neither
attribute can be seen: pictures of 4 and 9 look alike and differ in both.

References:
    Generative Models of Visually Grounded Imagination, Vedantam et al., 2018
    https://arxiv.org/abs/1705.10762
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor

from mindseye.concepts import Attribute, Vocabulary
from mindseye.data.batch import ENDLESS, Batch
from mindseye.data.epochs import positions
from mindseye.data.sources import Sources, resolved, sources
from mindseye.data.splits import PARTS, source_split
from mindseye.data.stored import Stored
from mindseye.errors import UsageError
from mindseye.randomness import integers, keys, uniforms

__all__ = ["VOCABULARY", "Mnist2Bit"]

VOCABULARY = Vocabulary(
    [Attribute("parity", ["even", "odd"]), Attribute("magnitude", ["small", "large"])]
)


class Mnist2Bit(Stored):
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
    parts = PARTS
    settings = ("compositional", "split_seed", "replications", "labelled")
    resolved = staticmethod(resolved)

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
        if not len(index):
            raise UsageError(f"`part={part!r}` has no source digits; give more than a few sources.")
        self.digits, self.labelled = sources.digits[index], labelled
        super().__init__(sources.images[index], codes_of(self.digits), part, seed=seed)
        self.count = len(self.images) * replications or ENDLESS

    @classmethod
    def read(cls, source: str, part: str, folder: str | Path | None = None, **options: Any) -> Self:
        """A part of the digits of a name: mnist, digits or auto."""
        return cls(sources(source, folder), part, **options)

    def batch(self, step: int | Tensor, size: int, count: int = 1) -> Batch:
        """Training batch number `step`: pictures drawn at random with replacement."""
        rows = positions(step, size, count, self.images.device)
        return self.examples(integers(keys(self.seed, rows, "order"), self.count))

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

    def to(self, device: torch.device | str) -> Self:
        """Move the sources."""
        self.digits = self.digits.to(device)
        return super().to(device)

    def _said(self, source: Tensor, index: Tensor) -> Tensor:
        """Whether the descriptions of some pictures are known: another choice each time."""
        return uniforms(keys(self.seed, index, self.part), 1)[:, 0] < self.labelled


def codes_of(digits: Tensor) -> Tensor:
    """Parity and magnitude of digits `(B,)`, `(B, 2)`.

    >>> codes_of(torch.tensor([4, 9]))
    tensor([[0, 0],
            [1, 1]])
    """
    return torch.stack([digits % 2, (digits >= 5).long()], -1)
