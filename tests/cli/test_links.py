"""Graphs on the command line: train, evaluate, links, plane, preview, and what they cannot do."""

import json
import re

import pytest
from PIL import Image

from mindseye.papers import get_recipe
from mindseye.runs import create


@pytest.fixture(scope="module")
def club(tmp_path_factory) -> str:
    """A run of the karate club."""
    run = create(get_recipe("graph/vgae-tiny"), tmp_path_factory.mktemp("club"))
    list(run.train())
    return str(run.path)


def refused(result: tuple[int, str, str], *words: str) -> None:
    """One line that says it, at most one hint, no traceback, exit code 2."""
    code, out, err = result
    assert (code, out) == (2, ""), err
    assert re.fullmatch(r"error: [^\n]+\n(hint: [^\n]+\n)?", err), err
    for word in words:
        assert word in err, err


def told(result: tuple[int, str, str]):
    code, out, err = result
    assert code == 0, err
    return json.loads(out)


def write_ring(folder, nodes: int = 40, extra: str = "") -> str:
    """Nodes in a ring, each with two features and a class."""
    folder.mkdir()
    rows = [f"n{i},n{(i + 1) % nodes}" for i in range(nodes)]
    (folder / "edges.csv").write_text("\n".join(["source,target", *rows]) + "\n" + extra)
    table = [f"n{i},{'even' if i % 2 == 0 else 'odd'},{i},{i % 3}" for i in range(nodes)]
    (folder / "nodes.csv").write_text("\n".join(["name,class,height,third", *table]) + "\n")
    return str(folder)


def test_a_graph_of_files_is_trained_measured_and_asked(mindseye, folder):
    ring = write_ring(folder / "ring")
    code, out, err = mindseye("train", "graph/masked-tiny", "--data", ring)
    assert code == 0, err
    assert "Try: mindseye evaluate" in out
    scores = told(mindseye("evaluate", "0", "--json"))
    assert scores["links"] == 4
    assert set(scores["scores"]) == {"auc", "ap"}  # four pairs are too few for Hits@10
    found = told(mindseye("links", "0", "n3", "-n", "5", "--json"))
    assert len(found) == 5
    assert all(pair["from"] == "n3" and pair["known"] != "training" for pair in found)
    code, out, _ = mindseye("links", "0", "n3", "n5")
    assert code == 0
    assert "odd" in out
    assert "new" in out


def test_the_likeliest_links_of_all_are_listed_best_first(mindseye, club):
    found = told(mindseye("links", club, "--json", "-n", "7"))
    chances = [pair["probability"] for pair in found]
    assert len(chances) == 7
    assert chances == sorted(chances, reverse=True)


def test_known_links_are_told_when_they_are_asked_for(mindseye, club):
    kinds = {
        pair["known"]
        for pair in told(mindseye("links", club, "0", "--known", "--json", "-n", "33"))
    }
    assert "training" in kinds


@pytest.mark.parametrize("option", [(), ("--straight",)])
def test_the_plane_of_a_graph_is_drawn(mindseye, club, folder, option):
    code, out, err = mindseye("plane", club, "--out", "plane.png", *option)
    assert code == 0, err
    assert "Wrote 34 nodes to plane.png" in out
    with Image.open(folder / "plane.png") as picture:
        assert picture.width > 500


def test_a_graph_is_previewed_and_prepared(mindseye, folder):
    code, out, err = mindseye("data", "preview", "graph")
    assert code == 0, err
    assert "34 nodes, 78 links" in out
    facts = told(mindseye("data", "prepare", "graph", "--json"))
    assert [fact["links"] for fact in facts] == [68, 3, 7]


def test_a_run_of_a_graph_is_shown_listed_and_exported(mindseye, club):
    assert mindseye("show", club)[0] == 0
    assert "kipf2016" in mindseye("cite", club)[1]
    assert mindseye("export", club, "given")[0] == 0
    assert told(mindseye("links", "given", "0", "--json"))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("links", "CLUB", "99"), ["no node is called '99'; expected 0 to 33"]),
        (("links", "CLUB", "3", "3"), ["is one node; expected two"]),
        (("links", "CLUB", "--known"), ["`--known` says nothing without a node"]),
        (("links", "mnist-a", "3"), ["knows nothing of links", "cora/vgae"]),
        (("imagine", "", "--model", "CLUB"), ["knows the links of a graph", "mindseye links"]),
        (("evaluate", "CLUB", "--samples", "3"), ["`--samples` says nothing here"]),
        (("plane", "CLUB", "--side", "8"), ["`--side` says nothing of a graph"]),
        (("aggregate", "CLUB"), []),
        (("train", "graph/vgae-tiny", "--data", "nowhere"), ["there is no graph at nowhere"]),
        (("train", "cora/vgae-tiny"), ["Cora was not found", "mindseye data get cora"]),
        (("train", "graph/vgae-tiny", "--set", "networks=linear"), ["cannot be asked about all"]),
        (("train", "mnist/vae-tiny", "--set", "data.name=graph"), ["do not go together"]),
        (("train", "graph/vgae-tiny", "--set", "masked=1.5"), ["`masked=1.5` must be at least 0"]),
        (("data", "preview", "graph", "--concept", "x"), ["nothing can be said of graph"]),
        (("reproduce", "kipf-vgae", "--size", "lean"), ["`size='lean'` is not one of"]),
        (("reproduce", "kipf-vgae", "--rows", "cora-gea"), ["cora-gae"]),
    ],
)
def test_what_cannot_be_meant_is_one_line(mindseye, club, nowhere, arguments, words):
    refused(mindseye(*(club if word == "CLUB" else word for word in arguments)), *words)


@pytest.fixture
def nowhere(tmp_path, monkeypatch):
    monkeypatch.delenv("MINDSEYE_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_an_unknown_node_of_a_file_is_named_with_its_line(mindseye, folder):
    ring = write_ring(folder / "ring", extra="n3,n400\n")
    refused(mindseye("train", "graph/vgae-tiny", "--data", ring), "n400", "line 42")


def test_a_sweep_scores_validation_links(mindseye):
    call = ("sweep", "graph/vgae-tiny", "--over", "beta=1,5", "--score", "links", "--json")
    runs = told(mindseye(*call))["runs"]
    assert [run["settings"] for run in runs] == [{"beta": "1"}, {"beta": "5"}]
    assert all(0 <= run["scores"]["auc"] <= 100 for run in runs)
    refused(mindseye("sweep", "graph/vgae-tiny", "--over", "beta=1", "--score", "quick"), "links")
