"""Parts: descriptions of a whole by what it is made of.

A kit says what parts there are: their categories and, if it has axes, the numbers that say where
each part is. A whole is a multiset of parts: the same part may be there several times, the order
says nothing, and parts can be added and taken away. This is how the CompVAE of Berger and Sebag
(2020) is told what to draw.

A text names the parts one after the other, with a count before those that repeat, and after an `@`
where they are:

    3×f2, f7                           (also: f2 f7 f2 f2; 3*f2 and f7; 3 x f2; F7)
    red@0.2,-0.5; blue@0.6,0.1         (also: red@(0.2, -0.5) and blue@(0.6, 0.1))
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from numbers import Real
from typing import Any, NamedTuple, NoReturn

from mindseye.errors import UsageError
from mindseye.grammar import check_words, fold, nearest, shown, some

__all__ = ["Kit", "Part", "Parts"]

LONGEST = 100_000
"""Characters of a text that are read."""

MOST = 1_000_000
"""Parts that a kit may allow."""

LARGEST = 1e38
"""The largest number that a place may have; 32 bits hold it."""

RESERVED = ("and", "nan", "inf", "infinity")
"""Words that a text means something else by."""


class Part(NamedTuple):
    """One part: what it is, and where, if its kit has axes.

    >>> print(Part("f2"), Part("red", (0.2, -0.5)))
    f2 red@0.2,-0.5
    """

    category: str
    place: tuple[float, ...] = ()

    def __str__(self) -> str:
        place = ",".join(map(_short, self.place))
        return f"{self.category}@{place}" if self.place else self.category


@dataclass(frozen=True)
class Kit:
    """What parts there are.

    >>> kit = Kit(["f1", "f2", "f7"])
    >>> kit.parse("f2, f7, 2×f2")
    Parts('3×f2, f7')
    >>> colours = Kit(["red", "green", "blue"], axes=("x", "y"))
    >>> colours.parse("blue@0.6,0.1 and red@(0.2, -0.5)")
    Parts('red@0.2,-0.5; blue@0.6,0.1')

    Arguments:
        categories: Their names, one word each.
        axes: Names of the numbers that every part has, such as `("x", "y")`.
        low: The least that these numbers may be.
        high: The most that they may be.
        most: The most parts that a whole may have.
    """

    categories: Sequence[str]
    axes: Sequence[str] = ()
    low: float = -1.0
    high: float = 1.0
    most: int = 1000

    def __post_init__(self) -> None:
        for argument in ("categories", "axes"):
            object.__setattr__(self, argument, _names(argument, getattr(self, argument)))
        check_words("categories", self.categories)  # there is at least one
        numbers = all(_within(bound, -LARGEST, LARGEST) for bound in (self.low, self.high))
        if not numbers or self.low >= self.high:
            came = f"`low` (={shown(self.low)}) and `high` (={shown(self.high)})"
            raise UsageError(f"{came} must be two finite numbers, the second larger.")
        object.__setattr__(self, "low", float(self.low))
        object.__setattr__(self, "high", float(self.high))
        if type(self.most) is not int or not 1 <= self.most <= MOST:
            raise UsageError(f"`most` (={shown(self.most)}) must be a whole number, 1 to {MOST}.")

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the categories."""
        return tuple(self.categories)

    @property
    def example(self) -> str:
        """How parts are written.

        >>> Kit(["f1", "f2"]).example
        '3×f1, f2'
        """
        first, last = (self._example(self.names[i]) for i in (0, -1))
        return f"3×{first}{self._between}{last}"

    def index(self, name: str) -> int:
        """Position of a category."""
        if not isinstance(name, str):
            raise UsageError(f"`name` (={shown(name)}) must be a string.")
        code = self._codes.get(fold(name))
        if code is None:
            what = f"'{shown(name)}' is not a part here; expected {some(self.names)}."
            raise UsageError(what, nearest(name, self.names))
        return code

    def parse(self, text: str) -> Parts:
        """The parts that a text names: "3×f2, f7", or "red@0.2,-0.5; blue@0.6,0.1"."""
        items: list[Part] = []
        for phrase in self._phrases(text):
            part = self._part(phrase.name, phrase.place)
            n = self._count(phrase.times, part)
            if len(items) + n > self.most:
                said = part if n == 1 else f"{shown(phrase.times)}×{part}"
                self._too_many(f"With `{said}` there")
            items += [part] * n
        if not items:
            hint = f"Say at least one part, such as '{self._example(self.names[0])}'."
            raise UsageError("The text names no part.", hint)
        return self.parts(items)

    def parts(self, items: Iterable[Part | tuple[Any, ...] | str]) -> Parts:
        """The multiset of some parts, each a `Part`, a tuple `("red", 0.2, -0.5)` or a text.

        >>> Kit(["red", "blue"], axes=("x",)).parts([("blue", 0.5), Part("red", (0.25,))])
        Parts('red@0.25; blue@0.5')
        """
        if isinstance(items, str):
            raise UsageError("`items` is a text; expected a list of parts.", "Use `parse(text)`.")
        if not isinstance(items, Iterable):
            raise UsageError(f"`items` (={shown(items)}) must be a list of parts.", self._write())
        few = islice(items, self.most + 1)
        return Parts(self, tuple(i if isinstance(i, Part) else self._one(i) for i in few))

    @cached_property
    def _codes(self) -> Mapping[str, int]:
        return {fold(name): i for i, name in enumerate(self.categories)}

    @property
    def _between(self) -> str:
        return "; " if self.axes else ", "

    def _one(self, item: object) -> Part:
        """One part, however it is given, in the words of the kit."""
        if isinstance(item, Part) and isinstance(item.place, tuple):
            return self._part(*item)
        if isinstance(item, str):
            phrases = list(islice(self._phrases(item), 2))
            if len(phrases) == 1:
                part = self._part(phrases[0].name, phrases[0].place)
                if self._count(phrases[0].times, part) == 1:
                    return part
            example = self._example(self.names[0])
            raise UsageError(f"'{shown(item)}' must be one part.", f"Write '{example}'.")
        if isinstance(item, tuple | list) and item:
            return self._part(item[0], item[1:])
        raise UsageError(f"{shown(item)} is not a part.", self._write())

    def _many(self, value: object) -> Parts:
        """Parts, however they are given: parts of this kit, one part or a text."""
        if isinstance(value, Parts):
            if value.kit != self:
                raise UsageError(f"'{shown(str(value))}' are parts of another kit.")
            return value
        return self.parse(value) if isinstance(value, str) else Parts(self, (self._one(value),))

    def _part(self, name: str, place: Sequence[Any]) -> Part:
        category = self.categories[self.index(name)]
        if wrong := self._misplaced(category, place):
            raise UsageError(wrong, f"Write '{self._example(category)}'.")
        return Part(category, tuple(float(value) + 0.0 for value in place))  # no -0.0

    def _misplaced(self, category: str, place: Sequence[Any]) -> str:
        """What is wrong with a place, if anything."""
        if place and not self.axes:
            return f"`{category}` has a place; parts have none here."
        if len(place) != len(self.axes):
            has = f"a place of length {len(place)}" if place else "no place"
            return f"`{category}` has {has}; expected {len(self.axes)}: {', '.join(self.axes)}."
        for axis, value in zip(self.axes, place, strict=True):
            if not _within(value, self.low, self.high):
                bounds = f"from {_short(self.low)} to {_short(self.high)}"
                return f"`{axis}` of `{category}` (={shown(value)}) must be a number {bounds}."
        return ""

    def _count(self, text: str, part: Part) -> int:
        digits = text.lstrip("+").lstrip("0")
        if not re.fullmatch("[0-9]+", digits):
            what = f"`{shown(text)}×{part}` needs a whole count, 1 to {self.most}."
            raise UsageError(what, f"Write '3×{part}'.")
        return int(digits[:10])  # more digits are too many anyway

    def _phrases(self, text: str) -> Iterator[_Phrase]:
        """What a text says, part by part, as it is written."""
        if not isinstance(text, str):
            raise UsageError(f"`text` (={shown(text)}) must be a string.", self._write())
        if len(text) > LONGEST:
            what = f"`text` has {len(text)} characters; at most {LONGEST} are read."
            raise UsageError(what, self._write())
        at = _end(_GAP.match(text), 0)
        while at < len(text):
            found = _PHRASE.match(text, at)
            end = _end(found, at)
            at = _end(_GAP.match(text, end), end)
            if found is None or end == at < len(text):
                raise UsageError(f"'{shown(text[end:])}' cannot be read.", self._write())
            places = re.findall(_NUMBER, found["inside"] or found["place"] or "")
            place = tuple(float(value.replace("−", "-")) for value in places)
            yield _Phrase(found["times"] or "1", found["name"], place)

    def _too_many(self, what: str) -> NoReturn:
        message = f"{what} are more than {self.most} parts, the most that are read."
        raise UsageError(message, "Say fewer, or raise `most` of the kit.")

    def _example(self, category: str) -> str:
        """How a part of a category is written."""
        shares = [(0.6, 0.25)[i % 2] for i in range(len(self.axes))]
        place = ",".join(f"{self.low * (1 - s) + self.high * s:.3g}" for s in shares)
        return f"{category}@{place}" if place else category

    def _write(self) -> str:
        """What to write instead."""
        return f"Write parts as in '{self.example}'."


@dataclass(frozen=True)
class Parts:
    """A whole: a multiset of the parts of a kit, in the order of the kit, then of their places.

    >>> whole = Kit(["f1", "f2", "f7"]).parse("f7, 3×f2")
    >>> whole + "f1" - "2×f2"
    Parts('f1, f2, f7')
    >>> whole.count("f2"), "f1" in whole, whole.codes
    (3, False, (1, 1, 1, 2))
    """

    kit: Kit
    items: tuple[Part, ...]

    def __post_init__(self) -> None:
        if len(self.items) > self.kit.most:
            self.kit._too_many("There")
        items = [self.kit._one(item) for item in self.items]
        items.sort(key=lambda part: (self.kit.index(part.category), part.place))
        object.__setattr__(self, "items", tuple(items))

    def __iter__(self) -> Iterator[Part]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def __contains__(self, part: object) -> bool:
        return self.kit._one(part) in self.items

    def __hash__(self) -> int:
        return hash(self.items)

    def __str__(self) -> str:
        return self.kit._between.join(_times(n, part) for part, n in self.counts().items())

    def __repr__(self) -> str:
        return f"Parts({str(self)!r})"

    def __add__(self, other: Parts | Part | str) -> Parts:
        return self.kit.parts((*self.items, *self.kit._many(other)))

    def __sub__(self, other: Parts | Part | str) -> Parts:
        other = self.kit._many(other)
        left = Counter(self.items)
        left.subtract(other.items)
        for part, n in left.items():
            if n < 0:
                self._lacks(part, other.count(part))
        return self.kit.parts(left.elements())

    @property
    def codes(self) -> tuple[int, ...]:
        """Positions of the categories, part by part."""
        return tuple(self.kit.index(part.category) for part in self)

    @property
    def places(self) -> tuple[tuple[float, ...], ...]:
        """Where the parts are, part by part."""
        return tuple(part.place for part in self)

    def count(self, part: Part | str) -> int:
        """How often a part is there."""
        return self.items.count(self.kit._one(part))

    def counts(self) -> dict[Part, int]:
        """Every different part and how often it is there."""
        return dict(Counter(self.items))

    def replaced(self, old: Parts | Part | str, new: Parts | Part | str) -> Parts:
        """The same whole with one part in place of another.

        >>> Kit(["f1", "f2"]).parse("3×f2").replaced("f2", "f1")
        Parts('f1, 2×f2')
        """
        return self - old + new

    def moved(self, part: Part | str, *place: float) -> Parts:
        """The same whole with a part somewhere else.

        >>> Kit(["red"], axes=("x",)).parse("red@0.5; red@-1").moved("red@0.5", 0.75)
        Parts('red@-1; red@0.75')
        """
        part = self.kit._one(part)
        return self - part + Part(part.category, place)

    def _lacks(self, part: Part, n: int) -> NoReturn:
        """Say that a part is not there `n` times."""
        there = self.count(part)
        has = f"`{shown(str(self))}` has {there or 'none'} of it"
        if not self.items:
            has = "nothing is there"
        hint = f"Take away at most '{_times(there, part)}'." if there else self._near(part)
        raise UsageError(f"`{_times(n, part)}` cannot be taken away: {has}.", hint)

    def _near(self, part: Part) -> str:
        """A sentence that names the part that was meant."""
        if not self.kit.axes or not self.items:
            return nearest(part.category, list(dict.fromkeys(each.category for each in self)))
        near = min(
            self,
            key=lambda each: (each.category != part.category, math.dist(each.place, part.place)),
        )
        return f"Did you mean '{near}'?"


class _Phrase(NamedTuple):
    times: str
    name: str
    place: tuple[float, ...]


_DIGITS = r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_NUMBER = rf"[+−-]?(?>{_DIGITS}|(?ai:nan|inf(?:inity)?)(?=[\s,;)]|$))"
_NAME = r"(?![0-9+−.-])[^\s,;@()×*]+"
_TIMES = r"(?:\s*[×*]\s*|[xX]\s*|\s+[xX]\s+)"
_PLACE = rf"{_NUMBER}(?:(?:\s*,\s*|\s+){_NUMBER}(?!{_TIMES}))*+"
_PHRASE = re.compile(
    rf"(?:(?P<times>{_NUMBER}){_TIMES})?(?P<name>{_NAME})"
    rf"(?:\s*@\s*(?:\(\s*(?P<inside>{_PLACE})\s*\)|(?P<place>{_PLACE})))?"
)
_GAP = re.compile(r"(?:[\s,;]|(?ai:and)(?=[\s,;]|$))*+")


def _end(found: re.Match[str] | None, otherwise: int) -> int:
    return found.end() if found else otherwise


def _times(n: int, part: Part) -> str:
    return f"{n}×{part}" if n > 1 else str(part)


def _short(value: float) -> str:
    """The shortest text that gives the same number."""
    return repr(float(value)).removesuffix(".0")


def _within(value: Any, low: float, high: float) -> bool:
    number = type(value) is not bool and issubclass(type(value), Real)
    return number and bool(low <= value <= high)


def _names(argument: str, names: Sequence[str]) -> tuple[str, ...]:
    """Names that a text can be told apart by."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise UsageError(f"`{argument}` (={shown(names)}) must be a list of strings.")
    names = tuple(names)
    if names:
        check_words(argument, names)
    for name in names:
        if not re.fullmatch(_NAME, name) or name.casefold() in RESERVED:
            what = f"`{argument}` has '{shown(name)}', which a text could not name."
            hint = "Use one word, not 'and', that begins with a letter and has no , ; @ ( ) × *."
            raise UsageError(what, hint)
    return names
