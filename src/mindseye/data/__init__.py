"""Pictures with descriptions, one file per data set."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

from mindseye.concepts import Vocabulary
from mindseye.data.batch import ENDLESS, Batch, Dataset
from mindseye.data.bsds import Bsds
from mindseye.data.captioned_mnist import CaptionedMnist, CaptionedPairs
from mindseye.data.celeba import CelebA, CelebAWords
from mindseye.data.cited import Citeseer, Cora
from mindseye.data.clevr import Clevr
from mindseye.data.coco import Coco, sentence_of
from mindseye.data.dsprites import DSprites
from mindseye.data.iclevr import IClevr
from mindseye.data.linked import Linked
from mindseye.data.loads import Loads
from mindseye.data.mnist_2bit import Mnist2Bit
from mindseye.data.mnist_a import MnistA
from mindseye.data.mnist_dynamic import Mnist
from mindseye.data.mnist_static import MnistStatic
from mindseye.data.omniglot import Omniglot
from mindseye.data.one_object import OneObject
from mindseye.data.own_graph import OwnGraph
from mindseye.data.sines import Sines
from mindseye.data.sites import Sites
from mindseye.data.sources import Sources, digits, mnist, sources
from mindseye.data.two_objects import TwoObjects
from mindseye.data.wholes import Wholes
from mindseye.errors import UsageError, did_you_mean, listed

__all__ = [
    "DATASETS",
    "ENDLESS",
    "Batch",
    "Bsds",
    "CaptionedMnist",
    "CaptionedPairs",
    "CelebA",
    "CelebAWords",
    "Citeseer",
    "Clevr",
    "Coco",
    "Cora",
    "DSprites",
    "Data",
    "Dataset",
    "IClevr",
    "Linked",
    "Loads",
    "Mnist",
    "Mnist2Bit",
    "MnistA",
    "MnistStatic",
    "Omniglot",
    "OneObject",
    "OwnGraph",
    "Sines",
    "Sites",
    "Sources",
    "TwoObjects",
    "describe_parts",
    "digits",
    "mnist",
    "sources",
]

DATASETS = {
    "mnist-a": MnistA,
    "mnist-2bit": Mnist2Bit,
    "mnist": Mnist,
    "mnist-static": MnistStatic,
    "omniglot": Omniglot,
    "bsds": Bsds,
    "dsprites": DSprites,
    "two-objects": TwoObjects,
    "one-object": OneObject,
    "celeba": CelebA,
    "celeba-words": CelebAWords,
    "captioned-mnist": CaptionedMnist,
    "captioned-pairs": CaptionedPairs,
    "coco": Coco,
    "clevr": Clevr,
    "iclevr": IClevr,
    "sines": Sines,
    "sites": Sites,
    "loads": Loads,
    "cora": Cora,
    "citeseer": Citeseer,
    "graph": OwnGraph,
}


@dataclass(frozen=True)
class Data:
    """Which data set, and how it is divided."""

    name: str = "mnist-a"
    """A data set: mnist-a, mnist, omniglot, dsprites, two-objects, celeba …"""

    source: str = "auto"
    """Where it comes from: mnist, digits (scikit-learn's, offline) …; auto takes what is there."""

    compositional: bool = False
    """Whether combinations of attributes are held out too."""

    split_seed: int = 0
    """Chooses which sources and combinations are held out, and which pictures are described."""

    replications: int = 0
    """Pictures of every source digit; 0 for no end of them (the paper has 10)."""

    labelled: float = 1.0
    """The share of training pictures whose description is known."""

    labels: int = 0
    """How many training pictures have a known description, in all; 0 to go by labelled."""

    described: float = 0.0
    """The share of a batch that is drawn from pictures of known description; 0: as it happens."""

    binarise: str = "auto"
    """Pixels drawn anew each time (dynamic), once (static) or not at all (none); auto: as usual."""

    side: int = 0
    """Side of a picture in pixels, of a data set that has several; 0 for its own."""

    most: int = 0
    """The most parts of a whole, of a data set of wholes; 0 for its own."""

    featureless: bool = False
    """Whether the features of nodes are left out, of a graph."""

    masked: float = 0.0
    """The share of a graph's links that is hidden in a step, and asked about; 0 asks about all."""

    fanout: int = 0
    """How many neighbours a node hears in a step, of a large graph; 0 for the whole graph."""

    nodes: int = 0
    """How many nodes a graph of your own has, found when it is read."""

    columns: int = 0
    """How many features they have, or nodes where they have none; found likewise."""

    words: tuple[str, ...] = ()
    """The words of captions, found when they are read."""

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
        if not 0 <= self.described < 1:
            raise UsageError(
                f"`described={self.described}` must be at least 0 and below 1.",
                "It is a share of every training batch.",
            )
        if self.labels < 0:
            raise UsageError(f"`labels={self.labels}` is negative; use 0 to go by `labelled`.")
        if self.most < 0:
            raise UsageError(f"`most={self.most}` is negative; use 0 for the data set's own.")
        if not 0 <= self.masked < 1:
            raise UsageError(
                f"`masked={self.masked}` must be at least 0 and below 1.",
                "It is the share of the training links that is asked about in every step.",
            )
        if self.fanout < 0:
            raise UsageError(f"`fanout={self.fanout}` is negative; use 0 for the whole graph.")
        if self.side and not 4 <= self.side <= 1024:
            raise UsageError(f"`side={self.side}` must be between 4 and 1024; 0 for its own.")

    @property
    def vocabulary(self) -> Vocabulary:
        """What can be said about its pictures, with the words that were found."""
        kind = DATASETS[self.name]
        return sentence_of(self.words) if kind is Coco else kind.vocabulary

    @property
    def is_graph(self) -> bool:
        """Whether it is a graph, which has links and no pictures."""
        return issubclass(DATASETS[self.name], Linked)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height and width of its pictures; of a graph 1, nodes and features."""
        channels, height, width = DATASETS[self.name].shape
        if self.is_graph:
            nodes, columns = self.nodes or height, self.columns or width
            return (channels, nodes, nodes if self.featureless else columns)
        return (channels, self.side or height, self.side or width)

    def resolved(self, folder: str | None = None) -> Data:
        """The same data with `auto` replaced by the source it means here, and what it holds."""
        kind = DATASETS[self.name]
        found = replace(self, source=kind.resolved(self.source, folder))
        if kind is OwnGraph and not found.nodes:
            graph = kind.graph_at(found.source, folder)
            return replace(found, nodes=graph.nodes, columns=graph.columns)
        if kind is Coco and not found.words:
            return replace(found, words=kind.words_at(found.source, folder))
        return found

    def open(self, part: str = "train", *, seed: int = 0, folder: str | None = None) -> Dataset:
        """A part of the data set, its sources read from disk.

        Arguments:
            part: train, validation or test; mnist-a, mnist-2bit and CelebA also have an observer.
            seed: Chooses the order of the pictures and their noise.
            folder: Where its files are; the usual places by default.
        """
        kind = DATASETS[self.name]
        self._check()
        options = {name: getattr(self, name) for name in kind.settings}
        if part != "train":  # descriptions are hidden in training only
            options |= {k: v for k, v in _EVERYTHING_SAID.items() if k in options}
        return kind.read(self.source, part, folder, seed=seed, **options)

    def wholes(self, part: str = "train", *, seed: int = 0) -> Wholes:
        """A part of a data set of wholes and their parts, which has no files."""
        dataset: object = self.open(part, seed=seed)
        if not isinstance(dataset, Wholes):
            known = [name for name, kind in DATASETS.items() if issubclass(kind, Wholes)]
            raise UsageError(f"`data.name={self.name!r}` has no parts; expected {listed(known)}.")
        return dataset

    def graph(self, part: str = "train", *, folder: str | None = None) -> Linked:
        """A graph of which a part of the links is held out."""
        dataset: object = self.open(part, folder=folder)
        if not isinstance(dataset, Linked):
            known = [name for name, kind in DATASETS.items() if issubclass(kind, Linked)]
            raise UsageError(f"`data.name={self.name!r}` has no links; expected {listed(known)}.")
        return dataset

    def _check(self) -> None:
        """Refuse a field that means nothing for this data set."""
        settings = DATASETS[self.name].settings
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name not in ("name", "source", *settings) and value != field.default:
                raise UsageError(
                    f"`data.{field.name}={value!r}` means nothing for {self.name!r}.",
                    f"Leave it at {field.default!r}; it has {listed(['source', *settings])}.",
                )


_EVERYTHING_SAID: dict[str, Any] = {"labelled": 1.0, "labels": 0, "described": 0.0}


def describe_parts(data: Data, folder: str | None = None) -> list[dict[str, Any]]:
    """What every part of a data set holds, as rows of a table."""
    parts = DATASETS[data.name].parts
    return [{"part": part} | data.open(part, folder=folder).facts() for part in parts]
