"""How long a reproduction takes: every call counts, one after the other or beside each other."""

from types import SimpleNamespace

import pytest

from mindseye.files import read_json
from mindseye.reproduction import clock
from mindseye.reproduction.clock import Clock


@pytest.fixture
def now(monkeypatch):
    """A time that moves when it is told to."""
    hand = [100.0]
    monkeypatch.setattr(clock, "time", SimpleNamespace(perf_counter=lambda: hand[0]))
    return hand


def test_a_later_call_goes_on_counting(tmp_path, now):
    for seconds in (3.0, 4.5):
        with Clock(tmp_path / "seconds.json"):
            now[0] += seconds
    assert read_json(tmp_path / "seconds.json") == {"seconds": 7.5}


def test_calls_beside_each_other_are_added(tmp_path, now):
    first, second = (Clock(tmp_path / "seconds.json") for _ in range(2))
    with first:
        now[0] += 2
        with second:
            now[0] += 5
    assert first.seconds == second.seconds == 12


def test_what_was_begun_and_failed_counts_too(tmp_path, now):
    def failing():
        with Clock(tmp_path / "seconds.json"):
            now[0] += 2
            raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011 - our own, without words
        failing()
    assert Clock(tmp_path / "seconds.json").seconds == 2
