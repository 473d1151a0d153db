"""`mindseye plane`: the latent plane of a model, of pictures or of the nodes of a graph."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mindseye.cli.options import DataFolder, Device, Json, Runs, chosen_device
from mindseye.cli.output import answer, bar, print_json
from mindseye.errors import UsageError

__all__ = ["plane"]


def plane(
    run: Annotated[str, typer.Argument(help="A run with a two-dimensional latent, or of a graph.")],
    side: Annotated[
        int | None, typer.Option(min=2, max=64, help="Pictures along a side; 24 by default.")
    ] = None,
    straight: Annotated[
        bool,
        typer.Option(
            "--straight", help="Nodes of a graph by principal components, not by nearness."
        ),
    ] = False,
    out: Annotated[str | None, typer.Option(help="Where the picture goes.")] = None,
    runs: Runs = "runs",
    data: DataFolder = None,
    device: Device = "cpu",
    json: Json = False,
) -> None:
    """Draw the latent plane of mnist-2bit models, coloured by concept (Figure 7).

    Of a graph, all nodes are laid out so that near ones stay near, and coloured by class.

    \b
    mindseye plane runs/00004-mnist-2bit-jvae
    mindseye plane runs/00007-cora-vgae
    """
    from mindseye.evaluation import plane_of
    from mindseye.graphsheets import plane_sheet
    from mindseye.pictures import save_picture
    from mindseye.runs import find

    found = find(run, runs)
    path = Path(out) if out else found.path / "plane.png"
    where = chosen_device(device)
    if found.recipe.data.is_graph:
        if side is not None:
            raise UsageError("`--side` says nothing of a graph.", "Leave it out.")
        linker = found.linker(data, where)
        with bar("laying out") as progress:
            task = progress.add_task("steps", total=None)
            sheet = plane_sheet(
                linker,
                straight=straight,
                progress=lambda done, all_: progress.update(task, completed=done, total=all_),
            )
        told = f"Wrote {linker.graph.nodes:,} nodes to {path}"
    else:
        if straight:
            raise UsageError("`--straight` is for graphs.", "Leave it out.")
        side = side or 24
        sheet = plane_of(found, side=side, device=where, data=data)
        told = f"Wrote {side * side} pictures to {path}"
    save_picture(path, sheet)
    if json:
        return print_json({"run": str(found.path), "file": str(path)})
    answer(told)
