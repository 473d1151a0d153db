"""Tables of captions, made again in small: scores, their limits, their page and its pictures."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from mindseye import holes
from mindseye.data import Batch, Data, TwoObjects
from mindseye.errors import UsageError
from mindseye.evaluation import captions as measuring
from mindseye.evaluation.captions import evaluate_captions
from mindseye.labels import Labels
from mindseye.papers import TABLES, Recipe, get_recipe, get_table
from mindseye.reproduction import caption_pictures, make_ledger_plan, reproduce_ledger
from mindseye.reproduction import captions as scoring
from mindseye.reproduction.caption_pictures import ASKED, PRIVATE
from mindseye.reproduction.captions import captions, captions_limits, observer_of
from mindseye.reproduction.ledger import _cell, _interval
from mindseye.reproduction.ledger_sections import ledger_sections
from mindseye.runs import Run, create, list_runs, load_observer, reading
from mindseye.tensors import write_tensors
from mindseye.wordsheets import GAP, PANEL, ROOM

MAGENTA = (255, 0, 255)


@pytest.fixture(scope="module", autouse=True)
def little():
    """Few draws, few readings, few points of a plane, and no data but what we draw ourselves."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(measuring.CAPTIONS, "cpu", 2)
        patch.setitem(measuring.DRAWS, "cpu", 32)
        patch.setattr(holes, "SIDE", 40)
        patch.setattr(reading, "AT_ONCE", 32)
        patch.setenv("MINDSEYE_DATA", "")
        patch.setenv("XDG_CACHE_HOME", "/nowhere")
        yield


@pytest.fixture
def one_caption(monkeypatch):
    for name, texts in ASKED.items():
        monkeypatch.setitem(ASKED, name, texts[-1:])


@pytest.fixture(scope="module")
def made(little, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    plan = make_ledger_plan(
        get_table("cremer-tables"),
        size="tiny",
        rows=["objects-observer", "objects-agg"],
        seeds=1,
        settings={"steps": "2", "log_every": "1"},
    )
    return folder, reproduce_ledger(plan, folder)


@pytest.fixture(scope="module")
def runs(made) -> dict[str, Run]:
    folder, result = made
    return {run["family"]: Run(folder / run["run"]) for run in result["runs"]}


@pytest.fixture(scope="module")
def untrained(tmp_path_factory):
    """Runs whose weights are drawn at random, in a folder of their own."""
    folder = tmp_path_factory.mktemp("untrained")

    def make(name: str, root: Path = folder, finished: bool = True, **data) -> Run:
        recipe = get_recipe(name)
        run = create(replace(recipe, data=replace(recipe.data, **data)), root)
        if finished:
            torch.manual_seed(len(list_runs(root)))
            write_tensors(run.path / "weights.safetensors", run.recipe.build().state_dict())
        return run

    return make


def scored(run: Run, pictures: int = 6) -> dict[str, float]:
    return captions(run, {"pictures": pictures}, "cpu", None, lambda *_: None)


def entry(made, family: str) -> dict:
    (found,) = (each for each in made[1]["entries"] if each["family"] == family)
    return found


# Scores


def test_a_table_has_the_rows_that_its_rows_begin_with(made):
    families = [each["family"] for each in made[1]["entries"]]
    assert families == ["objects-observer", "objects", "objects-agg"]


@pytest.mark.parametrize("name", TABLES)
def test_rows_of_every_table_come_after_those_that_they_begin_with(name):
    seen = set()
    for row in get_table(name).rows:
        assert not row.after or row.after in seen
        seen.add(row.family)


def test_an_observer_is_scored_by_the_words_it_sees_in_real_pictures(runs):
    observer = load_observer(runs["objects-observer"].path)
    x, y = runs["objects-observer"].recipe.data.open("test").examples(torch.arange(6))
    relation = y.codes[:, 4]
    seen = (observer.eval().judge(x, relation) == y.codes)[:, [0, 1, 2, 3, 5, 6, 7, 8]]
    found = scored(runs["objects-observer"])
    assert found["seen"] == pytest.approx(100 * seen.float().mean().item())
    assert found.keys() == {"seen", "seen low", "seen high"}
    assert found["seen low"] <= found["seen"] <= found["seen high"]


def test_a_model_without_flows_is_scored_by_its_reconstructions(made):
    ours = entry(made, "objects")["ours"]
    assert ours.keys() == {"prior correctness", "seen", "log p(x)", "log p(y)", "log r(z)"}


def test_flows_are_scored_in_every_column_of_words_and_bounds(made):
    never = {"unseen", "colours", "shapes", "own colours", "own shapes"}
    columns = {column.key for column in get_table("cremer-tables").columns} - never
    assert entry(made, "objects-agg")["ours"].keys() == columns


def test_shares_are_percent_and_bounds_are_nats(made, runs):
    kept = json.loads((runs["objects-agg"].path / "captions.json").read_text())["values"]
    ours = entry(made, "objects-agg")["ours"]
    for name, factor in {"correctness": 100, "by way of words": 100, "log p(x|y)": 1}.items():
        cell = ours[name]
        assert cell["mean"] == pytest.approx(factor * kept[name]["mean"])
        assert cell["interval"] == pytest.approx([factor * kept[name][e] for e in ("low", "high")])
    assert ours["seen"]["mean"] == pytest.approx(100 * kept["reconstructions"]["mean"])


def test_where_kinds_are_held_out_the_unseen_stand_beside_new_pictures_of_the_seen(runs, untrained):
    root = runs["objects"].path.parent
    run = untrained("two-objects-comp/vlvae-agg-tiny", root)
    found = scored(run)
    unseen = evaluate_captions(run, observer=observer_of(run), pictures=6).values
    assert found["unseen"] == pytest.approx(100 * unseen["correctness"].mean)
    assert found["log p(x|z)"] != unseen["log p(x|z)"].mean  # of other pictures
    assert found["unseen low"] <= found["unseen"] <= found["unseen high"]


def test_a_world_without_an_observer_is_not_scored(untrained):
    assert scored(untrained("one-object/vlvae-tiny")) == {}


def test_an_observer_of_wide_views_needs_the_renders_of_clevr_for_more_than_its_own(untrained):
    found = scored(untrained("two-objects/observer-tiny", source="wide"))
    assert found.keys() == {"own colours", "own shapes"}
    assert all(0 <= share <= 100 for share in found.values())
    assert drawn("worlds") == []


def test_of_i_clevr_it_is_asked_about_rows_by_which_nothing_was_chosen(untrained, monkeypatch):
    asked = []

    class Theirs:
        def __init__(self, name, side):
            asked.append((name, side))

        def open(self, part, folder):
            asked.append(part)
            return TwoObjects("test", side=side, seed=3)

    run = untrained("two-objects/observer-tiny", source="wide")
    side = run.recipe.data.shape[1]
    monkeypatch.setattr(scoring, "find", lambda *_: Path("iclevr_index.npz"))
    monkeypatch.setattr(scoring, "Data", Theirs)
    found = scored(run)
    assert asked == [("iclevr", side), "test", "observer"]
    assert found.keys() == {"colours", "shapes", "own colours", "own shapes"}


def test_who_judges_is_of_the_same_data_and_size(untrained, tmp_path):
    model, faces = untrained("two-objects/vlvae-tiny", tmp_path), "celeba/observer-tiny"
    wrong = [
        untrained(faces, tmp_path),
        untrained("two-objects/observer-tiny", tmp_path, source="wide"),
        untrained("two-objects/observer-tiny", tmp_path, side=32),
        untrained("two-objects/observer-tiny", tmp_path, finished=False),
    ]
    with pytest.raises(UsageError, match="there is no observer of two-objects beside") as refused:
        observer_of(model)
    assert "Train it too" in refused.value.hint
    right = untrained("two-objects/observer-tiny", tmp_path)
    expected = right.model().state_dict()
    found = observer_of(model).state_dict()
    assert all(torch.equal(found[name], expected[name]) for name in expected)
    judge = observer_of(untrained("celeba-words/vlvae-tiny", tmp_path))
    assert judge.vocabulary == wrong[0].recipe.data.vocabulary


def test_a_row_is_judged_by_the_table_s_own_observer_and_not_by_the_package_s(untrained, tmp_path):
    model = untrained("two-objects/vlvae-lean", tmp_path)
    assert model.observer() == "two-objects-observer"
    with pytest.raises(UsageError, match="there is no observer of two-objects beside"):
        observer_of(model)


# Limits


def test_words_at_random_are_right_in_a_bit_more_than_a_third():
    plan = make_ledger_plan(get_table("cremer-tables"), size="tiny", rows=["objects-observer"])
    found = captions_limits(plan, get_recipe("two-objects/observer"), "cpu", None, lambda *_: None)
    floor = 100 * (1 / 2 + 1 / 8 + 1 / 2 + 1 / 3) / 4
    assert floor == pytest.approx(36.458333, abs=1e-6)
    assert found == {
        "words at random (floor)": {
            "correctness": pytest.approx(floor, abs=1e-12),
            "prior correctness": pytest.approx(floor, abs=1e-12),
        }
    }


@pytest.mark.parametrize("name", ["celeba-words/vlvae-tiny", "one-object/vlvae-tiny"])
def test_words_without_a_relation_have_no_floor(name):
    plan = make_ledger_plan(get_table("cremer-tables"), size="tiny", rows=["objects-observer"])
    assert captions_limits(plan, get_recipe(name), "cpu", None, lambda *_: None) == {}


# The page


def test_the_page_shows_the_intervals_of_one_seed_and_the_floor(made):
    folder, result = made
    page = (folder / "cremer-tables.md").read_text()
    cell = entry(made, "objects-agg")["ours"]["correctness"]
    low, high = cell["interval"]
    assert f"{cell['mean']:.2f} ({low:.2f} to {high:.2f})" in page
    assert "36.46" in page
    assert "87.01" in page
    assert " ± " not in page.split("\n| ", 1)[1].split("\n\n")[0]
    assert result["seeds"] == [0]


def printed(cell: dict, decimals: int = 2) -> str:
    """How the page writes what was found of one column."""
    result = {
        "about": "",
        "asked": {},
        "columns": [{"key": "a", "label": "a", "decimals": decimals}],
        "entries": [{"label": "row", "published": {}, "ours": {"a": cell} if cell else {}}],
        "runs": [],
    }
    return next(ledger_sections(result)).grid[1][1]


def test_one_seed_has_an_interval_and_several_have_a_deviation():
    found = [{"values": {"a": 4.0, "a low": 3.0, "a high": 5.5}}, {"values": {"a": 6.0}}]
    one = _cell([4.0], [0]) | _interval(found[:1], "a")
    assert printed(one, 1) == "4.0 (3.0 to 5.5)"
    several = _cell([4.0, 6.0], [0, 1]) | _interval(found, "a")
    assert printed(several) == "5.00 ± 1.41"
    assert "interval" not in several


def test_without_an_interval_one_seed_is_a_number_and_nothing_is_a_dash():
    found = [{"values": {"a": 4.0}}]
    assert printed(_cell([4.0], [0]) | _interval(found, "a")) == "4.00"
    assert printed({}) == "–"


def test_columns_of_several_groups_are_several_tables_of_the_rows_that_have_them():
    columns = [{"key": k, "label": k, "decimals": 0, "group": g} for k, g in ("aA", "bA", "cB")]
    entries = [
        {"label": "both", "published": {}, "ours": {k: _cell([1.0], [0]) for k in "abc"}},
        {"label": "first", "published": {"b": "7"}, "ours": {}},
        {"label": "none", "published": {}, "ours": {}},
    ]
    result = {"about": "", "asked": {}, "columns": columns, "entries": entries, "runs": []}
    one, two, _ = ledger_sections(result)
    assert (one.title, two.title) == ("A", "B")
    assert one.grid == [
        ["", "a", "b, printed", "b, ours"],
        ["both", "1", "–", "1"],
        ["first", "–", "7", "–"],
    ]
    assert two.grid == [["", "c"], ["both", "1"]]


def test_a_bar_in_a_cell_does_not_end_it(made):
    folder, _ = made
    lines = (folder / "cremer-tables.md").read_text().splitlines()
    (head,) = [line for line in lines if line.startswith("|") and "log p(x" in line]
    at = lines.index(head)
    table = [line.replace("\\|", "") for line in lines[at : at + 4]]
    assert "log p(x\\|y)" in head
    assert len({line.count("|") for line in table}) == 1


# Pictures


def drawn(name: str, *labelled: tuple[str, Run]) -> list:
    return list(getattr(caption_pictures, name)(labelled, "cpu", None))


def shows(image, colour) -> bool:
    return bool((np.asarray(image) == np.array(colour)).all(-1).any())


def test_pictures_stand_beside_the_table(made):
    folder, result = made
    names = [Path(picture["file"]).stem for picture in result["pictures"]]
    for name in ("told-two-objects", "imagined-two-objects", "surgery"):
        assert [each for each in names if name in each]
    for name in ("told-celeba-words", "imagined-celeba-words", "inference", "holes"):
        assert not [each for each in names if name in each]
    assert all((folder / picture["file"]).stat().st_size > 500 for picture in result["pictures"])


def test_one_inference_alone_is_not_compared_and_two_are(runs, untrained):
    joint = untrained("two-objects/vlvae-joint-tiny")
    assert drawn("inference", ("m", runs["objects"])) == []
    assert drawn("inference", ("j", joint), ("flows", runs["objects-agg"])) == []
    (both,) = drawn("inference", ("m", runs["objects"]), ("j", joint))
    assert both.image.width == 2 * GAP + 2 * (ROOM + GAP) + 9 * (PANEL + GAP)  # nine places
    assert both.image.height > 4 * 112  # two pictures, each read in two ways


def test_only_a_plane_has_holes(runs, untrained):
    (picture,) = drawn("holes", ("a", runs["objects"]), ("b", untrained("one-object/vlvae-tiny")))
    assert picture.image.size == (3 * 40 + 20, 3 * 40 + 54)
    assert drawn("holes", ("a", runs["objects"]), ("o", runs["objects-observer"])) == []


def test_a_rate_is_split_where_it_was_measured(runs, untrained):
    assert len(drawn("surgery", ("agg", runs["objects-agg"]))) == 1
    new = untrained("two-objects/vlvae-agg-tiny")
    assert drawn("surgery", ("m", runs["objects"]), ("new", new)) == []


def test_captions_are_imagined_by_flows_of_kinds_that_were_seen(runs, untrained, one_caption):
    true = untrained("two-objects/vlvae-true-tiny")
    (both,) = drawn("imagined", *runs.items(), ("true", true))
    (alone,) = drawn("imagined", ("agg", runs["objects-agg"]))
    assert both.name == alone.name == "imagined-two-objects"
    assert both.image.height > 1.6 * alone.image.height
    held_out = untrained("two-objects-comp/vlvae-agg-tiny")
    assert drawn("imagined", ("m", runs["objects"]), ("kinds", held_out)) == []


@pytest.mark.parametrize("name", ASKED)
def test_what_is_asked_for_can_be_said(name):
    sentence = Data(name).vocabulary
    *full, last = [sentence.parse(text) for text in ASKED[name]]
    assert all(None not in caption.codes for caption in full)
    assert None in last.codes


def a_loud_picture(recipe: Recipe) -> Batch:
    """Two pictures that no model draws, and what is said of them."""
    x = torch.zeros(2, *recipe.data.shape)
    x[:, [0, 2]] = 1
    words = recipe.data.vocabulary
    codes = torch.zeros(2, len(words), dtype=torch.int64)
    return Batch(x, Labels.full(codes))


@pytest.mark.parametrize("name", ["two-objects", "celeba-words"])
def test_real_faces_are_never_shown(untrained, monkeypatch, name):
    loud = lambda run, data, n: a_loud_picture(run.recipe)  # noqa: E731
    monkeypatch.setattr(caption_pictures, "_test", loud)
    (picture,) = drawn("told", ("model", untrained(f"{name}/vlvae-tiny")))
    assert shows(picture.image, MAGENTA) is (name not in PRIVATE)
    assert ("Test pictures" in picture.caption) is (name not in PRIVATE)
    assert picture.name == f"told-{name}"
    said = {"two-objects": "Which object comes first", "celeba-words": "The order of the words"}
    assert [each for each, text in said.items() if text in picture.caption] == [name]
    assert picture.caption[0].isupper()


def test_faces_are_private_and_imagined_faces_are_not(untrained, one_caption):
    assert "celeba-words" in PRIVATE
    (picture,) = drawn("imagined", ("agg", untrained("celeba-words/vlvae-agg-tiny")))
    assert picture.name == "imagined-celeba-words"
