"""A studio without a socket."""

import shutil
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from mindseye.data import Data, averages
from mindseye.papers import Recipe, get_recipe
from mindseye.papers.model import Model
from mindseye.runs import BUILTIN, Run, create
from mindseye.studio.server import make_app
from mindseye.studio.shelf import Opened, Shelf
from mindseye.training import Training


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


@pytest.fixture(scope="session")
def painters(tmp_path_factory):
    """Runs of models of pictures alone: of two latents, of twenty, and of two layers."""
    folder = tmp_path_factory.mktemp("painters") / "runs"
    models = {
        "flat": Model("vae", "tanh", latent=2),
        "wide": Model("vae", "tanh", latent=20),
        "deep": Model("deep", latents=(6, 3), units=(20, 10)),
    }
    for name, model in models.items():
        recipe = Recipe(
            f"mnist/{name}",
            about="A test.",
            data=Data("mnist", source="digits"),
            model=model,
            objectives=("vae",),
            training=Training(steps=40, batch_size=16, log_every=20),
        )
        list(create(recipe, folder).train())
    return folder


@pytest.fixture(scope="session")
def brushes(tmp_path_factory):
    """Runs of models that paint captions: by words, by whole sentences, at once; and who judges."""
    folder = tmp_path_factory.mktemp("brushes") / "runs"
    settings = {"data.source": "digits", "steps": "4"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(averages, "PICTURES", 64)
        for name in ("align", "noalign", "dense", "observer"):
            more = {"strokes": "5"} if name == "align" else {}
            recipe = get_recipe(f"captioned-mnist/{name}-tiny").with_settings(settings | more)
            list(create(recipe, folder).train())
    return folder


@pytest.fixture(scope="session")
def painted(painters):
    """A studio of models of pictures alone."""
    shelf = Shelf([Opened(Run(path)) for path in sorted(painters.iterdir())], painters)
    with TestClient(make_app(shelf), raise_server_exceptions=False) as found:
        yield found
