r"""From scores of runs to the entries of a table.

A number of ours is the mean over training seeds of means over queries. Its spread is the standard
deviation over seeds, with $n - 1$ below; its interval resamples the queries, each of which counts
with its mean over seeds. Everything is in percent.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from statistics import mean, stdev
from typing import Any

import torch

from mindseye.metrics import bootstrap
from mindseye.papers.tables import Place, Published, Row, Split
from mindseye.reproduction.plan import Plan

__all__ = ["Scores", "entries", "in_bits"]

Scores = Mapping[tuple[str, str, str], Sequence[dict[str, Any]]]
"""By split, family (or "real") and column: one score per seed."""

LIMITS = {
    "model": "real pictures (ceiling)",
    "perfect": "perfect sampler",
    "collapsed": "collapsed (floor)",
}
"""Rows of the score of real pictures, and what the table calls them."""


def entries(plan: Plan, scores: Scores) -> Iterator[dict[str, Any]]:
    """Every line of the table: a place, who stands there, what was published and what we found."""
    for place, split in _places(plan):
        for row in plan.rows:
            yield _entry(plan, scores, place, row)
        for name, label in LIMITS.items():
            found = {
                column: _cell([scores[split.name, "real", column][0]], name, place, None)
                for column in plan.protocols
            }
            yield _line(place, label, "limit", found, None, None)


def in_bits(published: Published) -> float:
    """A coverage of nats in bits: 1 - JS / ln 2.

    >>> round(in_bits(Published(91.14)), 1)
    87.2
    """
    return 100 - (100 - published.mean) / math.log(2)


def _places(plan: Plan) -> Iterator[tuple[Place, Split]]:
    """Correctness first, then coverage, level by level."""
    for score in ("correctness", "coverage"):
        for split in plan.table.splits:
            for level in split.levels:
                if not (score == "coverage" and level == max(split.levels)):
                    yield Place(split.name, level, score), split


def _entry(plan: Plan, scores: Scores, place: Place, row: Row) -> dict[str, Any]:
    found = {
        column: _cell(scores[place.split, row.family, column], "model", place, plan.seeds)
        for column in plan.protocols
    }
    return _line(place, row.label, row.family, found, row.paper.get(place), row.code.get(place))


def _line(
    place: Place,
    label: str,
    family: str,
    found: dict[str, Any],
    paper: Published | None,
    code: Published | None,
) -> dict[str, Any]:
    printed = paper or code
    bits = in_bits(printed) if printed and place.score == "coverage" else None
    return {
        **place._asdict(),
        "label": label,
        "family": family,
        "paper": paper and paper._asdict(),
        "authors": code and code._asdict(),
        "published in bits": bits and round(bits, 2),
        "ours": found,
    }


def _cell(
    scores: Sequence[dict[str, Any]], row: str, place: Place, seeds: Sequence[int] | None
) -> dict[str, Any]:
    """The mean over seeds, how far the seeds are apart, and the interval over queries."""
    columns = [_column(score, row, place) for score in scores]
    means = [mean(column) for column in columns]
    each = [mean(values) for values in zip(*columns, strict=True)]  # a query's mean over seeds
    whole = bootstrap(torch.tensor(each, dtype=torch.float64))
    return {
        "mean": _percent(mean(means)),
        "deviation": _percent(stdev(means)) if len(means) > 1 else None,
        "low": _percent(whole.low),
        "high": _percent(whole.high),
        "queries": whole.n,
        "seeds": None
        if seeds is None
        else {str(seed): _percent(value) for seed, value in zip(seeds, means, strict=True)},
    }


def _column(score: dict[str, Any], row: str, place: Place) -> list[float]:
    """One score of the queries of one level."""
    pairs = zip(score["queries"], score["rows"][row][place.score], strict=True)
    return [value for query, value in pairs if len(query) == place.level]


def _percent(value: float) -> float:
    return round(100 * value, 4)
