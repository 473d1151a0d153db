"""Fixtures of all tests."""

import importlib.util
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
import torch

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="session", autouse=True)
def one_thread():
    """Two workers share two cores, and small models gain nothing from more threads."""
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def script() -> Callable[[str], ModuleType]:
    """A script of the repository as a module, by its path from the root."""

    def loaded(path: str) -> ModuleType:
        name = f"_script_{Path(path).stem}"
        spec = importlib.util.spec_from_file_location(name, ROOT / path)
        assert spec is not None
        assert spec.loader is not None
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return loaded


@pytest.fixture(scope="session")
def makers(tmp_path_factory) -> Path:
    """A folder of runs: models of parts, of curves and of pictures, that have learnt nothing."""
    from mindseye.papers import get_recipe
    from mindseye.runs import create

    folder = tmp_path_factory.mktemp("makers") / "runs"
    for name in ("sines", "sites"):
        recipe = get_recipe(f"{name}/compvae-tiny").with_settings({"steps": "1"})
        list(create(recipe, folder).train())
    return folder


@pytest.fixture(scope="session")
def writers(tmp_path_factory) -> Path:
    """A folder of runs: a model of captions, the same with flows, and an observer."""
    from mindseye.data import averages
    from mindseye.papers import get_recipe
    from mindseye.runs import create

    folder, run = tmp_path_factory.mktemp("writers") / "runs", None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(averages, "PICTURES", 64)
        for name, begins in (("vlvae", False), ("vlvae-agg", True), ("observer", False)):
            recipe = get_recipe(f"two-objects/{name}-tiny")
            run = create(recipe, folder, start=run if begins else None)
            list(run.train())
    return folder


@pytest.fixture(scope="session")
def clubs(tmp_path_factory) -> Path:
    """A folder of runs with a model of the karate club."""
    from mindseye.papers import get_recipe
    from mindseye.runs import create

    folder = tmp_path_factory.mktemp("clubs") / "runs"
    recipe = get_recipe("graph/vgae-tiny")
    list(create(replace(recipe, data=recipe.data.resolved()), folder).train())
    return folder
