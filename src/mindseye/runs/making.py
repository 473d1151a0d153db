"""From a recipe to a model that learns: data, first weights, stages."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from mindseye.data import Batch, Dataset
from mindseye.data.wholes import Wholes
from mindseye.models import (
    VAE,
    VLVAE,
    CaptionedVAE,
    DeepVAE,
    Draw,
    Flowing,
    FlowingParts,
    JointVAE,
    LadderVAE,
    SemiVAE,
    Sharpened,
)
from mindseye.papers import Recipe
from mindseye.papers.refitting import refitted
from mindseye.runs.reading import Readings
from mindseye.tensors import read_tensors
from mindseye.training import Checkpoints, Growth, Record, train

__all__ = [
    "batches",
    "blank",
    "data_of",
    "decayed",
    "estimate",
    "fresh",
    "shapes_of",
    "started",
    "trained",
]


def blank(recipe: Recipe) -> nn.Module:
    """A recipe's model without numbers: nothing is initialised that is overwritten anyway."""
    with torch.device("meta"):
        return recipe.build()


def data_of(recipe: Recipe, device: torch.device | str, folder: str | None) -> Dataset:
    """The pictures that a recipe trains on, on a device."""
    part = "observer" if recipe.model.kind == "observer" else "train"
    return recipe.data.open(part, seed=recipe.training.seed, folder=folder).to(device)


def fresh(
    recipe: Recipe, device: torch.device | str, dataset: Dataset, folder: Path | None = None
) -> nn.Module:
    """A recipe's model as training begins: drawn by its seed, or with the weights of another run.

    Arguments:
        recipe: What the model is.
        device: Where it will be.
        dataset: What it will learn from; some models begin with the mean picture.
        folder: The run's, where the weights of another run lie if it begins with those.
    """
    with torch.random.fork_rng(devices=[]):  # weights are drawn on the CPU, on any device
        torch.default_generator.manual_seed(recipe.training.seed)
        model = _built(recipe, device)
    if recipe.start and folder:
        inner = started(model)
        inner.load_state_dict(read_tensors(folder / "start.safetensors", shapes_of(inner)))
        if isinstance(model, FlowingParts):
            parts: Any = dataset.examples(torch.arange(256, device=device)).y
            model.prepare(parts)
    elif isinstance(model, VLVAE):
        model.prepare(dataset.examples(torch.arange(256, device=device)).x.mean(0))
    elif isinstance(model, VAE | DeepVAE | LadderVAE | Draw | CaptionedVAE):
        some = dataset.examples(torch.arange(model.likelihood.examples, device=device)).x
        model.prepare(dataset.mean(), some)
    return model


def trained(
    recipe: Recipe, model: nn.Module, dataset: Dataset, folder: Path, *, compiled: bool
) -> Iterator[Record]:
    """The records of training, then of refitting if the recipe asks for it."""
    refit = recipe.refit.updates and isinstance(model, JointVAE)
    training = train(
        model,
        recipe.bounds,
        batches(recipe, _seen(recipe, model, dataset)),
        recipe.training,
        checkpoints=Checkpoints(folder / "checkpoints"),
        decayed=decayed(model),
        compiled=compiled and not recipe.data.is_graph,
        growth=_growth(recipe, dataset),
    )
    with closing(training):
        yield from (record for record in training if not (refit and record.kind == "done"))
    if refit and isinstance(model, JointVAE):
        fitting = refitted(
            model,
            dataset,
            recipe.refit,
            joint="q_xy" in recipe.fits,
            seed=recipe.training.seed,
            checkpoints=Checkpoints(folder / "refit"),
            compiled=compiled,
        )
        for record in fitting:
            yield replace(record, step=recipe.training.steps + record.step)


def estimate(
    recipe: Recipe,
    device: torch.device | str = "cpu",
    data: str | None = None,
    *,
    compiled: bool = True,
) -> dict[str, Any]:
    """Parameters of a recipe's model, and the time it would train here, from a few steps."""
    few = 50 if torch.device(device).type == "cuda" else 5
    trial = recipe.with_settings({"training.steps": str(2 * few), "training.log_every": str(few)})
    dataset = data_of(trial, device, data)
    model = _built(trial, device)
    steps = train(
        model,
        trial.bounds[:1],
        batches(trial, dataset),
        trial.training,
        decayed=decayed(model),
        compiled=compiled and not recipe.data.is_graph,
    )
    with closing(steps) as records:
        taken = (record for record in records if record.kind == "train")
        next(taken)  # kernels are chosen and memory is taken in the first steps
        rate = next(taken).examples_per_second / trial.training.batch_size
    return {
        "parameters": sum(p.numel() for p in model.parameters()),
        "steps_per_second": rate,
        "seconds": recipe.training.steps / rate,
    }


def _built(recipe: Recipe, device: torch.device | str) -> nn.Module:
    """A recipe's model to train, on its device, channels last.

    On a CPU the lean networks then take 0.83 of the time; a GPU's kernels want it so.
    """
    model = recipe.build().to(device)
    model.to(memory_format=torch.channels_last)  # pyright: ignore[reportCallIssue] not in stubs
    return model


def decayed(model: nn.Module) -> Collection[nn.Parameter]:
    """The parameters that weight decay acts on."""
    return model.decayed() if isinstance(model, JointVAE | SemiVAE) else ()


def shapes_of(model: nn.Module) -> dict[str, torch.Size]:
    """What the weights of a model must look like."""
    return {name: tensor.shape for name, tensor in model.state_dict().items()}


def started(model: nn.Module) -> nn.Module:
    """What the weights of another run are weights of: a model, or the one that is held still."""
    return model.base if isinstance(model, Flowing | FlowingParts | Sharpened) else model


def _seen(recipe: Recipe, model: nn.Module, dataset: Dataset) -> Dataset | Readings:
    """What a model learns from: pictures, or what the model below its flows reads in them."""
    if not isinstance(model, Flowing | FlowingParts):
        return dataset
    few = recipe.training.steps * recipe.training.batch_size
    return Readings(model.eval(), dataset, recipe.training.seed, few)


def batches(recipe: Recipe, dataset: Dataset | Readings) -> Callable[..., Batch[Any]]:
    """Batches by their number, of wholes also by how many parts they may have."""
    size = recipe.training.batch_size
    return lambda number, count=1, *level: dataset.batch(number, size, count, *level)


def _growth(recipe: Recipe, dataset: Dataset) -> Growth | None:
    """How many parts wholes may have as training goes on, if the recipe has them grow."""
    every = recipe.training.growth
    if not (every and isinstance(dataset, Wholes)):
        return None
    return Growth(min(2, dataset.most), dataset.most, every)
