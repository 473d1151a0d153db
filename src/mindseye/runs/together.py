"""Several runs trained together in one graph: other seeds, other weights, other models.

A step of a small model leaves a GPU mostly idle: its kernels are short, and launched one after the
other. Here the steps of several models stand side by side in one captured graph, each on a stream
of its own, and take little longer than one of them. Every model has its own batches; the noise of
all comes from one random stream, so that a seed trained in company sees other noise than alone.
Numbers that run away are looked for in the sum of all bounds, and all models go back together: what
is far behind for one of eight may be near enough for the sum.
"""

from __future__ import annotations

import hashlib
import shutil
from collections import namedtuple
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from mindseye.objectives import Bound
from mindseye.papers import Recipe
from mindseye.runs.making import batches, data_of, fresh
from mindseye.runs.run import Run
from mindseye.streams import side_by_side
from mindseye.training import Checkpoints, Log, Record, Training, train

__all__ = ["alike", "train_together"]

BoundOf = Callable[[nn.Module, Any, Any], Bound]

TOGETHER = ("vae", "deep", "factor", "ladder", "semi")
"""Kinds of models that may have company."""


def alike(recipe: Recipe) -> tuple[Training, int] | None:
    """What recipes that can be trained together have in common; nothing if one must be alone.

    Steps are made in step: the schedule and the number of bounds must be the same, and what is
    taken over all weights at once, such as the length of a gradient, would be that of all models.
    """
    training = recipe.training
    if recipe.model.kind not in TOGETHER or training.clip or training.weight_decay:
        return None
    return replace(training, seed=0), len(recipe.objectives)


def train_together(
    runs: Sequence[Run],
    device: torch.device | str = "cpu",
    data: str | None = None,
    *,
    compiled: bool = True,
) -> Generator[tuple[Run, Record]]:
    """Train runs that are alike from the start, or from where they were stopped together.

    The seconds of a record are a run's share of the time.

    Arguments:
        runs: Of recipes that are `alike`.
        device: Where to train.
        data: A folder with the data.
        compiled: On a GPU, capture whole steps and replay them.
    """
    recipes = [run.recipe for run in runs]
    datasets = [data_of(recipe, device, data) for recipe in recipes]
    models = nn.ModuleList(
        fresh(recipe, device, dataset, run.path)
        for recipe, dataset, run in zip(recipes, datasets, runs, strict=True)
    )
    each = [batches(recipe, dataset) for recipe, dataset in zip(recipes, datasets, strict=True)]
    kept = _folder(runs)
    training = train(
        models,
        [_all(bounds) for bounds in zip(*(recipe.bounds for recipe in recipes), strict=True)],
        _side_by_side(each),
        recipes[0].training,
        checkpoints=kept,
        compiled=compiled,
    )
    newest = kept.newest()
    with ExitStack() as stack:
        stack.enter_context(closing(training))
        step = newest.step if newest else 0
        logs = [stack.enter_context(Log(run.path / "log.jsonl", step)) for run in runs]
        for record in training:
            for i, (run, log) in enumerate(zip(runs, logs, strict=True)):
                own = _share(record, i, len(runs))
                log.append(own)
                if record.kind == "done":
                    run.finish(models[i], device)
                yield run, own
    shutil.rmtree(kept.folder, ignore_errors=True)


def _folder(runs: Sequence[Run]) -> Checkpoints:
    """Where the runs are kept while they are trained."""
    names = hashlib.sha256(" ".join(run.name for run in runs).encode()).hexdigest()[:12]
    return Checkpoints(runs[0].path.parent / f".together-{names}")


def _all(bounds: Sequence[BoundOf]) -> BoundOf:
    """The sum of the bounds of all models; the gradient of each reaches its own model alone."""

    def bound(models: Any, batch: Any, beta: Any) -> Bound:
        every = side_by_side(
            *(
                lambda one=one, model=model, part=part: one(model, part, beta)
                for one, model, part in zip(bounds, models, batch, strict=True)
            )
        )
        value = torch.stack([found.value for found in every]).sum(0)
        terms = {
            f"{i} {name}": term
            for i, found in enumerate(every)
            for name, term in {"bound": found.value, **found.terms}.items()
        }
        return Bound(value, terms)

    return bound


def _side_by_side(each: Sequence[Callable[..., Any]]) -> Callable[..., Any]:
    """The batches of all models, as a named tuple of them."""
    batch_of_all = namedtuple("batch_of_all", [f"model_{i}" for i in range(len(each))])
    return lambda number, count=1: batch_of_all(*(one(number, count) for one in each))


def _share(record: Record, i: int, count: int) -> Record:
    """What a record says about one of the models."""
    own = {
        name.partition(" ")[2]: value
        for name, value in record.terms.items()
        if name.partition(" ")[0] == str(i)
    }
    note = f"one of {count} trained together" if record.kind == "done" else record.note
    return replace(
        record,
        bound=own.pop("bound", record.bound),
        terms=own,
        seconds=record.seconds / count,
        note=note,
    )
