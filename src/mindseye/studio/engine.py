"""One thread in which models work, and a queue before it.

Requests for pictures that wait for the same model are answered by one call: each still gets the
pictures it would get alone, to the last bit. Whatever else models do is done in between. The queue
has an end, so that a server that is asked too much says so at once, and nobody waits for ever.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from time import perf_counter
from typing import Any, NamedTuple

from mindseye.figures import Verdict, verdicts_of
from mindseye.imagine import Imagined, Mind, Query

__all__ = ["Busy", "Engine", "Late", "Seen", "Timed", "judges"]


class Busy(Exception):
    """Too many requests are waiting already."""


class Late(Exception):
    """An answer took too long."""


class Seen(NamedTuple):
    """Pictures of one query, and what the observer sees in them."""

    imagined: Imagined
    verdicts: list[Verdict] | None
    seconds: float
    """What the models took for all that was answered together."""


def judges(mind: Mind) -> bool:
    """Whether there is an observer, and are words for what it sees."""
    return mind.can_judge and len(mind.vocabulary) > 0


class Timed(NamedTuple):
    """A result, and the seconds it took."""

    value: Any
    seconds: float


@dataclass(frozen=True, eq=False)
class _Job:
    """Something to compute, and where the answer goes."""

    mind: Mind | None
    judge: bool
    work: Sequence[Query] | Callable[[], Any]
    future: asyncio.Future[Any]
    loop: asyncio.AbstractEventLoop

    @property
    def pictures(self) -> int:
        """How many it asks for; 0 if it asks for something else."""
        return 0 if callable(self.work) else sum(query.n for query in self.work)

    def alike(self, other: _Job) -> bool:
        """Whether one call can answer both."""
        return bool(self.pictures and other.pictures) and (self.mind, self.judge) == (
            other.mind,
            other.judge,
        )


class Engine:
    """A thread that answers requests, those for pictures of one model together.

    Arguments:
        room: How many requests may wait.
        together: How many pictures are made by one call.
        patience: After how many seconds nobody waits for an answer any more.
    """

    def __init__(self, room: int = 64, together: int = 64, patience: float = 30.0):
        self.room, self.together, self.patience = room, together, patience
        self.calls = self.answered = 0
        self._waiting: deque[_Job] = deque()
        self._change = threading.Condition()
        self._open = False
        self.start()

    @property
    def full(self) -> bool:
        """Whether a request would be turned away now."""
        return len(self._waiting) >= self.room

    async def pictures(
        self, mind: Mind, queries: Sequence[Query], *, judge: bool = True
    ) -> list[Seen]:
        """The pictures of some queries."""
        return await self._asked(mind, judge and judges(mind), queries)

    async def run(self, function: Callable[[], Any]) -> Timed:
        """What a function returns that lets models work, and how long it took."""
        return await self._asked(None, False, function)

    def start(self) -> None:
        """Begin to work, or begin again after `close`."""
        with self._change:
            if not self._open:
                self._open = True
                self._thread = threading.Thread(target=self._work, name="models", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Answer what is waiting and stop."""
        with self._change:
            self._open = False
            self._change.notify()
        self._thread.join()

    async def _asked(
        self, mind: Mind | None, judge: bool, work: Sequence[Query] | Callable[[], Any]
    ) -> Any:
        loop = asyncio.get_running_loop()
        job = _Job(mind, judge, work, loop.create_future(), loop)
        with self._change:
            if self.full or not self._open:
                raise Busy
            self._waiting.append(job)
            self._change.notify()
        try:
            return await asyncio.wait_for(job.future, self.patience)
        except TimeoutError:
            raise Late from None
        finally:  # whoever gives up or leaves makes room at once
            with self._change, suppress(ValueError):
                self._waiting.remove(job)

    def _work(self) -> None:
        while jobs := self._next():
            found = self._tried(jobs)
            if len(jobs) > 1 and isinstance(found[0], Exception):  # whose mistake was it?
                found = [answer for job in jobs for answer in self._tried([job])]
            self.answered += len(jobs)
            for job, answer in zip(jobs, found, strict=True):
                with suppress(RuntimeError):  # its loop is closed: nobody waits any more
                    job.loop.call_soon_threadsafe(_deliver, job.future, answer)

    def _tried(self, jobs: list[_Job]) -> list[Any]:
        """The answers to some jobs, or what went wrong with all of them."""
        self.calls += 1
        try:
            return self._answer(jobs, perf_counter())
        except Exception as error:
            return [error] * len(jobs)

    def _next(self) -> list[_Job]:
        """The first job that waits, and those that can be answered with it."""
        with self._change:
            while self._open and not self._waiting:
                self._change.wait()
            if not self._waiting:
                return []
            first = self._waiting.popleft()
            chosen, count, rest = [first], first.pictures, deque[_Job]()
            for job in self._waiting:
                if first.alike(job) and count + job.pictures <= self.together:
                    chosen.append(job)
                    count += job.pictures
                else:
                    rest.append(job)
            self._waiting = rest
            return chosen

    def _answer(self, jobs: list[_Job], started: float) -> list[Any]:
        first = jobs[0]
        if callable(first.work):
            return [Timed(first.work(), perf_counter() - started)]
        assert first.mind is not None
        queries = [query for job in jobs if not callable(job.work) for query in job.work]
        imagined = first.mind.answer(queries)
        verdicts = verdicts_of(first.mind, imagined) if first.judge else [None] * len(imagined)
        seconds = perf_counter() - started
        seen = iter([Seen(*pair, seconds) for pair in zip(imagined, verdicts, strict=True)])
        return [[next(seen) for _ in job.work] for job in jobs if not callable(job.work)]


def _deliver(future: asyncio.Future[Any], answer: Any) -> None:
    """Hand an answer over, if anybody still waits for it."""
    if future.done():
        return
    if isinstance(answer, Exception):
        future.set_exception(answer)
    else:
        future.set_result(answer)
