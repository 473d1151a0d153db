"""A studio without a socket."""

import shutil
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from mindseye.runs import BUILTIN, Run
from mindseye.studio.server import make_app
from mindseye.studio.shelf import Opened, Shelf


@pytest.fixture(scope="session")
def runs(tmp_path_factory):
    """A folder of runs: none yet."""
    return tmp_path_factory.mktemp("home") / "runs"


@pytest.fixture(scope="session")
def tables(tmp_path_factory):
    """A folder of tables: the one of the documentation."""
    folder = tmp_path_factory.mktemp("home") / "reproduced"
    results = Path(__file__).parents[2] / "docs" / "results"
    shutil.copytree(results / "pictures", folder / "mine" / "pictures")
    shutil.copy(results / "vedantam-4a.json", folder / "mine")
    return folder


@pytest.fixture(scope="session")
def opened():
    """The built-in model, read once."""
    return Opened(Run(BUILTIN / "mnist-a"))


@pytest.fixture(scope="session")
def app(opened, runs, tables):
    return make_app(Shelf([opened], runs, tables), hosts=("testserver", "127.0.0.1"))


@pytest.fixture(scope="session")
def client(app):
    with TestClient(app, raise_server_exceptions=False) as found:
        yield found
