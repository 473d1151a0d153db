"""Ask, imagine, judge: from an imaginer and an observer to scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    """Whatever turns concepts into pictures, many concepts at a time."""

    def __call__(self, concepts: Sequence[Concept], n: int, seeds: Sequence[int], /) -> Tensor:
        """Draw `n` pictures of every concept from its seed, `(Q, n, C, H, W)`.

        A concept and a seed give the same pictures, whatever stands beside them.
        """
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
        batch: How many pictures are imagined and judged at once.
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

    def repeat(concepts: Sequence[Concept], n: int, seeds: Sequence[int], /) -> Tensor:
        first = imaginer(concepts, 1, seeds)
        return first.expand(-1, n, *first.shape[2:])

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
    total, size = len(queries), max(1, batch // samples)
    answers: list[Tensor] = []  # they stay on their device: reading them would wait for it
    seeds = (keys(seed, torch.arange(total), "evaluate") & (2**53 - 1)).tolist()
    for i, imaginer in enumerate(imaginers):
        for start in range(0, total, size):
            some = slice(start, start + size)
            pictures = _imagine(imaginer, queries[some], samples, seeds[some])
            answers.append(_observe(observer, pictures, batch))
            if progress is not None:
                progress(i * total + min(some.stop, total), len(imaginers) * total)
    codes, vocabulary = torch.cat(answers).cpu(), queries[0].vocabulary
    check_codes(codes, vocabulary, "observer")
    return list(codes.reshape(len(imaginers), total, samples, len(vocabulary)))


@torch.no_grad()
def _imagine(
    imaginer: Imaginer, queries: Sequence[Concept], samples: int, seeds: Sequence[int]
) -> Tensor:
    """Pictures of some queries, counted, one after the other."""
    pictures = imaginer(queries, samples, seeds)
    if pictures.ndim != 5 or pictures.shape[:2] != (len(queries), samples):
        raise UsageError(
            f"`imaginer` gave shape {tuple(pictures.shape)}; expected {samples} pictures of each"
            f" of {len(queries)} queries, ({len(queries)}, {samples}, C, H, W)."
        )
    return pictures.flatten(0, 1)


@torch.no_grad()
def _observe(observer: Observer, pictures: Tensor, batch: int) -> Tensor:
    """The observer's answers, counted, `(B, K)`."""
    codes = torch.cat([observer(some) for some in pictures.split(batch)])
    if len(codes) != len(pictures):
        raise UsageError(
            f"`observer` gave {len(codes)} rows for {len(pictures)} pictures; expected one each."
        )
    return codes


def _name(reference: Reference) -> str:
    return reference if isinstance(reference, str) else "marginal"
