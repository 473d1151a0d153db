r"""Captions: descriptions in running words, any of which may be left open.

A sentence has $K$ places in a fixed order, each with the words that may stand there; a caption puts
a word on some of them. So a caption is a concept whose attributes are places, and all that holds
for concepts holds for it: what is open, what is more abstract, what codes stand for it.

A text is read from left to right. A word goes to the next place that knows it, so places may be
skipped; `*` skips one on purpose, and articles and the like are read over:

    large red rubber cube left small blue metal sphere
    a red cube to the left of a sphere              (* red * cube left * * * sphere)

A sentence may have a pattern, the words around its places; then captions are printed, and read by
models, in full:

    the digit three is at the bottom left of the image
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from mindseye.concepts import Concept, Vocabulary
from mindseye.errors import UsageError
from mindseye.grammar import fold, nearest, shown, some

__all__ = ["BLANK", "Caption", "Sentence"]

BLANK = "-"
"""What stands on a place without a word."""

OPEN = ("*", "?", "any")
"""What leaves a place open."""

LONGEST = 10_000
"""Characters of a text that are read."""


@dataclass(frozen=True)
class Sentence(Vocabulary):
    """What can be said in running words: the attributes are places, in the order of reading.

    >>> from mindseye.concepts import Attribute
    >>> hue, shape = ["red", "blue"], ["cube", "sphere"]
    >>> sentence = Sentence(
    ...     [Attribute("hue", hue), Attribute("shape", shape), Attribute("relation", ["left"]),
    ...      Attribute("other hue", hue), Attribute("other shape", shape)],
    ...     fillers=("a", "of"),
    ... )
    >>> sentence.parse("a red cube left of a sphere")
    Caption('red cube left * sphere')

    Arguments:
        attributes: The places, in order.
        fillers: Words that say nothing and are read over.
        synonyms: Other words for words, in pairs: `("big", "large")`.
        pattern: How a caption is spoken, places in braces: "the {shape} is {hue}". Its own words
            are read over too. Places alone, in their order, if not given.
    """

    fillers: Sequence[str] = ()
    synonyms: Sequence[tuple[str, str]] = ()
    pattern: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "fillers", tuple(self.fillers))
        object.__setattr__(self, "synonyms", tuple(self.synonyms))
        if self.pattern and sorted(k for k in self.pieces if isinstance(k, int)) != [
            *range(len(self))
        ]:
            raise UsageError(
                f"`pattern={self.pattern!r}` must have every place once; expected"
                f" {some([f'{{{name}}}' for name in self.names])}."
            )

    @cached_property
    def pieces(self) -> tuple[str | int, ...]:
        """What is spoken, in order: a word of the pattern, or the number of a place.

        >>> from mindseye.concepts import Attribute
        >>> one = Sentence([Attribute("hue", ["red"])], pattern="it is {hue} today")
        >>> one.pieces
        ('it', 'is', 0, 'today')
        """
        if not self.pattern:
            return tuple(range(len(self)))
        found = re.findall(r"\{([^}]*)\}|([^\s{}]+)", self.pattern)
        return tuple(word or self._numbered(name) for name, word in found)

    @cached_property
    def words(self) -> tuple[str, ...]:
        """All different words, in the order of the places."""
        return tuple(dict.fromkeys(word for place in self for word in place.values))

    @property
    def unordered(self) -> bool:
        """Whether all places have the same words, so that what is said has no place of its own."""
        return len(self) > 1 and len({tuple(place.values) for place in self}) == 1

    def parse(self, text: str) -> Caption:
        """The caption that a text is; "first size=large" names a place instead."""
        if isinstance(text, str) and re.search("[=:]", text):
            return self.from_codes(super().parse(text).codes)
        codes: list[int | None] = [None] * len(self)
        at = 0
        for word in self._phrases(text):
            at = self._place(word, at)
            if fold(word) not in OPEN:
                codes[at] = self._places[at][fold(word)]
            at += 1
        return self.from_codes(codes)

    def from_codes(self, codes: Sequence[int | None]) -> Caption:
        """The caption with these words, by their index at their place, `None` where it is open."""
        return Caption(self, codes)

    def _numbered(self, name: str) -> int:
        """The number of a place."""
        if name not in self.names:
            raise UsageError(
                f"`pattern` has {{{name}}}, which is no place; expected {some(self.names)}."
            )
        return self.names.index(name)

    @cached_property
    def _silent(self) -> set[str]:
        """Words that say nothing, as they are compared."""
        own = (piece for piece in self.pieces if isinstance(piece, str))
        return {fold(word) for word in (*self.fillers, *own)}

    def _place(self, word: str, start: int) -> int:
        """The first place from `start` on where a word may stand."""
        if start >= len(self):
            raise UsageError(
                f"'{shown(word)}' is one word too many: a caption has {len(self)} places.",
                f"They are {', '.join(self.names)}.",
            )
        for at in range(start, len(self)):
            if fold(word) in OPEN or fold(word) in self._places[at]:
                return at
        places = [name for name, words in zip(self.names, self._places, strict=True)
                  if fold(word) in words]  # fmt: skip
        raise UsageError(
            f"'{shown(word)}' has no place left: it may stand as {some(places)},"
            f" and the text is at {self.names[start]!r} already.",
            f"The order is {', '.join(self.names)}.",
        )

    def _phrases(self, text: str) -> Iterator[str]:
        """The known words of a text; at each place the longest wins."""
        if not isinstance(text, str):
            raise UsageError(f"`text` (={shown(text)}) must be a string.")
        if len(text) > LONGEST:
            raise UsageError(f"`text` has {len(text)} characters; at most {LONGEST} are read.")
        known = {word for words in self._places for word in words} | set(OPEN)
        longest = max((1 + word.count(" ") for word in known), default=1)
        tokens, at = re.findall(r"[^\s,;.]+", text), 0
        while at < len(tokens):
            for n in range(min(longest, len(tokens) - at), 0, -1):
                phrase = " ".join(tokens[at : at + n])
                if fold(phrase) in known:
                    yield phrase
                    break
            else:
                n = 1
                if fold(tokens[at]) not in self._silent:
                    self._refuse(tokens[at])
            at += n

    def _refuse(self, word: str) -> None:
        others = [word for pair in self.synonyms for word in pair[:1]]
        expected = some(self.words, most=30)
        raise UsageError(
            f"'{shown(word)}' is not a word here; expected {expected}.",
            nearest(word, [*self.words, *others]),
        )

    @cached_property
    def _places(self) -> list[Mapping[str, int]]:
        """The words of every place, as they are compared, and what they stand for."""
        found = []
        for place in self:
            codes = {fold(word): i for i, word in enumerate(place.values)}
            also = {fold(a): codes[fold(b)] for a, b in self.synonyms if fold(b) in codes}
            found.append({**also, **codes})
        return found


@dataclass(frozen=True)
class Caption(Concept):
    """A sentence, or what is said of one: a concept over the places of its words."""

    vocabulary: Sentence

    def __hash__(self) -> int:
        return hash(self.codes)

    def __str__(self) -> str:
        if self.vocabulary.pattern:
            return self._spoken()
        words = [
            "*" if code is None else place.values[code].replace(" ", "-")
            for place, code in zip(self.vocabulary, self.codes, strict=True)
        ]
        while len(words) > 1 and words[-1] == "*":
            words.pop()
        return " ".join(words) or "*"

    def __repr__(self) -> str:
        return f"Caption({str(self)!r})"

    def _spoken(self) -> str:
        """The words of the pattern with those of the places among them."""
        said = [self.values.get(name, "*") for name in self.vocabulary.names]
        pieces = self.vocabulary.pieces
        return " ".join(said[piece] if isinstance(piece, int) else piece for piece in pieces)
