"""Command lines run in an empty folder, with no MNIST in sight."""

import sys
from functools import partial

import pytest

from mindseye import cli
from mindseye.evaluation import imagination
from mindseye.papers import get_recipe
from mindseye.runs import Run, create


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MINDSEYE_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


@pytest.fixture
def mindseye(monkeypatch, capsys):
    """Run a command line; gives the exit code, stdout and stderr."""

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["mindseye", *arguments])
        code = 0
        try:
            cli.main()
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 1
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


@pytest.fixture(scope="session")
def briefly_trained(tmp_path_factory):
    """A run of a recipe, of six steps on the built-in digits."""

    def train(recipe: str) -> Run:
        settings = {"source": "digits", "steps": "6", "log_every": "3"}
        made = create(get_recipe(recipe).with_settings(settings), tmp_path_factory.mktemp("runs"))
        list(made.train())
        return made

    return train


@pytest.fixture
def few_pictures(monkeypatch):
    """The observer of an evaluation proves itself on a hundred pictures, not on thousands."""
    few = partial(imagination.observer_accuracy, pictures=100)
    monkeypatch.setattr(imagination, "observer_accuracy", few)
