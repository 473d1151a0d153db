"""What the files of the repository promise each other."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import mindseye

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

# Nothing that is read may run


PICKLERS = {"pickle", "cPickle", "cloudpickle", "dill", "marshal", "shelve", "joblib"}
RUNNERS = {"eval", "exec", "compile", "__import__"}
TORCH_FILES = {"torch.load", "torch.save"}


def dangers(source: str) -> list[str]:
    """Imports and calls through which data could become code."""
    nodes = list(ast.walk(ast.parse(source)))
    called = [(ast.unparse(n.func), n.keywords) for n in nodes if isinstance(n, ast.Call)]
    imported = {alias.name for n in nodes if isinstance(n, ast.Import) for alias in n.names}
    parts = [n for n in nodes if isinstance(n, ast.ImportFrom)]
    imported |= {f"{n.module}.{alias.name}" for n in parts for alias in n.names}
    found = [name for name in imported if name.split(".")[0] in PICKLERS or name in TORCH_FILES]
    found += [name for name, _ in called if name in RUNNERS | TORCH_FILES]
    return found + [name for name, keywords in called if any(map(allows_pickle, keywords))]


def allows_pickle(keyword: ast.keyword) -> bool:
    """Whether a keyword is `allow_pickle` with anything but a plain False."""
    if keyword.arg != "allow_pickle":
        return False
    return not (isinstance(keyword.value, ast.Constant) and keyword.value.value is False)


@pytest.mark.parametrize(
    "path", SOURCES, ids=lambda path: path.relative_to(ROOT / "src").as_posix()
)
def test_nothing_is_unpickled_or_evaluated(path):
    assert dangers(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "import marshal as m",
        "from cloudpickle import loads",
        "from torch import load",
        "x = torch.load('x')",
        "torch.save(model, 'x')",
        "exec('1')",
        "y = [eval(t) for t in texts]",
        "np.load(f, allow_pickle=True)",
        "np.load(f, allow_pickle=anything)",
    ],
)
def test_a_danger_is_found(source):
    assert len(dangers(source)) == 1


@pytest.mark.parametrize(
    "source", ["model.eval()", "np.load(f, allow_pickle=False)", "re.compile('x')", "load(f)"]
)
def test_what_is_harmless_is_not_found(source):
    assert dangers(source) == []


# Requirements


def distribution(requirement: str) -> str:
    """The normalised name of a requirement, without extras and versions."""
    return re.sub(r"[-_.]+", "-", re.split(r"[\[<>=!~; ]", requirement)[0]).lower()


def test_make_installs_what_the_project_asks_for():
    (line,) = re.findall(r"^DEV := (.*)$", (ROOT / "Makefile").read_text(), re.M)
    assert sorted(line.split()) == sorted(PROJECT["dependency-groups"]["dev"])


def test_every_requirement_is_pinned():
    lines = (ROOT / "constraints.txt").read_text().split()
    pins = {distribution(line) for line in lines if re.fullmatch(r"[\w.-]+==[\w.+]+", line)}
    assert len(pins) == len(lines)
    wanted = [
        *PROJECT["project"]["dependencies"],
        *(r for extra in PROJECT["project"]["optional-dependencies"].values() for r in extra),
        *PROJECT["dependency-groups"]["dev"],
        *PROJECT["build-system"]["requires"],
    ]
    assert {distribution(requirement) for requirement in wanted} - {"mindseye"} <= pins


# Versions


def test_the_citation_names_the_version():
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    (version,) = re.findall(r"^version: *[\"']?([^\"'\s]+)", text, re.M)
    assert version == mindseye.__version__


def test_the_changelog_begins_with_the_version():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## \[?v?(\d+\.\d+\.\d+[\w.]*)", text, re.M)
    assert headings[0] == mindseye.__version__


# Imports


def loaded(statement: str) -> set[str]:
    """The modules that a fresh Python has loaded after a statement."""
    code = f"{statement}\nimport sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "statement",
    [
        "import mindseye",
        "import mindseye.concepts",
        "import mindseye.parts",
        "import mindseye.cli",
        "import mindseye.sheets",
    ],
)
def test_importing_does_not_wait_for_torch(statement):
    assert "torch" not in loaded(statement)


@pytest.mark.parametrize(
    "statement", ["import mindseye", "import mindseye.concepts", "import mindseye.parts"]
)
def test_importing_the_package_needs_only_python(statement):
    assert not loaded(statement) & {"numpy", "PIL", "typer", "rich"}


@pytest.mark.parametrize("name", mindseye.__all__)
def test_every_public_name_is_there(name):
    assert getattr(mindseye, name) is not None


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'mindseye' has no attribute 'imagin'"):
        _ = mindseye.imagin
