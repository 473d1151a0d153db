"""Fixtures of all tests."""

import importlib.util
import sys
from collections.abc import Callable
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
