"""One file per paper: its recipes and the tables they reproduce."""

from mindseye.papers import vedantam
from mindseye.papers.citations import citations
from mindseye.papers.recipe import RECIPES, Model, Recipe, get_recipe

__all__ = ["RECIPES", "Model", "Recipe", "citations", "get_recipe", "vedantam"]
