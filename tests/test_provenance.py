"""What made a result: the commit that a copy without a history is told, else the checkout's."""

import subprocess

from mindseye.provenance import provenance


def test_a_copy_without_a_history_is_told_its_commit(monkeypatch):
    monkeypatch.setenv("MINDSEYE_COMMIT", "abc1234")
    assert provenance("cpu")["commit"] == "abc1234"


def test_without_git_the_commit_is_unknown(monkeypatch):
    def missing(*_, **__):
        raise FileNotFoundError

    monkeypatch.delenv("MINDSEYE_COMMIT", raising=False)
    monkeypatch.setattr(subprocess, "run", missing)
    assert provenance("cpu")["commit"] == ""
