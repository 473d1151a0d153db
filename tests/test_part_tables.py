"""The table of wholes and their parts, made again in small: scores, limits, page and pictures."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from mindseye.curves import MODEL, TRUTH
from mindseye.data import Sines, Sites
from mindseye.evaluation.parts import generator_rows, sizes_of
from mindseye.metrics import Estimate
from mindseye.papers import get_recipe, get_table
from mindseye.papers.berger_tables import MEASURES, PLACES, PRINTED
from mindseye.pictures import to_uint8
from mindseye.reproduction import make_ledger_plan, part_pictures, reproduce_ledger
from mindseye.reproduction.part_pictures import KINDS, TITLES, WHOLES
from mindseye.reproduction.parts import _mean, parts_limits, places_of
from mindseye.reproduction.scorers import SCORERS
from mindseye.runs import Run, create

ROWS = ["sines", "sites", "loads"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("parts")
    plan = make_ledger_plan(
        get_table("berger-compvae"),
        size="tiny",
        rows=ROWS,
        seeds=1,
        settings={"steps": "4", "log_every": "1", "data.most": "3", "growth": "1"},
    )
    return plan, folder, reproduce_ledger(plan, folder)


@pytest.fixture(scope="module")
def runs(made) -> dict[str, Run]:
    _, folder, result = made
    return {run["family"]: Run(folder / run["run"]) for run in result["runs"]}


def ours(made, label: str) -> dict:
    """The cells of a row, or of a limit."""
    result = made[2]
    (found,) = (row for row in (*result["entries"], *result["limits"]) if row["label"] == label)
    return {column: cell["mean"] for column, cell in found["ours"].items()}


def kept(run: Run) -> dict[int, dict]:
    rows = json.loads((run.path / "parts.json").read_text())["rows"]
    return {row["parts"]: row["values"] for row in rows}


# What is planned


def test_imprints_stand_beside_the_papers_at_every_size():
    for size in ("paper", "fast", "lean", "tiny"):
        plan = make_ledger_plan(get_table("berger-compvae"), size=size)
        networks = {family: made.model.networks for family, made in plan.recipes.items()}
        ours, wide = ("sines", "sites", "loads"), ("sines-wide", "sites-wide")
        assert networks == dict.fromkeys(ours, "imprint") | dict.fromkeys(wide, "paper")


def test_the_papers_networks_have_the_papers_size_on_a_gpu():
    for data in ("sines", "sites"):
        paper, fast = (get_recipe(f"{data}/compvae{each}") for each in ("", "-wide-fast"))
        assert paper.model == fast.model
        assert get_recipe(f"{data}/compvae-wide").training == paper.training
        most = {"sines": 16, "sites": 8}[data]
        assert (most - 2) * fast.training.growth < 0.75 * fast.training.steps


def test_what_was_printed_stands_beside_both_networks():
    rows = {row.family: row.published for row in get_table("berger-compvae").rows}
    assert rows["sines"] == rows["sines-wide"] == PRINTED["sines"]
    assert rows["sites-wide"]["parts tell"] == "200 to 300"
    assert rows["loads"] == {}
    assert int(PRINTED["sites"]["minutes"]) == 2 * int(PRINTED["sines"]["minutes"]) == 2 * 24 * 60


def test_the_small_version_reaches_all_parts_and_the_whole_price():
    plan = make_ledger_plan(get_table("berger-compvae"), size="lean", quick=True)
    assert [row.family for row in plan.rows] == ROWS
    for recipe in plan.recipes.values():
        grown = (recipe.data.wholes().most - 2) * recipe.training.growth
        assert max(grown, recipe.training.beta_warmup) < 0.7 * recipe.training.steps
        assert recipe.training.beta(recipe.training.steps - 1) == 1


# Scores


@pytest.mark.parametrize(
    ("kind", "beyond", "far"), [(Sines, [24], [30]), (Sites, [12], [16])], ids=["sines", "sites"]
)
def test_places_are_the_numbers_of_parts_that_their_columns_name(kind, beyond, far):
    most = kind("test").most
    found = places_of(sizes_of(kind("test")), most)
    assert found.keys() == PLACES.keys()
    assert found["inside"] == [size for size in (1, 2, 4, 8, 16) if size <= most]
    assert (found["most"], found["beyond"], found["far"]) == ([most], beyond, far)
    at = {place: label.split()[2:] for place, label in PLACES.items()}
    index = 0 if kind is Sines else 1
    for place, (size,) in (("most", [most]), ("beyond", beyond), ("far", far)):
        assert at[place][index].strip("()") == str(size)


def test_means_over_numbers_of_parts_have_narrower_intervals():
    found = _mean([Estimate(1.0, 0.7, 1.6, 10), None, Estimate(3.0, 2.6, 3.8, 10)])
    assert found == pytest.approx((2.0, 2.0 - 0.25, 2.0 + 0.5, 20, None))
    assert _mean([None]) is None


def test_a_row_has_what_its_report_has(made, runs):
    report, row = kept(runs["sines"]), ours(made, "Sines, imprints")
    inside = [report[size]["recall"]["mean"] for size in (1, 2, 3)]
    assert row["recall inside"] == pytest.approx(100 * sum(inside) / 3)
    assert row["recall most"] == pytest.approx(100 * inside[-1])
    assert row["least"] == pytest.approx(100 * min(inside))
    assert row["reached"] == row["recall far"] == pytest.approx(100 * report[30]["recall"]["mean"])
    assert row["kl_w beyond"] == pytest.approx(report[24]["kl_w"]["mean"])
    assert row["share inside"] == pytest.approx(
        100 * sum(report[size]["share"]["mean"] for size in (1, 2, 3)) / 3
    )


def test_of_sites_those_count_that_the_generator_shows_and_twelve_are_reached(made, runs):
    report, row = kept(runs["sites"]), ours(made, "Sites, imprints")
    assert row["least"] == pytest.approx(100 * min(report[k]["shown"]["mean"] for k in (1, 2, 3)))
    assert row["reached"] == pytest.approx(100 * report[12]["shown"]["mean"])


def test_what_latents_told_at_the_end_of_training_is_in_the_log(made, runs):
    last = runs["loads"].trained()[-1]["terms"]
    row = ours(made, "Loads, imprints")
    assert (row["parts tell"], row["z tells"]) == (last["kl_qw_pw"], last["kl_qz_pz"])
    assert row["minutes"] == pytest.approx(runs["loads"].seconds / 60)
    assert (row["order"], row["added and removed"]) == (0, 0)
    assert not {"least", "reached", "recall inside", "gone inside"} & row.keys()


def test_every_measure_is_of_some_row(made):
    found = set().union(*(entry["ours"] for entry in made[2]["entries"]))
    assert found == {column.key for column in get_table("berger-compvae").columns}
    assert {f"{key} {place}" for key in MEASURES for place in PLACES} <= found


# Limits


def test_every_data_set_has_its_own_ceiling_and_floor(made):
    labels = [row["label"] for row in made[2]["limits"]]
    assert labels == [
        f"{data}, {what}"
        for data in ("Sines", "Sites", "Loads")
        for what in ("the generator itself", "its wholes of other parts")
    ]


def test_limits_are_the_generators_own_numbers():
    recipe = get_recipe("sines/compvae-tiny")
    recipe = replace(recipe, data=replace(recipe.data, most=2))
    asked = {"wholes": 24, "draws": 8}
    plan = replace(make_ledger_plan(get_table("berger-compvae"), size="tiny"), asked=asked)
    found = parts_limits(plan, recipe, "cpu", None, lambda *_: None)
    rows = generator_rows(Sines("test", most=2), **asked)
    ceiling, floor = found.values()
    for row, of in ((ceiling, "generator"), (floor, "others")):
        assert row["recall far"] == pytest.approx(100 * rows[30][f"recall, {of}"].mean)
        assert row["distance beyond"] == pytest.approx(rows[24][f"distance, {of}"].mean)
        assert "bound inside" not in row
    assert ceiling["recall inside"] > floor["recall inside"]
    assert ceiling["distance most"] < floor["distance most"]


# The page


def test_the_page_has_a_table_a_measure_with_limits_under_the_rows(made):
    _, folder, result = made
    page = (folder / "berger-compvae.md").read_text()
    titles = [line[3:] for line in page.splitlines() if line.startswith("## ")]
    assert titles == ["In short", *(title for title, _ in MEASURES.values()), "Runs", "Pictures"]
    part = page.split("## Frequencies that were not said")[1].split("##")[0]
    assert "| Sines, imprints " in part
    assert "| Sines, the generator itself " in part
    assert "Sites" not in part
    assert "about 100" in page
    assert (folder / "berger-compvae.html").read_text().count("<img") == len(result["pictures"])


def test_a_second_call_trains_and_measures_nothing(made, monkeypatch):
    plan, folder, result = made
    monkeypatch.setitem(SCORERS, "parts", lambda *_: pytest.fail("measured again"))
    monkeypatch.setattr("mindseye.runs.run.Run.train", lambda *_, **__: pytest.fail("trained"))
    monkeypatch.setattr(
        "mindseye.reproduction.parts.generator_rows", lambda *_, **__: pytest.fail("measured")
    )
    again = reproduce_ledger(plan, folder)
    assert again["entries"] == result["entries"]
    assert again["limits"] == result["limits"]


# Pictures


def drawn(name: str, *labelled: tuple[str, Run]) -> list:
    return list(getattr(part_pictures, name)(labelled, "cpu", None))


def inked(image, rgb) -> np.ndarray:
    return (np.asarray(image) == to_uint8(np.array(rgb))).all(-1)


def test_the_figures_of_the_paper_stand_beside_the_table(made):
    _, folder, result = made
    figures = [picture["figure"] for picture in result["pictures"]]
    for number in (4, 5, 6, 7, 8):
        assert len([each for each in figures if f"Figure {number}" in each]) == 1
    assert all((folder / picture["file"]).stat().st_size > 500 for picture in result["pictures"])
    files = [picture["file"] for picture in result["pictures"]]
    assert len(set(files)) == len(files)


@pytest.mark.parametrize("name", WHOLES)
def test_parts_that_are_put_together_are_five_different_ones(name, runs):
    kit = runs[name].recipe.data.wholes().vocabulary
    parts = kit.parse(WHOLES[name])
    assert len(parts) == len(set(parts)) == 5
    assert all(len(kit.parse(kind)) == 1 for kind in KINDS.get(name, ()))


def test_losses_are_counted_from_the_least_there_can_be(runs):
    panel = part_pictures._losses("sines", runs["sines"])
    lines = {name: [value for _, value in line] for name, line in panel.lines}
    terms = [record["terms"] for record in runs["sines"].trained()]
    assert list(lines) == ["z", "x", "parts", "all"]
    assert [step for step, _ in panel.lines[0][1]] == [1, 2, 3, 4]
    best = 200 * (-math.log(0.001) - math.log(2 * math.pi) / 2)
    assert lines["x"] == pytest.approx([best - each["log_px_qzw"] for each in terms])
    assert min(lines["x"]) > 0
    assert lines["all"] == pytest.approx(
        [sum(each) for each in zip(lines["z"], lines["x"], lines["parts"], strict=True)]
    )
    assert panel.mark == ("K = 3", 1.0)


def test_losses_that_were_rolled_back_are_not_drawn(runs, monkeypatch):
    records = runs["sines"].trained()
    worse = {name: value - 1 for name, value in records[2]["terms"].items()}
    before = [*records[:2], records[2] | {"terms": worse}, records[3] | {"terms": worse}]
    monkeypatch.setattr(Run, "trained", lambda run: [*before, *records[2:]])
    redone = part_pictures._losses("sines", runs["sines"])
    monkeypatch.undo()
    assert redone == part_pictures._losses("sines", runs["sines"])


def test_a_whole_that_is_taken_apart_and_kept_whole_is_its_reconstruction(runs):
    composer, data = runs["sines"].composer(), Sines("test")
    parts = composer.vocabulary.parse(WHOLES["sines"])
    rows = part_pictures._put_together(composer, data, parts)
    assert [len(row.panels) for row in rows] == [6] * 5
    assert [row.captions for row in rows[:4]] == [None] * 4
    truth, taken = rows[-1].panels[-1]
    whole = composer.extracted(torch.tensor(truth.values)[None, None, None].float(), parts)
    np.testing.assert_allclose(taken.values, whole.means.flatten(), atol=1e-5)
    first = rows[0].panels
    np.testing.assert_allclose(first[0][0].values, first[1][0].values)  # one part is a whole
    np.testing.assert_allclose(first[2][0].values, first[3][0].values)


def test_the_generators_growing_wholes_keep_the_numbers_of_their_parts(runs):
    data, parts = Sines("test"), Sines.vocabulary.parse(WHOLES["sines"])
    rows = part_pictures._put_together(runs["sines"].composer(), data, parts)
    each = [np.arctanh(row.panels[0][0].values.clip(-0.99999, 0.99999)) for row in rows]
    for many in range(1, 6):
        whole = rows[many - 1].panels[1][0].values
        total = many * np.tanh(sum(each[:many]) / many)
        np.testing.assert_allclose(whole, total, atol=2e-2)


def test_truth_is_black_and_the_model_is_blue(runs):
    (picture,) = drawn("again", ("Sines, imprints", runs["sines"]))
    true, model = (inked(picture.image, rgb).any(1).nonzero()[0] for rgb in (TRUTH, MODEL))
    assert picture.name == "again-sines"
    assert min(true) < min(model) < max(true) < max(model)  # kind after kind, truth first


def test_sites_are_added_by_the_generator_above_the_model(runs):
    (picture,) = drawn("added", ("Sites, imprints", runs["sites"]))
    red = inked(picture.image, (1.0, 0.0, 0.0)).any(1).nonzero()[0]
    assert picture.image.height > 6 * 128
    assert max(red) < picture.image.height / 2  # an untrained model draws no pure red


@pytest.mark.parametrize("name", TITLES)
def test_more_parts_are_drawn_by_every_model_beside_the_generator(runs, name):
    (one,) = drawn("more", ("A, one", runs[name]))
    (two,) = drawn("more", ("A, one", runs[name]), ("A, two", runs[name]))
    assert two.image.height - one.image.height == pytest.approx(
        (one.image.height - 60) / 2, rel=0.25
    )


def test_measures_are_drawn_where_there_are_any(runs, tmp_path):
    new = create(get_recipe("sites/compvae-tiny"), tmp_path)
    assert drawn("measures", ("new", new)) == []
    (picture,) = drawn("measures", ("new", new), ("A, old", runs["sites"]))
    assert picture.name == "measures-sites"


def test_models_of_other_things_are_not_drawn(tmp_path):
    other = create(get_recipe("mnist/vae-tiny"), tmp_path)
    for name in part_pictures.__all__:
        assert drawn(name, ("other", other)) == []


def test_pictures_are_named_after_their_runs_where_each_has_its_own(made):
    files = [Path(picture["file"]).stem for picture in made[2]["pictures"]]
    assert "berger-compvae-added-00001-sites-compvae-tiny" in files
