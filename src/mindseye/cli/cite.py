"""`mindseye cite`: BibTeX of what a run stands on."""

from __future__ import annotations

from typing import Annotated

import typer

from mindseye.cli.options import Json, Runs
from mindseye.cli.output import answer, print_json

__all__ = ["cite"]


def cite(
    name: Annotated[str, typer.Argument(help="A recipe, a built-in model or a run.")] = "mnist-a",
    runs: Runs = "runs",
    json: Json = False,
) -> None:
    """Print BibTeX for the objective, networks and data of a model.

    \b
    mindseye cite mnist-a/jmvae
    """
    from mindseye.papers import RECIPES, citations
    from mindseye.runs import find

    recipe = RECIPES[name] if name in RECIPES else find(name, runs).recipe
    entries = citations(recipe)
    if json:
        return print_json(entries)
    answer("\n\n".join(entries))
