"""What the fields of a recipe mean, read from the docstrings under them."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import textwrap
from collections.abc import Iterator
from functools import cache
from typing import Any

from mindseye.papers.recipe import Recipe

__all__ = ["documented", "field_docs"]


def documented(recipe: Recipe) -> Iterator[tuple[str, str, str]]:
    """The dotted name, the value and the meaning of every field, in order."""
    yield from _walk(recipe, "")


@cache
def field_docs(kind: type) -> dict[str, str]:
    """The docstring under every field of a dataclass.

    >>> from mindseye.papers.model import Model
    >>> field_docs(Model)["latent"]
    'Size of the latent.'
    """
    tree = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
    assert isinstance(tree, ast.ClassDef)
    docs: dict[str, str] = {}
    for field, below in zip(tree.body, tree.body[1:], strict=False):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(below, ast.Expr)
            and isinstance(below.value, ast.Constant)
        ):
            docs[field.target.id] = " ".join(str(below.value.value).split())
    return docs


def _walk(value: Any, prefix: str) -> Iterator[tuple[str, str, str]]:
    for field in dataclasses.fields(value):
        inner = getattr(value, field.name)
        name = f"{prefix}{field.name}"
        if name in ("name", "about"):
            continue
        if dataclasses.is_dataclass(inner):
            yield from _walk(inner, f"{name}.")
        else:
            yield name, _plain(inner), field_docs(type(value)).get(field.name, "")


MOST = 12
"""Entries of a list that are shown."""


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{k}={v:g}" for k, v in value.items()) or "-"
    if isinstance(value, tuple):
        more = f" … ({len(value)} in all)" if len(value) > MOST else ""
        return ", ".join(map(str, value[:MOST])) + more
    return str(value)
