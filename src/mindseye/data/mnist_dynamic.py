"""MNIST as likelihoods of MNIST are measured: 28 by 28, binarised anew in every epoch.

The division is that of the IWAE paper: 59 600 pictures to train on, 400 for validation, chosen by
`split_seed` from the 60 000 of MNIST's training set, and MNIST's own test set of 10 000.

References:
    Importance Weighted Autoencoders, Burda, Grosse and Salakhutdinov, 2016
    https://arxiv.org/abs/1509.00519
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

from mindseye.concepts import Attribute, Vocabulary
from mindseye.data.binarising import chosen_way
from mindseye.data.sources import Sources, digits, mnist_halves, resolved
from mindseye.data.splits import checked_part, set_apart
from mindseye.data.stored import Stored
from mindseye.data.supervision import described as told

__all__ = ["VOCABULARY", "Mnist"]

VOCABULARY = Vocabulary([Attribute("digit", [str(d) for d in range(10)])])

VALIDATION = 400
DIGITS_TEST, DIGITS_VALIDATION = 300, 100


class Mnist(Stored):
    """Digits, each with its name.

    Arguments:
        train: The digits to train on and to validate with.
        test: The digits of the test.
        part: `train`, `validation` or `test`.
        validation: How many of `train` are for validation.
        split_seed: Chooses these, which pictures are described, and static pixels.
        labelled: The share of training pictures whose digit is known.
        labels: How many training pictures have a known digit; 0 to go by `labelled`.
        described: The share of every batch whose description is known; 0 leaves it to chance.
        binarise: `dynamic` (or `auto`), `static` or `none`.
        seed: Chooses order and noise.
        source: Where the digits come from, for people.
    """

    vocabulary = VOCABULARY
    settings = ("split_seed", "labelled", "labels", "described", "binarise")
    resolved = staticmethod(resolved)

    def __init__(
        self,
        train: Sources,
        test: Sources,
        part: str = "train",
        *,
        validation: int = VALIDATION,
        split_seed: int = 0,
        labelled: float = 1.0,
        labels: int = 0,
        described: float = 0.0,
        binarise: str = "auto",
        seed: int = 0,
        source: str = "mnist",
    ):
        chosen = _part(checked_part(part, self.parts), train, test, validation, split_seed)
        super().__init__(
            chosen.images,
            chosen.digits[:, None],
            part,
            known=told(chosen.digits, part, labels, labelled, split_seed, source),
            described=described,
            binarise=chosen_way(binarise),
            seed=seed,
            static_seed=split_seed,
            source=source,
        )

    @classmethod
    def read(cls, source: str, part: str, folder: str | Path | None = None, **options: Any) -> Self:
        """A part of the digits of a name: mnist, digits or auto."""
        checked_part(part, cls.parts)
        source = resolved(source, folder)
        if source == "mnist":
            return cls(*mnist_halves(folder), part, source=source, **options)
        every = digits()
        halves = set_apart(len(every.images), DIGITS_TEST, options.get("split_seed", 0))
        train, test = (Sources(*(each[index] for each in every)) for index in halves)
        return cls(train, test, part, validation=DIGITS_VALIDATION, source=source, **options)

    def facts(self) -> dict[str, Any]:
        """Where the pictures come from, how many there are, and of which digits."""
        counts = self.codes[:, 0].bincount(minlength=10).tolist()
        return super().facts() | {"of each digit": " ".join(map(str, counts))}


def _part(part: str, train: Sources, test: Sources, validation: int, seed: int) -> Sources:
    """The digits of a part."""
    if part == "test":
        return test
    stay, apart = set_apart(len(train.images), validation, seed)
    index = stay if part == "train" else apart
    return Sources(train.images[index], train.digits[index])
