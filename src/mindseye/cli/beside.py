"""What `mindseye aggregate` and `mindseye sharpen` share: a run beside another one's model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from mindseye.cli.options import chosen_device, setting
from mindseye.cli.train import follow
from mindseye.errors import UsageError

if TYPE_CHECKING:
    from mindseye.papers import Recipe

__all__ = ["train_beside"]


def train_beside(
    run: str,
    beside: Callable[[Recipe, int | None], Recipe],
    *,
    settings: Sequence[str] | None,
    seed: int | None,
    runs: str,
    data: str | None,
    device: str,
    compiled: bool,
    tensorboard: bool,
    as_json: bool,
) -> None:
    """Train something beside the model of a finished run, which is held still.

    Arguments:
        run: The run: a folder, name or number.
        beside: From its recipe, and how many training pictures there are if that is known yet, to
            the recipe of what stands beside its model.
        settings: Fields of that recipe to change, each as NAME=VALUE.
        seed: Of weights, data and noise; that of the run if not given.
        runs: The folder of runs.
        data: A folder with the data.
        device: Where to train.
        compiled: On a GPU, whether steps are captured.
        tensorboard: Whether TensorBoard files are written too.
        as_json: Whether the answer is for programs.
    """
    from mindseye.runs import create, find

    found = find(run, runs)
    if not found.finished:
        raise UsageError(f"{found.path} is not finished.", f"mindseye resume {found.path}")
    beside(found.recipe, None)  # what cannot be is said before data are looked for
    resolved = found.recipe.data.resolved(data)
    pictures = resolved.open("train", folder=data).count  # fail before a folder is made
    recipe = beside(replace(found.recipe, data=resolved), pictures)
    recipe = recipe.with_settings(dict(setting(text) for text in settings or []))
    if seed is not None:
        recipe = recipe.with_settings({"training.seed": str(seed)})
    where = chosen_device(device)
    made = create(recipe, runs, start=found)
    records = made.train(where, data, compiled=compiled)
    follow(made, records, tensorboard=tensorboard, as_json=as_json)
