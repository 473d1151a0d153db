"""Painting: pictures stroke by stroke, the words listened to, and real pictures that fit."""

import base64
import json
import shutil
from io import BytesIO

import numpy as np
import pytest
import schemathesis
import torch
from PIL import Image
from starlette.testclient import TestClient

from mindseye.data import Data
from mindseye.painting import swapped
from mindseye.papers import Recipe
from mindseye.papers.model import Model
from mindseye.pictures import to_uint8
from mindseye.runs import Run, create
from mindseye.studio.server import make_app
from mindseye.studio.shelf import Opened, Shelf

SAID = "the digit three is at the top left of the image"
FLIP = {"description": SAID, "place": "digit", "word": "five"}
ALIGN, NOALIGN, DENSE = (f"0000{i}-captioned-mnist-{kind}-tiny"
                         for i, kind in enumerate(("align", "noalign", "dense")))  # fmt: skip
STROKES = 5


@pytest.fixture(scope="module")
def app(brushes, opened):
    alone = Opened(Run(brushes / ALIGN))
    for mind in (alone.mind, alone.outline):
        mind._find_observer = None
    judged = Opened(Run(brushes / ALIGN), name="judged")
    others = [Opened(Run(brushes / name)) for name in (NOALIGN, DENSE)]
    return make_app(Shelf([alone, judged, *others, opened], brushes))


@pytest.fixture(scope="module")
def client(app):
    with TestClient(app, raise_server_exceptions=False) as found:
        yield found


@pytest.fixture(scope="module")
def mind(brushes):
    return Run(brushes / ALIGN).mind()


def asked(client, what="paint", **parameters):
    answer = client.get(f"/api/{what}", params=parameters)
    assert answer.status_code == 200, answer.text
    return answer.json()


def tiles(sprite) -> np.ndarray:
    """The pictures of a sprite, `(lines, columns, H, W)`."""
    sheet = np.asarray(Image.open(BytesIO(base64.b64decode(sprite["png"]))))
    grid = sheet.reshape(-1, sprite["height"], sprite["columns"], sprite["width"])
    return grid.transpose(0, 2, 1, 3)


def levels(pictures) -> np.ndarray:
    """Pictures `(…, 1, H, W)` as they are shown."""
    return to_uint8(pictures.numpy())[..., 0, :, :]


# Strokes


def test_the_page_shows_the_canvases_of_python(client, mind):
    found = asked(client, description=SAID, n=3, seed=7, temperature=0.5)
    made = mind.paint(SAID, 3, 7, temperature=0.5)
    assert np.array_equal(tiles(found["canvases"]), levels(made.canvases))
    assert (found["strokes"], found["window"]) == (STROKES, 4)
    (row,) = found["rows"]
    for i, each in enumerate(row["paintings"]):
        assert each["places"] == pytest.approx(made.places[i].numpy(), abs=1e-3)
    assert found["pictures"] is None  # the last canvases
    assert asked(client, description=SAID, n=3, seed=8)["canvases"] != found["canvases"]


def test_the_last_canvas_is_what_is_imagined(client):
    found = asked(client, description=SAID, n=2, seed=3)
    imagined = asked(client, "imagine", description=SAID, n=2, seed=3)
    assert np.array_equal(tiles(found["canvases"])[:, -1], tiles(imagined["pictures"])[0])


def test_sharpened_pictures_are_sent_beside_the_canvases(client, app, monkeypatch):
    (opened, *_) = app.app.state.house.shelf.models.values()
    model = opened.mind.painted
    monkeypatch.setattr(model, "sharpener", model.model)
    plain = type(model).picture
    monkeypatch.setattr(type(model), "picture", lambda self, z: 1 - self.p_x(z).mean)
    found = asked(client, description=SAID, n=2)
    monkeypatch.setattr(type(model), "picture", plain)
    last, done = tiles(found["canvases"])[:, -1], tiles(found["pictures"])[0]
    assert np.abs(last.astype(int) + done - 255).max() <= 1


def test_one_stroke_covers_everything(client):
    found = asked(client, model=DENSE, description=SAID, n=1)
    assert found["strokes"] == 1
    ((row, column, spacing),) = found["rows"][0]["paintings"][0]["places"]
    assert (row, column, (found["window"] - 1) * spacing) == (29.5, 29.5, 59)


# Words


def test_every_stroke_listens_to_the_words_that_are_spoken(client, mind):
    found = asked(client, description=SAID, n=2, seed=7)
    made = mind.paint(SAID, 2, 7)
    for i, each in enumerate(found["rows"][0]["paintings"]):
        assert " ".join(each["words"]) == SAID
        assert each["attention"] == pytest.approx(made.attention[i].numpy(), abs=1e-5)
        assert np.sum(each["attention"], axis=1) == pytest.approx(np.ones(STROKES), abs=1e-4)


def test_what_is_open_is_filled_picture_by_picture(client):
    (row,) = asked(client, description="three", n=4, seed=1)["rows"]
    assert row["description"] == "the digit three is at the * of the image"
    assert row["open"] == ["place"]
    for each in row["paintings"]:
        assert each["caption"].startswith("the digit three is at the ")
        assert "*" not in each["caption"]
        assert " ".join(each["words"]) == each["caption"]
    assert len({each["caption"] for each in row["paintings"]}) > 1


def test_nothing_said_is_anything(client):
    (row,) = asked(client, n=2)["rows"]
    assert row["description"] == ""
    assert row["open"] == ["digit", "place"]


def test_a_model_that_hears_no_word_by_itself_has_no_weights(client):
    for model in (NOALIGN, DENSE):
        (row,) = asked(client, model=model, description=SAID, n=1)["rows"]
        assert row["paintings"][0]["attention"] is None


# One word changed


def test_a_flip_changes_one_word_and_leaves_the_noise(client, mind):
    found = asked(client, **FLIP, n=2, seed=7)
    before, after = found["rows"]
    assert after["description"] == SAID.replace("three", "five")
    both = [mind.paint(each, 2, 7) for each in (SAID, swapped(mind.concept(SAID), "three", "five"))]
    canvases = torch.cat([each.canvases for each in both])
    assert np.array_equal(tiles(found["canvases"]), levels(canvases))
    plain = asked(client, description=SAID, n=2, seed=7)
    assert plain["rows"] == [before]
    assert np.array_equal(tiles(plain["canvases"]), tiles(found["canvases"])[:2])


def test_a_word_that_flips_to_itself_changes_nothing(client):
    found = asked(client, **{**FLIP, "word": "three"}, n=2)
    assert found["rows"][0] == found["rows"][1]
    shown = tiles(found["canvases"])
    assert np.array_equal(shown[:2], shown[2:])


def test_what_is_filled_in_stays_when_a_word_is_flipped(client):
    before, after = asked(client, description="three", place="digit", word="five", n=4)["rows"]
    told = [[each["caption"] for each in row["paintings"]] for row in (before, after)]
    assert [text.replace("three", "five") for text in told[0]] == told[1]


def test_the_observer_reads_what_was_painted(client):
    found = asked(client, model="judged", **FLIP, n=2, seed=1)
    for row in found["rows"]:
        for reading in row["readings"]:
            wrong = [name for name, word in row["said"].items() if reading["seen"][name] != word]
            assert reading["wrong"] == wrong
            assert reading["right"] == 1 - len(wrong) / 2
    assert asked(client, **FLIP, n=1)["rows"][0]["readings"] is None


# Real pictures


@pytest.fixture(scope="module")
def nats(brushes, mind):
    """How well a sentence fits each test picture, eight by eight."""
    x = Run(brushes / ALIGN).recipe.data.open("test").examples(torch.arange(64)).x
    return torch.cat([mind.found("three", each) for each in x.split(8)])


def test_real_pictures_are_ranked_by_the_bound(client, nats):
    found = [asked(client, "retrieve", description="three", first=8 * i) for i in range(8)]
    assert {answer["among"] for answer in found} == {64}
    got = [each["nats"] for answer in found for each in answer["found"]]
    assert got == pytest.approx(nats.tolist(), abs=1e-3)
    assert all(answer["pictures"]["count"] == 8 for answer in found)


def test_a_real_picture_has_its_own_caption(client, brushes):
    batch = Run(brushes / ALIGN).recipe.data.open("test").examples(torch.arange(16, 24))
    found = asked(client, "retrieve", description=SAID, first=16)
    assert np.array_equal(tiles(found["pictures"])[0], levels(batch.x))
    for each, codes in zip(found["found"], batch.y.codes.tolist(), strict=True):
        assert each["caption"] == str(Data("captioned-mnist").vocabulary.from_codes(codes))


def test_python_ranks_the_same_pictures(client, nats):
    found = asked(client, "retrieve", description="three")
    names: dict = {}
    exec(found["lines"]["python"], names)
    assert torch.equal(names["found"].nats, nats.sort(descending=True).values)
    command = found["lines"]["command"]
    assert command.startswith("mindseye retrieve 'the digit three is at the * of the image' --mod")


def test_where_the_data_is_not_here_it_is_said(brushes, tmp_path):
    away = tmp_path / "away"
    shutil.copytree(brushes / ALIGN, away)
    recipe = json.loads((away / "recipe.json").read_text())
    recipe["data"]["source"] = "mnist"
    (away / "recipe.json").write_text(json.dumps(recipe))
    shelf = Shelf([Opened(Run(away), data=str(tmp_path))], tmp_path)
    with TestClient(make_app(shelf)) as client:
        found = asked(client, "retrieve", description=SAID)
    assert found["missing"].startswith("Its test pictures are not on this machine. ")
    assert "mindseye data get mnist" in found["missing"]
    assert (found["among"], found["found"], found["pictures"]) == (0, [], None)


# How else


def test_python_paints_the_same(client):
    found = asked(client, **FLIP, n=2, seed=5, temperature=0.7)
    names: dict = {}
    exec(found["lines"]["python"], names)
    made = torch.cat([each.canvases for each in names["paintings"]])
    assert np.array_equal(tiles(found["canvases"]), levels(made))


@pytest.mark.parametrize(
    ("more", "end"),
    [
        ({}, "--n 4 --seed 5"),
        ({"place": "digit", "word": "five"}, "--n 4 --seed 5 --flip digit=five"),
        ({"place": "place"}, "--n 4 --seed 5 --flip 'place=*'"),
        ({"place": "digit", "word": "three"}, "--n 4 --seed 5"),
        ({"temperature": 0.5}, "--n 4 --seed 5 --temperature 0.5"),
    ],
)
def test_a_command_paints_the_same(client, more, end):
    command = asked(client, description=SAID, seed=5, **more)["lines"]["command"]
    assert command.startswith(f"mindseye paint '{SAID}' --model ")
    assert command.endswith(end)


def test_no_command_flips_a_word_that_was_not_said(client):
    found = asked(client, description="three", place="place", word="top left")
    assert found["lines"]["command"] == ""


# What is listed


def test_only_views_that_can_show_a_painter_are_listed(client):
    models = {m["name"]: m for m in client.get("/api/models").json()["models"]}
    for name in (ALIGN, NOALIGN, DENSE):
        views = models[name]["views"]
        assert [v for v in views if v not in ("parts", "graph")] == ["imagine", "captions", "runs"]
    assert (models[ALIGN]["strokes"], models[DENSE]["strokes"]) == (STROKES, 1)
    assert models[ALIGN]["pattern"] == "the digit {digit} is at the {place} of the image"
    assert (models["mnist-a"]["strokes"], models["mnist-a"]["pattern"]) == (0, "")


@pytest.mark.parametrize(
    ("route", "message"),
    [
        ("hierarchy", "has no words for what it paints"),
        ("experts", "has no experts"),
        ("between", "has a sentence in its latents"),
        ("traversals", "has a sentence in its latents"),
        ("latents?point=draw", "has a sentence in its latents"),
        ("latents/traversals", "has a sentence in its latents"),
        ("latents/sheet", "has a sentence in its latents"),
        ("latents/plane", "has a sentence in its latents"),
        ("latents/known", "has a sentence in its latents"),
        ("describe?picture=x", "reads no pictures"),
    ],
)
def test_other_views_say_why_they_cannot_show_it(client, route, message):
    answer = client.get(f"/api/{route}")
    assert answer.status_code == 400
    assert message in answer.json()["message"]


def test_words_that_places_share_are_sent_once(tmp_path):
    words = tuple(f"word{i}" for i in range(4000))
    recipe = Recipe(
        "coco/wide",
        about="A test.",
        data=Data("coco", source="sheets", words=words),
        model=Model("draw", "align", likelihood="quantised-normal-shared"),
        objectives=("draw",),
    )
    shelf = Shelf([Opened(create(recipe, tmp_path))], tmp_path)
    with TestClient(make_app(shelf)) as client:
        answer = client.get("/api/models")
    first, *others = answer.json()["models"][0]["vocabulary"]
    assert first["values"][1:] == list(words)
    assert [(each["values"], each["like"]) for each in others] == [([], first["name"])] * 19
    assert len(answer.content) < 80_000


# What is refused


@pytest.mark.parametrize(
    ("route", "parameters", "message", "hint"),
    [
        ("paint", {"description": "thre"}, "'thre' is not a word here", "Did you mean 'three'?"),
        ("paint", {**FLIP, "word": "fiv"}, "`digit='fiv'` is not a value", "Did you mean 'five'?"),
        ("paint", {**FLIP, "place": "digits"}, "`digits` is not an attr", "Did you mean 'digit'?"),
        ("paint", {"description": "three four"}, "'four' has no place left", "The order is digit"),
        ("paint", {"model": "mnist-a"}, "`mnist-a` does not paint.", "`mindseye train captioned-m"),
        ("retrieve", {"model": "mnist-a"}, "`mnist-a` does not paint.", "`mindseye train"),
        ("retrieve", {"description": "thre"}, "'thre' is not a word here", "Did you mean 'three'?"),
        ("retrieve", {}, "Nothing is said, and every picture fits.", "Say what to look for."),
    ],
)
def test_what_cannot_be_said_says_what_can(client, route, parameters, message, hint):
    answer = client.get(f"/api/{route}", params=parameters)
    assert answer.status_code == 400
    assert answer.json()["message"].startswith(message)
    assert answer.json()["hint"].startswith(hint)


@pytest.mark.parametrize(
    ("route", "parameters"),
    [
        ("paint", {"n": 5}),
        ("paint", {"n": 0}),
        ("paint", {"description": "three " * 500}),
        ("paint", {"temperature": "nan"}),
        ("paint", {"seed": "one"}),
        ("retrieve", {"first": 3}),
        ("retrieve", {"first": 64}),
        ("retrieve", {"description": "three " * 500}),
    ],
)
def test_limits_are_said_by_name(client, route, parameters):
    answer = client.get(f"/api/{route}", params=parameters)
    assert answer.status_code == 422
    assert answer.json()["message"].startswith(f"`{next(iter(parameters))}`")


@pytest.mark.parametrize("route", ["paint", "retrieve"])
def test_no_request_breaks_the_contract(app, script, route):
    fuzz = script("benchmarks/fuzz_studio.py")
    schema = schemathesis.openapi.from_asgi("/api/openapi.json", app)
    every = {each.ok().label: each.ok() for each in schema.get_all_operations()}
    codes = fuzz.tried(every[f"GET /api/{route}"], 24, ["three", SAID])
    assert codes[200]
    assert codes[429] == codes[503] == 0
