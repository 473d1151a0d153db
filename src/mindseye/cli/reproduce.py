"""`mindseye reproduce`: a published table, made again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mindseye.cli.options import DataFolder, Device, Json, chosen_device, setting
from mindseye.cli.output import answer, bar, note, print_json
from mindseye.errors import UsageError

if TYPE_CHECKING:
    from mindseye.papers import Ledger, Table

__all__ = ["reproduce"]


def reproduce(
    table: Annotated[str, typer.Argument(help="A published table: vedantam-4a, burda-mnist …")],
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="A small version for a CPU and 10 minutes: one seed, fewer rows."
        ),
    ] = False,
    size: Annotated[
        str | None,
        typer.Option(help="paper, fast, lean or tiny recipes; fast on a GPU, lean on a CPU."),
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(help="Trainings of every row, with seeds 0, 1, …; 3, or the table's own."),
    ] = None,
    rows: Annotated[
        str | None, typer.Option(help="Only these methods, such as telbo,jmvae.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="Change every row's recipe: steps=2000, data.source=digits …"),
    ] = None,
    builtin_observer: Annotated[
        bool,
        typer.Option(
            "--builtin-observer", help="Judge our protocol by the observer of the package."
        ),
    ] = False,
    out: Annotated[
        str | None, typer.Option(help="The folder for everything; reproduced/TABLE by default.")
    ] = None,
    data: DataFolder = None,
    device: Device = "auto",
    json: Json = False,
) -> None:
    """Make a published table again: train, score, and set it beside what was printed.

    Every row is trained with several seeds and scored as the paper scores it. What is in the folder
    already is used, so that a call that was stopped goes on where it was. It writes Markdown, JSON
    and an HTML page with the pictures.

    \b
    mindseye reproduce vedantam-4a --device cuda
    mindseye reproduce vedantam-4a --quick
    mindseye reproduce vedantam-4a --rows telbo,jmvae --seeds 5 --set steps=40000
    mindseye reproduce burda-mnist --rows vae-1,iwae-50
    mindseye reproduce kipf-vgae
    """
    from mindseye.papers import get_table

    chosen, where = get_table(table), chosen_device(device)
    if quick and seeds is not None:
        raise UsageError("`--quick` trains one seed.", f"Leave out --seeds {seeds}, or --quick.")
    size = size or _usual_size(chosen, fast=where.type == "cuda" and not quick)
    make = _maker(
        chosen,
        builtin_observer=builtin_observer,
        size=size,
        seeds=getattr(chosen, "seeds", 3) if seeds is None else seeds,
        quick=quick,
        rows=[] if rows is None else [name.strip() for name in rows.split(",")],
        settings=dict(setting(text) for text in set_ or []),
        data=data,
    )
    folder = Path(out or f"reproduced/{chosen.name}")
    if where.type == "cpu" and not quick and getattr(chosen, "hours", True) and size in _LONG:
        note(f"Without a GPU {_LONG[size]}; --quick takes ten minutes.")
    try:
        with _watching() as watch:
            result = make(folder, device=where, data=data, watch=watch)
    except KeyboardInterrupt:
        note("Interrupted. The same command goes on where it was.")
        raise typer.Exit(130) from None
    _finished(result, folder, as_json=json)


_LONG = {
    "paper": "this takes weeks",
    "fast": "this takes days",
    "lean": "every training takes minutes, and all of them hours",
}
"""How long a table of a size takes on a CPU."""


def _usual_size(chosen: Table | Ledger, *, fast: bool) -> str:
    """The size for a GPU or for a CPU; the paper's where a table has no other."""
    wanted = "fast" if fast else "lean"
    return wanted if wanted in getattr(chosen, "sizes", (wanted,)) else "paper"


def _maker(
    chosen: Table | Ledger, *, builtin_observer: bool, **options: Any
) -> Callable[..., dict[str, Any]]:
    """What makes a table of its kind, all that it needs looked up."""
    from mindseye.papers import Ledger
    from mindseye.reproduction import make_ledger_plan, make_plan, reproduce_ledger
    from mindseye.reproduction import reproduce as reproduce_table

    if not isinstance(chosen, Ledger):
        plan = make_plan(chosen, builtin_observer=builtin_observer, **options)
        return partial(reproduce_table, plan)
    if builtin_observer:
        raise UsageError(f"`--builtin-observer` means nothing for {chosen.name}: nobody judges.")
    return partial(reproduce_ledger, make_ledger_plan(chosen, **options))


def _finished(result: dict[str, Any], folder: Path, *, as_json: bool) -> None:
    if as_json:
        return print_json(result)
    from mindseye.reproduction.pages import markdown

    answer(markdown(result))
    names = ", ".join(f"{result['table']}.{ending}" for ending in ("md", "json", "html"))
    answer(f"Wrote {names} and {len(result['pictures'])} pictures to {folder}")


@contextmanager
def _watching() -> Iterator[Callable[[str, int, int], None]]:
    """A progress bar for what is being done, and a line when something new begins."""
    with bar("") as progress:
        task, current = progress.add_task("", total=None), ""

        def watch(what: str, done: int, total: int) -> None:
            nonlocal current
            if what != current and progress.disable:
                note(what)
            current = what
            progress.update(task, description=what, completed=done, total=total)

        yield watch
