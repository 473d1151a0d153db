"""The thread in which models work: the same pictures in a crowd, and an end to every queue."""

import asyncio
import threading
import time

import pytest
import torch

import mindseye
from mindseye.errors import UsageError
from mindseye.figures import judged
from mindseye.imagine import Query
from mindseye.studio.engine import Busy, Engine, Late


@pytest.fixture(scope="module")
def mind():
    found = mindseye.load("mnist-a")
    assert found.observer
    return found


@pytest.fixture
def engine():
    made = Engine(room=8, together=32, patience=20)
    yield made
    made.close()


async def held(engine):
    """A task that keeps the engine busy, and the event that ends it."""
    started, go = threading.Event(), threading.Event()

    def hold():
        started.set()
        go.wait(10)

    blocked = asyncio.create_task(engine.run(hold))
    await asyncio.to_thread(started.wait, 10)
    return blocked, go


def test_requests_that_wait_are_answered_together_and_each_as_alone(mind, engine):
    queries = [Query(mind.concept(f"digit={i}"), n, i) for i, n in enumerate((3, 8, 5, 16, 1))]

    async def crowd():
        blocked, go = await held(engine)
        asked = [asyncio.create_task(engine.pictures(mind, [query])) for query in queries]
        while len(engine._waiting) < len(queries):
            await asyncio.sleep(0.01)
        go.set()
        await blocked
        return await asyncio.gather(*asked)

    answers = asyncio.run(crowd())
    assert engine.answered == 6
    assert engine.calls == 3  # the one that held it, 3 + 8 + 5 + 16 pictures, 1 picture
    for query, (seen,) in zip(queries, answers, strict=True):
        alone = mind.answer([query])[0]
        assert torch.equal(seen.imagined.means, alone.means)
        assert torch.equal(seen.imagined.samples, alone.samples)
        assert seen.verdicts == judged(mind, alone)


def test_those_who_want_no_verdict_get_none(mind, engine):
    asked = [Query(mind.concept("digit=4"), 2)]
    (seen,) = asyncio.run(engine.pictures(mind, asked, judge=False))
    assert seen.verdicts is None


def test_a_mistake_reaches_the_one_who_made_it(mind, engine):
    with pytest.raises(UsageError, match="temperature"):
        asyncio.run(engine.pictures(mind, [Query(mind.concept(""), 1, temperature=-1.0)]))
    assert asyncio.run(engine.run(lambda: 7)).value == 7


def test_a_full_queue_turns_away_at_once(engine):
    async def overload():
        go = threading.Event()
        held = [asyncio.create_task(engine.run(lambda: go.wait(10)))]
        while not engine._waiting and not engine.calls:
            await asyncio.sleep(0.01)
            if engine._thread.is_alive() and not engine._waiting:
                break
        held += [asyncio.create_task(engine.run(lambda: None)) for _ in range(8)]
        await asyncio.sleep(0.05)
        assert engine.full
        started = time.perf_counter()
        with pytest.raises(Busy):
            await engine.run(lambda: None)
        assert time.perf_counter() - started < 0.1
        go.set()
        await asyncio.gather(*held)

    asyncio.run(overload())
    assert not engine.full


def test_nobody_waits_longer_than_their_patience_and_what_they_asked_is_dropped():
    engine = Engine(patience=0.1)
    done = []

    async def impatient():
        go = threading.Event()
        first = asyncio.create_task(engine.run(lambda: go.wait(10)))
        await asyncio.sleep(0.02)
        with pytest.raises(Late):
            await engine.run(lambda: done.append("late"))
        go.set()
        with pytest.raises(Late):
            await first

    asyncio.run(impatient())
    engine.close()
    assert done == []


def test_whoever_leaves_makes_room_at_once():
    engine = Engine(room=3)

    async def leaving():
        go = threading.Event()
        first = asyncio.create_task(engine.run(lambda: go.wait(10)))
        await asyncio.sleep(0.05)
        others = [asyncio.create_task(engine.run(lambda: None)) for _ in range(3)]
        await asyncio.sleep(0.05)
        assert engine.full
        for other in others:
            other.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        assert not engine.full
        go.set()
        await first

    asyncio.run(leaving())
    engine.close()


def test_a_loop_that_is_closed_does_not_end_the_thread():
    engine, go = Engine(), threading.Event()
    loop = asyncio.new_event_loop()

    async def ask():
        asyncio.ensure_future(engine.run(lambda: go.wait(10)))  # noqa: RUF006 nobody waits for it
        await asyncio.sleep(0.05)

    loop.run_until_complete(ask())
    for task in asyncio.all_tasks(loop):
        task.cancel()
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()
    go.set()
    assert asyncio.run(engine.run(lambda: 3)).value == 3
    engine.close()


def test_one_mistake_spares_the_others_that_were_answered_with_it(mind, engine):
    good, bad = Query(mind.concept("digit=4"), 2), Query(mind.concept(""), 2, temperature=-1.0)

    async def both():
        blocked, go = await held(engine)
        asked = [asyncio.create_task(engine.pictures(mind, [query])) for query in (good, bad)]
        await asyncio.sleep(0.05)
        go.set()
        await blocked
        return await asyncio.gather(*asked, return_exceptions=True)

    fine, wrong = asyncio.run(both())
    assert len(fine[0].imagined.means) == 2
    assert isinstance(wrong, UsageError)


def test_a_closed_engine_takes_nothing_more():
    engine = Engine()
    engine.close()
    with pytest.raises(Busy):
        asyncio.run(engine.run(lambda: 1))
    engine.start()
    assert asyncio.run(engine.run(lambda: 1)).value == 1
    engine.close()
