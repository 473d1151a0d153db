"""`mindseye aggregate`: flows that learn where a trained model's latents are."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from mindseye.cli.beside import train_beside
from mindseye.cli.options import DataFolder, Device, Json, NoCompile, Runs
from mindseye.cli.train import TensorBoard

__all__ = ["aggregate"]


class Base(StrEnum):
    """What q(z) begins with."""

    autoregressive = "autoregressive"
    normal = "normal"


class Target(StrEnum):
    """What q(z|y) is fitted to."""

    aggregate = "aggregate"
    true = "true"


def aggregate(
    run: Annotated[str, typer.Argument(help="A run's folder, name or number.")],
    target: Annotated[
        Target,
        typer.Option(help="The aggregate posterior of pictures, or the true posterior of words."),
    ] = Target.aggregate,
    base: Annotated[
        Base | None,
        typer.Option(
            help="What the couplings of q(z) begin with: mixtures of one coordinate after another, "
            "which they do if nothing is said, or one normal, as in the paper."
        ),
    ] = None,
    couplings: Annotated[int, typer.Option(help="Couplings of a flow.")] = 6,
    hidden: Annotated[int, typer.Option(help="Width of their networks; 0 by the run's size.")] = 0,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="Change a field: steps=2000, drop=0.5 …")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of weights, data and noise.")] = None,
    runs: Runs = "runs",
    data: DataFolder = None,
    device: Device = "auto",
    no_compile: NoCompile = False,
    tensorboard: TensorBoard = False,
    json: Json = False,
) -> None:
    """Fit flows to the latents of a trained model, which is held still.

    One flow learns q(z|y): where the pictures of a description are, also of one that leaves words
    open. Another learns q(z), where all pictures are. The result is a run of its own, which
    imagines, evaluates and is shown as any other; a model of pictures alone learns words this way.
    Of a model of parts one flow learns where the latent of a whole is, given those of its parts.

    \b
    mindseye aggregate runs/00001-two-objects-vlvae-lean
    mindseye aggregate 1 --target true
    mindseye aggregate 7 --base normal --couplings 8 --set steps=4000
    mindseye aggregate runs/00018-sines-compvae-lean
    """
    from mindseye.papers.flows import flowing

    objective = "aggregate" if target is Target.aggregate else "true-posterior"
    train_beside(
        run,
        lambda recipe, pictures: flowing(
            recipe, objective, couplings, hidden, pictures, base and base.value
        ),
        settings=set_,
        seed=seed,
        runs=runs,
        data=data,
        device=device,
        compiled=not no_compile,
        tensorboard=tensorboard,
        as_json=json,
    )
