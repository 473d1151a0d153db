"""The table of drawing from captions, made again in small: its rows, limits, page and pictures."""

from io import BytesIO

import pytest
import torch
from PIL import Image

from mindseye.data import averages
from mindseye.evaluation.drawings import measured_words
from mindseye.papers import get_table
from mindseye.reproduction import make_ledger_plan, reproduce_ledger
from mindseye.reproduction.paintings import ASKED, FLIPS, drawings, drawings_limits
from mindseye.runs import Run, load_observer

ROWS = ["one-observer", "one-sharp", "one-dense", "two-align"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(averages, "PICTURES", 64)
        patch.setenv("MINDSEYE_DATA", "")
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        plan = make_ledger_plan(
            get_table("mansimov-draw"),
            size="tiny",
            rows=ROWS,
            seeds=1,
            settings={"steps": "2", "log_every": "1", "source": "digits"},
        )
        yield folder, reproduce_ledger(plan, folder), plan


@pytest.fixture(scope="module")
def runs(made) -> dict[str, Run]:
    folder, result, _ = made
    return {run["family"]: Run(folder / run["run"]) for run in result["runs"]}


def ours(made, family: str) -> dict[str, float]:
    (entry,) = (each for each in made[1]["entries"] if each["family"] == family)
    return {key: cell["mean"] for key, cell in entry["ours"].items()}


def test_a_sharpener_brings_the_model_that_it_sharpens(made):
    families = [entry["family"] for entry in made[1]["entries"]]
    assert families == ["one-observer", "one-align", "one-sharp", "one-dense", "two-align"]


def test_a_sharpened_model_has_the_bound_of_the_one_below_it(made, runs):
    below, above = ours(made, "one-align"), ours(made, "one-sharp")
    for part in ("train", "validation", "test"):
        assert above[f"bound {part}"] == pytest.approx(below[f"bound {part}"], abs=1e-4)
    before, after = runs["one-align"].model(), runs["one-sharp"].model().base
    for name, weight in before.state_dict().items():
        assert torch.equal(weight, after.state_dict()[name])


def test_an_observer_is_scored_by_the_words_it_sees_in_real_pictures(made, runs):
    run = runs["one-observer"]
    data = made[2].recipes["one-align"].data
    x, y = data.open("test").examples(torch.arange(16))
    right = measured_words(load_observer(run.path), x, y)
    found = drawings(run, {"pictures": 16}, "cpu", None, lambda *_: None)
    assert found["unseen digit"] == pytest.approx(100 * right["digit"].float().mean().item())
    assert found["unseen all"] == pytest.approx(100 * right["all"].float().mean().item())


def test_models_are_judged_by_the_observer_beside_them(made):
    one, two = ours(made, "one-dense"), ours(made, "two-align")
    assert {"seen digit", "seen place", "seen all", "unseen all", "sharpness"} <= one.keys()
    assert "seen all" not in two  # nobody judges two digits here
    assert "bound test" in two


def test_words_at_random_are_the_floor(made):
    plan = made[2]
    one = drawings_limits(plan, plan.recipes["one-align"], "cpu", None, lambda *_: None)
    two = drawings_limits(plan, plan.recipes["two-align"], "cpu", None, lambda *_: None)
    (one,), (two,) = one.values(), two.values()
    assert (one["seen digit"], one["seen place"], one["unseen all"]) == (10, 25, 2.5)
    assert (two["seen first digit"], two["seen all"]) == (10, pytest.approx(1))


def test_pictures_and_films_lie_beside_the_page(made):
    folder, result, _ = made
    names = [picture["file"] for picture in result["pictures"]]
    for kind in ("paintings", "flips", "compared", "sharpened"):
        (file,) = (name for name in names if f"{kind}-captioned-mnist" in name)
        with Image.open(folder / file) as image:
            assert min(image.size) > 100
    page = (folder / "mansimov-draw.md").read_text()
    assert "| One digit, alignDRAW, sharpened |" in page
    assert "Words right in combinations never seen" in page


def test_a_film_of_paintings_moves(made):
    films = [*made[0].glob("pictures/*.gif")]
    assert films
    with Image.open(BytesIO(films[0].read_bytes())) as film:
        assert film.n_frames > 1


def test_what_is_flipped_is_said():
    for name, flips in FLIPS.items():
        for old, _ in flips:
            assert f" {old} " in f" {ASKED[name][0]} "


def test_rows_of_coco_are_those_of_digits():
    coco, digits = get_table("mansimov-coco"), get_table("mansimov-draw")
    methods = {row.family.partition("-")[2] for row in coco.rows}
    assert methods < {row.family.partition("-")[2] for row in digits.rows}
    assert all(row.recipe.startswith("coco/") for row in coco.rows)
