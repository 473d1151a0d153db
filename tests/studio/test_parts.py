"""Parts: true wholes beside a model's, parts that come, go and move, and what cannot be made."""

import base64
import shlex
from io import BytesIO

import numpy as np
import pytest
import schemathesis
from PIL import Image
from starlette.testclient import TestClient
from typer.testing import CliRunner

from mindseye.cli import app as mindseye_app
from mindseye.papers.flows import flowing
from mindseye.pictures import to_uint8
from mindseye.runs import Run, create
from mindseye.studio.server import make_app
from mindseye.studio.shelf import Opened, Shelf, shelf_of
from mindseye.studio.views.parts import MANY, MOST

SHIPPED = ["mnist-a", "captioned-mnist", "loads", "sines", "sites"]
SINES, SITES = "00000-sines-compvae-tiny", "00001-sites-compvae-tiny"
PLACES = "red@0.2,-0.5; white@-0.4,0; blue@0.6,0.1"


@pytest.fixture(scope="module")
def app(makers, opened):
    return make_app(Shelf([Opened(Run(makers / SINES)), Opened(Run(makers / SITES)), opened]))


@pytest.fixture(scope="module")
def client(app):
    with TestClient(app, raise_server_exceptions=False) as found:
        yield found


@pytest.fixture(scope="module")
def composers(makers):
    return {name: Run(makers / name).composer() for name in (SINES, SITES)}


@pytest.fixture(scope="module")
def truths(makers):
    return {name: Run(makers / name).truth() for name in (SINES, SITES)}


def asked(client, model, **parameters):
    answer = client.get("/api/parts", params={"model": model, "seed": 7, **parameters})
    assert answer.status_code == 200, answer.text
    return answer.json()


def tiles(sprite) -> np.ndarray:
    """The pictures of a sprite, `(rows, columns, C, H, W)`."""
    sheet = np.asarray(Image.open(BytesIO(base64.b64decode(sprite["png"]))))
    rows, columns = sprite["count"] // sprite["columns"], sprite["columns"]
    grid = sheet.reshape(rows, sprite["height"], columns, sprite["width"], 3)
    return grid.transpose(0, 2, 4, 1, 3)


def assert_curves(found, expected) -> None:
    np.testing.assert_allclose(found, expected.flatten(1).numpy(), rtol=0, atol=6e-5)


# Wholes


def test_the_page_shows_the_curves_of_python(client, composers, truths):
    found = asked(client, SINES, description="f7, 2×f2", n=3)
    assert found["description"] == "2×f2, f7"
    assert [part["text"] for part in found["parts"]] == ["f2", "f2", "f7"]
    assert_curves(found["made"]["curves"], composers[SINES].imagine("2×f2, f7", 3, 7))
    assert_curves(found["truth"]["curves"], truths[SINES].composed("2×f2, f7", 3, 7).means)
    assert found["pictures"] is None


def test_the_page_shows_the_pictures_of_python(client, composers, truths):
    found = asked(client, SITES, description=PLACES, n=3)
    for row, maker in zip(tiles(found["pictures"]), (truths, composers), strict=True):
        expected = maker[SITES].composed(PLACES, 3, 7).means
        assert np.array_equal(row, to_uint8(expected.numpy()))
    assert found["made"]["curves"] is None


@pytest.mark.parametrize(
    ("model", "less", "more"),
    [(SINES, "f2, f7", "f2, f3, f7"), (SITES, PLACES, f"{PLACES}; green@0,0.9")],
)
def test_a_part_that_is_added_and_removed_leaves_no_trace(client, model, less, more):
    first, between, last = (asked(client, model, description=text) for text in (less, more, less))
    kept = ("parts", "truth", "made", "pictures", "lines")
    assert [first[name] for name in kept] == [last[name] for name in kept]
    assert all(first[name] != between[name] for name in ("parts", "lines"))


def test_another_order_is_the_same_whole_and_another_seed_is_not(client):
    first, same = (asked(client, SINES, description=text) for text in ("f2 f7 f2", "F7, 2 x f2"))
    assert [same[name] for name in ("truth", "made")] == [first[name] for name in ("truth", "made")]
    other = asked(client, SINES, description="f2 f7 f2", seed=8)
    assert other["truth"] != first["truth"]
    assert other["made"] != first["made"]


# What was before


def test_in_grey_stands_what_the_parts_before_give_alone(client):
    found = asked(client, SINES, description="f2, f3, f7", before="f7, f2")
    alone = asked(client, SINES, description="f2, f7")
    assert found["before"] == "f2, f7"
    for side in ("truth", "made"):
        assert found[side]["before"] == alone[side]["curves"]
        assert alone[side]["before"] is None
        assert np.abs(np.subtract(found[side]["curves"], found[side]["before"])).max() > 1e-3


def test_the_same_parts_before_are_no_change(client):
    found = asked(client, SINES, description="f2, f7", before="f7 f2")
    assert found["before"] == ""
    assert found["made"]["before"] is None
    assert "--add" not in found["lines"]["command"]


# Moving


def test_a_part_that_moved_has_the_noise_of_where_it_was(client, composers, truths):
    now = "red@-0.9,0.7; white@-0.4,0; blue@0.6,0.1"
    found = asked(client, SITES, description=now, moved="red@0.2,-0.5=-0.9,0.7", n=2)
    for row, maker in zip(tiles(found["pictures"]), (truths[SITES], composers[SITES]), strict=True):
        before = maker.composed(PLACES, 2, 7)
        after = maker.moved(before, "red@0.2,-0.5", -0.9, 0.7).means
        assert np.array_equal(row, to_uint8(after.numpy()))
    born = {part["text"]: part["born"] for part in found["parts"]}
    assert born["red@-0.9,0.7"] == "red@0.2,-0.5"
    assert born["white@-0.4,0"] == "white@-0.4,0"
    assert asked(client, SITES, description=now, n=2)["pictures"] != found["pictures"]


def test_a_part_that_is_where_it_was_has_not_moved(client):
    still = asked(client, SITES, description=PLACES)
    back = asked(client, SITES, description=PLACES, moved="red@0.2,-0.5=0.2,-0.5")
    assert [back[name] for name in ("pictures", "lines")] == [
        still[name] for name in ("pictures", "lines")
    ]


def test_moves_of_parts_that_are_gone_say_nothing(client):
    gone = asked(client, SITES, description=PLACES, moved="red@0,0=0.5,0.5; green@0,0=0.1,0.1")
    plain = asked(client, SITES, description=PLACES)
    assert [gone[name] for name in ("pictures", "parts", "lines")] == [
        plain[name] for name in ("pictures", "parts", "lines")
    ]


# Means


def test_the_spread_is_of_many_wholes(client, composers):
    found = asked(client, SINES, description="f2, f7", before="f2", spread=True)
    made = composers[SINES].composed("f2, f7", MANY, 7).means.flatten(1)
    assert found["n"] == MANY
    np.testing.assert_allclose(found["made"]["curves"][0], made.mean(0), rtol=0, atol=6e-5)
    deviation = made.std(0, correction=0)
    np.testing.assert_allclose(found["made"]["deviation"], deviation, rtol=0, atol=6e-5)
    assert [len(found[side]["before"]) for side in ("truth", "made")] == [1, 1]


def test_pictures_have_a_mean_and_a_deviation_too(client, truths):
    found = asked(client, SITES, description=PLACES, spread=True)
    wholes = truths[SITES].composed(PLACES, MANY, 7).means
    mean, deviation = tiles(found["pictures"])[0]
    assert np.abs(mean - 255 * wholes.mean(0).numpy()).max() < 1
    assert np.abs(deviation - 510 * wholes.std(0, correction=0).numpy()).max() < 1


# How else


MOVED = {"description": "red@-0.9,0.7; white@-0.4,0.2; blue@0.6,0.1"}
MOVED |= {"moved": "red@0.2,-0.5=-0.9,0.7; white@-0.4,0=-0.4,0.2"}


@pytest.mark.parametrize(
    ("model", "parameters", "steps"),
    [
        (SINES, {"description": "2×f2, f7"}, []),
        (SINES, {"description": "2×f2, f7", "before": "f2, f3, f9"}, ["--add", "--remove"]),
        (SINES, {"description": "f2, f7", "before": "f2", "spread": True}, ["--add", "--spread"]),
        (SITES, {"description": PLACES, "n": 2}, []),
        (SITES, MOVED, ["--move", "--move"]),
    ],
)
def test_the_lines_make_the_same_wholes(makers, tmp_path, monkeypatch, model, parameters, steps):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").symlink_to(makers)
    with TestClient(make_app(Shelf([Opened(Run(tmp_path / "runs" / model))]))) as client:
        found = asked(client, model, **parameters)
    names: dict = {}
    exec(found["lines"]["python"], names)
    words = shlex.split(found["lines"]["command"])
    answer = CliRunner().invoke(mindseye_app, [*words[1:], "--save", "wholes.npy"])
    assert answer.exit_code == 0, answer.output
    assert [word for word in words if word in ("--add", "--remove", "--move", "--spread")] == steps
    saved = np.load("wholes.npy")
    assert len(saved) == found["n"]
    if model == SINES:
        shown = saved.mean(0, keepdims=True) if found["spread"] else saved
        np.testing.assert_allclose(found["made"]["curves"], shown, rtol=0, atol=6e-5)
        for side, name in (("truth", "truth"), ("made", "model")):
            curves = names[name].reshape(-1, 200)
            np.testing.assert_allclose(found[side]["curves"], curves, rtol=0, atol=6e-5)
    else:
        truth, made = tiles(found["pictures"])
        assert np.array_equal(truth, to_uint8(names["truth"].numpy()))
        assert np.array_equal(made, to_uint8(names["model"].numpy()))
        assert np.abs(made - to_uint8(saved).astype(int)).max() <= 1


# Who is shown, and what is refused


def test_models_of_parts_say_what_parts_there_are(client):
    models = {each["name"]: each for each in client.get("/api/models").json()["models"]}
    assert models[SINES]["views"] == models[SITES]["views"] == ["parts", "runs"]
    assert "parts" in models["mnist-a"]["views"]  # where it is said how to get such a model
    assert models["mnist-a"]["kit"] is None
    kit = models[SITES]["kit"]
    assert kit["axes"] == ["x", "y"]
    assert (kit["low"], kit["high"], kit["most"], kit["trained"]) == (-1, 1, MOST, 8)
    assert kit["categories"][0] == {"name": "red", "colour": "#ff0000"}
    waves = models[SINES]["kit"]
    assert [each["name"] for each in waves["categories"]] == [f"f{i}" for i in range(1, 11)]
    assert (waves["axes"], waves["trained"]) == ([], 16)


def test_finished_runs_of_parts_are_open(makers, opened):
    shelf = shelf_of([], makers)
    assert list(shelf.models) == [*SHIPPED, SITES, SINES]
    found = shelf.opened(SINES)
    assert not found.is_read
    shelf.read(found)
    assert found.is_read
    found.forget()
    assert not found.is_read


@pytest.mark.parametrize(
    ("model", "parameters", "message", "hint"),
    [
        (SINES, {}, "The text names no part.", "Say at least one part, such as 'f1'."),
        (SINES, {"description": "f2, f77"}, "'f77' is not a part here", "Did you mean 'f7'?"),
        (SINES, {"description": "f2@0.5"}, "`f2` has a place; parts have none here.", "Write"),
        (SINES, {"description": "65×f2"}, "65 parts are more than 64", "`mindseye compose`"),
        (SINES, {"description": "1000000×f2"}, "With `1000000×f2` there are more", "Say fewer"),
        (SINES, {"description": "f2", "before": "g2"}, "'g2' is not a part here", "Did you mean"),
        (SINES, {"description": "f2", "moved": "f2=1"}, "`moved` has 'f2=1'", "Parts have no"),
        (SITES, {"description": "red@1.5,0"}, "`x` of `red` (=1.5) must be a number from", "Write"),
        (SITES, {"description": "red"}, "`red` has no place; expected 2: x, y.", "Write 'red@"),
        (SITES, {"description": "rde@0,0"}, "'rde' is not a part here", "Did you mean 'red'?"),
        (SITES, {"description": PLACES, "moved": "red@0,0"}, "`moved` has 'red@0,0'", "Write it"),
        (SITES, {"description": PLACES, "moved": "red@0,0=9,0"}, "`x` of `red` (=9.0)", "Write"),
        ("mnist-a", {"description": "f2"}, "`mnist-a` knows nothing of parts.", "The built-in"),
    ],
)
def test_what_cannot_be_made_says_what_can(client, model, parameters, message, hint):
    answer = client.get("/api/parts", params={"model": model, **parameters})
    assert answer.status_code == 400
    assert answer.json()["message"].startswith(message)
    assert answer.json()["hint"].startswith(hint)


@pytest.mark.parametrize("parameters", [{"n": 9}, {"n": 0}, {"description": "f2," * 2000}])
def test_limits_are_said_by_name(client, parameters):
    answer = client.get("/api/parts", params={"model": SINES, **parameters})
    assert answer.status_code == 422
    assert answer.json()["message"].startswith(f"`{next(iter(parameters))}`")


@pytest.mark.parametrize("path", ["imagine", "hierarchy", "experts", "latents", "latents/known"])
def test_views_of_words_say_that_there_are_none(client, path):
    answer = client.get(f"/api/{path}", params={"model": SITES})
    assert answer.status_code == 400
    assert answer.json()["message"] == f"`{SITES}` knows wholes by their parts, and no words."
    assert answer.json()["hint"] == "Parts shows it."


def test_runs_list_models_of_parts(client):
    rows = {row["name"]: row for row in client.get("/api/runs").json()["runs"]}
    assert rows[SINES]["open"]
    assert rows[SINES]["facts"]["objective"] == "compvae"


def test_no_request_breaks_the_contract(app, script):
    fuzz = script("benchmarks/fuzz_studio.py")
    schema = schemathesis.openapi.from_asgi("/api/openapi.json", app)
    every = {each.ok().label: each.ok() for each in schema.get_all_operations()}
    codes = fuzz.tried(every["GET /api/parts"], 8, ["f2", "3×f2, f7", "f1 f2 f3"])
    assert codes[200]
    assert codes[429] == codes[503] == 0


# A flow beside the model


def test_a_model_with_a_flow_is_shown_as_any_other(makers, tmp_path):
    base = Run(makers / SINES)
    recipe = flowing(base.recipe, couplings=1).with_settings({"steps": "1"})
    run = create(recipe, tmp_path, start=base)
    list(run.train())
    (shown,) = (each for each in shelf_of([run], tmp_path).models.values() if each.run == run)
    with TestClient(make_app(Shelf([shown]))) as client:
        found = asked(client, run.name, description="f2, f7", n=2)
        asked(client, run.name, description="f2, f3, f7", before="f2, f7")
    assert_curves(found["made"]["curves"], run.composer().imagine("f2, f7", 2, 7))
