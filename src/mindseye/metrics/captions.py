r"""How many words of a caption hold in a picture, by an observer.

Of two objects the caption says which comes first only through the relation between them, so the
observer is told the relation, and correctness is the share of the other eight words that it sees.
Of faces words come in any order, and a word holds if the observer gives it more than even odds;
blanks are not counted.

References:
    On the Importance of Learning Aggregate Posteriors in Multimodal Variational Autoencoders,
    Cremer and Kushman, 2018, section 5.4
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from mindseye.concepts import Vocabulary
from mindseye.errors import UsageError
from mindseye.labels import Labels
from mindseye.models import Observer

__all__ = ["Correctness", "words_right"]

Correctness = Callable[[Tensor, Labels], Tensor]
"""From pictures `(B, C, H, W)` and captions to the share of words that hold, `(B,)`."""

AT_ONCE = 256


def words_right(observer: Observer, vocabulary: Vocabulary) -> Correctness:
    """Who says how many words of captions hold.

    Arguments:
        observer: Of the same words, or of attributes whose names are the words.
        vocabulary: What captions may say.
    """
    if observer.vocabulary == vocabulary:
        return lambda x, y: torch.cat([_seen(observer, *some) for some in _parts(x, y)])
    meaning = _meaning(observer.vocabulary, vocabulary)
    return lambda x, y: torch.cat([_held(observer, meaning, *some) for some in _parts(x, y)])


def _parts(x: Tensor, y: Labels) -> list[tuple[Tensor, Labels]]:
    """Pictures and captions, as many as are judged at once."""
    labels = zip(y.codes.split(AT_ONCE), y.observed.split(AT_ONCE), strict=True)
    return [(some, Labels(*each)) for some, each in zip(x.split(AT_ONCE), labels, strict=True)]


@torch.no_grad()
def _seen(observer: Observer, x: Tensor, y: Labels) -> Tensor:
    """The share of said words that are seen, without what it is told; 1 if none is said."""
    told = None if observer.told is None else y.codes[:, observer.told]
    counted = y.observed.clone()
    if observer.told is not None:
        counted[:, observer.told] = False
    right = (observer.judge(x, told) == y.codes) & counted
    return torch.where(counted.any(1), right.sum(1) / counted.sum(1).clamp(min=1), 1.0)


@torch.no_grad()
def _held(observer: Observer, meaning: Tensor, x: Tensor, y: Labels) -> Tensor:
    """The share of said words that the observer gives more than even odds; 1 if none is said."""
    chance = observer(x).probs  # (B, A, 2)
    held = torch.cat([chance.flatten(1) > 0.5, torch.ones_like(chance[:, 0, :1]).bool()], 1)
    word = meaning.to(x.device)[y.codes]  # (B, K)
    counted = y.observed & (word < held.shape[1] - 1)
    right = held.gather(1, word) & counted
    return torch.where(counted.any(1), right.sum(1) / counted.sum(1).clamp(min=1), 1.0)


def _meaning(attributes: Vocabulary, words: Vocabulary) -> Tensor:
    """Which value of which attribute a word says, `(V,)`; beyond the last for a blank."""
    found = []
    for word in words.attributes[0].values:
        opposite = {"female": ("male", 0)}.get(word, (word, 1))
        if word == "-":
            found.append(2 * len(attributes))
        elif opposite[0] in attributes.names:
            found.append(2 * attributes.names.index(opposite[0]) + opposite[1])
        else:
            raise UsageError(
                f"the observer knows nothing of {word!r}; it judges {', '.join(attributes.names)}."
            )
    return torch.tensor(found)
