"""`mindseye data`: get, check and look at data."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from mindseye.cli.options import DataFolder, Json, Marks, Seed
from mindseye.cli.output import answer, bar, print_json, table
from mindseye.cli.wholes import check_marks
from mindseye.errors import UsageError, did_you_mean, listed

__all__ = ["data"]

data = typer.Typer(
    name="data", help="Get, check and look at data.", rich_markup_mode=None, no_args_is_help=True
)


@data.command()
def get(
    name: Annotated[
        str, typer.Argument(help="What to download: mnist, cora or citeseer.")
    ] = "mnist",
    folder: Annotated[
        str | None, typer.Option(help="Where to; the user's cache if not given.")
    ] = None,
    json: Json = False,
) -> None:
    """Download a data set, checked by its checksums.

    \b
    mindseye data get mnist
    mindseye data get cora
    """
    from mindseye.data.planetoid import download_planetoid
    from mindseye.data.sources import download_mnist

    graphs = {graph: partial(download_planetoid, graph) for graph in ("cora", "citeseer")}
    downloads = {"mnist": download_mnist, **graphs}
    if name not in downloads:
        message = f"{name!r} cannot be downloaded; expected {listed(downloads)}."
        raise UsageError(message, did_you_mean(name, downloads))
    with bar("downloading") as progress:
        tasks: dict[str, object] = {}

        def follow(file: str, done: int, total: int) -> None:
            if file not in tasks:
                tasks[file] = progress.add_task(file, total=total or None)
            progress.update(tasks[file], completed=done)  # pyright: ignore[reportArgumentType]

        where = downloads[name](folder, progress=follow)
    if json:
        return print_json({"folder": str(where)})
    answer(f"{'MNIST' if name == 'mnist' else name.capitalize()} is in {where}")


@data.command()
def prepare(
    name: Annotated[str, typer.Argument(help="A data set, such as mnist-a.")] = "mnist-a",
    source: Annotated[str, typer.Option(help="Where it comes from: mnist, digits …")] = "auto",
    compositional: Annotated[
        bool, typer.Option("--compositional", help="Hold combinations out too.")
    ] = False,
    split_seed: Annotated[int, typer.Option(help="Chooses what is held out.")] = 0,
    folder: DataFolder = None,
    json: Json = False,
) -> None:
    """Check that a data set can be made, and say what its parts hold.

    Most pictures are drawn when they are needed, and nothing else is to prepare; the file of
    dSprites is unpacked here.

    \b
    mindseye data prepare mnist-a --compositional
    """
    from mindseye.data import Data, describe_parts

    facts = describe_parts(
        Data(name, source=source, compositional=compositional, split_seed=split_seed), folder
    )
    if json:
        return print_json(facts)
    table([list(facts[0]), *([str(value) for value in fact.values()] for fact in facts)])


@data.command()
def preview(
    name: Annotated[str, typer.Argument(help="A data set, such as mnist-a.")] = "mnist-a",
    concept: Annotated[
        str, typer.Option(help="Only pictures of a description, or wholes of some parts.")
    ] = "",
    n: Annotated[int, typer.Option("-n", "--n", min=1, max=1000, help="How many.")] = 24,
    part: Annotated[str, typer.Option(help="train, validation, test or observer.")] = "train",
    source: Annotated[str, typer.Option(help="Where it comes from: mnist, digits …")] = "auto",
    seed: Seed = 0,
    marks: Marks = False,
    folder: DataFolder = None,
    out: Annotated[str | None, typer.Option(help="Where the picture goes.")] = None,
    json: Json = False,
) -> None:
    """Draw real pictures of a data set on a sheet (Figure 6), or wholes over their parts.

    \b
    mindseye data preview mnist-a --concept "digit=4, size=big"
    mindseye data preview sines --concept "3×f2, f7"
    mindseye data preview sites --marks
    """
    from mindseye.data import Data, Linked
    from mindseye.data.wholes import Wholes
    from mindseye.figures import real_sheet
    from mindseye.graphsheets import degree_sheet
    from mindseye.pictures import save_picture
    from mindseye.wholesheets import real_wholes_sheet

    opened = Data(name, source=source).open(part, seed=seed, folder=folder)
    check_marks(opened.vocabulary, marks)
    path, title = Path(out or f"imagined/{name}-{part}-seed{seed}.png"), f"{name}, {part}"
    if isinstance(opened, Linked):
        if concept:
            raise UsageError(f"nothing can be said of {name}, a graph.", "Leave out --concept.")
        save_picture(path, degree_sheet(opened.graph, f"{name}: {opened.graph.nodes:,} nodes"))
        facts = opened.graph.facts()
        if json:
            return print_json({"file": str(path), **facts})
        answer(", ".join(f"{value:,} {fact}" for fact, value in facts.items()))
        return answer(f"Wrote how many links nodes have to {path}")
    if isinstance(opened, Wholes):
        sheet = real_wholes_sheet(opened, concept, n, seed, title=title, marks=marks)
    else:
        sheet = real_sheet(opened, concept, n, seed, title=title)
    save_picture(path, sheet)
    if json:
        return print_json({"file": str(path), "n": n})
    what = "wholes" if isinstance(opened, Wholes) else "pictures"
    answer(f"Wrote {n} real {what} to {path}")
