"""What is heard of captions: the words of running sentences, and what they mean together.

A caption is codes of places (`labels`); a sentence is words, those of its pattern and those of its
places, of which one may take several ("to the left of"). Words of places left open, and blanks, are
not there.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor, nn

from mindseye.captions import BLANK, Sentence
from mindseye.concepts import Vocabulary
from mindseye.labels import Labels
from mindseye.networks.recurrent import Bidirectional, Word

__all__ = ["Heard", "Listener", "Spoken", "spoken", "words_spoken"]

EMBEDDING = 128
"""Size of a word's vector."""


class Spoken(NamedTuple):
    """Captions as running words."""

    words: Tensor
    """Which of the listener's words, int64 `(B, N)`; 0 where there is none."""
    present: Tensor
    """Where there is one, bool `(B, N)`."""


class Heard(NamedTuple):
    """Captions as a network knows them."""

    states: Tensor
    """What every word means where it stands, `(B, N, S)`."""
    present: Tensor
    """Where there is a word, bool `(B, N)`."""
    whole: Tensor
    """What all of them mean, `(B, S)`: the last state of either direction of reading."""


class Listener(nn.Module):
    """A network that reads captions forwards and backwards.

    Arguments:
        vocabulary: What a caption may say.
        hidden: Size of the state of either direction.
    """

    def __init__(self, vocabulary: Vocabulary, hidden: int):
        super().__init__()
        self.vocabulary, self.size = vocabulary, 2 * hidden
        self.word = Word(len(_lexicon(vocabulary)), EMBEDDING)
        self.reader = Bidirectional(EMBEDDING, hidden)

    def forward(self, y: Labels) -> Heard:
        """What is heard of captions."""
        said = spoken(self.vocabulary, y)
        states = self.reader(self.word(said.words), said.present)
        ahead, back = states.chunk(2, -1)
        return Heard(states, said.present, torch.cat([ahead[:, -1], back[:, 0]], -1))


def spoken(vocabulary: Vocabulary, y: Labels) -> Spoken:
    """The words of captions, in the order in which they are spoken."""
    place, table = _tables(vocabulary, y.codes.device)
    own = place >= 0
    code = torch.where(own, y.codes[:, place.clamp(min=0)], 0)  # (B, N)
    words = table.expand(len(code), -1, -1).gather(-1, code[..., None])[..., 0]
    present = (words >= 0) & (y.observed[:, place.clamp(min=0)] | ~own)
    return Spoken(words.clamp(min=0), present)


def words_spoken(vocabulary: Vocabulary, y: Labels) -> list[list[str]]:
    """The words of captions as text; nothing where there is no word."""
    words, lexicon = spoken(vocabulary, y), _lexicon(vocabulary)
    return [
        [lexicon[word] if there else "" for word, there in zip(*row, strict=True)]
        for row in zip(words.words.tolist(), words.present.tolist(), strict=True)
    ]


def _pieces(vocabulary: Vocabulary) -> tuple[str | int, ...]:
    own = isinstance(vocabulary, Sentence)
    return vocabulary.pieces if own else tuple(range(len(vocabulary)))


def _phrases(vocabulary: Vocabulary, place: int) -> list[list[str]]:
    """The words of every value of a place."""
    values = vocabulary.attributes[place].values
    return [[] if value == BLANK else value.split() for value in values]


@cache
def _lexicon(vocabulary: Vocabulary) -> tuple[str, ...]:
    """All different words that may be spoken."""
    found: dict[str, None] = {}
    for piece in _pieces(vocabulary):
        phrases = [[piece]] if isinstance(piece, str) else _phrases(vocabulary, piece)
        found |= dict.fromkeys(word for phrase in phrases for word in phrase)
    return tuple(found)


@cache
def _tables(vocabulary: Vocabulary, device: torch.device) -> tuple[Tensor, Tensor]:
    """Of every word spoken, the place whose it is, -1 for none, `(N,)`, and which it is, `(N, V)`.

    A word of the pattern is the same whatever is said; -1 where a value has fewer words.
    """
    number = {word: i for i, word in enumerate(_lexicon(vocabulary))}
    places, rows = [], []
    for piece in _pieces(vocabulary):
        if isinstance(piece, str):
            places.append(-1)
            rows.append([number[piece]])
            continue
        phrases = _phrases(vocabulary, piece)
        for at in range(max(map(len, phrases), default=0)):
            places.append(piece)
            rows.append([number[phrase[at]] if at < len(phrase) else -1 for phrase in phrases])
    most = max(map(len, rows), default=1)
    padded = [row + [-1] * (most - len(row)) for row in rows]
    with torch.inference_mode(False):
        table = torch.tensor(padded, dtype=torch.int64).view(len(rows), most)
        return torch.tensor(places, dtype=torch.int64).to(device), table.to(device)
