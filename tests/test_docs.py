"""Pages that cannot drift: what they show runs, what they name exists, what exists is named."""

import ast
import re
import shlex
from pathlib import Path

import pytest
import typer

from mindseye.concepts import Vocabulary
from mindseye.data import DATASETS
from mindseye.data.scenes import SENTENCE
from mindseye.evaluation import PROTOCOLS
from mindseye.networks import NETWORKS
from mindseye.objectives import OBJECTIVES
from mindseye.papers import RECIPES, get_recipe, vedantam
from mindseye.parts import Kit
from mindseye.sweeps import grid, values

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.glob("*.md")])
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)


def text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def fences(page: Path, language: str) -> list[tuple[int, str]]:
    """The line number and the body of every fence of a language."""
    source = text(page)
    return [
        (source.count("\n", 0, match.start(2)) + 1, match[2])
        for match in FENCE.finditer(source)
        if match[1] == language
    ]


def prose(page: Path) -> str:
    """A page without its fences."""
    return FENCE.sub("", text(page))


def ids(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.fixture(scope="module")
def generate(script):
    return script("docs/generate.py")


@pytest.fixture(scope="module")
def commands(generate):
    """Every command by its full name, with its context."""
    return {name: (command, context) for name, command, context in generate.commands()}


# What is shown runs


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """An empty folder, without MNIST anywhere in sight."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MINDSEYE_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.mark.parametrize("page", [p for p in PAGES if fences(p, "python")], ids=ids)
def test_python_runs_from_top_to_bottom(page, elsewhere):
    names: dict[str, object] = {"__name__": "__main__"}
    for line, source in fences(page, "python"):
        shifted = "\n" * (line - 1) + source  # a traceback names the line of the page
        exec(compile(shifted, str(page), "exec"), names)


SHELL = [
    (page, line)
    for page in PAGES
    for _, body in fences(page, "console")
    for line in [*body.splitlines()]
]


def prompts(program: str) -> list:
    """The lines of console fences that call a program, as words without comments."""
    found = []
    for page, line in SHELL:
        words = shlex.split(line.removeprefix("$ "), comments=True)
        if words and words[0] == program:
            found.append(pytest.param(words[1:], id=f"{ids(page)}: {line}"))
    return found


def test_console_fences_hold_commands_only():
    for page, line in SHELL:
        assert re.match(r"\$ (mindseye|make|pip) ", line), f"{page.name}: {line}"


@pytest.mark.parametrize("words", prompts("mindseye"))
def test_commands_parse(words, commands):
    parsed = parameters(words, commands)
    if words[0] == "train":
        settings = dict(setting.split("=", 1) for setting in parsed["set_"] or [])
        get_recipe(parsed["recipe"]).with_settings(settings)
    if words[0] == "sweep":
        settings = dict(setting.split("=", 1) for setting in parsed["set_"] or [])
        over = dict(text.split("=", 1) for text in parsed["over"])
        made = get_recipe(parsed["recipe"]).with_settings(settings)
        assert len(grid(made, {name: values(text) for name, text in over.items()})) > 1
    for key in ("description", "to", "query", "concept"):
        if isinstance(said := parsed.get(key), str):
            words_of(said).parse(said)
    if words[0] == "compose":
        changes = [*(parsed["add"] or []), *(parsed["remove"] or [])]
        changes += [part for text in parsed["replace"] or [] for part in text.split("=")]
        whole = parsed["of"] or parsed["parts"]
        for part in (whole, *changes):
            words_of(whole).parse(part)


def words_of(said: str) -> Vocabulary | Kit:
    """What a description is written in."""
    kits = [data.vocabulary for data in DATASETS.values() if isinstance(data.vocabulary, Kit)]
    names = set(re.findall(r"[\w-]+", re.sub(r"[0-9]+×|@[^;]*", "", said)))
    for kit in kits:
        if names and names <= set(kit.names):
            return kit
    if "sphere" in said:
        return SENTENCE
    spoken = {"three": "captioned-mnist", "six": "captioned-pairs"}
    found = [name for word, name in spoken.items() if word in said]
    return DATASETS[found[0]].vocabulary if found else vocabulary()


def parameters(words: list[str], commands: dict) -> dict:
    """What a command line says, read by the command itself without running it."""
    n = 2 if words[0] == "data" else 1
    command, context = commands[" ".join(["mindseye", *words[:n]])]
    return command.make_context(command.name, list(words[n:]), parent=context.parent).params


def vocabulary() -> Vocabulary:
    return DATASETS["mnist-a"].vocabulary


@pytest.mark.parametrize("words", [["imagine", "4", "--sead", "7"], ["evaluate"], ["data", "got"]])
def test_a_line_that_does_not_parse_is_found(words, commands):
    with pytest.raises(Exception, match=r"--sead|[Mm]issing|got"):
        parameters(words, commands)


@pytest.mark.parametrize("words", prompts("make"))
def test_make_has_the_target(words):
    assert re.search(rf"^{words[0]}:", text(ROOT / "Makefile"), re.M)


# What is generated is fresh


def pinned(package: str) -> str:
    (version,) = re.findall(rf"^{package}==(\S+)$", text(ROOT / "constraints.txt"), re.M)
    return version


@pytest.mark.skipif(typer.__version__ != pinned("typer"), reason="help is laid out differently")
def test_the_command_reference_is_fresh(generate):
    assert text(DOCS / "cli.md") == generate.cli_page(), "run `make docs`"


def test_the_command_reference_does_not_depend_on_the_terminal(generate, monkeypatch):
    page = generate.cli_page()
    for name, value in {"COLUMNS": "40", "TERM": "dumb", "NO_COLOR": "1"}.items():
        monkeypatch.setenv(name, value)
    assert generate.cli_page() == page


# What exists is named


def said(page: str, name: str) -> bool:
    """Whether a page has a name in backticks, alone or with what follows it."""
    return re.search(rf"`{re.escape(name)}`", text(ROOT / page)) is not None


FAMILIES = tuple(
    f"docs/{page}.md"
    for page in ("papers", "autoencoders", "captions", "drawing", "parts", "graphs")
)
"""Pages of models."""


@pytest.mark.parametrize("name", OBJECTIVES)
def test_every_objective_has_its_paragraph(name):
    assert any(f"**`{name}`**" in text(ROOT / page) for page in FAMILIES)


def families() -> list[str]:
    """Recipes without their sizes."""
    sizes = [size for size in vedantam.SIZES if size]
    plain = [name for name in RECIPES if not name.endswith(tuple(sizes))]
    sized = [name.removesuffix(s) for name in RECIPES for s in sizes if name.endswith(s)]
    return list(dict.fromkeys(plain + sized))


@pytest.mark.parametrize("name", families())
def test_every_family_of_recipes_is_listed(name):
    assert any(said(page, name) for page in FAMILIES)


@pytest.mark.parametrize("size", [size for size in vedantam.SIZES if size])
def test_every_size_is_a_row(size):
    training = vedantam.SIZES[size][1]
    (row,) = re.findall(rf"^\| `{size}` \|.*$", text(DOCS / "papers.md"), re.M)
    assert f"| {training.steps:_} × {training.batch_size} |".replace("_", " ") in row


@pytest.mark.parametrize("name", DATASETS)
def test_every_data_set_has_a_heading_and_its_words(name):
    page = text(DOCS / "data.md")
    assert f"\n## {name}\n" in page
    words = DATASETS[name].vocabulary
    if isinstance(words, Kit):
        own = page.split(f"\n## {name}\n")[1].split("\n## ")[0]
        assert all(category in own for category in (words.names[0], words.names[-1]))
        return
    for attribute in words:
        assert f"| `{attribute.name}` |" in page


@pytest.mark.parametrize("name", NETWORKS)
def test_every_pair_of_networks_is_described(name):
    assert any(said(page, name) for page in FAMILIES)


@pytest.mark.parametrize("name", PROTOCOLS)
def test_every_protocol_is_a_row(name):
    protocol = PROTOCOLS[name]
    (row,) = re.findall(rf"^\| `{name}` \|.*$", text(DOCS / "metrics.md"), re.M)
    assert f"| {protocol.samples} |" in row
    assert {"2": "bits", "e": "nats"}[protocol.base] in row
    assert str(protocol.queries or "every concept") in row


def test_every_command_is_in_the_readme_and_the_reference(commands):
    for name in commands:
        assert f"\n## {name}\n" in text(DOCS / "cli.md")
    top = [name for name in commands if len(name.split()) == 2]
    assert re.findall(r"^\| `(mindseye \w+)` \|", text(ROOT / "README.md"), re.M) == top


def test_the_index_lists_every_page():
    links = set(re.findall(r"\]\((\w+\.md)\)", text(DOCS / "index.md")))
    assert links == {page.name for page in DOCS.glob("*.md")} - {"index.md"}


# The design is the code's


def test_the_layers_of_the_design_are_those_that_are_checked():
    (block,) = [body for _, body in fences(DOCS / "design.md", "text") if body.startswith("cli\n")]
    shown = [set(line.split(" | ")) for line in block.splitlines()]
    tree = ast.parse(text(ROOT / "tests" / "test_layers.py"))
    (layers,) = [
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "LAYERS"
    ]
    assert shown == layers


def test_every_module_says_what_it_is_for():
    page = text(DOCS / "design.md")
    purposes = page[page.index("What each is for") : page.index("Data flows")]
    source = ROOT / "src" / "mindseye"
    names = [p.stem for p in source.glob("[!_]*.py")] + [
        p.parent.name for p in source.glob("*/__init__.py")
    ]
    assert {name for name in names if f"`{name}`:" not in purposes} == set()


# Links and words


def slug(heading: str) -> str:
    """The anchor that GitHub gives a heading."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


LINKS = [
    pytest.param(page, link, id=f"{ids(page)}: {link}")
    for page in PAGES
    for link in re.findall(r"\]\(([^)\s]+)\)", prose(page))
    if not link.startswith("https://")
]


@pytest.mark.parametrize(("page", "link"), LINKS)
def test_links_lead_somewhere(page, link):
    file, _, anchor = link.partition("#")
    target = (page.parent / file).resolve() if file else page
    assert target.exists()
    if anchor:
        assert anchor in {slug(h) for h in re.findall(r"^#+ (.*)$", prose(target), re.M)}


def test_the_readme_shows_python_on_its_first_screen():
    assert fences(ROOT / "README.md", "python")[0][0] < 35


BUILTIN = sorted((ROOT / "src" / "mindseye" / "builtin").rglob("*.json*"))
WRITTEN = [*PAGES, ROOT / "CITATION.cff", DOCS / "generate.py", ROOT / "Makefile", *BUILTIN]


@pytest.mark.parametrize("path", WRITTEN, ids=ids)
def test_no_page_knows_a_machine(path):
    assert re.findall(r"/(?:work|home|root|tmp|Users|mnt)/\S*", text(path)) == []
