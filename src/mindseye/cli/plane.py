"""`mindseye plane`: the latent plane of a model with two latent dimensions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mindseye.cli.options import DataFolder, Device, Json, Runs, chosen_device
from mindseye.cli.output import answer, print_json

__all__ = ["plane"]


def plane(
    run: Annotated[str, typer.Argument(help="A run with a two-dimensional latent.")],
    side: Annotated[int, typer.Option(min=2, max=64, help="Pictures along a side.")] = 24,
    out: Annotated[str | None, typer.Option(help="Where the picture goes.")] = None,
    runs: Runs = "runs",
    data: DataFolder = None,
    device: Device = "cpu",
    json: Json = False,
) -> None:
    """Draw the latent plane of mnist-2bit models, coloured by concept (Figure 7).

    \b
    mindseye plane runs/00004-mnist-2bit-jvae
    """
    from mindseye.evaluation import plane_of
    from mindseye.pictures import save_picture
    from mindseye.runs import find

    found = find(run, runs)
    path = Path(out) if out else found.path / "plane.png"
    save_picture(path, plane_of(found, side=side, device=chosen_device(device), data=data))
    if json:
        return print_json({"run": str(found.path), "file": str(path)})
    answer(f"Wrote {side * side} pictures to {path}")
