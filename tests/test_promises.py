"""What is promised about speed, by a short sample of the benchmarks; ratios only, in one run."""

import statistics
import time

import pytest
import torch


@pytest.fixture
def one_thread(monkeypatch):
    """For this process and its children: threads that wait for each other measure the machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    yield
    torch.set_num_threads(before)


def test_help_does_not_wait_for_torch(script):
    cold_start = script("benchmarks/cold_start.py")
    assert "torch" not in cold_start.modules_of_help()
    assert min(cold_start.cost(cold_start.HELP).cpu for _ in range(3)) <= 0.5


def test_a_first_picture_takes_little_longer_than_importing_torch(script, one_thread, tmp_path):
    cold_start = script("benchmarks/cold_start.py")
    picture = tmp_path / "four.png"
    imagine = cold_start.imagining("mnist-a", picture)
    cold_start.cost(imagine)  # what is compiled once is kept
    assert min(cold_start.ratio(imagine, cold_start.TORCH) for _ in range(3)) <= 1.6
    assert picture.stat().st_size > 0


def test_the_training_loop_is_about_as_fast_as_one_written_by_hand(script, one_thread):
    training = script("benchmarks/training.py")
    contest = training.contest_of("mnist-a/telbo-lean", block=5, source="digits", batch_size=16)
    assert training.difference(contest) < 1e-5
    ours, by_hand = training.measure(contest, rounds=9, clock=time.process_time)
    ratio = statistics.median(a / b for a, b in zip(ours, by_hand, strict=True))
    assert ratio <= 1.15  # `benchmarks/training.py` measures 1.05 or less over longer blocks
