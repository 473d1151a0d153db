"""`mindseye show`: everything about a run or a recipe."""

from __future__ import annotations

from typing import Annotated

import typer

from mindseye.cli.options import Json, Runs
from mindseye.cli.output import answer, cell, print_json, table

__all__ = ["show"]


def show(
    name: Annotated[str, typer.Argument(help="A recipe, a built-in model or a run.")],
    runs: Runs = "runs",
    json: Json = False,
) -> None:
    """Show a recipe, field by field, or a run: its recipe, its log and its scores.

    \b
    mindseye show mnist-a/telbo
    mindseye show runs/00012-mnist-a-telbo-lean
    """
    from mindseye.evaluation import compare_runs
    from mindseye.papers import RECIPES
    from mindseye.papers.documentation import documented
    from mindseye.runs import find

    run = None if name in RECIPES else find(name, runs)
    recipe = RECIPES[name] if run is None else run.recipe
    facts = {} if run is None else compare_runs([run])[0]
    if json:
        return print_json({"recipe": recipe.to_json(), **facts, "log": run.log() if run else []})
    answer(f"{recipe.name}  ({recipe.digest})")
    answer(recipe.about)
    answer()
    table([["field", "value", "meaning"], *map(list, documented(recipe))])
    if run is not None:
        answer()
        table([["run", ""], *([name, cell(value)] for name, value in facts.items())])
