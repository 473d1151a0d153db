"""Imports go down: the folder listing is the order in which a reader may read."""

import ast
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "mindseye"

# Top to bottom; what stands on one line does not import each other.
LAYERS = [
    {"cli"},
    {"studio"},
    {"reproduction"},
    {"sweeps"},
    {"evaluation", "exports"},
    {"runs"},
    {"figures", "graphsheets", "paintsheets", "papers", "wholesheets"},
    {"explore", "generating", "holes", "painting"},
    {"composing", "imagine", "linking", "metrics", "training"},
    {"reading"},
    {"objectives"},
    {"models"},
    {"distributions", "networks", "data"},
    {"captions", "curves", "films", "graphs", "labels", "pieces"},
    {"charts", "concepts", "layouts", "parts", "sheets", "randomness", "wholefiles", "wordsheets"},
    {"grammar", "groups", "pictures", "sparse", "tensors", "typesetting"},
    {"files", "kernels", "provenance"},
    {"errors", "streams", "version"},
]
FRAMEWORKS = {"torch", "numpy", "PIL", "safetensors"}
FRAMEWORKS_OF = {
    "cli": FRAMEWORKS | {"typer", "rich"},
    "kernels": {"torch", "triton"},
    "studio": FRAMEWORKS | {"fastapi", "starlette", "uvicorn", "pydantic"},
}

# Kernels need Triton, which may not be installed: these load them when they run them.
LATE = {"networks", "distributions", "training"}


class Import(NamedTuple):
    """One import, and where it stands."""

    module: str  # who imports, such as mindseye.papers.recipe
    target: str  # what, such as mindseye.data or torch
    inside: bool  # whether it stands in a function


def imports(module: str, source: str, modules: set[str]) -> list[Import]:
    """Every import of a file; `from package import module` is an import of the module."""
    tree = ast.parse(source)
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    inside = {id(node) for function in functions for node in ast.walk(function)}
    return [
        Import(module, target, id(node) in inside)
        for node in ast.walk(tree)
        for target in targets(node, modules)
    ]


def targets(node: ast.AST, modules: set[str]) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        assert node.level == 0, "imports are absolute"
        assert node.module
        names = [f"{node.module}.{alias.name}" for alias in node.names]
        return [name if name in modules else node.module for name in names]
    return []


def layer(module: str) -> str:
    """The layer of a module: that of `mindseye.papers.recipe` is `papers`, of `__main__` `cli`."""
    name = module.partition(".")[2].partition(".")[0]
    return "cli" if name == "__main__" else name


def depth(module: str) -> int:
    return next(i for i, names in enumerate(LAYERS) if layer(module) in names)


def own(target: str) -> bool:
    return target.split(".")[0] == "mindseye"


def is_kernel(target: str) -> bool:
    """Whether an import needs Triton; `mindseye.kernels` itself does not."""
    return target.startswith("mindseye.kernels.")


def may_be_late(module: str, target: str) -> bool:
    """Whether an import of our own may stand in a function."""
    return layer(module) == "cli" or (layer(module) in LATE and is_kernel(target))


def violations(found: list[Import]) -> list[str]:
    """What breaks the rules, in words."""
    wrong = []
    for module, target, inside in found:
        if own(target) and layer(module):
            if layer(module) != layer(target) and depth(target) <= depth(module):
                wrong.append(f"{module} imports {target}, which is not below it")
            if inside and not may_be_late(module, target):
                wrong.append(f"{module} hides the import of {target} in a function")
            if not inside and is_kernel(target) and layer(module) != "kernels":
                wrong.append(f"{module} imports {target}, which may not be installed")
        if not own(target) and not inside:
            name = target.split(".")[0]
            allowed = FRAMEWORKS_OF.get(layer(module), FRAMEWORKS)
            if name not in allowed and name not in sys.stdlib_module_names:
                wrong.append(f"{module} imports {target}, which may not be installed")
    return wrong


def cycle(found: list[Import]) -> list[str]:
    """The modules of an import cycle, or nothing."""
    graph: dict[str, set[str]] = {}
    for module, target, _ in found:
        if own(target):
            graph.setdefault(module, set()).add(target)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def name_of(path: Path) -> str:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@pytest.fixture(scope="module")
def found() -> list[Import]:
    files = {name_of(path): path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py")}
    return [one for name, text in files.items() for one in imports(name, text, set(files))]


def test_every_module_has_a_layer_and_every_layer_exists():
    folders = [path.parent for path in SOURCE.glob("*/__init__.py")]
    files = [path.with_suffix("") for path in SOURCE.glob("[!_]*.py")]
    assert sorted(path.name for path in folders + files) == sorted(set().union(*LAYERS))


def test_imports_go_down(found):
    assert violations(found) == []


def test_no_modules_import_each_other(found):
    assert cycle(found) == []


def test_the_package_itself_imports_nothing_heavy():
    source = (SOURCE / "__init__.py").read_text()
    tree = ast.parse(source)
    top = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    assert {t.split(".")[0] for n in top for t in targets(n, set()) if not own(t)} <= set(
        sys.stdlib_module_names
    )
    assert [t for n in top for t in targets(n, set()) if own(t)] == ["mindseye.version"]


# The checker itself


@pytest.mark.parametrize(
    ("module", "source", "message"),
    [
        ("mindseye.labels", "from mindseye.models import JointVAE", "is not below it"),
        ("mindseye.imagine", "import mindseye.training.loop", "is not below it"),
        ("mindseye.data.batch", "from mindseye import networks", "is not below it"),
        ("mindseye.data.batch", "def f():\n    import mindseye.labels", "hides the import"),
        ("mindseye.metrics.scores", "import scipy.stats", "may not be installed"),
        ("mindseye.metrics.scores", "from rich.table import Table", "may not be installed"),
        ("mindseye.models.joint", "if 1:\n    import mindseye.runs", "is not below it"),
        ("mindseye.models.joint", "import triton", "may not be installed"),
        ("mindseye.kernels.adam", "import numpy", "may not be installed"),
        ("mindseye.kernels.adam", "from mindseye.files import read_json", "is not below it"),
        ("mindseye.networks.dense", "import mindseye.kernels.dense", "may not be installed"),
        ("mindseye.networks.dense", "def f():\n    import mindseye.kernels", "hides the import"),
        ("mindseye.models.joint", "def f():\n    import mindseye.kernels.adam", "hides the import"),
    ],
)
def test_a_violation_is_found(module, source, message):
    (wrong,) = violations(imports(module, source, {"mindseye.networks"}))
    assert message in wrong


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("mindseye.models.joint", "from mindseye.models.exact import LinearGaussian"),
        ("mindseye.models.joint", "import json, torch\nfrom mindseye.errors import UsageError"),
        ("mindseye.kernels.adam", "import torch, triton\nimport triton.language as tl"),
        ("mindseye.networks.dense", "from mindseye.kernels import wanted"),
        ("mindseye.networks.dense", "def f():\n    from mindseye.kernels.dense import BiasELU"),
        ("mindseye.data.sources", "def f():\n    from sklearn.datasets import load_digits"),
        ("mindseye.cli.train", "import typer\ndef f():\n    from mindseye.runs import find"),
    ],
)
def test_what_is_allowed_is_not_found(module, source):
    assert violations(imports(module, source, set())) == []


def test_a_cycle_is_found():
    modules = {"mindseye.data", "mindseye.data.a", "mindseye.data.b"}
    sources = {
        "mindseye.data": "from mindseye.data import a",
        "mindseye.data.a": "from mindseye.data.b import x",
        "mindseye.data.b": "import mindseye.data.a",
    }
    found = [one for name, text in sources.items() for one in imports(name, text, modules)]
    assert set(cycle(found)) == {"mindseye.data.a", "mindseye.data.b"}
    assert cycle([one for one in found if one.module != "mindseye.data.b"]) == []
