"""`mindseye links`: the links that a model of a graph expects."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from mindseye.cli.options import DataFolder, Device, Json, Runs, chosen_device
from mindseye.cli.output import answer, bar, print_json, table
from mindseye.errors import UsageError

__all__ = ["links"]


def links(
    run: Annotated[
        str, typer.Argument(help="A run of a model of a graph: folder, name or number.")
    ],
    node: Annotated[
        str | None, typer.Argument(help="Whose links; the likeliest of all nodes if not given.")
    ] = None,
    other: Annotated[
        str | None, typer.Argument(help="Another node: how likely these two are linked.")
    ] = None,
    n: Annotated[int, typer.Option("-n", "--n", min=1, max=1000, help="How many.")] = 10,
    known: Annotated[
        bool, typer.Option("--known", help="Also links that the model was trained on.")
    ] = False,
    runs: Runs = "runs",
    data: DataFolder = None,
    device: Device = "cpu",
    json: Json = False,
) -> None:
    """Name the likeliest links of a node, or of a whole graph.

    A link is new where the graph has none; held out where it has one that the model was not told.
    Probabilities count in how rare links are.

    \b
    mindseye links runs/00007-cora-masked 12
    mindseye links 7 12 --known -n 20
    mindseye links 7 12 1624
    mindseye links 7
    """
    from mindseye.runs import find

    if known and (other is not None or node is None):
        raise UsageError("`--known` says nothing without a node, or of a pair.", "Leave it out.")
    linker = find(run, runs).linker(data, chosen_device(device))
    if node is None:
        with bar("looking") as progress:
            task = progress.add_task("nodes", total=None)
            found = linker.likeliest_of_all(
                n, progress=lambda done, all_: progress.update(task, completed=done, total=all_)
            )
    elif other is None:
        found = linker.likeliest(node, n, known=known)
    else:
        found = [linker.between(node, other)]
    graph = linker.graph
    if json:
        return print_json([pair.to_json(graph) for pair in found])
    if not found:
        return answer("Nothing is left to link.")
    rows = [["from", "to", *(["class", "class"] if graph.classes else []), "probability", ""]]
    for pair in found:
        classes = _classes(graph, pair.one, pair.other)
        names = [graph.name(pair.one), graph.name(pair.other)]
        rows.append([*names, *classes, f"{pair.probability:.3f}", pair.known])
    table(rows)


def _classes(graph: Any, *nodes: int) -> list[str]:
    """The classes of some nodes, where there are any."""
    return [graph.classes[graph.labels[node]] for node in nodes] if graph.classes else []
