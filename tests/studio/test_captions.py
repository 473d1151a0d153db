"""Captions: pictures of a sentence, what is written of them, and what one word changes."""

import base64
from io import BytesIO

import numpy as np
import pytest
import schemathesis
import torch
from PIL import Image
from starlette.testclient import TestClient

from mindseye.labels import encode
from mindseye.pictures import to_uint8
from mindseye.runs import Run
from mindseye.studio.server import make_app
from mindseye.studio.shelf import Opened, Shelf

SAID = "a large red cube to the left of a sphere"
FLIP = {"description": SAID, "place": "first colour", "word": "blue"}
MODEL = "00001-two-objects-vlvae-agg-tiny"


@pytest.fixture(scope="module")
def judged(writers):
    """The same model with the observer beside it."""
    return Opened(Run(writers / MODEL), name="judged")


@pytest.fixture(scope="module")
def app(writers, judged, opened):
    alone = Opened(Run(writers / MODEL))
    for mind in (alone.mind, alone.outline):
        mind._find_observer = None
    return make_app(Shelf([alone, judged, opened], writers))


@pytest.fixture(scope="module")
def client(app):
    with TestClient(app, raise_server_exceptions=False) as found:
        yield found


@pytest.fixture(scope="module")
def mind(writers):
    return Run(writers / MODEL).mind()


def asked(client, **parameters):
    answer = client.get("/api/captions", params=parameters)
    assert answer.status_code == 200, answer.text
    return answer.json()


def tiles(sprite) -> np.ndarray:
    """The pictures of a sprite, `(rows, columns, H, W, C)`."""
    sheet = np.asarray(Image.open(BytesIO(base64.b64decode(sprite["png"]))))
    rows, columns = sprite["count"] // sprite["columns"], sprite["columns"]
    grid = sheet.reshape(rows, sprite["height"], columns, sprite["width"], -1)
    return grid.transpose(0, 2, 1, 3, 4)


# Pictures


def test_the_page_shows_the_pictures_of_python(client, mind):
    found = asked(client, description=SAID, n=3, seed=7, temperature=0.5)
    expected = mind.imagined(SAID, 3, 7, temperature=0.5).means
    shown = to_uint8(expected.numpy()).transpose(0, 2, 3, 1)
    assert np.array_equal(tiles(found["pictures"])[0], shown)
    assert (
        asked(client, description=SAID, n=3, seed=7, temperature=0.5)["pictures"]
        == (found["pictures"])
    )
    assert asked(client, description=SAID, n=3, seed=8)["pictures"] != found["pictures"]


def test_words_and_sentences_that_mean_the_same_are_the_same(client):
    named = "first size=large, first colour=red, first shape=cube, relation=left, second shape=ball"
    first, second = (
        asked(client, description=text, n=2)
        for text in ("big red block left sphere", named.replace("ball", "sphere"))
    )
    assert first["rows"] == second["rows"]
    assert first["pictures"] == second["pictures"]
    assert first["rows"][0]["description"] == "large red * cube left * * * sphere"
    assert first["rows"][0]["open"][0] == "first material"


# What is written


def test_every_word_is_drawn_from_what_is_shown(client, mind):
    found = asked(client, description=SAID, n=4, seed=3)
    told = mind.tell(mind.imagined(SAID, 4, 3).latents, 3)
    for i, written in enumerate(found["rows"][0]["written"]):
        assert written["caption"] == list(told.captions[i].values.values())
        for place, shares, expected in zip(
            mind.vocabulary, written["words"], told.words.by_attribute(), strict=True
        ):
            assert len(shares) == len(place.values)
            assert shares == pytest.approx(expected[i].tolist(), abs=1e-5)
            assert sum(shares) == pytest.approx(1, abs=1e-4)


# One word changed


def test_a_flip_changes_one_word_and_leaves_the_noise(client, mind):
    whole = "large red rubber cube left small blue metal sphere"  # nothing is filled in
    found = asked(client, **{**FLIP, "description": whole}, n=3, seed=7)
    before, after = found["rows"]
    assert {k for k in before["said"] if before["said"][k] != after["said"][k]} == {"first colour"}
    assert after["said"]["first colour"] == "blue"
    noise = []
    for row, pictures in zip(found["rows"], tiles(found["pictures"]), strict=True):
        made = mind.imagined(row["description"], 3, 7)
        assert np.array_equal(pictures, to_uint8(made.means.numpy()).transpose(0, 2, 3, 1))
        flow = mind.model.q_y(encode([made.concept]))
        noise.append(flow.couplings.inverse(made.latents, flow.context)[0])
    assert torch.allclose(*noise, atol=1e-4)
    plain = asked(client, description=whole, n=3, seed=7)
    assert plain["rows"] == [before]
    assert np.array_equal(tiles(plain["pictures"])[0], tiles(found["pictures"])[0])


def test_a_word_that_flips_to_itself_changes_nothing(client):
    found = asked(client, **{**FLIP, "word": "red"}, n=2)
    assert found["rows"][0] == found["rows"][1]
    first, second = tiles(found["pictures"])
    assert np.array_equal(first, second)


def test_a_flip_may_open_a_place_or_fill_one(client):
    opened = asked(client, **{**FLIP, "word": "*"}, n=1)["rows"][1]
    assert "first colour" in opened["open"]
    filled = asked(client, description="cube", place="Second-Size", word="small", n=1)["rows"][1]
    assert filled["said"] == {"first shape": "cube", "second size": "small"}


# The observer


def test_the_observer_is_told_the_relation_and_reads_the_rest(client, judged):
    found = asked(client, model="judged", description=SAID, n=4, seed=1)
    (row,) = found["rows"]
    counted = ("first size", "first colour", "first shape", "second shape")
    for reading in row["readings"]:
        assert reading["told"] == {"relation": "left"}
        assert "relation" not in reading["seen"]
        wrong = [name for name in counted if reading["seen"][name] != row["said"][name]]
        assert reading["wrong"] == wrong
        assert reading["right"] == pytest.approx(1 - len(wrong) / 4)
    rights = [reading["right"] for reading in row["readings"]]
    assert row["correctness"]["value"] == pytest.approx(sum(rights) / 4)
    assert row["correctness"]["floor"] == pytest.approx((1 / 2 + 1 / 8 + 1 / 3 + 1 / 3) / 4)


def test_an_open_relation_is_the_one_that_makes_most_words_true(client, judged):
    found = asked(client, model="judged", description="large red cube", n=3, seed=1)
    mind = judged.mind
    made = mind.imagined("large red cube", 3, 1)
    fewest = []
    for relation in ("left", "right", "front", "behind"):
        seen = mind.judge(made.samples, [mind.concept(f"large red * cube {relation}")] * 3)
        said = made.concept.values.items()
        fewest.append([sum(each.values[k] != v for k, v in said) for each in seen])
    got = [len(reading["wrong"]) for reading in found["rows"][0]["readings"]]
    assert got == np.min(fewest, axis=0).tolist()


def test_without_an_observer_nothing_is_read(client):
    (row,) = asked(client, description=SAID, n=1)["rows"]
    assert row["readings"] is None
    assert row["correctness"] is None


def test_nothing_said_has_no_share(client):
    (row,) = asked(client, model="judged", n=2)["rows"]
    assert [reading["right"] for reading in row["readings"]] == [None, None]


# How else


def test_python_makes_the_same_pictures_and_words(client):
    found = asked(client, **FLIP, n=2, seed=5, temperature=0.7)
    names: dict = {}
    exec(found["lines"]["python"], names)
    made = np.stack([to_uint8(row.means.numpy()) for row in names["rows"]])
    assert np.array_equal(tiles(found["pictures"]), made.transpose(0, 1, 3, 4, 2))
    words = [list(caption.values.values()) for caption in names["told"][1].captions]
    assert [written["caption"] for written in found["rows"][1]["written"]] == words
    assert found["lines"]["command"] == ""


def test_a_command_makes_the_pictures_of_one_sentence(client):
    command = asked(client, description=SAID, n=2, seed=5)["lines"]["command"]
    assert command.startswith("mindseye imagine 'large red * cube left * * * sphere' --model ")
    assert command.endswith("--n 2 --seed 5")


# Who is shown, and what is refused


def test_only_models_of_captions_that_imagine_are_listed(client):
    models = {m["name"]: m["views"] for m in client.get("/api/models").json()["models"]}
    assert "captions" in models[MODEL]
    assert "captions" not in models["mnist-a"]


def test_a_model_that_imagines_nothing_from_words_is_not_listed(writers):
    alone = Shelf([Opened(Run(writers / "00000-two-objects-vlvae-tiny"))], writers)
    with TestClient(make_app(alone)) as client:
        (model,) = client.get("/api/models").json()["models"]
        assert "captions" not in model["views"]
        answer = client.get("/api/captions", params={"description": SAID})
    assert answer.status_code == 400
    assert "imagines nothing from words" in answer.json()["message"]


@pytest.mark.parametrize(
    ("parameters", "message", "hint"),
    [
        ({"description": "a larg cube"}, "'larg' is not a word here", "Did you mean 'large'?"),
        (
            {"description": "large red rubber cube left small blue metal sphere cube"},
            "'cube' is one word too many: a caption has 9 places.",
            "They are first size",
        ),
        ({"description": "red blue green"}, "'green' has no place left", "The order is first"),
        (
            {"place": "first color", "word": "blue"},
            "`first color` is not an attribute",
            "Did you mean 'first colour'?",
        ),
        (
            {"place": "first colour", "word": "bleu"},
            "`first colour='bleu'` is not a value",
            "Did you mean 'blue'?",
        ),
        ({"model": "mnist-a"}, "`mnist-a` knows words and no sentences.", "Imagine"),
    ],
)
def test_what_cannot_be_said_says_what_can(client, parameters, message, hint):
    answer = client.get("/api/captions", params=parameters)
    assert answer.status_code == 400
    assert answer.json()["message"].startswith(message)
    assert answer.json()["hint"].startswith(hint)


@pytest.mark.parametrize("parameters", [{"n": 13}, {"n": 0}, {"temperature": "nan"}])
def test_limits_are_said_by_name(client, parameters):
    answer = client.get("/api/captions", params=parameters)
    assert answer.status_code == 422
    assert answer.json()["message"].startswith(f"`{next(iter(parameters))}`")


def test_no_request_breaks_the_contract(app, script):
    fuzz = script("benchmarks/fuzz_studio.py")
    schema = schemathesis.openapi.from_asgi("/api/openapi.json", app)
    every = {each.ok().label: each.ok() for each in schema.get_all_operations()}
    codes = fuzz.tried(every["GET /api/captions"], 24)
    assert codes[200]
    assert codes[429] == codes[503] == 0
