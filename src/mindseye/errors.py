"""What goes wrong, in words a user can act on.

Every error says what was expected, what came and what to do, in one line, with an optional hint.
The command line prints both and exits with `exit_code`; Python users catch a `ValueError`,
`OSError` or `ArithmeticError` as they would expect.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

__all__ = ["DataError", "MindseyeError", "NumericError", "UsageError", "did_you_mean", "listed"]


class MindseyeError(Exception):
    """The root of all errors this package raises on purpose.

    Arguments:
        message: One line: what was expected, what came.
        hint: What to type instead, if it is known.
    """

    exit_code = 2

    def __init__(self, message: str, hint: str = ""):
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()


class UsageError(MindseyeError, ValueError):
    """A word, a value or an option that cannot be meant."""


class DataError(MindseyeError, ValueError):
    """A file, a folder or a picture that is missing, damaged or of another kind."""


class NumericError(MindseyeError, ArithmeticError):
    """Training ran away and could not be brought back."""

    exit_code = 4


def did_you_mean(word: str, options: Iterable[str]) -> str:
    """A closing sentence that names the nearest option, or nothing.

    >>> did_you_mean("bigg", ["big", "small"])
    "Did you mean 'big'?"
    >>> did_you_mean("xyz", ["big", "small"])
    ''
    """
    near = get_close_matches(word, list(options), n=1, cutoff=0.5)
    return f"Did you mean {near[0]!r}?" if near else ""


def listed(words: Iterable[str]) -> str:
    """Quote words and join them with commas and a final 'or'.

    >>> listed(["big", "small"])
    "'big' or 'small'"
    >>> listed(["a", "b", "c"])
    "'a', 'b' or 'c'"
    """
    quoted = [repr(word) for word in words]
    return " or ".join(filter(None, [", ".join(quoted[:-1]), *quoted[-1:]]))
