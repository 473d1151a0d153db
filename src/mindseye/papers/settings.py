"""Dataclasses from text and from JSON: whatever does not fit is named.

Dataclasses may hold others, and mappings of names to numbers; a field of a field is written with a
dot, `training.steps`.
"""

from __future__ import annotations

import dataclasses
import math
import sys
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from reprlib import repr as short
from typing import Any, TypeVar

from mindseye.errors import UsageError, did_you_mean, listed

__all__ = ["changed", "field_names", "from_plain", "full_name", "parsed"]

T = TypeVar("T")


def field_names(value: Any) -> Iterator[str]:
    """The full names of all fields of a dataclass that are not dataclasses themselves."""
    for field in dataclasses.fields(value):
        inner = getattr(value, field.name)
        if dataclasses.is_dataclass(inner):
            yield from (f"{field.name}.{name}" for name in field_names(inner))
        else:
            yield field.name


def full_name(key: str, names: Sequence[str]) -> str:
    """The one of some names that is the key, or whose last part is.

    >>> full_name("steps", ["training.steps", "training.seed"])
    'training.steps'
    """
    last = [name.rpartition(".")[2] for name in names]
    found = [name for name, short in zip(names, last, strict=True) if key in (name, short)]
    if key in found or len(found) == 1:
        return key if key in found else found[0]
    if found:
        raise UsageError(f"`{key}` could be {listed(found)}; write one of them.")
    raise UsageError(
        f"`{key}` is not a setting.",
        did_you_mean(key, [*names, *last]) or f"Expected {listed(last)}.",
    )


def changed(value: T, name: str, text: str) -> T:
    """A dataclass with the field of a full name read from text."""
    return _changed(value, name, text, name)


def parsed(kind: Any, text: str, name: str) -> Any:
    """Text as a value of a type; `name` is what an error calls it.

    >>> parsed(tuple[float, float], "0.9, 0.99", "adam_betas")
    (0.9, 0.99)
    """
    if typing.get_origin(kind) is tuple:
        inner = typing.get_args(kind)[0]
        return tuple(parsed(inner, part.strip(), name) for part in text.split(","))
    try:
        return _READERS[kind](text)
    except (KeyError, ValueError) as error:
        raise UsageError(f"`{name}={text!r}` is not {_EXPECTED[kind]}.") from error


def from_plain(kind: Any, value: Any, name: str) -> Any:
    """JSON data as a value of a type; `name` is what an error calls it.

    >>> from_plain(tuple[float, ...], [1, 2], "sizes")
    (1.0, 2.0)
    """
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return _dataclass(kind, value, name)
    origin = typing.get_origin(kind)
    if origin is tuple and isinstance(value, list):
        return tuple(from_plain(typing.get_args(kind)[0], each, name) for each in value)
    if origin is Mapping and isinstance(value, dict):
        inner = typing.get_args(kind)[1]
        return {key: from_plain(inner, each, f"{name}.{key}") for key, each in value.items()}
    if kind is float and type(value) in (int, float) and abs(value) <= sys.float_info.max:
        return float(value)
    if kind is not float and type(value) is kind:
        return value
    raise UsageError(f"`{name}={short(value)}` is not {_expected(kind)}.")


def _changed(value: Any, name: str, text: str, full: str) -> Any:
    """A dataclass or mapping with the field of a name read from text."""
    here, _, rest = name.partition(".")
    if isinstance(value, Mapping):
        return {**value, name: parsed(float, text, full)}
    if rest:
        return replace(value, **{here: _changed(getattr(value, here), rest, text, full)})
    return replace(value, **{here: parsed(typing.get_type_hints(type(value))[here], text, full)})


def _dataclass(kind: type, value: Any, where: str) -> Any:
    """A dataclass from a JSON object that has the fields it needs and no others."""
    if not isinstance(value, dict):
        raise UsageError(f"`{where}` must be an object with named fields.")
    fields = {field.name: field for field in dataclasses.fields(kind)}
    if unknown := [name for name in value if name not in fields]:
        raise UsageError(
            f"`{where}.{unknown[0]}` is not a field.", did_you_mean(unknown[0], fields)
        )
    if missing := [name for name, f in fields.items() if _required(f) and name not in value]:
        raise UsageError(f"`{where}.{missing[0]}` is missing.")
    hints = typing.get_type_hints(kind)
    return kind(**{n: from_plain(hints[n], each, f"{where}.{n}") for n, each in value.items()})


def _required(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _whole(text: str) -> int:
    """A whole number; 2e4 is one too."""
    try:
        return int(text)
    except ValueError:
        number = float(text)
        if not number.is_integer():
            raise
        return int(number)


def _finite(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise ValueError(f"{text} is not finite")
    return number


def _truth(text: str) -> bool:
    """Yes or no; a KeyError for anything else."""
    words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
    return words[text.lower()]


_READERS: dict[Any, Callable[[str], Any]] = {str: str, float: _finite, int: _whole, bool: _truth}
_EXPECTED = {str: "a text", float: "a number", int: "a whole number", bool: "true or false"}


def _expected(kind: Any) -> str:
    if typing.get_origin(kind) is tuple:
        return "a list"
    return _EXPECTED.get(kind, "an object with named numbers")
