"""Ask, imagine, judge: from an imaginer and an observer to scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import torch
from torch import Tensor

from mindseye.concepts import Concept, Vocabulary
from mindseye.errors import UsageError
from mindseye.labels import encode
from mindseye.metrics.checks import Base, check_base, check_codes, check_samples
from mindseye.metrics.imagination import compare, histograms, targets
from mindseye.metrics.limits import collapsed_marks, perfect_marks
from mindseye.metrics.references import Reference, reference_table
from mindseye.metrics.scores import Options, Row, Score
from mindseye.randomness import keys

__all__ = ["Imaginer", "Observer", "collapsed", "evaluate"]

Observer = Callable[[Tensor], Tensor]
"""Pictures `(B, C, H, W)` to codes `(B, K)`: the classifier that plays the human."""


class Imaginer(Protocol):
    """Whatever turns a concept into pictures."""

    def __call__(self, concept: Concept, n: int, seed: int, /) -> Tensor:
        """Draw `n` pictures, `(n, C, H, W)`; the same seed gives the same pictures."""
        ...


def evaluate(
    imaginer: Imaginer,
    observer: Observer,
    queries: Sequence[Concept],
    *,
    samples: int = 100,
    base: Base = "2",
    reference: Reference = "uniform",
    seed: int = 0,
    note: str = "",
    real: Imaginer | None = None,
    batch: int = 1024,
    progress: Callable[[int, int], None] | None = None,
) -> Score:
    """Imagine `samples` pictures of every query and let the observer judge them.

    Arguments:
        imaginer: The model under test.
        observer: The judge, trained apart from the model.
        queries: Concepts of one vocabulary, of any levels, repeated or not.
        samples: S, the number of pictures per query; coverage depends on it.
        base: Log base of the Jensen-Shannon divergence, "2" or "e".
        reference: "uniform", or one probability vector per attribute.
        seed: Query number i is imagined from a seed made of this one and i.
        note: How the imaginer makes its pictures, to be printed with the scores.
        real: Real pictures of a concept, for their row of the table.
        batch: How many pictures the observer sees at once.
        progress: Called with the number of queries done and their total, real ones included.
    """
    vocabulary = _check(queries, samples, base, batch)
    labels, table = encode(queries), reference_table(reference, vocabulary)
    wanted = targets(labels, table)
    imaginers = [imaginer] if real is None else [imaginer, real]
    judged = _judge(imaginers, observer, queries, samples, seed, batch, progress)
    shown = [histograms(codes, table.shape[-1]) for codes in judged]
    rows = [Row.of(compare(q, wanted, labels.observed, base)) for q in shown]
    return Score(
        queries=tuple(queries),
        options=Options(samples, base, _name(reference), seed, note),
        model=rows[0],
        real=rows[1] if len(rows) == 2 else None,
        perfect=Row.of(perfect_marks(labels, table, samples, base)),
        collapsed=Row.of(collapsed_marks(labels, table, base)),
    )


def collapsed(imaginer: Imaginer) -> Imaginer:
    """An imaginer that repeats the first picture of another one: no variety at all."""

    def repeat(concept: Concept, n: int, seed: int, /) -> Tensor:
        first = imaginer(concept, 1, seed)
        return first.expand(n, *first.shape[1:])

    return repeat


def _check(queries: Sequence[Concept], samples: int, base: Base, batch: int) -> Vocabulary:
    """The vocabulary of the queries; refuse what cannot be asked before anything is drawn."""
    if len(queries) == 0:
        raise UsageError("`queries` is empty; expected one concept or more.")
    vocabulary = queries[0].vocabulary
    for concept in queries:
        if concept.vocabulary is not vocabulary and concept.vocabulary != vocabulary:
            raise UsageError(
                f"`queries` mixes vocabularies: '{concept}' and '{queries[0]}'; expected one."
            )
    if batch < 1:
        raise UsageError(f"`batch={batch}` is too few; expected 1 or more pictures.")
    check_samples(samples)
    check_base(base)
    return vocabulary


def _judge(
    imaginers: Sequence[Imaginer],
    observer: Observer,
    queries: Sequence[Concept],
    samples: int,
    seed: int,
    batch: int,
    progress: Callable[[int, int], None] | None,
) -> list[Tensor]:
    """The observer's answers to every query, one `(Q, S, K)` per imaginer."""
    total, done = len(imaginers) * len(queries), 0
    answers: list[Tensor] = []
    seeds = (keys(seed, torch.arange(len(queries)), "evaluate") & (2**53 - 1)).tolist()
    for imaginer in imaginers:
        for chunk in _chunks(list(zip(queries, seeds, strict=True)), max(1, batch // samples)):
            pictures = [_imagine(imaginer, concept, samples, s) for concept, s in chunk]
            answers.append(_observe(observer, torch.cat(pictures), batch, queries[0].vocabulary))
            done += len(chunk)
            if progress is not None:
                progress(done, total)
    shape = (len(imaginers), len(queries), samples, len(queries[0].vocabulary))
    return list(torch.cat(answers).reshape(shape))


def _chunks(
    items: Sequence[tuple[Concept, int]], size: int
) -> Iterator[Sequence[tuple[Concept, int]]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]


@torch.no_grad()
def _imagine(imaginer: Imaginer, concept: Concept, samples: int, seed: int) -> Tensor:
    """Pictures of one query, counted."""
    pictures = imaginer(concept, samples, seed)
    if pictures.ndim != 4 or len(pictures) != samples:
        raise UsageError(
            f"`imaginer` gave shape {tuple(pictures.shape)} for '{concept}';"
            f" expected {samples} pictures, ({samples}, C, H, W)."
        )
    return pictures


@torch.no_grad()
def _observe(observer: Observer, pictures: Tensor, batch: int, vocabulary: Vocabulary) -> Tensor:
    """The observer's answers, checked, `(B, K)`."""
    codes = torch.cat([observer(some) for some in pictures.split(batch)]).cpu()
    check_codes(codes, vocabulary, "observer")
    if len(codes) != len(pictures):
        raise UsageError(
            f"`observer` gave {len(codes)} rows for {len(pictures)} pictures; expected one each."
        )
    return codes


def _name(reference: Reference) -> str:
    return reference if isinstance(reference, str) else "marginal"
