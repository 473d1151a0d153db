"""The models that are open, by name: nobody outside names a path."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from mindseye.composing import Composer
from mindseye.data import Batch
from mindseye.errors import MindseyeError, UsageError, did_you_mean
from mindseye.explore import effects, latents_of
from mindseye.generating import Truth
from mindseye.imagine import Mind
from mindseye.labels import Labels
from mindseye.linking import Linker
from mindseye.runs import BUILTIN, Run, list_runs, spelled
from mindseye.studio.results import Result, find_results

__all__ = ["Absent", "Activity", "Opened", "Shelf", "Training", "shelf_of"]

KNOWN = 2000
"""Training pictures that are kept in mind, of every model that is asked for them."""

GALLERY = 64
"""Test pictures that are looked at, of every model that is asked which fit a sentence."""

READ = 4
"""Models whose weights are kept in memory; of the others those asked last come back from disk."""


class Absent(UsageError):
    """A name that is not on the shelf."""


class Training(NamedTuple):
    """Some training pictures and where a model sees them."""

    batch: Batch[Labels]
    latents: Tensor
    """The means of q(z|x), `(N, D)`."""


class Activity(NamedTuple):
    """How much a model makes of each of its latents."""

    values: Tensor
    """The variance of E[z|x] over pictures, or how much the decoder's picture changes, `(D,)`."""
    pictures: int
    """Over how many training pictures; 0 where there are none here and the decoder was asked."""


class Opened:
    """A model that is open: its run, and its weights once somebody asks.

    Arguments:
        run: The run's folder.
        device: Where it works.
        data: A folder with the data.
        name: What it is called; the folder's name if not given.
    """

    def __init__(
        self,
        run: Run,
        device: torch.device | str = "cpu",
        data: str | None = None,
        name: str = "",
    ):
        self.run, self.device, self.data = run, device, data
        self.name = name or run.name

    @property
    def builtin(self) -> bool:
        """Whether it came with the package."""
        return BUILTIN in self.run.path.parents

    @property
    def is_graph(self) -> bool:
        """Whether it is a model of a graph: it links nodes, and imagines nothing."""
        return self.run.recipe.data.is_graph

    @cached_property
    def linker(self) -> Linker:
        """The model of a graph with its verbs, and the graph, read from disk."""
        return self.run.linker(self.data, self.device)

    def check(self) -> None:
        """Raise if it cannot be read."""
        _ = self.run.model() if self.is_graph or self.of_parts else self.run.mind()

    @cached_property
    def outline(self) -> Mind | Composer:
        """The model without its weights: what it knows and what it can do."""
        if self.of_parts:
            return self.run.composer(outline=True)
        return self.run.mind(outline=True)

    @property
    def of_parts(self) -> bool:
        """Whether it is a model of wholes and their parts."""
        return self.run.recipe.model.kind == "comp"

    @cached_property
    def composer(self) -> Composer:
        """A model of parts with its verbs, read from disk."""
        composer = self.run.composer()
        composer.name = self.name
        composer.model.to(self.device)
        return composer

    @cached_property
    def truth(self) -> Truth:
        """The generator that a model of parts has learnt from."""
        return self.run.truth()

    @cached_property
    def mind(self) -> Mind:
        """The model with its verbs, read from disk."""
        mind = self.run.mind()
        mind.name, mind.source = self.name, spelled(self.run)
        mind.model.to(self.device)
        return mind

    @cached_property
    def training(self) -> Training | str:
        """Training pictures, or why there are none here."""
        if "q_x" not in self.run.recipe.fits:
            return f"{self.name} reads no pictures."
        try:
            batch = self.run.examples(KNOWN, self.data)
        except MindseyeError as error:
            return f"Its training pictures are not on this machine. {error.hint}"
        return Training(batch, latents_of(self.mind, batch))

    @cached_property
    def activity(self) -> Activity:
        """What is made of each latent, by training pictures or, without any, by the decoder."""
        training = self.training
        if isinstance(training, Training):
            return Activity(training.latents.var(0), len(training.latents))
        return Activity(effects(self.mind).cpu(), 0)

    @cached_property
    def gallery(self) -> Batch[Labels] | str:
        """Test pictures, or why there are none here."""
        try:
            dataset = self.run.recipe.data.open("test", folder=self.data)
            return dataset.examples(torch.arange(min(GALLERY, dataset.count)))
        except MindseyeError as error:
            return f"Its test pictures are not on this machine. {error.hint}"

    @property
    def is_read(self) -> bool:
        """Whether its weights are in memory."""
        return bool(vars(self).keys() & {"mind", "composer", "linker"})

    def forget(self) -> None:
        """Let go of its weights."""
        for name in ("mind", "composer", "training", "gallery", "activity", "linker"):
            vars(self).pop(name, None)


class Shelf:
    """The models that are open, and the folder of runs.

    Arguments:
        models: What is open, the first one first.
        runs: The folder of runs, which are listed and not opened.
        tables: The folder of tables that were reproduced.
    """

    def __init__(
        self,
        models: Sequence[Opened],
        runs: str | Path = "runs",
        tables: str | Path = "reproduced",
    ):
        if not models:
            raise UsageError("There is no model to open.", "Train one: mindseye train …")
        self.models: dict[str, Opened] = {}
        for opened in models:
            opened.name = _unique(opened, self.models)
            self.models[opened.name] = opened
        self.runs, self.tables = Path(runs), Path(tables)
        self._asked: list[str] = []

    def opened(self, name: str) -> Opened:
        """The open model of that name, or the first if the name is empty."""
        if not name:
            return next(iter(self.models.values()))
        if name not in self.models:
            raise Absent(
                f"No open model is called {name[:80]!r}.", did_you_mean(name[:80], self.models)
            )
        return self.models[name]

    def read(self, opened: Opened) -> Mind | Composer:
        """A model with its weights; those of the one that nobody asked for longest may go."""
        self._keep(opened)
        return opened.composer if opened.of_parts else opened.mind

    def linker(self, opened: Opened) -> Linker:
        """A model of a graph, likewise."""
        self._keep(opened)
        return opened.linker

    def _keep(self, opened: Opened) -> None:
        self._asked = [name for name in self._asked if name != opened.name] + [opened.name]
        for name in self._asked[:-READ]:
            self.models[name].forget()
        self._asked = self._asked[-READ:]

    def run(self, name: str) -> Run:
        """A run of the folder, or an open model, by its name."""
        known = {run.name: run for run in list_runs(self.runs)}
        known |= {opened.name: opened.run for opened in self.models.values()}
        if name not in known:
            raise Absent(f"No run is called {name[:80]!r}.", did_you_mean(name[:80], known))
        return known[name]

    def table(self, name: str) -> Result:
        """A table that was made, by its name."""
        known = {found.name: found for found in find_results(self.tables)}
        if name not in known:
            raise Absent(f"No table is called {name[:80]!r}.", did_you_mean(name[:80], known))
        return known[name]

    def without_folders(self, text: str) -> str:
        """A text in which files are named without where they lie."""
        paths = [
            self.runs,
            self.tables,
            *(opened.run.path.parent for opened in self.models.values()),
            *(Path(opened.data) for opened in self.models.values() if opened.data),
            *(_graph_folder(opened) for opened in self.models.values() if opened.is_graph),
        ]
        roots = {str(each) for path in paths for each in (path, path.resolve())}
        for root in sorted(roots, key=len, reverse=True):
            text = text.replace(f"{root}/", "")
        return text.replace(str(Path.home()), "~")


FIRST = "mnist-a"
"""The built-in model that the page opens with."""


def shelf_of(
    named: Sequence[Run],
    runs: str | Path = "runs",
    device: torch.device | str = "cpu",
    data: str | None = None,
    tables: str | Path = "reproduced",
) -> Shelf:
    """The runs that were named, then built-in models; if none was, all finished runs too."""
    builtin = sorted(list_runs(BUILTIN), key=lambda run: run.name != FIRST)
    others = [] if named else [run for run in reversed(list_runs(runs)) if run.finished]
    more = [run for run in (*builtin, *others) if _is_shown(run)]
    every = {run.path.resolve(): run for run in reversed([*named, *more])}
    return Shelf([Opened(run, device, data) for run in reversed(every.values())], runs, tables)


def _graph_folder(opened: Opened) -> Path:
    """Where the files of a graph lie, or the folder itself where they have none."""
    return Path(opened.run.recipe.data.source).parent


def _unique(opened: Opened, taken: dict[str, Opened]) -> str:
    """Its name, with that of its folder, or a number, where another model has the same."""
    path = opened.run.path.resolve()
    names = [opened.name or path.name, f"{path.parent.name}/{path.name}"]
    numbered = (f"{path.name} ({i})" for i in range(2, len(taken) + 3))
    return next(name for name in (*names, *numbered) if name not in taken)


def _is_shown(run: Run) -> bool:
    """Whether a run is a model that can be shown; a damaged recipe is left out."""
    try:
        recipe = run.recipe
        imagines = recipe.model.imagines and bool(recipe.fits & {"q_x", "q_y", "q_w"})
        return imagines or recipe.data.is_graph
    except MindseyeError:
        return False
