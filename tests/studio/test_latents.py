"""Models of pictures alone in the studio, and the view that moves through their latents."""

import base64
import json
import shlex
from io import BytesIO

import numpy as np
import pytest
import torch
from PIL import Image, ImageSequence
from starlette.testclient import TestClient
from typer.testing import CliRunner

from mindseye.cli import app as mindseye_app
from mindseye.explore import manifold, prior_draws, traversals, way
from mindseye.films import film
from mindseye.papers import get_recipe
from mindseye.pictures import png_bytes, to_uint8
from mindseye.runs import Run, create
from mindseye.studio.server import make_app
from mindseye.studio.shelf import Opened, Shelf, shelf_of

FLAT, WIDE, DEEP = "00000-mnist-flat", "00001-mnist-wide", "00002-mnist-deep"
SHIPPED = ["mnist-a", "captioned-mnist", "loads", "sines", "sites"]
EVERY = (FLAT, WIDE, DEEP)

MEASURED = {
    "part": "test",
    "k": 5000,
    "pictures": 10000,
    "nll": {"mean": 86.5, "low": 86.0, "high": 87.0, "n": 10000},
    "rate": {"mean": 25.5, "low": 25.0, "high": 26.0, "n": 10000},
    "distortion": {"mean": 63.0, "low": 62.5, "high": 63.5, "n": 10000},
    "activities": [[0.9] * 12 + [0.001] * 8],
    "active": [12],
}


def get(client, path, **parameters):
    answer = client.get(f"/api/{path}", params=parameters)
    assert answer.status_code == 200, answer.text
    return answer.json()


def refused(client, path, **parameters) -> str:
    answer = client.get(f"/api/{path}", params=parameters)
    assert answer.status_code in (400, 422), answer.text
    return answer.json()["message"]


def tiles(sprite) -> np.ndarray:
    """The pictures of a sprite, `(n, H, W)`."""
    sheet = np.asarray(Image.open(BytesIO(base64.b64decode(sprite["png"]))))
    height, width, columns = sprite["height"], sprite["width"], sprite["columns"]
    rows = sheet.shape[0] // height
    grid = sheet.reshape(rows, height, columns, width).transpose(0, 2, 1, 3)
    return grid.reshape(-1, height, width)[: sprite["count"]]


def levels(pictures: torch.Tensor) -> np.ndarray:
    return to_uint8(pictures.numpy())[..., 0, :, :].reshape(-1, *pictures.shape[-2:])


@pytest.fixture(scope="module")
def minds(painters):
    return {name: Run(painters / name).mind() for name in EVERY}


@pytest.fixture(scope="module")
def example(painted):
    return get(painted, "latents/example", model=WIDE, seed=5)["picture"]


# Models without words


def test_a_model_without_words_is_shown_by_the_views_that_need_none(painted):
    models = get(painted, "models")["models"]
    assert [model["name"] for model in models] == list(EVERY)
    for model in models:
        assert model["views"] == ["imagine", "between", "latents", "parts", "graph", "runs"]
        assert model["vocabulary"] == []
        assert model["shape"] == [1, 28, 28]
        assert (model["judged"], model["reads"], model["bits"]) == (False, True, True)
    assert [model["latent"] for model in models] == [2, 20, 9]


def test_finished_runs_of_pictures_alone_are_on_the_shelf(painters):
    assert set(shelf_of([], painters).models) == {*EVERY, *SHIPPED}


@pytest.mark.parametrize("name", EVERY)
def test_what_it_imagines_are_draws_from_its_prior(painted, minds, name):
    found = get(painted, "imagine", model=name, n=3, seed=4)
    assert (found["description"], found["verdicts"]) == ("", None)
    expected = minds[name].expected(prior_draws(minds[name], 3, 4))
    assert np.array_equal(tiles(found["pictures"]), levels(expected))


def test_it_is_not_judged_by_an_observer_of_words(tmp_path):
    """The data have a built-in observer, whose words the model does not know."""
    recipe = get_recipe("mnist-a/jmvae-tiny").with_settings({"source": "digits", "steps": "2"})
    plain = recipe.to_json() | {"objectives": ["vae"], "weights": {}}
    plain["model"]["kind"] = "vae"
    run = create(type(recipe).from_json(plain), tmp_path)
    list(run.train())
    with TestClient(make_app(Shelf([Opened(run)], tmp_path))) as client:
        assert not get(client, "models")["models"][0]["judged"]
        assert get(client, "imagine", n=2)["verdicts"] is None


def test_a_way_goes_from_one_draw_to_another(painted, minds):
    found = get(painted, "between", model=WIDE, n=2, steps=3, seed=1)
    z = prior_draws(minds[WIDE], 4, 1)
    assert np.array_equal(tiles(found["pictures"]), levels(way(minds[WIDE], z[:2], z[2:], 3)))
    assert not np.array_equal(tiles(found["pictures"])[0], tiles(found["pictures"])[2])


@pytest.mark.parametrize("path", ["hierarchy", "experts", "describe"])
def test_a_view_of_words_says_that_there_are_none(painted, example, path):
    extra = {"picture": example} if path == "describe" else {}
    assert "knows no words" in refused(painted, path, model=FLAT, **extra)


def test_two_models_without_words_are_compared(painted):
    found = get(painted, "compare", models=[FLAT, DEEP], n=2)
    assert [answer["model"] for answer in found["answers"]] == [FLAT, DEEP]
    assert "knows no words" in refused(painted, "imagine", model=FLAT, description="digit=4")


def test_their_runs_are_listed_with_what_they_learned(painted):
    rows = {run["name"]: run for run in get(painted, "runs")["runs"]}
    assert {rows[name]["facts"]["state"] for name in EVERY} == {"finished"}
    assert get(painted, f"runs/{WIDE}")["records"][-1]["step"] == 40


# A point


@pytest.mark.parametrize("name", [*EVERY, ""])
def test_a_point_begins_at_zero(client, painted, minds, name):
    found = get(painted if name else client, "latents", model=name)
    assert set(found["z"]) == {0}
    if name:
        zeros = torch.zeros(1, len(found["z"]))
        assert np.array_equal(tiles(found["pictures"]), levels(minds[name].expected(zeros)))


def test_a_seed_gives_the_same_draw_and_another_seed_another(painted, minds):
    one, same, other = (
        get(painted, "latents", model=WIDE, point="draw", seed=s) for s in (7, 7, 8)
    )
    assert one["pictures"] == same["pictures"] != other["pictures"]
    assert one["z"] == pytest.approx(prior_draws(minds[WIDE], seed=7)[0].tolist(), abs=1e-5)


def test_only_what_is_moved_is_sent(painted, minds):
    found = get(painted, "latents", model=WIDE, point="draw", seed=7, z="3:1.25,19:-2")
    z = prior_draws(minds[WIDE], seed=7)[0]
    z[3], z[19] = 1.25, -2
    assert found["z"] == pytest.approx(z.tolist(), abs=1e-5)
    assert np.array_equal(tiles(found["pictures"]), levels(minds[WIDE].expected(z[None])))


@pytest.mark.parametrize("name", EVERY)
def test_a_picture_is_read_and_stands_beside_its_reconstruction(painted, minds, example, name):
    found = get(painted, "latents", model=name, point="picture", picture=example)
    here, given, made = tiles(found["pictures"])
    assert np.array_equal(here, made)
    x = torch.from_numpy(given[None, None].astype(np.float32) / 255)
    assert np.array_equal(made, levels(minds[name].reconstruct(x))[0])
    assert found["z"] == pytest.approx(minds[name].read(x).mean[0].tolist(), abs=1e-4)
    there = get(painted, "latents", model=name, point="picture", picture=example, z="0:3")
    assert not np.array_equal(tiles(there["pictures"])[0], made)
    assert np.array_equal(tiles(there["pictures"])[2], made)


def test_examples_are_training_pictures(painted, painters):
    batch = Run(painters / FLAT).examples(8)
    found = get(painted, "latents/example", model=FLAT, seed=5)["picture"]
    png = base64.urlsafe_b64decode(found + "=" * (-len(found) % 4))
    assert np.array_equal(np.asarray(Image.open(BytesIO(png))), levels(batch.x[5])[0])


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({"z": "0:11"}, "between -10 and 10"),
        ({"z": "0:nan"}, "between -10 and 10"),
        ({"z": "0:inf"}, "between -10 and 10"),
        ({"z": "20:1"}, "`20` is not a dimension; expected 0 to 19"),
        ({"z": "-1:1"}, "`-1` is not a dimension"),
        ({"z": "1"}, "no dimension with its value"),
        ({"z": "a:b"}, "no dimension with its value"),
        ({"z": ",".join(["0:1"] * 513)}, "at most 512"),
        ({"z": "1" * 20_000}, "`z`"),
        ({"point": "picture"}, "needs a picture"),
        ({"point": "picture", "picture": "!!"}, "base64url"),
        ({"point": "nowhere"}, "`point`"),
        ({"seed": 2**60}, "`seed`"),
    ],
)
def test_what_is_no_point_is_refused(painted, parameters, told):
    assert told in refused(painted, "latents", model=WIDE, **parameters)


# What lies around it


def test_rows_begin_with_the_most_active_dimension(painted, minds, painters):
    known = get(painted, "latents/known", model=WIDE)
    batch = Run(painters / WIDE).examples(2000)
    activity = minds[WIDE].read(batch.x).mean.var(0)
    assert known["activity"] == pytest.approx(activity.tolist(), abs=1e-4)
    assert known["order"] == activity.sort(descending=True).indices.tolist()
    assert (known["over"], known["examples"]) == (2000, "")
    found = get(painted, "latents/traversals", model=WIDE, count=4, steps=5, point="draw", seed=1)
    assert found["dimensions"] == known["order"][:4]
    assert found["values"] == [-3, -1.5, 0, 1.5, 3]
    z = prior_draws(minds[WIDE], seed=1)[0]
    _, rows = traversals(minds[WIDE], z, 5, 3.0, found["dimensions"])
    assert np.array_equal(tiles(found["pictures"]), levels(rows))


def test_without_training_pictures_the_decoder_says_what_is_active(painters):
    opened = Opened(Run(painters / WIDE), data="/nowhere")
    vars(opened)["training"] = "They are elsewhere."
    with TestClient(make_app(Shelf([opened], painters))) as client:
        known = get(client, "latents/known")
        assert (known["over"], known["examples"]) == (0, "They are elsewhere.")
        assert sorted(known["order"]) == list(range(20))
        assert min(known["activity"]) > 0
        assert refused(client, "latents/example") == "They are elsewhere."


@pytest.mark.parametrize(
    "parameters", [{"count": 0}, {"count": 65}, {"steps": 2}, {"steps": 16}, {"span": "nan"}]
)
def test_rows_have_limits(painted, parameters):
    for path in ("traversals", "sheet", "film"):
        told = refused(painted, f"latents/{path}", model=WIDE, **parameters)
        assert told.startswith(f"`{next(iter(parameters))}`")


def test_more_rows_than_there_are_dimensions_are_all_of_them(painted):
    assert sorted(get(painted, "latents/traversals", model=DEEP, count=64)["dimensions"]) == [
        *range(9)
    ]


def test_the_plane_is_that_of_python(painted, minds):
    found = get(painted, "latents/plane", model=FLAT, side=5)
    values, pictures = manifold(minds[FLAT], torch.zeros(2), side=5)
    assert found["values"] == values == [-3, -1.5, 0, 1.5, 3]
    assert np.array_equal(tiles(found["pictures"]), levels(pictures.flatten(0, 1)))
    other = get(painted, "latents/plane", model=WIDE, across=7, up=2, side=3, point="draw")
    assert (other["across"], other["up"], other["pictures"]["count"]) == (7, 2, 9)
    for wrong in ({"across": 1, "up": 1}, {"across": 20}, {"side": 26}, {"side": 1}):
        assert refused(painted, "latents/plane", model=WIDE, **wrong)


def test_a_film_goes_there_and_back_for_ever(painted):
    answer = painted.get("/api/latents/film", params={"model": WIDE, "count": 3, "steps": 5})
    assert answer.headers["content-type"] == "image/gif"
    with Image.open(BytesIO(answer.content)) as found:
        assert found.info["loop"] == 0
        frames = [np.asarray(each.convert("RGB"), int) for each in ImageSequence.Iterator(found)]
    assert len(frames) == 8
    for i in range(1, 4):  # there and back the same
        assert np.array_equal(frames[i], frames[8 - i])
    assert np.abs(frames[0] - frames[4]).max() > 50


def test_a_film_shows_the_grey_levels_of_its_pictures():
    ramp = torch.linspace(0, 1, 16).repeat(2, 3, 1, 16, 1)
    with Image.open(BytesIO(film([0, 4], ramp, "a ramp"))) as found:
        shown = np.asarray(found.convert("L"), dtype=int)
    for level in to_uint8(np.linspace(0, 1, 16)).astype(int):
        assert np.abs(shown - level).min() <= 4


def test_a_sheet_has_a_row_for_each_dimension(painted):
    few, more = (
        Image.open(
            BytesIO(painted.get("/api/latents/sheet", params={"model": WIDE, "count": n}).content)
        )
        for n in (2, 4)
    )
    assert few.format == "PNG"
    assert few.width == more.width
    assert more.height > 1.5 * few.height


def test_all_dimensions_of_a_large_latent_are_not_traversed_at_once(painted, monkeypatch):
    monkeypatch.setattr("mindseye.studio.views.between.MOST", 100)
    assert "more than 100 pictures" in refused(painted, "traversals", model=WIDE)


# What was measured


@pytest.fixture
def measured(painters):
    """One model was evaluated."""
    file = painters / WIDE / "likelihood.json"
    file.write_text(json.dumps(MEASURED))
    yield file
    file.unlink()


def test_a_likelihood_is_found_beside_the_weights(painted, measured):
    known = get(painted, "latents/known", model=WIDE)
    assert known["missing"] == ""
    likelihood = known["likelihood"]
    assert likelihood["activities"] == MEASURED["activities"]
    assert likelihood["rate"] == {"mean": 25.5, "low": 25.0, "high": 26.0}
    assert [each["name"] for each in known["placed"]] == [WIDE]


def test_without_one_it_is_said_what_measures_it(painted, measured):
    known = get(painted, "latents/known", model=FLAT)
    assert known["likelihood"] is None
    command = known["missing"].split("`")[1]
    assert command.startswith("mindseye evaluate ")
    assert command.endswith(FLAT)
    assert [each["name"] for each in known["placed"]] == [WIDE]


def test_models_of_other_data_are_not_placed_beside_each_other(painters, opened, measured):
    with TestClient(make_app(Shelf([opened, Opened(Run(painters / WIDE))], painters))) as client:
        assert get(client, "latents/known", model="mnist-a")["placed"] == []
        assert get(client, "latents/known", model="mnist-a")["missing"] == ""


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        "{}",
        json.dumps(MEASURED | {"rate": 3}),
        json.dumps(MEASURED | {"activities": [["x"]]}),
        json.dumps(MEASURED | {"nll": {"mean": float("nan"), "low": 0, "high": 1}}),
    ],
)
def test_a_damaged_likelihood_is_named_and_breaks_nothing(painted, painters, measured, text):
    measured.write_text(text)
    known = get(painted, "latents/known", model=WIDE)
    assert known["likelihood"] is None
    assert "likelihood.json" in known["missing"]
    assert str(painters) not in known["missing"]


# The same elsewhere


@pytest.mark.parametrize(
    ("path", "parameters", "command"),
    [
        ("latents", {}, True),
        ("latents", {"point": "draw", "seed": 3}, True),
        ("latents", {"point": "draw", "seed": 3, "z": "1:0.5"}, False),
        ("latents", {"point": "picture"}, False),
        ("latents/traversals", {"count": 3, "steps": 3}, True),
        ("latents/traversals", {"count": 3, "steps": 3, "span": 2, "point": "picture"}, True),
        ("latents/traversals", {"count": 3, "steps": 3, "z": "0:1,4:-1"}, False),
        ("latents/plane", {"across": 1, "up": 4, "side": 3, "point": "draw"}, False),
        ("between", {"n": 2, "steps": 3}, False),
    ],
)
def test_the_lines_make_the_same_pictures(
    painted, painters, example, tmp_path, monkeypatch, path, parameters, command
):
    png = base64.urlsafe_b64decode(example + "=" * (-len(example) % 4))
    (tmp_path / "picture.png").write_bytes(png)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").symlink_to(painters)
    given = {"picture": example} if parameters.get("point") == "picture" else {}
    shelf = Shelf([Opened(Run(tmp_path / "runs" / WIDE))], tmp_path / "runs")
    with TestClient(make_app(shelf)) as client:
        found = get(client, path, model=WIDE, **parameters, **given)
    names: dict = {}
    exec(found["lines"]["python"], names)
    shown = tiles(found["pictures"])
    if path == "latents":
        assert np.array_equal(shown[:1], levels(names["picture"][None]))
    else:
        assert np.array_equal(shown, levels(names["pictures"].flatten(0, 1)))
    words = shlex.split(found["lines"]["command"])
    assert bool(words) == command
    if words:
        answer = CliRunner().invoke(mindseye_app, words[1:])
        assert answer.exit_code == 0, answer.output


def test_the_command_of_a_draw_draws_it(painted, painters, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").symlink_to(painters)
    shelf = Shelf([Opened(Run(tmp_path / "runs" / FLAT))], tmp_path / "runs")
    with TestClient(make_app(shelf)) as client:
        found = get(client, "latents", point="draw", seed=9)
    words = shlex.split(found["lines"]["command"])
    assert words[1:] == ["imagine", "", "--model", FLAT, "--n", "1", "--seed", "9"]
    answer = CliRunner().invoke(mindseye_app, [*words[1:], "--files"])
    assert answer.exit_code == 0, answer.output
    (file,) = (tmp_path / "imagined").glob("*/0000.png")
    assert np.array_equal(np.asarray(Image.open(file)), tiles(found["pictures"])[0])


def test_a_picture_file_of_another_size_is_read(painted):
    file = png_bytes(np.ones((1, 60, 90), np.float32))
    answer = painted.post("/api/pictures", params={"model": WIDE}, content=file)
    assert answer.status_code == 200
    found = get(painted, "latents", model=WIDE, point="picture", picture=answer.json()["picture"])
    assert found["pictures"]["count"] == 3
    assert (found["pictures"]["width"], found["pictures"]["height"]) == (28, 28)


def test_a_joint_model_has_latents_too(client):
    known = get(client, "latents/known")
    assert len(known["order"]) == 12
    assert known["missing"] == ""
    found = get(client, "latents", point="draw", seed=2)
    assert "--product" in found["lines"]["command"]
