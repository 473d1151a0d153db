"""A studio behind a real socket, and a real browser before it."""

import json
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from mindseye.data import Data, averages
from mindseye.papers import Recipe, get_recipe
from mindseye.papers.model import Model
from mindseye.runs import BUILTIN, create
from mindseye.runs.making import blank
from mindseye.tensors import write_tensors
from mindseye.training import Training

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
)
SHOTS = Path(os.environ.get("MINDSEYE_SHOTS", "")) if "MINDSEYE_SHOTS" in os.environ else None

REST = Path(__file__).with_name("rest.js")
"""Tells when a page waits for nothing any more."""

DOCS = Path(__file__).parents[2] / "docs"
"""With a table in its folder results."""

pytestmark = pytest.mark.browser


@pytest.fixture(scope="session")
def address(tmp_path_factory):
    """Where a studio of the built-in model answers."""
    yield from _studio(tmp_path_factory.mktemp("home"))


@pytest.fixture
def two_models(tmp_path):
    """Where a studio answers that has a run open beside the built-in model."""
    shutil.copytree(BUILTIN / "mnist-a", tmp_path / "runs" / "00000-mine")
    yield from _studio(tmp_path)


@pytest.fixture(scope="session")
def painters(tmp_path_factory):
    """Where a studio answers that has models of pictures alone open; one of them was measured."""
    home = tmp_path_factory.mktemp("painters")
    for name, latent in (("flat", 2), ("wide", 20)):
        recipe = Recipe(
            f"mnist/{name}",
            data=Data("mnist", source="digits"),
            model=Model("vae", "tanh", latent=latent),
            objectives=("vae",),
            training=Training(steps=150, batch_size=32, learning_rate=2e-3, log_every=30),
        )
        run = create(recipe, home / "runs")
        list(run.train())
    (run.path / "likelihood.json").write_text(json.dumps(MEASURED))
    yield from _studio(home)


@pytest.fixture(scope="session")
def captioned(writers):
    """Where a studio answers that has a model of captions open, and its observer to judge it."""
    yield from _studio(writers.parent)


@pytest.fixture(scope="session")
def brushes(tmp_path_factory):
    """Where a studio answers that has models that paint open; one of them knows 2000 words."""
    home = tmp_path_factory.mktemp("brushes")
    few = {"data.source": "digits", "steps": "8"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(averages, "PICTURES", 64)
        for name, more in (("align", {"strokes": "4"}), ("observer", {})):
            recipe = get_recipe(f"captioned-mnist/{name}-tiny").with_settings(few | more)
            list(create(recipe, home / "runs").train())
    wide = Recipe(
        "coco/wide",
        data=Data("coco", source="sheets", words=("a", *(f"word{i}" for i in range(2000)))),
        model=Model("draw", "align", likelihood="quantised-normal-shared", **SMALL),
        objectives=("draw",),
    )
    run = create(wide, home / "runs")
    weights = blank(wide).to_empty(device="cpu").state_dict()
    file = run.path / "weights.safetensors"
    write_tensors(file, {name: each.zero_() for name, each in weights.items()})
    yield from _studio(home)


SMALL = {"latent": 2, "strokes": 3, "hidden": 4, "window": 2, "language": 2}


@pytest.fixture(scope="session")
def composed(makers):
    """Where a studio answers that was told to open models of parts, by their numbers."""
    yield from _studio(makers.parent, "0", "1")


@pytest.fixture(scope="session")
def linked(clubs):
    """Where a studio answers that has a model of the karate club open."""
    yield from _studio(clubs.parent)


MEASURED = {
    "part": "test",
    "k": 5000,
    "pictures": 10000,
    **{
        name: {"mean": mean, "low": mean - 1, "high": mean + 1, "n": 10000}
        for name, mean in {"nll": 96.5, "rate": 25.5, "distortion": 73.0}.items()
    },
    "activities": [[0.9] * 12 + [0.001] * 8],
    "active": [12],
}


def _studio(home, *models):
    """The address of a studio in a folder."""
    command = "from mindseye.cli import main; main()"
    words = ["studio", *models, "--no-browser", "--port", "0", "--tables", str(DOCS)]
    with subprocess.Popen(
        [sys.executable, "-c", command, *words], cwd=home, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        yield process.stdout.readline().split()[-1]
        process.terminate()
        assert process.wait(20) in (0, -15)


@pytest.fixture(scope="session")
def browser():
    if not CHROMIUM:
        pytest.skip("there is no Chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def profile(browser):
    """Whose pages share what was loaded once, and remember nothing else."""
    with _profile(browser) as profile:
        yield profile


@pytest.fixture
def page(profile):
    """A page of 1440 by 900 that must end without an error in its console."""
    yield from _page(profile, 1440, 900)


@pytest.fixture
def phone(profile):
    """A page as wide as a small phone."""
    yield from _page(profile, 390, 844)


@pytest.fixture
def large(profile):
    """A page as large as a big screen."""
    yield from _page(profile, 2560, 1440)


@pytest.fixture
def stranger(browser):
    """The page of somebody who has never been here."""
    with _profile(browser) as profile:
        yield from _page(profile, 1440, 900)


@contextmanager
def _profile(browser):
    context = browser.new_context()
    context.add_init_script(path=REST)
    yield context
    context.close()


def _page(profile, width, height):
    page = profile.new_page()
    page.set_viewport_size({"width": width, "height": height})
    errors, strangers = [], []
    page.on(
        "console", lambda message: errors.append(message.text) if message.type == "error" else 0
    )
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on(
        "request",
        lambda request: (
            strangers.append(request.url)
            if not request.url.startswith(("http://127.0.0.1", "data:", "blob:"))
            else 0
        ),
    )
    page.expected = []  # what a test means to go wrong
    yield page
    page.evaluate("localStorage.clear()")
    page.close()
    assert [e for e in errors if not any(text in e for text in page.expected)] == []
    assert strangers == []
