"""A table made again: trained once, scored once, written as three pages that agree."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from statistics import mean, stdev

import pytest
import torch

from mindseye import runs
from mindseye.data import MnistA
from mindseye.errors import DataError, UsageError
from mindseye.evaluation import Protocol
from mindseye.metrics import perfect_coverage
from mindseye.papers import RECIPES, TABLES, Table, get_recipe, get_table
from mindseye.papers.tables import Place, Published
from mindseye.reproduction import SIZES, Plan, make_plan, reproduce
from mindseye.reproduction.collecting import in_bits
from mindseye.reproduction.pages import markdown
from mindseye.reproduction.training import trained
from mindseye.runs import list_runs
from mindseye.sweeps import runs_of

SETTINGS = {"source": "digits", "steps": "6", "log_every": "2", "checkpoint_every": "2"}
SMALL = {
    "paper": Protocol(samples=4, base="e", queries=3, fill=False),
    "ours": Protocol(samples=5, queries=2),
}
TABLE = replace(
    get_table("vedantam-4a"),
    observers={"paper": "mnist-a/observer-tiny", "ours": "mnist-a/observer-tiny"},
    planes=(),
)


@pytest.fixture(scope="module")
def plan() -> Plan:
    """Two rows, two splits, two seeds, a few queries."""
    made = make_plan(TABLE, size="tiny", seeds=2, rows=["telbo", "bivcca"], settings=SETTINGS)
    observer = get_recipe("mnist-a/observer-tiny").with_settings(SETTINGS)
    plane = get_recipe("mnist-2bit/jvae").with_settings({"source": "digits", "steps": "3"})
    observers = dict.fromkeys(made.observers, observer)
    return replace(made, protocols=SMALL, observers=observers, planes=(plane,), pictures=50)


@pytest.fixture(scope="module")
def folder(plan, tmp_path_factory) -> Path:
    """A folder with a finished reproduction."""
    folder = tmp_path_factory.mktemp("reproduced")
    reproduce(plan, folder)
    return folder


@pytest.fixture(scope="module")
def result(folder) -> dict:
    return json.loads((folder / "vedantam-4a.json").read_text())


def entry(result: dict, **wanted) -> dict:
    (found,) = [e for e in result["entries"] if all(e[k] == v for k, v in wanted.items())]
    return found


# What was published


def test_the_table_holds_what_was_printed():
    telbo, jmvae, bivcca, *others = get_table("vedantam-4a").rows
    assert telbo.paper[Place("iid", 4, "correctness")] == Published(82.08, 0.56)
    assert jmvae.paper[Place("iid", 3, "coverage")] == Published(88.52, 0.37)
    assert bivcca.paper[Place("compositional", 4, "correctness")] == Published(68.58, 1.02)
    assert bivcca.code[Place("iid", 1, "coverage")] == Published(85.53)
    assert [len(row.paper) + len(row.code) for row in (telbo, jmvae, bivcca)] == [8, 8, 8]
    assert not any(row.paper or row.code for row in others)


@pytest.mark.parametrize("name", [n for n, t in TABLES.items() if isinstance(t, Table)])
def test_every_row_has_its_recipes_at_every_size(name):
    table = TABLES[name]
    for size in SIZES.values():
        for split in table.splits:
            assert {table.recipe(split, row, size) for row in table.rows} <= set(RECIPES)
    assert {*table.observers.values(), *table.planes} <= set(RECIPES)
    assert set(table.quick_rows) | set(table.ladder_rows) <= {row.family for row in table.rows}


def test_nats_become_bits():
    assert in_bits(Published(100.0)) == 100
    assert in_bits(Published(100 - 100 * torch.tensor(2.0).log().item())) == pytest.approx(
        0, abs=1e-4
    )


# What is found


def test_every_place_has_every_sampler(result):
    labels = ["TELBO", "BiVCCA", "real pictures (ceiling)", "perfect sampler", "collapsed (floor)"]
    places = [("iid", level, "correctness") for level in (4, 3, 2, 1)]
    places += [("compositional", 4, "correctness")]
    places += [("iid", level, "coverage") for level in (3, 2, 1)]
    found = [(e["split"], e["level"], e["score"], e["label"]) for e in result["entries"]]
    assert found == [(*place, label) for place in places for label in labels]


def test_a_number_is_the_mean_over_seeds_and_its_spread_their_deviation(result, folder):
    where = {"split": "iid", "level": 2, "score": "coverage", "family": "bivcca"}
    cell = entry(result, **where)["ours"]["paper"]
    means = []
    for run in (
        run for run in result["runs"] if (run["split"], run["family"]) == ("iid", "bivcca")
    ):
        (file,) = (folder / run["run"]).glob("score-paper-*.json")
        (level,) = [e for e in json.loads(file.read_text())["levels"] if e["level"] == 2]
        means.append(100 * level["rows"]["model"]["coverage"]["mean"])
    assert list(cell["seeds"].values()) == pytest.approx(means, abs=1e-4)
    assert cell["mean"] == pytest.approx(mean(means), abs=1e-3)
    assert cell["deviation"] == pytest.approx(stdev(means), abs=1e-3)
    assert cell["low"] <= cell["mean"] <= cell["high"]
    assert cell["queries"] == 3


def test_limits_are_those_of_the_metrics(result):
    perfect = entry(result, split="iid", level=3, score="coverage", label="perfect sampler")
    found = perfect["ours"]["paper"]["mean"] / 100
    bounds = perfect_coverage(MnistA.vocabulary, 4, "e").values()
    assert min(bounds) <= found <= max(bounds)
    assert perfect["ours"]["paper"]["deviation"] is None
    assert entry(result, split="iid", level=4, score="correctness", label="perfect sampler")[
        "ours"
    ]["ours"]["mean"] == pytest.approx(100)


def test_unseen_combinations_are_all_asked(result):
    cell = entry(result, split="compositional", label="TELBO")["ours"]["ours"]
    assert cell["queries"] == 24


def test_seeds_are_those_of_the_runs(result, folder):
    assert [run["seed"] for run in result["runs"]] == [0, 1] * 4
    for facts in result["runs"]:
        run = runs.Run(folder / facts["run"])
        assert run.recipe.training.seed == facts["seed"]
        assert run.recipe.digest == facts["digest"]
        assert facts["training seconds"] == round(run.seconds, 1)
        assert facts["provenance"] == run.provenance


def test_what_made_it_is_written_down(result):
    assert result["provenance"]["device"].startswith("cpu")
    assert {"mindseye", "commit", "torch", "date"} <= set(result["provenance"])
    assert result["protocols"]["paper"]["base"] == "e"
    assert result["seconds"] > 0
    for observer in result["observers"]:
        assert set(observer["accuracies"]) == {"digit", "size", "orientation", "location"}
        assert observer["run"] == "runs/00000-mnist-a-observer-tiny"  # both columns share it


# The pages


def test_the_markdown_says_what_the_json_holds(result, folder):
    page = (folder / "vedantam-4a.md").read_text()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines()]
    cell = entry(result, split="iid", level=3, score="coverage", label="TELBO")
    ours = [f"{c['mean']:.2f} ± {c['deviation']:.2f}" for c in cell["ours"].values()]
    assert ["3 words, iid", "TELBO", "91.14 ± 0.53", "87.22 in bits", *ours] in rows
    one = [row for row in rows if row[:2] == ["1 word, iid", "BiVCCA"]]
    assert [row[2:4] for row in one] == [["–", "68.36"], ["–", "85.53; 79.12 in bits"]]
    assert "± is the standard deviation over 2 trainings" in " ".join(page.split())
    assert max(len(line) for line in page.splitlines() if not line.startswith("|")) <= 100


def test_the_page_says_where_its_runs_were_trained(result):
    runs = [{**run, "provenance": dict(run["provenance"])} for run in result["runs"]]
    runs[0]["provenance"] |= {"device": "cuda (NVIDIA H200)", "commit": "abc1234"}
    runs[1]["provenance"] = {}
    page = " ".join(markdown({**result, "runs": runs}).split())
    here = result["provenance"]
    assert f"trained on {here['device']}, cuda (NVIDIA H200), commit" in page
    assert "abc1234" in page
    older = [{name: fact for name, fact in run.items() if name != "provenance"} for run in runs]
    assert "trained on" not in markdown({**result, "runs": older, "planes": []})


def test_the_page_says_of_runs_without_a_commit_that_it_is_unknown(result):
    runs = [{**run, "provenance": run["provenance"] | {"commit": ""}} for run in result["runs"]]
    page = " ".join(markdown({**result, "runs": runs, "planes": []}).split())
    assert f"trained on {result['provenance']['device']}, commit unknown." in page


def test_the_page_says_where_its_planes_were_trained(result, folder):
    assert result["planes"]
    for plane in result["planes"]:
        assert plane["provenance"] == runs.Run(folder / plane["run"]).provenance
    planes = [{**result["planes"][0], "provenance": {"device": "elsewhere", "commit": "abc1234"}}]
    assert "elsewhere" in markdown({**result, "planes": planes})


def test_the_html_needs_nothing_but_itself(result, folder):
    page = (folder / "vedantam-4a.html").read_text()
    sources = re.findall(r'(?:src|href)="([^"]*)"', page)
    assert len(sources) == len(result["pictures"])
    assert all(source.startswith("data:image/png;base64,") for source in sources)
    assert not re.search(r"https?://|<script|@import", page)
    for facts in result["entries"]:
        assert f"{facts['ours']['ours']['mean']:.2f}" in page


def test_there_is_a_picture_for_every_figure(result, folder):
    figures = [picture["figure"] for picture in result["pictures"]]
    assert figures == ["Figure 3", "Figure 4b", "Figure 7", "Figure 11"]
    assert all((folder / p["file"]).read_bytes()[:4] == b"\x89PNG" for p in result["pictures"])


# What is there is used


def test_a_second_call_trains_and_scores_nothing(plan, folder, result, monkeypatch):
    def never(*_, **__):
        raise AssertionError("it was there")

    monkeypatch.setattr("mindseye.runs.Run.train", never)
    monkeypatch.setattr("mindseye.reproduction.scoring.ask", never)
    seen = []
    again = reproduce(plan, folder, watch=lambda what, *_: seen.append(what))
    assert again["entries"] == result["entries"]
    assert set(seen) == {"drawing"}
    assert again["seconds"] >= result["seconds"]


def test_a_run_that_was_stopped_is_taken_up(plan, folder, tmp_path):
    recipe = plan.recipe(TABLE.splits[0], plan.rows[0], 0)
    (whole,) = [r for r in list_runs(folder / "runs") if r.recipe.digest == recipe.digest]
    (run,) = runs_of([recipe], tmp_path)
    records = run.train()
    while (record := next(records)).kind != "checkpoint" or record.step < 4:
        pass
    records.close()
    assert not run.finished
    steps = []
    options = {"device": "cpu", "data": None, "watch": lambda _, done, total: steps.append(done)}
    assert trained([recipe], tmp_path, str, **options) == [run]
    assert min(steps) > 4
    assert run.finished
    weights = [r.path / "weights.safetensors" for r in (run, whole)]
    assert weights[0].read_bytes() == weights[1].read_bytes()


def test_another_protocol_asks_anew_and_trains_nothing(plan, folder, tmp_path, monkeypatch):
    copy = Path(shutil.copytree(folder, tmp_path / "copy"))
    monkeypatch.delattr("mindseye.runs.Run.train")
    other = replace(plan, protocols=SMALL | {"ours": Protocol(samples=2, queries=1)}, planes=())
    result = reproduce(other, copy)
    assert (
        entry(result, split="iid", level=1, score="coverage", label="TELBO")["ours"]["ours"][
            "queries"
        ]
        == 1
    )
    assert len(list((copy / "runs").glob("*/score-ours-*.json"))) == 16


# What is refused


def test_plans_that_cannot_be_are_refused():
    with pytest.raises(UsageError, match=r"no table is called 'vedantam-4b'.*Did you mean"):
        get_table("vedantam-4b")
    with pytest.raises(UsageError, match=r"`size='fst'` is not known; .*Did you mean 'fast'"):
        make_plan(TABLE, size="fst")
    with pytest.raises(UsageError, match=r"`seeds=0` is too few"):
        make_plan(TABLE, seeds=0)
    with pytest.raises(UsageError, match=r"`rows` has 'tello'; .*Did you mean 'telbo'"):
        make_plan(TABLE, rows=["tello"])
    with pytest.raises(UsageError, match=r"mnist-a/telbo-tiny: `stepps` is not a setting"):
        make_plan(TABLE, size="tiny", settings={"stepps": "3"})
    with pytest.raises(UsageError, match=r"`seed` cannot be set"):
        make_plan(TABLE, settings={"seed": "3"})


def test_rows_that_are_chosen_bring_the_rows_they_begin_with_and_no_planes():
    whole = replace(TABLE, planes=("mnist-2bit/jvae",))
    chosen = make_plan(whole, size="tiny", rows=["telbo-flow"], settings=SETTINGS)
    assert [row.family for row in chosen.rows] == ["telbo", "telbo-flow"]
    assert not chosen.planes
    assert make_plan(whole, size="tiny", settings={"source": "digits"}).planes


def test_without_mnist_nothing_is_begun(tmp_path, monkeypatch):
    monkeypatch.delenv("MINDSEYE_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    plan = make_plan(TABLE, size="tiny")
    with pytest.raises(DataError, match=r"MNIST was not found.*mindseye data get mnist"):
        reproduce(plan, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_small_version_has_one_seed_few_rows_and_the_built_in_observer():
    plan = make_plan(get_table("vedantam-4a"), size="lean", quick=True, settings=SETTINGS)
    assert plan.seeds == (0,)
    assert [row.family for row in plan.rows] == ["telbo", "jmvae", "bivcca"]
    assert set(plan.observers.values()) == {"mnist-a-observer"}
    assert plan.planes == ()
    steps = {recipe.training.steps for recipe in plan.recipes.values()}
    assert steps == {6}  # what is set goes before what is quick


def test_the_built_in_observer_stands_in_for_the_strong_one_alone():
    plan = make_plan(get_table("vedantam-4a"), builtin_observer=True, settings=SETTINGS)
    assert plan.observers["ours"] == "mnist-a-observer"
    assert getattr(plan.observers["paper"], "name", "") == "mnist-a/observer-paper"
