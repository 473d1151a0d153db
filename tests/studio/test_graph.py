"""Graph: where nodes are, whom they are likely linked to, and what else makes the same."""

import json
import shutil
import sys
import time
from dataclasses import replace

import pytest
import schemathesis
import torch
from starlette.testclient import TestClient

from mindseye import cli
from mindseye.data.karate import karate_club
from mindseye.errors import DataError
from mindseye.evaluation.links import evaluate_links
from mindseye.graphs import Graph
from mindseye.papers import get_recipe
from mindseye.runs import Run, create
from mindseye.studio.background import Background
from mindseye.studio.linkscores import link_scores_of
from mindseye.studio.server import make_app
from mindseye.studio.shelf import Opened, Shelf, shelf_of
from mindseye.tensors import read_tensors, write_tensors

MODEL = "00000-graph-vgae-tiny"


@pytest.fixture(scope="module")
def run(clubs, tmp_path_factory):
    """A run of its own, since planes and scores are kept beside it."""
    return Run(shutil.copytree(clubs / MODEL, tmp_path_factory.mktemp("own") / "runs" / MODEL))


@pytest.fixture(scope="module")
def app(run, opened):
    return make_app(Shelf([Opened(run), opened], run.path.parent))


@pytest.fixture(scope="module")
def client(app):
    with TestClient(app, raise_server_exceptions=False) as found:
        yield found


@pytest.fixture(scope="module")
def linker(run):
    return run.linker()


def asked(client, what="", **parameters):
    answer = client.get(f"/api/graph{what}", params=parameters)
    assert answer.status_code == 200, answer.text
    return answer.json()


def laid_out(client, **parameters):
    """The plane by nearness, once it is there."""
    for _ in range(30):
        if (found := asked(client, "/plane", **parameters))["places"]:
            return found
    raise AssertionError("it is not laid out")


def typed(monkeypatch, *words):
    """Run a command line."""
    monkeypatch.setattr(sys, "argv", ["mindseye", *words])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 0


# What is drawn


def test_all_nodes_and_training_links_are_drawn(client, linker):
    found, club = asked(client), karate_club()
    assert found["count"] == len(found["nodes"]["numbers"]) == 34
    assert (found["links"], found["trained"]) == (78, len(linker.data.train))
    assert found["drawn"] == linker.data.train.tolist()
    assert found["nodes"]["classes"] == club.labels.tolist()
    assert found["nodes"]["links"][33] == 17
    assert sum(found["nodes"]["links"]) == 2 * 78
    straight = linker.plane(straight=True)
    assert torch.allclose(torch.tensor(found["nodes"]["places"]), straight, atol=1e-4)
    assert asked(client, "/plane", layout="straight")["places"] == found["nodes"]["places"]


def test_the_plane_by_nearness_is_laid_out_once_and_kept(client, run, linker):
    first = laid_out(client)
    kept = read_tensors(run.path / "plane.safetensors")
    assert torch.allclose(torch.tensor(first["places"]), kept["near"], atol=1e-4)
    assert laid_out(client)["places"] == first["places"]
    assert torch.equal(run.linker().plane(), kept["near"])
    assert asked(client, "/plane", layout="straight")["places"] != first["places"]


def test_a_plane_of_other_weights_is_laid_out_again(clubs, tmp_path):
    own = Run(shutil.copytree(clubs / MODEL, tmp_path / MODEL))
    before = own.linker().plane()
    file = own.path / "weights.safetensors"
    weights = read_tensors(file)
    write_tensors(file, {name: -2 * value for name, value in weights.items()})
    again = own.linker()
    assert again.laid_out() is None
    assert not torch.allclose(again.plane(), before, atol=1e-2)
    assert torch.equal(own.linker().laid_out(), again.plane())


def test_a_damaged_plane_is_laid_out_again(clubs, tmp_path):
    own = Run(shutil.copytree(clubs / MODEL, tmp_path / MODEL))
    (own.path / "plane.safetensors").write_bytes(b"nothing")
    found = own.linker().plane()
    assert torch.equal(read_tensors(own.path / "plane.safetensors")["near"], found)


def test_of_a_large_graph_a_sample_is_drawn_and_every_node_is_found(tmp_path):
    count = 6200
    ring = "".join(f"{i},{(i + 1) % count}\n" for i in range(count))
    (tmp_path / "edges.csv").write_text(f"from,to\n{ring}")
    recipe = get_recipe("graph/large-tiny").with_settings({"data.source": str(tmp_path)})
    own = create(replace(recipe, data=recipe.data.resolved()), tmp_path / "runs")
    list(own.train())
    with TestClient(make_app(Shelf([Opened(own)], tmp_path))) as client:
        found = asked(client)
        numbers = found["nodes"]["numbers"]
        assert (found["count"], len(numbers), found["near"]) == (count, 6000, False)
        assert numbers == sorted(set(numbers))
        trained = set(map(tuple, own.linker().data.train.tolist()))
        assert {(numbers[a], numbers[b]) for a, b in found["drawn"]} <= trained
        away = next(i for i in range(count) if i not in set(numbers))
        node = asked(client, "/links", node=str(away))["node"]
        at = own.linker().plane(straight=True)[away].tolist()
        assert node["at"] == pytest.approx(at, abs=1e-3)
        answer = client.get("/api/graph/plane")
        assert answer.status_code == 400
        assert answer.json()["hint"] == "Ask for `layout=straight`."


# Links


@pytest.mark.parametrize("known", [False, True])
def test_the_likeliest_links_are_those_of_python(client, linker, known):
    found = asked(client, "/links", node="33", n=20, known=known)
    expected = linker.likeliest("33", 20, known=known)
    assert [each["number"] for each in found["likely"]] == [each.other for each in expected]
    assert [each["known"] for each in found["likely"]] == [each.known for each in expected]
    shares = [each["probability"] for each in found["likely"]]
    assert shares == pytest.approx([each.probability for each in expected])
    assert shares == sorted(shares, reverse=True)
    assert ("training" in {each["known"] for each in found["likely"]}) == known


def test_links_are_told_apart_by_what_the_graph_has(client, linker):
    found = asked(client, "/links", node="33", n=33, known=True)
    links = {tuple(pair) for pair in linker.graph.links.tolist()}
    trained = {tuple(pair) for pair in linker.data.train.tolist()}
    for each in found["likely"]:
        pair = tuple(sorted((33, each["number"])))
        kind = "training" if pair in trained else "held out" if pair in links else "new"
        assert each["known"] == kind
    kinds = [each["known"] for each in found["likely"]]
    assert found["links"] == 17 == 33 - kinds.count("new")
    assert found["trained"] == kinds.count("training")


def test_a_node_is_where_the_graph_has_it(client):
    found = asked(client)
    node = asked(client, "/links", node="7")["node"]
    assert node["at"] == found["nodes"]["places"][7]
    assert node["class"] == found["nodes"]["classes"][7]


# How else


def test_python_makes_the_same_links_and_planes(client):
    for what, parameters in (
        ("/links", {"node": "12", "n": 4, "known": True}),
        ("/plane", {"layout": "straight"}),
        ("/plane", {"layout": "near"}),
    ):
        laid_out(client)
        found, names = asked(client, what, **parameters), {}
        exec(found["lines"]["python"], names)
        if what == "/plane":
            assert torch.allclose(torch.tensor(found["places"]), names["at"], atol=1e-4)
        else:
            made = [(each.other, each.known) for each in names["links"]]
            assert made == [(each["number"], each["known"]) for each in found["likely"]]


def test_the_commands_make_the_same_links_and_planes(client, run, monkeypatch, capsys):
    found = asked(client, "/links", node="12", n=4, known=True)
    monkeypatch.chdir(run.path.parents[1])
    _, *words = asked(client, "/links", node="12", n=4, known=True)["lines"]["command"].split()
    assert words == ["links", MODEL, "12", "--n", "4", "--known"]
    typed(monkeypatch, *words, "--json")
    told = json.loads(capsys.readouterr().out)
    assert [each["to"] for each in told] == [each["name"] for each in found["likely"]]
    shares = [each["probability"] for each in found["likely"]]
    assert [each["probability"] for each in told] == pytest.approx(shares)
    assert asked(client, "/plane", layout="near")["lines"]["command"] == f"mindseye plane {MODEL}"
    _, *words = asked(client)["lines"]["command"].split()
    assert words == ["plane", MODEL, "--straight"]
    typed(monkeypatch, *words)
    assert (run.path / "plane.png").is_file()


def test_a_name_that_looks_like_an_option_is_a_name(client, monkeypatch):
    names = ("-1", *map(str, range(1, 34)))
    monkeypatch.setattr(Graph, "node", lambda self, name: names.index(name))
    command = asked(client, "/links", node="-1")["lines"]["command"]
    assert command.endswith(f"{MODEL} --n 10 -- -1")


# Scores


def test_scores_are_shown_once_they_were_measured(client, run):
    before = asked(client)
    assert before["scores"] is None
    assert before["missing"].startswith("It was not measured yet. `mindseye evaluate ")
    report = evaluate_links(run)
    after = asked(client)
    assert after["scores"]["scores"]["auc"]["mean"] == report.scores["auc"].mean
    assert after["scores"]["beside"]["shared neighbours"]["ap"] <= 1
    assert after["scores"]["chance"] == {"auc": 0.5, "ap": 0.5}
    (run.path / "links.json").write_text('{"part": 3}')
    assert "is not of this version: `part` is wrong." in asked(client)["missing"]
    with pytest.raises(DataError, match="writes it again"):
        link_scores_of(run)
    (run.path / "links.json").unlink()


# Who is shown


def test_graphs_have_views_of_their_own_and_no_other_view_offers_them(client):
    graph, pictures = client.get("/api/models").json()["models"]
    assert (graph["views"], graph["nodes"], graph["shape"]) == (["graph", "runs"], 34, None)
    assert pictures["nodes"] == 0
    for what in ("imagine", "latents", "describe", "hierarchy"):
        answer = client.get(f"/api/{what}", params={"model": MODEL})
        assert answer.status_code in (400, 422)
    runs = {each["name"]: each for each in client.get("/api/runs").json()["runs"]}
    assert runs[MODEL]["open"]
    assert runs[MODEL]["facts"]["state"] == "finished"
    assert isinstance(runs[MODEL]["facts"]["bound"], float)
    assert client.get(f"/api/runs/{MODEL}").json()["records"]


def test_finished_runs_of_graphs_are_open_by_themselves(clubs):
    shelf = shelf_of([], clubs)
    assert list(shelf.models)[-1] == MODEL
    assert not shelf.opened("").is_graph
    shelf.opened(MODEL).check()


def test_a_folder_of_other_data_takes_no_graph_away(run, tmp_path):
    opened = Opened(run, data=str(tmp_path))
    assert opened.linker.graph.nodes == 34
    assert run.recipe.data.source == "karate"


# What is refused


@pytest.mark.parametrize(
    ("what", "parameters", "message", "hint"),
    [
        ("", {"model": "mnist-a"}, "`mnist-a` is no model of a graph.", f"Choose '{MODEL}'."),
        ("/links", {"node": "34"}, "no node is called '34'; expected 0 to 33.", ""),
        ("/links", {"node": "x" * 150}, "no node is called", ""),
    ],
)
def test_what_cannot_be_meant_says_what_can(client, what, parameters, message, hint):
    answer = client.get(f"/api/graph{what}", params=parameters)
    assert answer.status_code == 400
    assert answer.json()["message"].startswith(message)
    assert answer.json()["hint"] == hint


def test_without_a_graph_it_is_said_how_to_get_one(opened, tmp_path):
    with TestClient(make_app(Shelf([opened], tmp_path))) as client:
        answer = client.get("/api/graph")
    assert answer.json()["hint"] == "Train one: mindseye train graph/vgae"


@pytest.mark.parametrize("parameters", [{"n": 0}, {"n": 101}, {"node": ""}, {"known": "perhaps"}])
def test_limits_are_said_by_name(client, parameters):
    answer = client.get("/api/graph/links", params={"node": "1"} | parameters)
    assert answer.status_code == 422
    assert answer.json()["message"].startswith(f"`{next(iter(parameters))}`")


def test_no_request_breaks_the_contract(app, script):
    fuzz = script("benchmarks/fuzz_studio.py")
    schema = schemathesis.openapi.from_asgi("/api/openapi.json", app)
    every = {each.ok().label: each.ok() for each in schema.get_all_operations()}
    codes = fuzz.tried(every["GET /api/graph/links"], 12)
    assert codes[200]
    assert codes[429] == codes[503] == 0


# Beside the engine


def test_a_work_is_begun_once_and_tells_how_far_it_is():
    background, begun = Background(), []

    def act(tell):
        begun.append(1)
        for step in range(200):
            tell(step, 200)
            time.sleep(0.005)

    works = {background.begin("one", act) for _ in range(5)}
    (work,) = works
    while work.done < 2:
        time.sleep(0.005)
    assert work.steps == 200
    assert begun == [1]
    background.close()  # which ends it early
    assert work.done < 150
    assert work.future.exception()


def test_what_fails_is_told_once_and_tried_again():
    background = Background()

    def act(tell):
        raise DataError("gone")

    work = background.begin("one", act)
    assert isinstance(work.future.exception(5), DataError)
    assert background.begin("one", act) is work
    assert background.begin("one", lambda tell: 7).future.result(5) == 7
