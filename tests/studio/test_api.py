"""What the studio answers: the pictures of Python, scores with limits, good complaints."""

import base64
import json
import shlex
import shutil
from io import BytesIO

import numpy as np
import pytest
import torch
from PIL import Image
from starlette.testclient import TestClient
from typer.testing import CliRunner

import mindseye
from mindseye.labels import encode
from mindseye.metrics import coverage
from mindseye.papers import get_recipe
from mindseye.pictures import png_bytes, save_picture, to_uint8
from mindseye.runs import BUILTIN, Run, create
from mindseye.studio.results import find_results
from mindseye.studio.server import make_app
from mindseye.studio.shelf import Opened, Shelf


@pytest.fixture(scope="module")
def mind():
    return mindseye.load("mnist-a")


def get(client, path, **parameters):
    answer = client.get(f"/api/{path}", params=parameters)
    assert answer.status_code == 200, answer.text
    return answer.json()


def tiles(sprite) -> np.ndarray:
    """The pictures of a sprite, `(n, H, W)`."""
    sheet = np.asarray(Image.open(BytesIO(base64.b64decode(sprite["png"]))))
    height, width, columns = sprite["height"], sprite["width"], sprite["columns"]
    rows = sheet.shape[0] // height
    grid = sheet.reshape(rows, height, columns, width).transpose(0, 2, 1, 3)
    return grid.reshape(-1, height, width)[: sprite["count"]]


def link_of(picture) -> str:
    return base64.urlsafe_b64encode(png_bytes(picture)).decode().rstrip("=")


# The house


def test_models_say_what_can_be_said_and_seen(client, mind):
    found = get(client, "models")
    (model,) = found["models"]
    assert [a["name"] for a in model["vocabulary"]] == list(mind.vocabulary.names)
    assert model["shape"] == [1, 64, 64]
    every = [view["name"] for view in found["views"]]
    assert model["views"] == [name for name in every if name != "captions"]


def test_every_view_has_a_module_on_the_page(client):
    for view in get(client, "models")["views"]:
        answer = client.get(f"/static/views/{view['name']}.js")
        assert answer.status_code == 200
        assert "javascript" in answer.headers["content-type"]


# Imagine


@pytest.mark.parametrize("samples", [False, True])
def test_the_page_shows_the_pictures_of_python(client, mind, samples):
    found = get(client, "imagine", description="digit=4, size=big", n=5, seed=7, samples=samples)
    expected = mind.imagine("digit=4, size=big", n=5, seed=7, mean=not samples)
    assert np.array_equal(tiles(found["pictures"]), to_uint8(expected.numpy())[:, 0])


def test_options_reach_the_model(client, mind):
    options = {"description": "digit=4", "n": 3, "seed": 2}
    found = get(client, "imagine", **options, product=True, temperature=0.5)
    expected = mind.imagine("digit=4", 3, 2, mean=True, fill=False, temperature=0.5)
    assert np.array_equal(tiles(found["pictures"]), to_uint8(expected.numpy())[:, 0])


def test_scores_stand_between_their_limits_and_count_what_verdicts_say(client, mind):
    found = get(client, "imagine", description="digit=4, size=big", n=32, seed=1)
    wrong = sum(len(verdict["wrong"]) for verdict in found["verdicts"])
    right = found["scores"]["correctness"]
    assert right["value"] == pytest.approx(1 - wrong / 64)
    assert right["floor"] == pytest.approx((0.1 + 0.5) / 2)
    assert right["floor"] < right["value"]
    assert right["ceiling"] == pytest.approx(
        sum(mind.observer.accuracy[name] for name in ("digit", "size")) / 2
    )
    seen = [mind.vocabulary.concept(**verdict["seen"]) for verdict in found["verdicts"]]
    said = mind.concept("digit=4, size=big")
    assert found["scores"]["coverage"]["value"] == pytest.approx(coverage(encode(seen).codes, said))
    assert found["scores"]["coverage"]["floor"] < found["scores"]["coverage"]["value"]


def test_nothing_said_has_no_correctness_and_everything_said_no_coverage(client):
    assert get(client, "imagine", n=2)["scores"]["correctness"] is None
    full = "4, big, upright, top-left"
    assert get(client, "imagine", description=full, n=2)["scores"]["coverage"] is None


def test_the_python_lines_make_the_same_pictures(client):
    found = get(client, "imagine", description="digit=4", n=2, seed=3, temperature=0.7)
    names = ran(found)
    assert np.array_equal(tiles(found["pictures"]), to_uint8(names["pictures"].numpy())[:, 0])
    assert found["lines"]["command"] == "mindseye imagine digit=4 --n 2 --seed 3 --temperature 0.7"


def ran(found) -> dict:
    """What is there after the Python lines of an answer."""
    names: dict = {}
    exec(found["lines"]["python"], names)
    return names


@pytest.mark.parametrize(
    ("path", "parameters"),
    [
        ("hierarchy", {"description": "digit=4", "n": 1}),
        ("experts", {"description": "digit=4"}),
        ("describe", {"picture": True}),
        ("between", {"start": "digit=3", "end": "digit=8", "n": 1, "steps": 2}),
        ("between", {"start_picture": True, "end_picture": True, "steps": 2}),
        ("traversals", {"description": "digit=4", "steps": 3}),
        ("traversals", {"picture": True, "steps": 3}),
        ("runs", {}),
        ("runs/mnist-a", {}),
        ("compare", {"models": ["mnist-a"], "n": 1}),
    ],
)
def test_every_view_says_how_python_and_a_shell_do_it(
    client, mindseye_app, tmp_path, monkeypatch, path, parameters
):
    picture = np.zeros((1, 64, 64), np.float32)
    picture[:, 20:40, 30] = 1
    for name in ("picture", "start", "end"):
        save_picture(tmp_path / f"{name}.png", picture)
    filled = {k: link_of(picture) if v is True else v for k, v in parameters.items()}
    found = get(client, path, **filled)
    monkeypatch.chdir(tmp_path)
    ran(found)
    words = shlex.split(found["lines"]["command"])
    assert words[0] == "mindseye"
    answer = CliRunner().invoke(mindseye_app, words[1:])
    assert answer.exit_code == 0, answer.output


@pytest.mark.parametrize(
    ("axes", "across"), [("words", "z"), ("pca", "component 1"), ("2,0", "z3")]
)
def test_a_shell_python_and_the_page_draw_the_same_experts(
    mindseye_app, tmp_path, monkeypatch, axes, across
):
    monkeypatch.chdir(tmp_path)
    run = create(get_recipe("mnist-a/jmvae-tiny").with_settings({"source": "digits", "steps": "2"}))
    list(run.train())
    with TestClient(make_app(Shelf([Opened(run)], "runs"))) as client:
        found = get(client, "experts", description="digit=4, size=big", axes=axes, points=50)
    assert len(found["points"]) == 50
    by_python = ran(found)["picture"]
    answer = CliRunner().invoke(mindseye_app, shlex.split(found["lines"]["command"])[1:])
    assert answer.exit_code == 0, answer.output
    with Image.open(tmp_path / answer.stdout.split()[-1]) as by_shell:
        assert np.array_equal(np.asarray(by_shell), np.asarray(by_python))
    assert found["axes"]["names"][0].startswith(across)


@pytest.fixture(scope="module")
def mindseye_app():
    from mindseye.cli import app

    return app


# Hierarchy


def test_a_concept_stands_between_its_parents_and_children(client):
    found = get(client, "hierarchy", description="digit=4, size=big", n=2)
    relations = [node["relation"] for node in found["nodes"]]
    assert relations == ["parent"] * 2 + ["self"] + ["child"] * 7
    assert found["nodes"][0] | {"diversity": 0, "bits": 0} == {
        "description": "size=big",
        "relation": "parent",
        "attribute": "digit",
        "value": "4",
        "first": 0,
        "count": 2,
        "diversity": 0,
        "bits": 0,
    }
    bits = [node["bits"] for node in found["nodes"]]
    assert min(bits[:2]) > bits[2] > max(bits[3:])
    assert found["more"] == 0
    assert found["pictures"]["count"] == 20


def test_the_pictures_of_a_node_are_those_of_its_description(client, mind):
    found = get(client, "hierarchy", description="digit=4", n=3, seed=5)
    node = found["nodes"][4]
    shown = tiles(found["pictures"])[node["first"] : node["first"] + node["count"]]
    expected = mind.imagine(node["description"], n=3, seed=5, mean=True)
    assert np.array_equal(shown, to_uint8(expected.numpy())[:, 0])


# Experts


def test_experts_without_training_pictures_say_why(client, monkeypatch):
    found = get(client, "experts", description="digit=4, size=big")
    assert [word["attribute"] for word in found["words"]] == ["digit", "size"]
    assert found["prior"]["a"] == pytest.approx(1)
    assert found["product"]["a"] <= 1
    assert bool(found["points"]) != bool(found["missing"])


@pytest.fixture(scope="module")
def taught(tmp_path_factory):
    """A studio whose model has training pictures here: scikit-learn's digits."""
    folder = tmp_path_factory.mktemp("taught") / "mnist-a"
    shutil.copytree(BUILTIN / "mnist-a", folder)
    recipe = json.loads((folder / "recipe.json").read_text())
    recipe["data"]["source"] = "digits"
    (folder / "recipe.json").write_text(json.dumps(recipe))
    with TestClient(make_app(Shelf([Opened(Run(folder))], folder.parent))) as client:
        yield client


def test_training_pictures_lie_beneath_the_experts(taught, mind):
    found = get(taught, "experts", description="digit=4", axes="pca", points=50)
    assert found["missing"] == ""
    assert len(found["points"]) == 50
    assert all(len(point["codes"]) == 4 for point in found["points"])
    grid = np.array(found["density"])
    assert grid.shape == (40, 40)
    assert grid.min() >= 0
    assert len(found["axes"]["dimensions"]) == 12
    spread = [np.std([point[axis] for point in found["points"]]) for axis in "xy"]
    assert spread[0] > 0.5


def test_the_nearest_training_pictures_come_nearest_first(taught):
    picture = np.zeros((1, 64, 64), np.float32)
    picture[:, 8:24, 12] = 1
    found = get(taught, "describe", picture=link_of(picture))
    distances = [each["distance"] for each in found["neighbours"]]
    assert len(distances) == found["nearest"]["count"] == 8
    assert distances == sorted(distances)
    assert tiles(found["nearest"]).max() == 255


def test_axes_are_chosen_by_number(client):
    assert get(client, "experts", axes="2,0")["axes"]["names"] == ["z3", "z1"]


# Describe


def test_a_picture_is_fitted_described_and_comes_back(client, mind):
    picture = mind.imagine("digit=4, size=big", n=1, seed=7, mean=True)[0].numpy()
    answer = client.post("/api/pictures", content=png_bytes(picture))
    assert answer.status_code == 200, answer.text
    found = get(client, "describe", picture=answer.json()["picture"])
    assert np.array_equal(tiles(found["pictures"])[0], to_uint8(picture)[0])
    x = torch.from_numpy(to_uint8(picture).astype(np.float32) / np.float32(255))
    expected = mind.describe(x)
    for name, values in expected.items():
        assert found["attributes"][name] == pytest.approx(values, abs=1e-5)


def test_dark_ink_on_light_paper_can_be_swapped(client):
    light = np.ones((1, 64, 64), np.float32)
    answer = client.post("/api/pictures", params={"invert": True}, content=png_bytes(light))
    assert answer.json()["picture"] == link_of(np.zeros((1, 64, 64), np.float32))


@pytest.mark.parametrize("body", [b"", b"no picture", b"\x89PNG\r\n\x1a\n" + b"\0" * 40])
def test_what_is_no_picture_is_refused(client, body):
    answer = client.post("/api/pictures", content=body)
    assert answer.status_code in (400, 422)
    assert answer.json()["message"]


def test_a_bomb_is_refused_by_its_header(client):
    bomb = BytesIO()
    Image.new("1", (20_000, 20_000)).save(bomb, "PNG")
    answer = client.post("/api/pictures", content=bomb.getvalue())
    assert answer.status_code == 400
    assert "20,000" in answer.text or "20000" in answer.text


# Between


def test_the_way_is_that_of_python(client, mind):
    found = get(client, "between", start="digit=3", end="digit=8", n=2, steps=4, seed=1)
    expected = mind.between("digit=3", "digit=8", 4, 2, 1).flatten(0, 1)
    assert np.array_equal(tiles(found["pictures"]), to_uint8(expected.numpy())[:, 0])
    assert (found["rows"], found["steps"]) == (2, 4)


def test_between_two_pictures_is_one_row(client):
    ends = [link_of(np.full((1, 64, 64), value, np.float32)) for value in (0.0, 0.2)]
    found = get(client, "between", start_picture=ends[0], end_picture=ends[1], steps=3)
    assert (found["rows"], found["pictures"]["count"]) == (1, 3)
    answer = client.get("/api/between", params={"start_picture": ends[0]})
    assert answer.status_code == 400
    assert "two pictures" in answer.json()["hint"]


def test_traversals_have_a_row_for_each_dimension(client):
    found = get(client, "traversals", description="digit=4", steps=3, span=2)
    assert found["values"] == [-2, 0, 2]
    assert found["pictures"]["count"] == 12 * 3


# Runs


def test_a_run_is_listed_and_its_records_come_as_they_are_written(client, runs):
    assert [run["name"] for run in get(client, "runs")["runs"]] == ["mnist-a"]
    made = create(get_recipe("mnist-a/jmvae-tiny").with_settings({"source": "digits"}), runs)
    log = made.path / "log.jsonl"
    record = {"kind": "train", "step": 20, "seconds": 1.5, "bound": -3.0, "terms": {"kl": 2.0}}
    log.write_text(json.dumps(record) + "\n" + '{"kind": "tra')
    listed = get(client, "runs")["runs"][1]
    assert (listed["name"], listed["open"], listed["live"]) == (made.name, False, True)
    first = get(client, f"runs/{made.name}")
    assert first["records"] == [{"step": 20, "seconds": 1.5, "bound": -3.0, "terms": {"kl": 2.0}}]
    log.write_text(json.dumps(record) + "\n" + json.dumps(record | {"step": 40}) + "\n")
    more = get(client, f"runs/{made.name}", after=first["next"])
    assert [record["step"] for record in more["records"]] == [40]


def test_a_damaged_run_is_named_and_breaks_nothing(client, runs):
    folder = runs / "00007-broken"
    folder.mkdir(parents=True)
    (folder / "recipe.json").write_text("{")
    listed = {run["name"]: run for run in get(client, "runs")["runs"]}
    assert listed["00007-broken"]["facts"] == {"state": "damaged"}
    assert client.get("/api/runs/00007-broken").status_code == 400


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("log.jsonl", '{"kind": "train", "step": "x"}'),
        ("log.jsonl", '{"kind": "train", "step": 1, "bound": "abc", "seconds": [1]}'),
        ("log.jsonl", '{"kind": "train", "step": 1, "terms": {"kl": "x"}}'),
        ("log.jsonl", '{"kind": "train", "step": %s}' % ("9" * 400)),
        ("log.jsonl", "[1, 2]\n\x00\x01"),
        ("evaluation.json", "[]"),
        ("evaluation.json", '{"score": {"levels": [{}]}}'),
        ("evaluation.json", '{"score": 3}'),
    ],
)
def test_no_file_of_a_run_breaks_the_list(client, runs, file, text):
    made = create(get_recipe("mnist-a/jmvae-tiny").with_settings({"source": "digits"}), runs)
    (made.path / file).write_text(text)
    assert made.name in {run["name"] for run in get(client, "runs")["runs"]}
    assert client.get(f"/api/runs/{made.name}").status_code == 200


@pytest.mark.parametrize("name", ["..", "../..", "%2e%2e", "/etc", "nobody", "..%2f..%2fetc"])
def test_no_path_leads_out_of_the_folder(client, name):
    assert client.get(f"/api/runs/{name}").status_code in (404, 307, 200)
    assert client.get(f"/api/tables/{name}").status_code in (404, 307, 200)
    assert client.get("/api/imagine", params={"model": name}).status_code == 404
    assert "root:" not in client.get(f"/static/{name}/passwd").text


def test_the_same_description_by_two_models(client):
    found = get(client, "compare", models=["mnist-a", "mnist-a"], description="digit=4", n=2)
    one, two = found["answers"]
    assert one["pictures"] == two["pictures"]
    assert found["lines"]["command"].startswith("mindseye compare mnist-a mnist-a")


# Tables


def test_a_table_that_was_made_is_shown_as_its_page_shows_it(client, tables):
    (named,) = get(client, "tables")["tables"]
    assert named["name"] == "mine"
    found = get(client, "tables/mine")
    data = json.loads((tables / "mine" / "vedantam-4a.json").read_text())
    correctness = found["sections"][0]
    assert correctness["title"] == "Correctness"
    entry = data["entries"][0]["ours"]["paper"]
    assert f"{entry['mean']:.2f} ± {entry['deviation']:.2f}" in correctness["rows"][0]
    assert {len(row) for row in correctness["rows"]} == {len(correctness["head"])}
    assert len(found["figures"]) == len(data["pictures"])
    for number, figure in enumerate(found["figures"]):
        answer = client.get(f"/api/tables/mine/figures/{number}")
        assert answer.headers["content-type"] == "image/png"
        assert Image.open(BytesIO(answer.content)).size == (figure["width"], figure["height"])
    assert client.get("/api/tables/mine/figures/6").status_code == 404
    assert client.get("/api/tables/yours").status_code == 404


def test_the_lines_of_a_table_are_a_plan_of_the_same_runs(client, tables, monkeypatch):
    monkeypatch.chdir(tables.parent)
    found = get(client, "tables/mine")
    words = found["lines"]["command"]
    rows = "telbo,jmvae,bivcca,scan,scan-atomic,jmvae-agg,telbo-refit,jmvae-refit"
    expected = f"mindseye reproduce vedantam-4a --size fast --seeds 3 --rows {rows}"
    assert words == f"{expected} --out reproduced/mine"  # made before there were flows
    last = found["lines"]["python"].splitlines()[-1]
    names: dict = {}
    exec(found["lines"]["python"].replace(last, f"entries = {last}"), names)
    assert names["entries"][0]["label"] == "TELBO"


@pytest.mark.parametrize(
    "change",
    [
        {"entries": None},
        {"runs": [{}]},
        {"seconds": "long"},
        {"pictures": 3},
        {"protocols": {"x": {}}},
    ],
)
def test_a_damaged_table_is_passed_over(tables, tmp_path, change):
    data = json.loads((tables / "mine" / "vedantam-4a.json").read_text())
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "vedantam-4a.json").write_text(json.dumps({**data, **change}))
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "vedantam-4a.json").write_text("{")
    shutil.copytree(tables / "mine", tmp_path / "whole")
    assert [found.name for found in find_results(tmp_path)] == ["whole"]


def test_a_table_shows_no_picture_from_elsewhere(tables, tmp_path):
    data = json.loads((tables / "mine" / "vedantam-4a.json").read_text())
    save_picture(tmp_path / "secret.png", np.zeros((1, 8, 8)))
    folder = tmp_path / "reproduced" / "mine"
    shutil.copytree(tables / "mine", folder)
    (folder / "text.png").write_text("not a picture")
    (folder / "link.png").symlink_to(tmp_path / "secret.png")
    picture = data["pictures"][0]
    files = [str(tmp_path / "secret.png"), "../../secret.png", "text.png", "link.png", "none.png"]
    data["pictures"] = [picture, *({**picture, "file": file} for file in files)]
    (folder / "vedantam-4a.json").write_text(json.dumps(data))
    (found,) = find_results(tmp_path / "reproduced")
    assert [figure.path.name for figure in found.figures] == ["figure-3.png"]


# Complaints


def test_a_wrong_word_says_what_to_say_instead(client):
    answer = client.get("/api/imagine", params={"description": "size=bigg"})
    assert answer.status_code == 400
    assert answer.json() == {
        "message": "`size='bigg'` is not a value of `size`; expected 'big' or 'small'.",
        "hint": "Did you mean 'big'?",
    }


@pytest.mark.parametrize(
    "parameters",
    [{"n": 65}, {"n": 0}, {"temperature": "nan"}, {"temperature": -1}, {"seed": 2**60}],
)
def test_limits_are_said_by_name(client, parameters):
    answer = client.get("/api/imagine", params=parameters)
    assert answer.status_code == 422
    assert answer.json()["message"].startswith(f"`{next(iter(parameters))}`")


def test_the_unforeseen_says_nothing_about_the_machine(client, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("/home/somebody/secret")

    monkeypatch.setattr("mindseye.studio.views.imagine.imagined", broken)
    answer = client.get("/api/imagine", params={"n": 1})
    assert answer.status_code == 500
    assert "secret" not in answer.text
