"""`mindseye sharpen`: networks that sharpen what a trained model paints."""

from __future__ import annotations

from typing import Annotated

import typer

from mindseye.cli.beside import train_beside
from mindseye.cli.options import DataFolder, Device, Json, NoCompile, Runs
from mindseye.cli.train import TensorBoard

__all__ = ["sharpen"]


def sharpen(
    run: Annotated[str, typer.Argument(help="A run's folder, name or number.")],
    width: Annotated[int, typer.Option(help="Channels of the networks; 0 by the run's size.")] = 0,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="Change a field: steps=2000, lam=100 …")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of weights, data and noise.")] = None,
    runs: Runs = "runs",
    data: DataFolder = None,
    device: Device = "auto",
    no_compile: NoCompile = False,
    tensorboard: TensorBoard = False,
    json: Json = False,
) -> None:
    """Sharpen the pictures of a trained model, which is held still.

    What a model paints of a caption is a mean, and blurred. A second network learns to add what a
    real picture has and the mean has not, and a third one to tell the two apart. The result is a
    run of its own, which imagines and is shown as any other; its bound is that of the first.

    \b
    mindseye sharpen runs/00001-captioned-mnist-align-lean
    mindseye sharpen 1 --width 32 --set steps=4000
    mindseye sharpen 7 --set lam=100
    """
    from mindseye.papers.sharpening import sharpening

    train_beside(
        run,
        lambda recipe, pictures: sharpening(recipe, width),
        settings=set_,
        seed=seed,
        runs=runs,
        data=data,
        device=device,
        compiled=not no_compile,
        tensorboard=tensorboard,
        as_json=json,
    )
