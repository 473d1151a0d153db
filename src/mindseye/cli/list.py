"""`mindseye list`: runs, built-in models and recipes."""

from __future__ import annotations

from typing import Annotated

import typer

from mindseye.cli.options import Json, Runs
from mindseye.cli.output import answer, cell, print_json, table

__all__ = ["list_"]


def list_(
    recipes: Annotated[bool, typer.Option("--recipes", help="List the recipes instead.")] = False,
    runs: Runs = "runs",
    json: Json = False,
) -> None:
    """List built-in models and runs, or recipes.

    \b
    mindseye list
    mindseye list --recipes
    """
    from mindseye.papers import RECIPES
    from mindseye.runs import BUILTIN, list_runs

    if recipes:
        if json:
            return print_json([made.to_json() for made in RECIPES.values()])
        return table([["recipe", "about"], *([m.name, m.about] for m in RECIPES.values())])
    facts = [run.summary() for run in [*list_runs(BUILTIN), *list_runs(runs)]]
    if json:
        return print_json(facts)
    table([list(facts[0]), *([cell(value) for value in fact.values()] for fact in facts)])
    if not list_runs(runs):
        answer(f"\nNo runs in {runs}/ yet. Try: mindseye train mnist-a/telbo-lean")
