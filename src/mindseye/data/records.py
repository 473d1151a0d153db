"""Named values of JSON files, read without trusting them: what is wrong is named with its place."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from mindseye.errors import DataError, did_you_mean, listed
from mindseye.grammar import shown

__all__ = ["Record", "Vector"]

Vector = tuple[float, ...]


class Record:
    """Named values of a file; one that is missing or of another kind is refused with its place.

    Arguments:
        where: The file, and where in it, as `scenes.json: scene 3, object 1`.
        values: What was read there.
        inside: The field that the values are of, with a dot, if they are of one.
    """

    def __init__(self, where: str, values: Any, inside: str = ""):
        if not isinstance(values, dict):
            raise DataError(f"{where} is {shown(values)}; expected named values.")
        self.where, self.values, self.inside = where, values, inside

    def has(self, name: str) -> bool:
        """Whether a field is there."""
        return self.values.get(name) is not None

    def refuse(self, name: str, what: str, hint: str = "") -> NoReturn:
        """Say what is wrong with a field."""
        raise DataError(f"{self.where}: `{self.inside}{name}` {what}.", hint)

    def value(self, name: str, kind: type) -> Any:
        """A field of a kind."""
        if not self.has(name):
            self.refuse(name, "is missing")
        value = self.values[name]
        if not isinstance(value, kind):
            expected = {list: "a list", dict: "named values", str: "a text"}[kind]
            self.refuse(name, f"is {shown(value)}; expected {expected}")
        return value

    def word(self, name: str, words: Sequence[str]) -> str:
        """A field that is one of some words."""
        word = self.value(name, str)
        if word not in words:
            expected = f"is '{shown(word)}', which is not known; expected {listed(words)}"
            self.refuse(name, expected, did_you_mean(word, words))
        return word

    def name(self, name: str) -> str:
        """A field that is the name of a file or a folder, and not a path."""
        word = self.value(name, str)
        if not word or word == ".." or Path(word).name != word:
            self.refuse(name, f"is '{shown(word)}'; expected a name without a folder")
        return word

    def vector(self, name: str) -> Vector:
        """A field of three numbers."""
        value = self.value(name, list)
        if len(value) != 3 or not all(map(_is_number, value)):
            self.refuse(name, f"is {shown(value)}; expected three numbers")
        return tuple(map(float, value))

    def part(self, name: str) -> Record:
        """A field that has named values itself."""
        return Record(self.where, self.value(name, dict), f"{self.inside}{name}.")


def _is_number(value: Any) -> bool:
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    return plain and abs(value) < 1e9 and math.isfinite(value)
