"""Tables of measures, made again in small: rows, seeds, files, and a second call of no work."""

import json
from dataclasses import replace

import pytest

from mindseye.errors import UsageError
from mindseye.papers import RECIPES, TABLES, Ledger, get_table
from mindseye.reproduction import SIZES, make_ledger_plan, reproduce_ledger
from mindseye.reproduction.ledger_pictures import PAINTERS
from mindseye.reproduction.pages import sections
from mindseye.reproduction.scorers import SCORERS

LEDGERS = [name for name, table in TABLES.items() if isinstance(table, Ledger)]
SETTINGS = {"steps": "6", "log_every": "3", "source": "digits"}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ledger")
    plan = make_ledger_plan(
        get_table("burda-mnist"),
        size="tiny",
        seeds=2,
        rows=["iwae-2l-5", "iwae-then-vae", "vae-then-iwae"],
        settings=SETTINGS,
    )
    return plan, folder, reproduce_ledger(plan, folder)


@pytest.mark.parametrize("name", LEDGERS)
def test_every_row_of_a_ledger_has_its_recipes_at_every_size(name):
    ledger = TABLES[name]
    for size in (SIZES[size] for size in ledger.sizes):
        for row in ledger.rows:
            assert f"{row.recipe}{'-' if size else ''}{size}" in RECIPES
    families = {row.family for row in ledger.rows}
    assert len(families) == len(ledger.rows)
    assert {row.after for row in ledger.rows if row.after} <= families
    assert set(ledger.quick_rows) <= families
    assert ledger.scorer in SCORERS
    assert set(ledger.pictures) <= set(PAINTERS)
    assert ledger.asked.keys() == ledger.quick_asked.keys() == ledger.tiny_asked.keys()


def test_the_ledger_holds_what_was_printed():
    rows = {row.family: row.published for row in get_table("burda-mnist").rows}
    assert rows["iwae-50"] == {"nll": "84.78", "active": "25"}
    assert rows["vae-2l-1"] == {"nll": "85.33", "active": "16+5"}
    assert rows["iwae-then-vae"]["nll"] == "86.02"
    omniglot = {row.family: row.published for row in get_table("burda-omniglot").rows}
    assert omniglot["iwae-2l-50"] == {"nll": "103.38", "active": "44+7"}


def test_a_second_stage_brings_its_first_along(made):
    _, _, result = made
    assert [entry["family"] for entry in result["entries"]] == [
        "vae-1",
        "iwae-50",
        "iwae-2l-5",
        "iwae-then-vae",
        "vae-then-iwae",
    ]


def test_a_second_stage_begins_with_the_weights_of_its_own_seed(made):
    plan, _, result = made
    digests = {(run["family"], run["seed"]): run["digest"] for run in result["runs"]}
    rows = {row.family: row for row in plan.rows}
    for seed in plan.seeds:
        assert plan.recipe(rows["vae-then-iwae"], seed).start == digests["vae-1", seed]
        assert plan.recipe(rows["iwae-then-vae"], seed).start == digests["iwae-50", seed]


def test_means_and_deviations_are_over_seeds(made):
    _, _, result = made
    cell = result["entries"][0]["ours"]["nll"]
    one, two = cell["seeds"].values()
    assert cell["mean"] == pytest.approx((one + two) / 2)
    assert cell["deviation"] == pytest.approx(abs(one - two) / 2**0.5)
    (deep,) = (entry for entry in result["entries"] if entry["family"] == "iwae-2l-5")
    layers = deep["ours"]["active"]
    assert len(layers["mean"]) == 2


def test_everything_is_written(made):
    _, folder, result = made
    assert json.loads((folder / "burda-mnist.json").read_text())["entries"] == result["entries"]
    page = (folder / "burda-mnist.md").read_text()
    assert "| VAE, 1 layer, k = 1 " in page
    assert "86.76" in page
    for picture in result["pictures"]:
        assert (folder / picture["file"]).stat().st_size > 500
    html = (folder / "burda-mnist.html").read_text()
    assert html.count("<img") == len(result["pictures"])


def test_a_second_call_trains_and_measures_nothing(made, monkeypatch):
    plan, folder, result = made
    monkeypatch.setitem(SCORERS, "likelihood", lambda *_: pytest.fail("measured again"))
    monkeypatch.setattr("mindseye.runs.run.Run.train", lambda *_, **__: pytest.fail("trained"))
    again = reproduce_ledger(plan, folder)
    assert again["entries"] == result["entries"]


def test_seeds_that_are_finished_count_beyond_those_asked_for(made, monkeypatch):
    plan, folder, result = made
    monkeypatch.setattr("mindseye.runs.run.Run.train", lambda *_, **__: pytest.fail("trained"))
    fewer = reproduce_ledger(replace(plan, seeds=(0,)), folder)
    assert fewer["entries"] == result["entries"]
    assert fewer["seeds"] == [0, 1]
    assert [run["seed"] for run in fewer["runs"]] == [0, 1] * 5


def test_what_was_not_printed_has_no_column_of_its_own(made):
    _, _, result = made
    head = next(iter(sections(result))).grid[0]
    assert "-log p(x), printed" in head
    assert "rate" in head
    assert "rate, printed" not in head


def test_a_row_may_be_asked_for_less_and_never_for_more():
    ledger = get_table("burda-mnist")
    ladder = next(row for row in ledger.rows if row.family == "ladder")
    plan = make_ledger_plan(ledger)
    assert plan.asked_of(ladder) == {"k": 500, "pictures": 0}
    assert plan.asked_of(ledger.rows[0]) == {"k": 5000, "pictures": 0}
    assert make_ledger_plan(ledger, size="tiny").asked_of(ladder) == {"k": 20, "pictures": 50}


def test_a_row_that_is_not_there_is_named():
    with pytest.raises(UsageError, match=r"`rows` has 'iwae-51'; .* Did you mean 'iwae-5"):
        make_ledger_plan(get_table("burda-mnist"), rows=["iwae-51"])


def test_a_setting_that_a_row_does_not_know_is_named_with_its_recipe():
    with pytest.raises(UsageError, match=r"^mnist/vae-tiny: `lam` is not a setting"):
        make_ledger_plan(get_table("burda-mnist"), size="tiny", settings={"lam": "3"})


@pytest.mark.parametrize(
    ("name", "row", "settings"),
    [("burda-mnist", "iwae-5", {"k": "3"}), ("higgins-dsprites", "hfvae", {"beta": "2"})],
)
def test_a_setting_need_be_known_to_the_rows_that_are_trained_alone(name, row, settings):
    plan = make_ledger_plan(get_table(name), size="tiny", rows=[row], settings=settings)
    (key,) = settings
    assert plan.recipes[row].weights[key] == float(settings[key])
    with pytest.raises(UsageError, match=f"`{key}` is not a setting"):
        make_ledger_plan(get_table(name), size="tiny", settings=settings)


def test_the_small_version_is_one_seed_of_few_rows():
    plan = make_ledger_plan(get_table("burda-mnist"), size="lean", quick=True)
    assert plan.seeds == (0,)
    assert [row.family for row in plan.rows] == ["vae-1", "iwae-5"]
    assert plan.asked == {"k": 500, "pictures": 500}
    assert replace(plan, quick=False).to_json()["kind"] == "ledger"
