"""Data that may be at hand, and places where none is."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

REAL = os.environ.get("MINDSEYE_DATA")


@pytest.fixture
def real(monkeypatch) -> Callable[[str], Path]:
    """A file of real data by its name, or the test is skipped."""

    def found(name: str) -> Path:
        path = next(Path(REAL).rglob(name), None) if REAL else None
        if path is None:
            pytest.skip(f"MINDSEYE_DATA does not hold {name}")
        monkeypatch.setenv("MINDSEYE_DATA", str(REAL))
        return path

    return found


@pytest.fixture
def nowhere(tmp_path, monkeypatch) -> Path:
    """An empty folder, and no data in any of the usual places."""
    monkeypatch.delenv("MINDSEYE_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path
