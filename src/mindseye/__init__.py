"""Descriptions to pictures, pictures to descriptions.

>>> import mindseye
>>> mind = mindseye.load("mnist-a")
>>> mind.imagine("digit=4, size=big", n=16, seed=7).shape
torch.Size([16, 1, 64, 64])

Importing the package imports nothing else: torch comes with the first name that needs it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from mindseye.version import __version__

if TYPE_CHECKING:
    from mindseye.concepts import Attribute, Concept, Vocabulary
    from mindseye.imagine import Mind
    from mindseye.papers import Recipe, get_recipe
    from mindseye.runs import create, find, load, load_observer

__all__ = [
    "Attribute",
    "Concept",
    "Mind",
    "Recipe",
    "Vocabulary",
    "__version__",
    "create",
    "find",
    "get_recipe",
    "load",
    "load_observer",
]

_HOMES = {
    "Attribute": "concepts",
    "Concept": "concepts",
    "Vocabulary": "concepts",
    "Mind": "imagine",
    "Recipe": "papers",
    "get_recipe": "papers",
    "create": "runs",
    "find": "runs",
    "load": "runs",
    "load_observer": "runs",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'mindseye' has no attribute {name!r}")
    return getattr(import_module(f"mindseye.{_HOMES[name]}"), name)
