"""One file per paper: its recipes and the tables they reproduce."""

from mindseye.papers import vedantam, vedantam_4a
from mindseye.papers.citations import citations
from mindseye.papers.recipe import RECIPES, Model, Recipe, get_recipe
from mindseye.papers.tables import TABLES, Table, get_table

__all__ = [
    "RECIPES",
    "TABLES",
    "Model",
    "Recipe",
    "Table",
    "citations",
    "get_recipe",
    "get_table",
    "vedantam",
    "vedantam_4a",
]
