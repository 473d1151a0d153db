"""A run: a folder a person can read, and the trained model in it.

    runs/00012-mnist-a-telbo-lean/
      recipe.json              all that decides what the model is
      log.jsonl                one record a line
      checkpoints/step-…/      weights, optimiser, random numbers; written whole or not at all
      weights.safetensors      the finished model, to imagine with
      start.safetensors        the weights it began with, if those were of another run
      samples.png              what it imagined when it was done
      plane.safetensors        where the nodes of its graph are in a plane, once that was asked
      provenance.json          version, commit and device that finished it

A model is opened from `recipe.json` and weights alone: data, never code.
"""

from __future__ import annotations

import os
import re
from collections.abc import Generator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import nn

from mindseye.composing import Composer
from mindseye.data import Batch, Data
from mindseye.errors import DataError, UsageError, did_you_mean, listed
from mindseye.files import explained, read_json, write_json
from mindseye.generating import Truth
from mindseye.imagine import Mind
from mindseye.labels import Labels
from mindseye.linking import Linker
from mindseye.models import (
    VAE,
    Ancestral,
    AncestralLadder,
    CaptionedVAE,
    Compositional,
    DeepVAE,
    Described,
    Draw,
    GraphVAE,
    LadderVAE,
    Observer,
    Painted,
    Patchwork,
    SemiVAE,
    Sharpened,
)
from mindseye.painting import Painter
from mindseye.papers import Recipe
from mindseye.pictures import save_picture
from mindseye.provenance import provenance
from mindseye.runs.making import blank, data_of, fresh, shapes_of, started, trained
from mindseye.runs.samples import samples_sheet
from mindseye.tensors import read_tensors, write_tensors
from mindseye.training import Checkpoints, Log, Record, read_log

__all__ = [
    "BUILTIN",
    "Run",
    "create",
    "find",
    "list_runs",
    "load",
    "load_observer",
    "spelled",
]

BUILTIN = Path(__file__).parents[1] / "builtin"
"""Models that come with the package."""


@dataclass(frozen=True)
class Run:
    """A run's folder."""

    path: Path

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.path.name

    @cached_property
    def recipe(self) -> Recipe:
        """What the run trains; read once."""
        file = self.path / "recipe.json"
        try:
            return Recipe.from_json(read_json(file))
        except UsageError as error:
            raise DataError(f"{file}: {error}") from error

    @property
    def checkpoints(self) -> Checkpoints:
        """Where training saves."""
        return Checkpoints(self.path / "checkpoints")

    @property
    def finished(self) -> bool:
        """Whether training came to its end."""
        return (self.path / "weights.safetensors").exists()

    def train(
        self, device: torch.device | str = "cpu", data: str | None = None, *, compiled: bool = True
    ) -> Generator[Record]:
        """Train from the start or from the newest checkpoint; records as they come.

        Arguments:
            device: Where to train.
            data: A folder with the data.
            compiled: On a GPU, capture whole steps in bfloat16 and replay them.
        """
        dataset = data_of(self.recipe, device, data)
        model = fresh(self.recipe, device, dataset, self.path)
        with Log(self.path / "log.jsonl", self.step) as log:
            for record in trained(self.recipe, model, dataset, self.path, compiled=compiled):
                log.append(record)
                if record.kind == "done":
                    self.finish(model, device, data)
                yield record

    def finish(self, model: nn.Module, device: torch.device | str, data: str | None = None) -> None:
        """Write the trained model, where it was trained, and what it imagines."""
        if not self.finished:
            write_json(self.path / "provenance.json", provenance(device))
        write_tensors(self.path / "weights.safetensors", model.state_dict())
        if sheet := samples_sheet(self, self.recipe, data):
            save_picture(self.path / "samples.png", sheet)

    @property
    def provenance(self) -> dict[str, str]:
        """What finished the training: version, commit, device, date; nothing if it is not known."""
        file = self.path / "provenance.json"
        return read_json(file) if file.is_file() else {}

    def log(self) -> list[dict[str, Any]]:
        """The records written so far; a last line cut short by a crash is left out."""
        return list(read_log(self.path / "log.jsonl"))

    def model(self) -> nn.Module:
        """The trained model, on the CPU, ready to use."""
        try:
            model = blank(self.recipe)
        except UsageError as error:
            raise DataError(f"{self.path / 'recipe.json'}: {error}") from error
        weights = read_tensors(self.weights_file, shapes_of(model))
        single = {n: w.float() if w.is_floating_point() else w for n, w in weights.items()}
        model.load_state_dict(single, assign=True)
        return model.eval()

    @property
    def weights_file(self) -> Path:
        """The finished weights, or those of the newest valid checkpoint."""
        if self.finished:
            return self.path / "weights.safetensors"
        for saved in (Checkpoints(self.path / "refit"), self.checkpoints):
            if newest := saved.newest():
                return newest.path / "weights.safetensors"
        raise DataError(
            f"{self.path} has no weights yet.", f"`mindseye resume {self.path}` trains it."
        )

    def mind(self, observer: str | None = None, *, outline: bool = False) -> Mind:
        """The trained model with its verbs.

        Arguments:
            observer: Who judges; the built-in observer of its data, or one beside it, if not given.
            outline: Without weights: it says what it knows and what it can do, and does nothing.
        """
        model = blank(self.recipe) if outline else self.model()
        if isinstance(model, Observer):
            raise UsageError(
                f"{self.path} is an observer: it judges pictures and imagines none.",
                "Give it with --observer.",
            )
        if isinstance(model, Compositional):
            raise UsageError(
                f"{self.path} knows wholes by their parts, and no words.",
                f'Try: mindseye compose {self.path} "{model.vocabulary.example}"',
            )
        if isinstance(model, GraphVAE):
            raise UsageError(
                f"{self.path} knows the links of a graph, and no pictures.",
                f"Try: mindseye links {self.path}",
            )
        if isinstance(model, DeepVAE):
            model = Ancestral(model)
        if isinstance(model, LadderVAE):
            model = AncestralLadder(model)
        if isinstance(model, SemiVAE):
            model = Described(model)
        if isinstance(model, Draw | CaptionedVAE | Sharpened):
            model = Painted(model)
        if isinstance(model, VAE) and self.recipe.data.name == "bsds":
            model = Patchwork(model)
        knows_words = len(model.vocabulary) > 0  # pyright: ignore[reportArgumentType]
        judge = observer or (self.observer() if knows_words else None)
        kind = Painter if isinstance(model, Painted) else Mind
        return kind(
            model,
            name=self.name,
            fits=self.recipe.fits,
            observer=(lambda: load_observer(judge)) if judge else None,
            fills=not self.recipe.data.vocabulary.unordered,
        )

    def composer(self, *, outline: bool = False) -> Composer:
        """The verbs of a trained model of wholes and their parts.

        Arguments:
            outline: Without weights: it says what it knows, and does nothing.
        """
        model = blank(self.recipe) if outline else self.model()
        if not isinstance(model, Compositional):
            raise self._partless
        return Composer(model, self.name)

    def linker(self, data: str | None = None, device: torch.device | str = "cpu") -> Linker:
        """The verbs of a trained model of a graph.

        Arguments:
            data: A folder with the graph; where it was found in training by default.
            device: Where to compute.
        """
        model = self.model()
        if not isinstance(model, GraphVAE):
            raise UsageError(
                f"{self.path} knows nothing of links.", "Train a model that does: cora/vgae."
            )
        graph = self.recipe.data.graph("test", folder=data).to(device)
        kept = None if BUILTIN in self.path.parents else self.path / "plane.safetensors"
        return Linker(model.to(device), graph, self.name, kept)

    def truth(self) -> Truth:
        """The generator of the wholes that a model of parts was trained on, with its verbs."""
        if self.recipe.model.kind != "comp":
            raise self._partless
        data: Any = self.recipe.data.open("test")
        return Truth(data)

    @property
    def _partless(self) -> UsageError:
        return UsageError(
            f"{self.path} knows nothing of parts.", "The built-in sines, sites and loads do."
        )

    def observer(self, data: str = "") -> str | os.PathLike[str] | None:
        """Who judges its pictures: the package's observer of such pictures, or one beside it.

        Arguments:
            data: The data set that the observer is of; the run's own by default.
        """
        own = self.recipe.data
        name = data or own.name
        return _own_observer(name, own.side) or self.observer_beside(name)

    def observer_beside(self, data: str) -> Path | None:
        """The first finished observer of such pictures of a data set in the same folder."""
        own = self.recipe.data
        for other in list_runs(self.path.parent):
            made = other.recipe
            same = (made.data.name, made.data.side) == (data, own.side)
            if made.model.kind == "observer" and other.finished and same and _alike(made.data, own):
                return other.path
        return None

    def examples(self, count: int, data: str | None = None) -> Batch[Labels]:
        """The first training pictures, with what they show; `data` is a folder with the data."""
        dataset = self.recipe.data.open("train", seed=self.recipe.training.seed, folder=data)
        return dataset.examples(torch.arange(count))

    def trained(self) -> list[dict[str, Any]]:
        """The records of training, without those of refitting."""
        steps = self.recipe.training.steps
        return [r for r in self.log() if r.get("kind") == "train" and r.get("step", 0) <= steps]

    @property
    def seconds(self) -> float:
        """What training took, refitting included; every stage counts its seconds from 0."""
        total = last = 0.0
        for record in self.log():
            seconds = record.get("seconds") or 0.0
            total += seconds - last if seconds >= last else seconds
            last = seconds
        return total

    def summary(self) -> dict[str, Any]:
        """What a table of runs says about this one."""
        log, steps = self.trained(), self.recipe.training.steps
        last = log[-1] if log else {}
        return {
            "name": self.name,
            "objective": " then ".join(self.recipe.objectives),
            "networks": self.recipe.model.networks,
            "steps": f"{last.get('step', steps if self.finished else 0)}/{steps}",
            "bound": None if last.get("bound") is None else round(last["bound"], 2),
            "seconds": round(self.seconds) if log else None,
            "state": "finished" if self.finished else "unfinished",
        }

    @property
    def step(self) -> int:
        """The step that training would go on from, refitting counted in."""
        saved = [self.checkpoints.newest(), Checkpoints(self.path / "refit").newest()]
        return sum(checkpoint.step for checkpoint in saved if checkpoint)


def create(
    recipe: Recipe, root: str | os.PathLike[str] = "runs", *, start: Run | None = None
) -> Run:
    """A new numbered folder for a recipe.

    Arguments:
        recipe: What it will train.
        root: The folder of runs.
        start: A run of the same model whose weights it begins with.
    """
    model = blank(recipe)  # a model that cannot be built fails before there is a folder
    if recipe.training.held and not start:
        raise UsageError(
            f"{recipe.name} holds the batch statistics of a trained model, and none is named.",
            "Name its run: --start RUN, or say held=false.",
        )
    weights = None
    if start:
        weights = read_tensors(start.weights_file, shapes_of(started(model)))
        recipe = replace(recipe, start=start.recipe.digest)
    root = Path(root)
    with explained(root):
        root.mkdir(parents=True, exist_ok=True)
        number = 1 + max((_number(path) for path in root.iterdir()), default=-1)
        while True:
            path = root / f"{number:05d}-{recipe.name.replace('/', '-')}"
            try:
                path.mkdir()
                break
            except FileExistsError:  # another process was faster
                number += 1
    if weights:
        write_tensors(path / "start.safetensors", weights)
    write_json(path / "recipe.json", recipe.to_json())
    return Run(path)


def list_runs(root: str | os.PathLike[str] = "runs") -> list[Run]:
    """The runs of a folder, oldest first."""
    root = Path(root)
    if not root.is_dir():
        return []
    return [Run(path) for path in sorted(root.iterdir()) if (path / "recipe.json").is_file()]


def find(name: str | os.PathLike[str], root: str | os.PathLike[str] = "runs") -> Run:
    """A run by its folder, its name, its number, or the name of a built-in model."""
    path = Path(name)
    if (path / "recipe.json").is_file():
        return Run(path)
    known = [*list_runs(root), *list_runs(BUILTIN)]
    found = [run for run in known if str(name) == run.name or _numbered(run, str(name))]
    if len(found) == 1:
        return found[0]
    if found:
        names = listed(run.name for run in found)
        raise UsageError(f"{str(name)!r} could be {names}; write one of them.")
    if path.is_dir():
        raise DataError(f"{path} is not a run: it has no recipe.json.")
    names = [run.name for run in known]
    raise UsageError(
        f"no run or built-in model is called {str(name)!r}.",
        did_you_mean(str(name), names) or "`mindseye list` lists them.",
    )


def spelled(run: Run) -> str:
    """What `find` finds a run by: its name where that is enough, else its folder."""
    try:
        found = find(run.name).path
    except UsageError:
        return os.path.relpath(run.path)
    same = found.resolve() == run.path.resolve()
    return run.name if same else os.path.relpath(run.path)


def load(name: str | os.PathLike[str] = "mnist-a", device: torch.device | str = "cpu") -> Mind:
    """A built-in model or a run, ready to imagine.

    >>> mind = load("mnist-a")
    >>> mind.imagine("digit=4, size=big", n=2, seed=7).shape
    torch.Size([2, 1, 64, 64])
    """
    mind = find(name).mind()
    mind.model.to(device)
    return mind


def load_observer(name: str | os.PathLike[str] = "mnist-a-observer") -> Observer:
    """A built-in observer or the run of one."""
    run = find(name)
    model = run.model()
    if not isinstance(model, Observer):
        raise UsageError(f"{run.path} is not an observer.", "Train one: mnist-a/observer.")
    scores = run.path / "evaluation.json"
    measured = read_json(scores).get("observer", {}) if scores.is_file() else {}
    model.accuracy = {name: estimate["mean"] for name, estimate in measured.items()}
    return model


def _number(path: Path) -> int:
    match = re.match(r"(\d+)-", path.name)
    return int(match[1]) if match else -1


def _numbered(run: Run, name: str) -> bool:
    return name.isdecimal() and _number(run.path) == int(name)


def _alike(one: Data, other: Data) -> bool:
    """Whether two data sets come from the same source."""
    sources = []
    for data in (one, other):
        sources.append(data.source)
        with suppress(DataError):  # its files may be elsewhere
            sources[-1] = data.resolved().source
    return sources[0] == sources[1]


def _own_observer(data: str, side: int) -> str | None:
    """The built-in observer of pictures of a data set and a side, if there is one."""
    name = f"{data}-observer"
    there = (BUILTIN / name).is_dir() and Run(BUILTIN / name).recipe.data.side == side
    return name if there else None
