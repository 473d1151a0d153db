"""Sweeps: every combination once, found again by its digest, trained as it would be alone."""

import json
import math
import shutil
from contextlib import closing
from pathlib import Path

import pytest
import torch

from mindseye import sweeps
from mindseye.errors import DataError, NumericError, UsageError
from mindseye.papers import get_recipe
from mindseye.reproduction.training import trained
from mindseye.runs import Run, create, list_runs
from mindseye.sweeps import (
    Tally,
    find_runs,
    grid,
    points,
    runs_of,
    summary,
    sweep,
    values,
)
from mindseye.training import Record

SETTINGS = {"source": "digits", "steps": "6", "log_every": "2", "checkpoint_every": "2"}
RECIPE = get_recipe("mnist-a/telbo-tiny").with_settings(SETTINGS)
OVER = {"seed": ["0", "1"], "lam": ["10", "50"]}


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    """A folder with a finished sweep of four runs."""
    root = tmp_path_factory.mktemp("runs")
    for _ in sweep(grid(RECIPE, OVER), root):
        pass
    return root


def weights(run: Run) -> bytes:
    return (run.path / "weights.safetensors").read_bytes()


# Grids


def test_the_last_setting_changes_fastest():
    made = grid(RECIPE, OVER)
    assert [(m.training.seed, m.weights["lam"]) for m in made] == [
        (0, 10.0),
        (0, 50.0),
        (1, 10.0),
        (1, 50.0),
    ]
    assert [list(point.values()) for point in points(OVER)] == [
        ["0", "10"],
        ["0", "50"],
        ["1", "10"],
        ["1", "50"],
    ]


def test_no_settings_are_the_recipe_itself():
    assert grid(RECIPE, {}) == [RECIPE]


def test_names_are_those_of_a_recipe_short_or_full():
    (short,), (full,) = grid(RECIPE, {"lam": ["3"]}), grid(RECIPE, {"weights.lam": ["3.0"]})
    assert short.digest == full.digest


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"lamm": ["1"]}, r"lamm=1: `lamm` is not a setting\. Did you mean 'lam'"),
        ({"seed": ["0"], "lam": ["1", "x"]}, r"seed=0, lam=x: `weights\.lam='x'` is not a number"),
        ({"seed": []}, "`seed` has no values"),
        ({"lam": ["10", "1e1"]}, r"`lam=10` and `lam=1e1` are the same run\. Leave one"),
        ({"networks": ["lean", "lee"]}, "networks=lee: `networks='lee'` is not known"),
    ],
)
def test_a_grid_that_cannot_be_trained_is_refused_whole(settings, message):
    with pytest.raises(UsageError, match=message):
        grid(RECIPE, settings)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("5", ["5"]),
        ("0.1, 1", ["0.1", "1"]),
        ("8..11", ["8", "9", "10", "11"]),
        ("2..2,-1..0", ["2", "-1", "0"]),
    ],
)
def test_values_are_lists_and_ranges(text, found):
    assert values(text) == found


@pytest.mark.parametrize("text", ["3..1", "0.5..2", "..3", "a..b", "0..99999999999"])
def test_what_is_no_range_is_refused(text):
    with pytest.raises(UsageError, match=r"is not a range; expected two whole .* such as 0\.\.9"):
        values(text)


@pytest.mark.parametrize("text", ["", "1,,2", "1,"])
def test_a_missing_value_is_refused(text):
    with pytest.raises(UsageError, match="has a value missing"):
        values(text)


# Training


def test_a_sweep_finishes_every_run_in_the_order_of_its_grid(root):
    group = runs_of(grid(RECIPE, OVER), root)
    assert group == list_runs(root)
    assert [run.recipe.training.seed for run in group] == [0, 0, 1, 1]
    assert all(run.finished for run in group)


def test_in_a_sweep_or_alone_the_weights_are_the_same_bits(root, tmp_path):
    for run in list_runs(root)[1:3]:
        alone = create(run.recipe, tmp_path)
        for _ in alone.train():
            pass
        assert weights(alone) == weights(run)
        assert [(r["kind"], r["step"]) for r in alone.log()] == [
            (r["kind"], r["step"]) for r in run.log()
        ]


def test_a_finished_sweep_trains_nothing(root):
    before = {path: path.stat().st_mtime_ns for path in root.rglob("*")}
    assert list(sweep(grid(RECIPE, OVER), root)) == []
    assert {path: path.stat().st_mtime_ns for path in root.rglob("*")} == before


def test_a_larger_sweep_trains_what_is_new(root, tmp_path):
    copy = Path(shutil.copytree(root, tmp_path / "runs"))
    recipes = grid(RECIPE, OVER | {"seed": ["0", "1", "2"]})
    assert [run is None for run in find_runs(recipes, copy)] == [False] * 4 + [True] * 2
    records = list(sweep(recipes, copy))
    assert {run.recipe.training.seed for run, _ in records} == {2}
    assert len(list_runs(copy)) == 6


def test_a_sweep_that_was_left_goes_on_to_the_same_bits(root, tmp_path):
    recipes = grid(RECIPE, OVER)[:2]
    with closing(sweep(recipes, tmp_path)) as records:
        while next(records)[1].step < 4:
            pass
    assert [run.finished for run in list_runs(tmp_path)] == [False, False]
    notes = [record.note for _, record in sweep(recipes, tmp_path)]
    assert "resumed from step 4" in notes
    for one, other in zip(list_runs(tmp_path), list_runs(root), strict=False):
        assert weights(one) == weights(other)


def test_the_same_recipe_twice_is_one_run(tmp_path):
    records = list(sweep([RECIPE, RECIPE], tmp_path))
    assert len({run for run, _ in records}) == len(list_runs(tmp_path)) == 1


def test_a_finished_run_goes_before_an_unfinished_one(tmp_path, root):
    unfinished = create(RECIPE.with_settings({"lam": "10"}), tmp_path)
    assert find_runs([unfinished.recipe], tmp_path) == [unfinished]
    shutil.copytree(list_runs(root)[0].path, tmp_path / "00007-finished")
    (found,) = find_runs([unfinished.recipe], tmp_path)
    assert found == Run(tmp_path / "00007-finished")


def test_a_damaged_recipe_beside_it_is_passed_over(tmp_path):
    (create(RECIPE, tmp_path).path / "recipe.json").write_text("{")
    assert find_runs([RECIPE], tmp_path) == [None]


def test_what_cannot_be_trained_gets_no_folder(tmp_path, monkeypatch):
    monkeypatch.delenv("MINDSEYE_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(DataError, match="mindseye data get mnist"):
        sweep(grid(RECIPE, {"source": ["digits", "mnist"]}), tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


# One that runs away


def test_one_that_runs_away_leaves_the_others_alone(tmp_path, monkeypatch):
    train = Run.train

    def away(run: Run, *arguments, **options):
        if run.recipe.training.seed == 0:
            yield Record("train", 2, 1.0)
            raise NumericError("ran away.", "Lower it.")
        yield from train(run, *arguments, **options)

    monkeypatch.setattr(Run, "train", away)
    records = list(sweep(grid(RECIPE, {"seed": ["0", "1"]}), tmp_path))
    found = [(run.name[:5], r.kind, r.step, r.note) for run, r in records]
    assert found[1] == ("00000", "failed", 2, "ran away. Lower it.")
    assert found[-1] == ("00001", "done", 6, "")


def test_a_table_is_not_made_of_runs_that_ran_away(tmp_path, monkeypatch):
    def away(run: Run, *_, **__):
        yield Record("train", 2, 1.0)
        raise NumericError("ran away.")

    monkeypatch.setattr(Run, "train", away)
    with pytest.raises(NumericError, match=r"00000-mnist-a-telbo-tiny: ran away\."):
        trained([RECIPE], tmp_path, str, device="cpu", data=None, watch=lambda *_: None)


# What is said about it


def test_a_summary_has_the_last_record_of_training(root):
    run = list_runs(root)[0]
    found, log = summary(run), [record for record in run.log() if record["kind"] == "train"]
    assert (found["steps"], found["state"]) == (6, "finished")
    assert found["bound"] == log[-1]["bound"]
    assert found["terms"] == log[-1]["terms"]
    assert found["seconds"] == round(run.seconds, 1)
    assert found["rollbacks"] == 0
    assert found["scores"] == {}


def test_a_summary_counts_rollbacks(root, tmp_path):
    run = Run(Path(shutil.copytree(list_runs(root)[0].path, tmp_path / "run")))
    with (run.path / "log.jsonl").open("a") as log:
        log.write(json.dumps({"kind": "rollback", "step": 4, "terms": {}}) + "\n")
    assert summary(run)["rollbacks"] == 1


def test_a_run_that_has_not_begun_has_a_summary(tmp_path):
    found = summary(create(RECIPE, tmp_path))
    assert found["bound"] is None
    assert (found["steps"], found["seconds"], found["state"]) == (0, 0.0, "unfinished")


def test_a_tally_counts_what_is_left(root, tmp_path, monkeypatch):
    clock = iter([10.0, 12.0])
    new = create(RECIPE, tmp_path)
    tally = Tally([*list_runs(root), new])
    assert (tally.total, tally.rate) == (6, 0.0)
    monkeypatch.setattr(sweeps.time, "perf_counter", lambda: next(clock))
    tally.add(new, Record("train", 2, math.nan))
    tally.add(new, Record("train", 6, math.nan))
    tally.add(new, Record("rollback", 4, math.nan))
    assert tally.steps == 4
    assert tally.rollbacks == 1
    assert tally.rate == 4 * RECIPE.training.batch_size / 2
    tally.add(new, Record("failed", 4, math.nan, note="why"))
    assert tally.failed == {new: "why"}
    assert tally.done == 0


# Last stages


def test_a_refitted_run_begins_where_the_run_without_refitting_ends(tmp_path):
    (base,) = runs_of([RECIPE], tmp_path)
    list(sweep([RECIPE], tmp_path))
    refitted = get_recipe("mnist-a/telbo-refit-tiny").with_settings(SETTINGS)
    records = [record for _, record in sweep([refitted], tmp_path)]
    steps = RECIPE.training.steps
    assert all(record.step > steps for record in records if record.kind == "train")
    (run,) = runs_of([refitted], tmp_path)
    before, after = base.model().state_dict(), run.model().state_dict()
    moved = {name.split(".")[0] for name in before if not torch.equal(before[name], after[name])}
    assert moved == {"label_encoder"}


def test_a_refitted_run_of_other_settings_trains_by_itself(tmp_path):
    list(sweep([RECIPE], tmp_path))
    other = get_recipe("mnist-a/telbo-refit-tiny").with_settings(SETTINGS | {"lam": "10"})
    records = [record for _, record in sweep([other], tmp_path)]
    assert min(record.step for record in records if record.kind == "train") == 2
