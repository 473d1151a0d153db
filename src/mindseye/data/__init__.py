"""Pictures with descriptions, one file per data set."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from mindseye.data.batch import Batch, Dataset
from mindseye.data.mnist_2bit import Mnist2Bit
from mindseye.data.mnist_a import MnistA
from mindseye.data.sources import Sources, digits, mnist, resolved, sources
from mindseye.data.splits import PARTS
from mindseye.errors import UsageError, did_you_mean, listed

__all__ = [
    "DATASETS",
    "Batch",
    "Data",
    "Dataset",
    "Mnist2Bit",
    "MnistA",
    "Sources",
    "describe_parts",
    "digits",
    "mnist",
    "sources",
]

DATASETS = {"mnist-a": MnistA, "mnist-2bit": Mnist2Bit}


@dataclass(frozen=True)
class Data:
    """Which data set, and how it is divided."""

    name: str = "mnist-a"
    """A data set: mnist-a or mnist-2bit."""

    source: str = "auto"
    """Digits to draw: mnist, digits (scikit-learn's, offline) or auto (mnist if it is there)."""

    compositional: bool = False
    """Whether combinations of attributes are held out too."""

    split_seed: int = 0
    """Chooses which sources and combinations are held out."""

    replications: int = 0
    """Pictures of every source digit; 0 for no end of them (the paper has 10)."""

    labelled: float = 1.0
    """The share of training pictures whose description is known."""

    def __post_init__(self) -> None:
        if self.name not in DATASETS:
            raise UsageError(
                f"`data.name={self.name!r}` is not known; expected {listed(DATASETS)}.",
                did_you_mean(self.name, DATASETS),
            )
        if not 0 <= self.labelled <= 1:
            raise UsageError(f"`labelled={self.labelled}` is not a share between 0 and 1.")
        if self.replications < 0:
            raise UsageError(f"`replications={self.replications}` is negative; use 0 for no end.")

    def resolved(self, folder: str | None = None) -> Data:
        """The same data with `auto` replaced by the digits it means here."""
        return replace(self, source=resolved(self.source, folder))

    def open(self, part: str = "train", *, seed: int = 0, folder: str | None = None) -> Dataset:
        """A part of the data set, its sources read from disk."""
        return DATASETS[self.name](
            sources(self.source, folder),
            part,
            compositional=self.compositional,
            split_seed=self.split_seed,
            replications=self.replications,
            labelled=self.labelled if part == "train" else 1.0,
            seed=seed,
        )


def describe_parts(data: Data, folder: str | None = None) -> list[dict[str, Any]]:
    """What every part of a data set holds, as rows of a table."""
    return [{"part": part} | data.open(part, folder=folder).facts() for part in PARTS]
