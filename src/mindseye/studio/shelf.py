"""The models that are open, by name: nobody outside names a path."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import NamedTuple

import torch
from torch import Tensor

from mindseye.data import Batch
from mindseye.errors import MindseyeError, UsageError, did_you_mean
from mindseye.explore import latents_of
from mindseye.imagine import Mind
from mindseye.runs import BUILTIN, Run, list_runs

__all__ = ["Absent", "Opened", "Shelf", "Training", "shelf_of"]

KNOWN = 2000
"""Training pictures that are kept in mind, of every model that is asked for them."""


class Absent(UsageError):
    """A name that is not on the shelf."""


class Training(NamedTuple):
    """Some training pictures and where a model sees them."""

    batch: Batch
    latents: Tensor
    """The means of q(z|x), `(N, D)`."""


class Opened:
    """A model that is open: its run, and its mind once somebody asks.

    Arguments:
        run: The run's folder.
        device: Where it works.
        data: A folder with the data.
    """

    def __init__(self, run: Run, device: torch.device | str = "cpu", data: str | None = None):
        self.run, self.device, self.data = run, device, data
        self._reading = Lock()

    @property
    def name(self) -> str:
        """What it is called."""
        return self.run.name

    @property
    def builtin(self) -> bool:
        """Whether it came with the package."""
        return BUILTIN in self.run.path.parents

    @cached_property
    def mind(self) -> Mind:
        """The model with its verbs; read from disk once."""
        with self._reading:
            mind = self.run.mind()
            mind.model.to(self.device)
            return mind

    @cached_property
    def training(self) -> Training | str:
        """Training pictures, or why there are none here."""
        if "q_x" not in self.mind.fits:
            return f"{self.name} reads no pictures."
        try:
            dataset = self.run.recipe.data.open("train", folder=self.data)
        except MindseyeError as error:
            return f"Its training pictures are not on this machine. {error.hint}"
        batch = dataset.examples(torch.arange(KNOWN))
        return Training(batch, latents_of(self.mind, batch))


class Shelf:
    """The models that are open, and the folder of runs.

    Arguments:
        models: What is open, the first one first.
        runs: The folder of runs, which are listed and not opened.
    """

    def __init__(self, models: Sequence[Opened], runs: str | Path = "runs"):
        if not models:
            raise UsageError("There is no model to open.", "Train one: mindseye train …")
        self.models = {opened.name: opened for opened in models}
        self.runs = Path(runs)

    def opened(self, name: str) -> Opened:
        """The open model of that name, or the first if the name is empty."""
        if not name:
            return next(iter(self.models.values()))
        if name not in self.models:
            raise Absent(
                f"No open model is called {name[:80]!r}.", did_you_mean(name[:80], self.models)
            )
        return self.models[name]

    def run(self, name: str) -> Run:
        """A run of the folder, or an open model, by its name."""
        known = {run.name: run for run in list_runs(self.runs)}
        known |= {opened.name: opened.run for opened in self.models.values()}
        if name not in known:
            raise Absent(f"No run is called {name[:80]!r}.", did_you_mean(name[:80], known))
        return known[name]


def shelf_of(
    named: Sequence[Run],
    runs: str | Path = "runs",
    device: torch.device | str = "cpu",
    data: str | None = None,
) -> Shelf:
    """The runs that were named, then built-in models; if none was, all finished runs too."""
    builtin = list_runs(BUILTIN)
    others = [] if named else [run for run in reversed(list_runs(runs)) if run.finished]
    more = [run for run in (*builtin, *others) if _imagines(run)]
    return Shelf([Opened(run, device, data) for run in dict.fromkeys([*named, *more])], runs)


def _imagines(run: Run) -> bool:
    """Whether a run is a model that can be shown; a damaged one is left out."""
    try:
        return run.recipe.model.kind == "joint" and bool(run.recipe.fits & {"q_x", "q_y"})
    except MindseyeError:
        return False
