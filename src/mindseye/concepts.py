r"""What can be said: attributes, vocabularies, concepts and the lattice they form.

A vocabulary is $K$ attributes with $n_1, …, n_K$ values. A concept gives a value to some of them
and leaves the others open. Dropping a word makes a concept more abstract, adding one makes it more
concrete. Ordered so, the concepts form a lattice; level $l$, the concepts of $l$ words, has
$e_l(n_1, …, n_K)$ members, the elementary symmetric polynomial.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, combinations, islice, product
from typing import Any

from mindseye.errors import UsageError
from mindseye.grammar import Grammar, check_words, quoted, shown

__all__ = ["Attribute", "Concept", "Lattice", "Vocabulary"]


@dataclass(frozen=True)
class Attribute:
    """One thing that can be said: a name and the words for its values.

    Words that differ only in case, or in being joined by spaces, hyphens or underscores, are the
    same word; '*' and 'any' stand for nothing said, and are taken.
    """

    name: str
    values: Sequence[str]

    def __post_init__(self) -> None:
        check_words("name", [self.name])
        if isinstance(self.values, str) or not isinstance(self.values, Iterable):
            raise UsageError(f"`values` (={self.values!r}) must be a list of strings.")
        object.__setattr__(self, "values", tuple(self.values))
        check_words("values", self.values)


@dataclass(frozen=True)
class Vocabulary:
    """Everything that can be said about a picture: some attributes, in order.

    >>> words = Vocabulary([Attribute("digit", ["4", "5"]), Attribute("size", ["big", "small"])])
    >>> words.parse("4, big")
    Concept('digit=4, size=big')
    >>> [str(concept) for concept in words.concepts(level=1)]
    ['digit=4', 'digit=5', 'size=big', 'size=small']
    """

    attributes: Sequence[Attribute]

    def __post_init__(self) -> None:
        object.__setattr__(self, "attributes", tuple(self.attributes))
        for attribute in self.attributes:
            if not isinstance(attribute, Attribute):
                kind = type(attribute).__name__
                raise UsageError(f"`attributes` has a {kind}; expected each to be an Attribute.")
        if self.names:  # a model of pictures alone has nothing to say
            check_words("attributes", self.names)

    def __iter__(self) -> Iterator[Attribute]:
        return iter(self.attributes)

    def __len__(self) -> int:
        return len(self.attributes)

    @property
    def unordered(self) -> bool:
        """Whether what is said has no attribute of its own, as in words in any order."""
        return False

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the attributes."""
        return tuple(attribute.name for attribute in self.attributes)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many values each attribute has."""
        return tuple(len(attribute.values) for attribute in self.attributes)

    @property
    def root(self) -> Concept:
        """The most abstract concept: nothing is said."""
        return self.from_codes([None] * len(self))

    def attribute(self, name: str) -> Attribute:
        """The attribute of that name."""
        return self.attributes[self._grammar.attribute(name)]

    def parse(self, text: str) -> Concept:
        """Concept that a text describes: "digit=4, size=big", or "4, big" for short."""
        return self._concept(self._grammar.read(text))

    def concept(self, /, **words: str | int | None) -> Concept:
        """Concept with these words; `None`, '*' and 'any' leave an attribute open."""
        return self._concept(self._grammar.pair(*item) for item in words.items())

    def from_codes(self, codes: Sequence[int | None]) -> Concept:
        """Concept with these value indices, one per attribute, `None` where it is open."""
        return Concept(self, codes)

    def concepts(self, level: int) -> Iterator[Concept]:
        """All concepts of exactly `level` words, in the order of the vocabulary."""
        return _relatives(self.root, _whole("level", level, most=len(self)))

    def count(self, level: int) -> int:
        r"""Number of concepts of exactly `level` words: coefficient $l$ of $∏_k (1 + n_k t)$."""
        ways = [1]
        for n in self.sizes:
            ways = [a + n * b for a, b in zip([*ways, 0], [0, *ways], strict=True)]
        return ways[_whole("level", level, most=len(self))]

    def lattice(
        self, top: Concept | None = None, depth: int | None = None, limit: int = 10_000
    ) -> Lattice:
        """Graph of `top`, by default the root, and all concepts of up to `depth` words more."""
        top = self.root if top is None else top
        if top.vocabulary != self:
            raise UsageError(f"`top` (='{top}') is a concept of another vocabulary.")
        return top.around(up=0, down=len(self) if depth is None else depth, limit=limit)

    def to_json(self) -> dict[str, Any]:
        """The vocabulary as plain data."""
        return {"attributes": [{"name": a.name, "values": list(a.values)} for a in self]}

    @classmethod
    def from_json(cls, data: Any) -> Vocabulary:
        """The vocabulary that `to_json` wrote."""
        try:
            pairs = [(item["name"], item["values"]) for item in data["attributes"]]
        except (TypeError, KeyError, IndexError) as error:
            form = '{"attributes": [{"name": "size", "values": ["big", "small"]}]}'
            raise UsageError(f"`data` is not a vocabulary; expected the form {form}.") from error
        return cls([Attribute(name, values) for name, values in pairs])

    def _concept(self, pairs: Iterable[tuple[int, int | None]]) -> Concept:
        said: dict[int, int] = {}
        for k, code in pairs:
            if code is not None and said.setdefault(k, code) != code:
                name, values = self.names[k], self.attributes[k].values
                both = f"`{name}={values[said[k]]!r}` and `{name}={values[code]!r}`"
                raise UsageError(f"{both} contradict each other; keep one of them.")
        return self.from_codes([said.get(k) for k in range(len(self))])

    @cached_property
    def _grammar(self) -> Grammar:
        return Grammar(self.names, [attribute.values for attribute in self])


@dataclass(frozen=True)
class Concept:
    """A partial description: the index of each attribute's value, `None` where it is open."""

    vocabulary: Vocabulary
    codes: Sequence[int | None]

    def __post_init__(self) -> None:
        codes = tuple(None if code is None else operator.index(code) for code in self.codes)
        object.__setattr__(self, "codes", codes)
        if len(codes) != len(self.vocabulary):
            raise UsageError(f"`codes` has {len(codes)} entries; expected {len(self.vocabulary)}.")
        for name, code, size in zip(
            self.vocabulary.names, codes, self.vocabulary.sizes, strict=True
        ):
            if code is not None and not 0 <= code < size:
                raise UsageError(f"`codes` has {code} for `{name}`; expected 0 to {size - 1}.")

    def __hash__(self) -> int:
        return hash(self.codes)

    def __str__(self) -> str:
        words = (f"{quoted(name)}={quoted(value)}" for name, value in self.values.items())
        return ", ".join(words) or "*"

    def __repr__(self) -> str:
        return f"Concept({str(self)!r})"

    @property
    def values(self) -> Mapping[str, str]:
        """The words said, by attribute, in the order of the vocabulary."""
        pairs = zip(self.vocabulary, self.codes, strict=True)
        return {a.name: a.values[code] for a, code in pairs if code is not None}

    @property
    def observed(self) -> tuple[str, ...]:
        """Names of the attributes something is said about."""
        return tuple(self.values)

    @property
    def missing(self) -> tuple[str, ...]:
        """Names of the attributes left open."""
        return tuple(n for n, c in zip(self.vocabulary.names, self.codes, strict=True) if c is None)

    @property
    def level(self) -> int:
        """How many words are said; 0 is the most abstract."""
        return len(self.codes) - self.codes.count(None)

    def parents(self) -> tuple[Concept, ...]:
        """The concepts with one word less."""
        return tuple(_relatives(self, -1))

    def children(self) -> tuple[Concept, ...]:
        """The concepts with one word more."""
        return tuple(_relatives(self, 1))

    def generalizes(self, other: Concept) -> bool:
        """Whether every word of this concept is a word of the other one too."""
        if self.vocabulary != other.vocabulary:
            raise UsageError(f"`other` (='{other}') is a concept of another vocabulary.")
        return all(c in (None, o) for c, o in zip(self.codes, other.codes, strict=True))

    def drop(self, name: str) -> Concept:
        """The same concept with nothing said about an attribute."""
        return self.say(name, None)

    def say(self, name: str, value: str | int | None) -> Concept:
        """The same concept with this word, in place of any other about its attribute."""
        k, code = self.vocabulary._grammar.pair(name, value)
        return self.vocabulary.from_codes([*self.codes[:k], code, *self.codes[k + 1 :]])

    def around(self, up: int = 1, down: int = 1, limit: int = 10_000) -> Lattice:
        """Graph of this concept with its ancestors and descendants, so many levels `up`, `down`."""
        up = min(_whole("up", up), self.level)
        down = min(_whole("down", down), len(self.missing))
        found = chain.from_iterable(_relatives(self, step) for step in range(-up, down + 1))
        nodes = tuple(islice(found, _whole("limit", limit) + 1))
        if len(nodes) > limit:
            hint = "Show fewer levels, begin with more words, or raise `limit`."
            raise UsageError(f"The lattice has more than `limit` (={limit}) concepts.", hint)
        return Lattice(nodes)

    def to_json(self) -> dict[str, str]:
        """The words said, as plain data; `vocabulary.concept(**data)` reads it."""
        return dict(self.values)


@dataclass(frozen=True)
class Lattice:
    """Concepts as a graph, the most abstract first; edges lead from a child to its parents."""

    nodes: tuple[Concept, ...]

    @cached_property
    def edges(self) -> tuple[tuple[Concept, Concept], ...]:
        """Pairs of a child and a parent, both among the nodes."""
        nodes = set(self.nodes)
        return tuple((child, p) for child in self.nodes for p in child.parents() if p in nodes)

    def to_json(self) -> dict[str, Any]:
        """Nodes as texts, edges as pairs of positions in the list of nodes."""
        at = {node: i for i, node in enumerate(self.nodes)}
        edges = [[at[child], at[parent]] for child, parent in self.edges]
        return {"nodes": [str(node) for node in self.nodes], "edges": edges}


def _relatives(concept: Concept, step: int) -> Iterator[Concept]:
    """The concepts with `step` words more, or less where it is negative."""
    sizes, codes = concept.vocabulary.sizes, dict(enumerate(concept.codes))
    free = [k for k, code in codes.items() if (code is None) == (step > 0)]
    for ks in combinations(free, abs(step)):
        for new in product(*(range(sizes[k]) if step > 0 else [None] for k in ks)):
            changed = codes | dict(zip(ks, new, strict=True))
            yield concept.vocabulary.from_codes(list(changed.values()))


def _whole(argument: str, value: int, most: float = math.inf) -> int:
    if isinstance(value, int) and 0 <= value <= most:
        return value
    expected = "0 or more" if most == math.inf else f"0 to {most}"
    raise UsageError(f"`{argument}` (={shown(value)}) must be a whole number, {expected}.")
