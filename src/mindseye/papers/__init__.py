"""One file per paper: its recipes and the tables they reproduce."""

from mindseye.papers import (
    berger,
    berger_tables,
    burda,
    burda_tables,
    cremer,
    cremer_tables,
    higgins,
    higgins_tables,
    kipf,
    kipf_tables,
    ladders,
    mansimov,
    mansimov_tables,
    narayanaswamy,
    narayanaswamy_tables,
    review,
    vedantam,
    vedantam_4a,
)
from mindseye.papers.citations import citations
from mindseye.papers.ledgers import Ledger
from mindseye.papers.model import Model
from mindseye.papers.recipe import RECIPES, Recipe, get_recipe
from mindseye.papers.tables import TABLES, Table, get_table

__all__ = [
    "RECIPES",
    "TABLES",
    "Ledger",
    "Model",
    "Recipe",
    "Table",
    "berger",
    "berger_tables",
    "burda",
    "burda_tables",
    "citations",
    "cremer",
    "cremer_tables",
    "get_recipe",
    "get_table",
    "higgins",
    "higgins_tables",
    "kipf",
    "kipf_tables",
    "ladders",
    "mansimov",
    "mansimov_tables",
    "narayanaswamy",
    "narayanaswamy_tables",
    "review",
    "vedantam",
    "vedantam_4a",
]
