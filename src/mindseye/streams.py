"""Independent pieces of work, side by side where a GPU can: on streams of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch

__all__ = ["side_by_side"]


def side_by_side(*works: Callable[[], Any]) -> list[Any]:
    """The results of some functions that do not depend on each other, in their order.

    While a CUDA graph is captured, all but the first are recorded on other streams, which start
    together and are waited for at the end; the backward pass of a work follows it onto its stream.
    Elsewhere they run one after the other. A work may do the same with its own pieces.
    """
    if not (_has_cuda() and torch.cuda.is_current_stream_capturing()):
        return [work() for work in works]
    here = torch.cuda.current_stream()
    with _lanes(here.device, len(works) - 1) as lanes:
        results = [_on(lane, here, work) for lane, work in zip(lanes, works[1:], strict=True)]
        first = works[0]()
        for lane in lanes:
            here.wait_stream(lane)
    return [first, *results]


def _on(lane: torch.cuda.Stream, here: torch.cuda.Stream, work: Callable[[], Any]) -> Any:
    """Record some work on another stream, behind what this one has done so far."""
    lane.wait_stream(here)
    with torch.cuda.stream(lane):
        return work()


@contextmanager
def _lanes(device: torch.device, count: int) -> Iterator[list[torch.cuda.Stream]]:
    """Streams that are new to the outermost call: on a used one, work would wait for other work."""
    pool = _pool(device)
    pool.depth += 1
    while len(pool.streams) < pool.taken + count:
        pool.streams.append(torch.cuda.Stream(device))
    lanes = pool.streams[pool.taken : pool.taken + count]
    pool.taken += count
    try:
        yield lanes
    finally:
        pool.depth -= 1
        pool.taken = pool.taken if pool.depth else 0


@dataclass
class _Pool:
    """Streams of a device, how many of them are taken, and how many calls are under way."""

    streams: list[torch.cuda.Stream]
    taken: int = 0
    depth: int = 0


@cache
def _pool(device: torch.device) -> _Pool:
    return _Pool([])


@cache
def _has_cuda() -> bool:
    return torch.cuda.is_available()
