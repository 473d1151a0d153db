"""Works of seconds and minutes beside the engine: whoever asks is told how far they are.

The engine answers within seconds, so a plane of thousands of nodes is not laid out in it, nor a
large graph read. Works of one kind are done one after the other, each in a thread of its own, and
end early when the server does.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from mindseye.studio.engine import Late

__all__ = ["Background", "Work"]

Progress = Callable[[int, int], None]


class Stopped(Exception):
    """The server ends, and nobody waits any more."""


class Work:
    """Something that is under way: `done` of `steps`, as far as that is known."""

    def __init__(self) -> None:
        self.done = self.steps = 0
        self.future: Future[Any] = Future()

    async def within(self, seconds: float) -> Any:
        """What comes of it, or `Late` if it takes longer; it goes on then."""
        waiting = asyncio.shield(asyncio.wrap_future(self.future))
        try:
            return await asyncio.wait_for(waiting, seconds)
        except TimeoutError:
            waiting.add_done_callback(lambda found: found.cancelled() or found.exception())
            raise Late from None


class Background:
    """Works of one kind, one after the other; of one name there is one at a time."""

    def __init__(self) -> None:
        self._works: dict[str, Work] = {}
        self._threads: list[threading.Thread] = []
        self._change, self._turn = threading.Lock(), threading.Lock()
        self._stopping = threading.Event()

    def begin(self, name: str, act: Callable[[Progress], Any]) -> Work:
        """Begin a work, unless it is under way; one that failed is told of once.

        Arguments:
            name: What it is about.
            act: What is done; it leaves its result where it is found again, and tells how far it
                is by calling what it is given with the steps that are done and those there are.
        """
        with self._change:
            work = self._works.get(name)
            if work and work.future.done():
                del self._works[name]
                work = work if work.future.exception() else None
            if not work:
                work = self._works[name] = Work()
                thread = threading.Thread(target=self._do, args=(work, act), daemon=True)
                self._threads = [each for each in self._threads if each.is_alive()] + [thread]
                thread.start()
            return work

    def close(self) -> None:
        """End what is under way, as soon as it tells how far it is."""
        self._stopping.set()
        for thread in self._threads:
            thread.join(5)
        self._works.clear()
        self._stopping.clear()

    def _do(self, work: Work, act: Callable[[Progress], Any]) -> None:
        def tell(done: int, steps: int) -> None:
            if self._stopping.is_set():
                raise Stopped
            work.done, work.steps = done, steps

        with self._turn:
            try:
                tell(0, 0)
                work.future.set_result(act(tell))
            except Exception as error:
                work.future.set_exception(error)
