"""How words are read and printed: phrases in, positions of attributes and values out."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import chain, takewhile
from typing import NamedTuple, NoReturn

from mindseye.errors import UsageError, did_you_mean, listed

__all__ = ["Grammar", "check_words", "fold", "nearest", "quoted", "shown", "some"]


class Grammar:
    """How texts are read: left to right, and at each place the longest known phrase wins."""

    def __init__(self, names: Sequence[str], values: Sequence[Sequence[str]]):
        self.names, self.values = names, values
        self.index = _positions(names)
        self.codes = [{"*": None, "any": None} | _positions(words) for words in values]
        self.owners: dict[str, list[int]] = {"*": [], "any": []}
        for k, word in ((k, word) for k, words in enumerate(values) for word in words):
            self.owners.setdefault(fold(word), []).append(k)
        self.words = list(dict.fromkeys(chain(names, *values)))
        self.longest = 1 + max((len(re.findall(r"[\s_-]", word)) for word in self.words), default=0)

    def attribute(self, name: str) -> int:
        """Position of an attribute."""
        if fold(name) not in self.index:
            what = f"`{shown(name)}` is not an attribute; expected {some(self.names)}."
            raise UsageError(what, nearest(name, self.names))
        return self.index[fold(name)]

    def pair(self, name: str, value: str | int | None) -> tuple[int, int | None]:
        """Positions of an attribute and of its value, `None` where it is open."""
        k, word = self.attribute(name), "*" if value is None else str(value)
        if fold(word) not in self.codes[k]:
            what = f"`{self.names[k]}='{shown(word)}'` is not a value of `{self.names[k]}`"
            expected = f"expected {some(self.values[k])}"
            raise UsageError(f"{what}; {expected}.", nearest(word, self.values[k]))
        return k, self.codes[k][fold(word)]

    def read(self, text: str) -> Iterator[tuple[int, int | None]]:
        """Positions of everything a text says."""
        if not isinstance(text, str):
            raise UsageError(f"`text` (={shown(text)}) must be a string.")
        if len(text) > (limit := max(10_000, 500 * len(self.names))):
            raise UsageError(f"`text` has {len(text)} characters; at most {limit} are read.")
        if not self.words:
            return self._nothing(text)
        tokens, at = [*_tokens(text), _Token("stop", "")], 0
        while at < len(tokens):
            if tokens[at].kind == "stop":
                at += 1
            elif name := self.phrase(tokens, at, self.index, named=True):
                word, at = self.value(tokens, name[1] + 1, name[0])
                yield self.pair(name[0], word)
            elif bare := self.phrase(tokens, at, self.owners):
                word, at = bare
                yield from ((k, self.codes[k][fold(word)]) for k in self.owner(word))
            else:
                self.refuse(tokens, at)

    def _nothing(self, text: str) -> None:
        """Refuse whatever is said where there are no words."""
        if fold(text) not in ("", "*", "any"):
            what = f"`{shown(text)}` cannot be said: this model knows no words."
            raise UsageError(what, 'Leave the description empty: "".')

    def phrase(
        self, tokens: list[_Token], at: int, known: Container[str], named: bool = False
    ) -> tuple[str, int] | None:
        """Longest known phrase that begins here, and where it ends; names end before "="."""
        kind = tokens[at].kind
        most = self.longest if kind == "word" else 1
        run = [text for _, text in takewhile(lambda t: t.kind == kind, tokens[at : at + most])]
        for n in range(len(run), 0, -1):
            if (tokens[at + n].kind == "is") == named and fold(" ".join(run[:n])) in known:
                return " ".join(run[:n]), at + n
        return None

    def value(self, tokens: list[_Token], at: int, name: str) -> tuple[str, int]:
        """What stands after "name=", and where it ends."""
        k = self.index[fold(name)]
        if tokens[at].kind in ("is", "stop"):
            expected = some([*self.values[k], "*"])
            raise UsageError(f"`{self.names[k]}=` has no value; expected {expected}.")
        return self.phrase(tokens, at, self.codes[k]) or self.unknown(tokens, at)

    def owner(self, word: str) -> list[int]:
        """The one attribute with this value; none for a word that leaves things open."""
        owners = self.owners[fold(word)]
        if len(owners) > 1:
            full = [f"{quoted(self.names[k])}={quoted(word)}" for k in owners]
            raise UsageError(f"'{word}' is a value of several attributes; write {some(full)}.")
        return owners

    def unknown(self, tokens: list[_Token], at: int) -> tuple[str, int]:
        """The words from here to one that is known or a name, and where they end."""
        end = at + 1
        while end < at + self.longest and tokens[end].kind == "word":
            if tokens[end + 1].kind == "is" or self.phrase(tokens, end, self.owners):
                break
            end += 1
        return " ".join(token.text for token in tokens[at:end]), end

    def refuse(self, tokens: list[_Token], at: int) -> NoReturn:
        """Say why nothing can be read here."""
        if tokens[at].kind == "is":
            raise UsageError("`=` has no attribute before it; write 'name=value'.")
        word, end = self.unknown(tokens, at)
        if tokens[end].kind == "is":
            self.attribute(word)
        if fold(word) in self.index:
            full = [f"{quoted(word)}={quoted(v)}" for v in self.values[self.attribute(word)]]
            raise UsageError(f"`{word}` has no value; write {some(full)}.")
        what = f"'{shown(word)}' is not a word here; expected a value of {some(self.names)}."
        raise UsageError(what, nearest(word, self.words))


def check_words(argument: str, words: Sequence[str]) -> None:
    """Refuse words that could not be told apart, or not be written."""
    seen: dict[str, str] = {}
    for word in words:
        if not isinstance(word, str):
            raise UsageError(f"`{argument}` has {shown(word)}; write it as a string.")
        if fold(word) in ("", "*", "any"):
            raise UsageError(f"`{argument}` has {word!r}, which stands for nothing said.")
        if any(unicodedata.category(letter) in ("Cc", "Cs", "Zl", "Zp") for letter in word):
            raise UsageError(f"`{argument}` has '{shown(word)}', with control characters.")
        if len(word) > 100:
            raise UsageError(f"`{argument}` has '{shown(word)}', longer than 100 characters.")
        if fold(word) in seen:
            same = f"{seen[fold(word)]!r} and {word!r}"
            raise UsageError(f"`{argument}` has {same}, which are the same word.")
        seen[fold(word)] = word
    if not words:
        raise UsageError(f"`{argument}` is empty; give at least one.")


def quoted(word: str) -> str:
    """A word so that it can be read back."""
    if re.fullmatch(r"""[^\s,;=:"']+( [^\s,;=:"']+)*""", word):
        return word
    return '"' + re.sub(r'(["\\])', r"\\\1", word) + '"'


def shown(value: object) -> str:
    """A value for a message: on one line, and not too long."""
    text = repr(value)[1:-1] if isinstance(value, str) else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


class _Token(NamedTuple):
    kind: str  # "word", "quoted", "is" (= or :) or "stop" (a comma, a semicolon or the end)
    text: str


_TOKEN = re.compile(
    r"""(?P<stop>[,;]) | (?P<is>[=:]) | (?P<quoted>"(?:[^"\\]|\\.)*+" | '(?:[^'\\]|\\.)*+')
    | (?P<open>["']) | (?P<word>[^\s,;=:]+)""",
    re.VERBOSE | re.DOTALL,
)


def _tokens(text: str) -> Iterator[_Token]:
    for match in _TOKEN.finditer(text):
        kind, token = match.lastgroup or "", match.group()
        if kind == "open":
            raise UsageError(f"The quote before '{shown(text[match.end() :])}' is not closed.")
        if kind == "quoted":
            token = re.sub(r"\\(.)", r"\1", token[1:-1], flags=re.DOTALL)
        yield _Token(kind, "" if kind in ("is", "stop") else token)


def fold(word: str) -> str:
    """The form in which words are compared: "Top-Left" and "top left" are the same."""
    return re.sub(r"(?<=[^\s_-])[\s_-]++(?=.)", " ", word.strip(), flags=re.DOTALL).casefold()


def _positions(words: Iterable[str]) -> dict[str, int]:
    return {fold(word): i for i, word in enumerate(words)}


def some(words: Sequence[str], most: int = 12) -> str:
    """Words for a message: all of them if they are few."""
    if len(words) <= most:
        return listed(words)
    return ", ".join(map(repr, words[:most])) + f" or {len(words) - most} others"


def nearest(word: str, options: Sequence[str]) -> str:
    """A sentence that names the word that was meant, if one is near."""
    return did_you_mean(word, options) or did_you_mean(word.casefold(), options)
