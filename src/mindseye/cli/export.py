"""`mindseye export`: a trained model to give away."""

from __future__ import annotations

from typing import Annotated

import typer

from mindseye.cli.options import Json, Runs
from mindseye.cli.output import answer, print_json

__all__ = ["export"]


def export(
    run: Annotated[str, typer.Argument(help="A run's folder, name or number.")],
    folder: Annotated[str, typer.Argument(help="A new folder.")],
    full: Annotated[
        bool, typer.Option("--full", help="Keep float32 weights; half of that is the default.")
    ] = False,
    runs: Runs = "runs",
    json: Json = False,
) -> None:
    """Copy a finished run to a folder, without checkpoints and in half precision.

    Any command opens the folder as a model.

    \b
    mindseye export 12 my-model
    mindseye imagine "digit=4" --model my-model
    """
    from mindseye import exports
    from mindseye.runs import find

    made = exports.export(find(run, runs), folder, half=not full)
    size = sum(file.stat().st_size for file in made.path.iterdir())
    if json:
        return print_json({"folder": str(made.path), "bytes": size})
    answer(f"Wrote {made.path}, {size / 1e6:.1f} MB.")
