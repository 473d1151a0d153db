"""Captions as codes: how texts are cut into words, which words are common, and what is left out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from mindseye.captions import OPEN

__all__ = ["Captions", "coded", "common_words", "words_in"]

WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*")
"""Letters and digits, with apostrophes and hyphens inside."""


class Captions(NamedTuple):
    """What is said of some pictures: those of one picture stand behind one another."""

    codes: Tensor
    """The words of every caption, 0 where there is none any more, int64 `(C, K)`."""

    owner: Tensor
    """The picture that each is of, int64 `(C,)`, ascending."""

    left_out: Tensor
    """How many of its words are not known, int64 `(C,)`."""

    cut: Tensor
    """How many are known and find no place, int64 `(C,)`."""

    def to(self, device: torch.device | str) -> Captions:
        """The same captions on another device."""
        return Captions(*(each.to(device) for each in self))


def words_in(text: str) -> list[str]:
    """The words of a text, in small letters.

    >>> words_in("A man's T-shirt - and 2 dogs' toys.")
    ['a', "man's", 't-shirt', 'and', '2', 'dogs', 'toys']
    """
    return WORD.findall(text.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'").casefold())


def common_words(texts: Iterable[str], least: int) -> tuple[str, ...]:
    """The words that occur at least so often, the most frequent first, equals by the alphabet.

    A word that leaves a place open, `any`, cannot be one.

    >>> common_words(["the cat", "a cat", "a dog", "any a"], 2)
    ('a', 'cat')
    """
    counts = Counter(word for text in texts for word in words_in(text))
    common = [word for word, n in counts.items() if n >= least and word not in OPEN]
    return tuple(sorted(common, key=lambda word: (-counts[word], word)))


def coded(texts: Sequence[Sequence[str]], words: Sequence[str], places: int) -> Captions:
    """The captions of every picture: code i + 1 is word i, and what is not known is left out.

    >>> coded([["the cat", "a cat"], ["a dog and a cat"]], ["a", "cat"], 2)[:2]
    (tensor([[2, 0],
            [1, 2],
            [1, 1]]), tensor([0, 0, 1]))
    """
    code = {word: 1 + i for i, word in enumerate(words)}
    said = [words_in(text) for several in texts for text in several]
    known = [[code[word] for word in caption if word in code] for caption in said]
    codes = [caption[:places] + [0] * (places - len(caption)) for caption in known]
    pairs = list(zip(said, known, strict=True))
    return Captions(
        torch.tensor(codes, dtype=torch.int64).view(-1, places),
        torch.arange(len(texts)).repeat_interleave(torch.tensor([*map(len, texts)]).long()),
        torch.tensor([len(all_) - len(some) for all_, some in pairs], dtype=torch.int64),
        torch.tensor([max(0, len(some) - places) for some in known], dtype=torch.int64),
    )
