"""Two columns of whole numbers, found in all lines of a text at once.

The bytes of a text are an array. Words begin and end where its kind of byte changes; the first two
of every line are numbers, whose digits are added up place by place. A text in which anything is
unusual is not read here at all: nothing is guessed.
"""

from __future__ import annotations

import numpy as np

__all__ = ["MANY_DIGITS", "two_columns"]

MANY_DIGITS = 18
"""The most digits of a number; all of them fit into 64 bits."""

WORD, BLANK, SEPARATOR, END = range(4)


def two_columns(text: bytes, separator: str) -> np.ndarray | None:
    r"""The first two whole numbers of every line, `(E, 2)`, or nothing if a line has not two.

    >>> two_columns(b"0,1,0.5\n# more\n12, 3\n", ",").tolist()
    [[0, 1], [12, 3]]

    Arguments:
        text: Lines, each of which ends in a line feed; blank ones and comments are passed over.
        separator: What separates cells; a space for any blanks.
    """
    data = np.frombuffer(text, np.uint8)
    kind = KINDS[separator][data]
    change = np.diff((kind == WORD).view(np.int8), prepend=0, append=0)
    starts, ends = (change == 1).nonzero()[0], (change == -1).nonzero()[0]
    line_ends = (kind == END).nonzero()[0]
    lines = np.searchsorted(line_ends, starts)

    # The first words of lines that are no comments, and the words after them.
    first = (np.diff(lines, prepend=-1) > 0).nonzero()[0]
    first = first[data[starts[first]] != ord("#")]
    second = first + 1
    if not len(first):
        return np.empty((0, 2), np.int64)
    if second[-1] >= len(lines) or not np.array_equal(lines[first], lines[second]):
        return None
    if separator != " " and not _in_place(kind, starts, lines, line_ends, first):
        return None
    chosen = np.stack([first, second], 1)  # (E, 2)
    return _numbers(data, starts[chosen], ends[chosen] - starts[chosen])


def _in_place(
    kind: np.ndarray,
    starts: np.ndarray,
    lines: np.ndarray,
    line_ends: np.ndarray,
    first: np.ndarray,
) -> bool:
    """Whether the first two cells of lines have one word each."""
    before = np.cumsum(kind == SEPARATOR, dtype=np.int32)  # the separators up to a byte
    begun = np.concatenate([[0], before[line_ends]])[lines]  # and up to the line of a word
    cell = before[starts] - begun
    third = (first + 2)[first + 2 < len(lines)]
    third = third[lines[third] == lines[third - 2]]
    return bool(
        (cell[first] == 0).all() and (cell[first + 1] == 1).all() and (cell[third] > 1).all()
    )


def _numbers(data: np.ndarray, starts: np.ndarray, lengths: np.ndarray) -> np.ndarray | None:
    """The whole numbers of some words, or nothing if one is none."""
    longest, numbers = int(lengths.max()), np.zeros(starts.shape, np.int64)
    if longest > MANY_DIGITS:
        return None
    for place in range(longest):
        going = lengths > place
        digits = data.take(starts + place, mode="clip") - np.uint8(ord("0"))  # wraps around
        if (digits[going] > 9).any():
            return None
        numbers = np.where(going, 10 * numbers + digits, numbers)
    return numbers


def _kinds(separator: str) -> np.ndarray:
    """What each byte is."""
    kinds = np.full(256, WORD, np.uint8)
    kinds[[*b" \t\v\f"]] = BLANK
    kinds[ord("\n")] = END
    if separator != " ":
        kinds[ord(separator)] = SEPARATOR
    return kinds


KINDS = {separator: _kinds(separator) for separator in ",;\t "}
