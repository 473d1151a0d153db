"""`mindseye compare`: several models beside each other."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from mindseye.cli.options import (
    Device,
    Json,
    ObserverName,
    Runs,
    Seed,
    chosen_device,
    chosen_observer,
)
from mindseye.cli.output import answer, cell, print_json, table

__all__ = ["compare"]


def compare(
    models: Annotated[list[str], typer.Argument(help="Built-in models or runs, two or more.")],
    query: Annotated[
        str, typer.Option("--query", "-q", help="The description all of them imagine.")
    ] = "",
    n: Annotated[int, typer.Option("-n", "--n", help="Pictures of each model.")] = 8,
    seed: Seed = 0,
    out: Annotated[str | None, typer.Option(help="Where the picture goes.")] = None,
    observer: ObserverName = None,
    runs: Runs = "runs",
    device: Device = "cpu",
    json: Json = False,
) -> None:
    """Compare models: the same query side by side, and the scores they have.

    \b
    mindseye compare runs/00001-mnist-a-telbo-lean runs/00002-mnist-a-jmvae-lean -q "digit=4"
    """
    from mindseye.evaluation import compare_runs
    from mindseye.figures import comparison_sheet, judged
    from mindseye.pictures import save_picture
    from mindseye.runs import find

    found = [find(name, runs) for name in models]
    judge = chosen_observer(observer, runs)
    minds = [run.mind(judge) for run in found]
    where = chosen_device(device)
    rows = []
    for mind in minds:
        mind.model.to(where)
        imagined = mind.imagined(query, n, seed)
        rows.append((mind.name, imagined, judged(mind, imagined) if mind.can_judge else []))
    path = Path(out or f"imagined/compare-seed{seed}.png")
    save_picture(path, comparison_sheet(minds[0].concept(query), rows))
    facts = compare_runs(found)
    if json:
        return print_json({"picture": str(path), "models": facts})
    _print(facts)
    answer(f"Wrote {len(rows)} rows of {n} pictures to {path}")


def _print(facts: list[dict[str, Any]]) -> None:
    columns = list(dict.fromkeys(name for fact in facts for name in fact))
    table([columns, *([cell(fact.get(name)) for name in columns] for fact in facts)])
