"""`mindseye sweep` as people meet it: trained, stopped, asked again, mistyped."""

import dataclasses
import json
from pathlib import Path

import pytest

from mindseye import evaluation, sweeps
from mindseye.errors import NumericError
from mindseye.runs import Run
from mindseye.training import Record

TINY = ("mnist-a/jmvae-tiny", "--set", "source=digits", "--set", "steps=4", "--device", "cpu")
OVER = ("--over", "seed=0..1", "--over", "lam=10,50")


def test_a_sweep_has_a_row_for_each_run_and_the_same_command_trains_nothing(mindseye):
    code, out, err = mindseye("sweep", *TINY, *OVER)
    assert code == 0, err
    assert "4 runs to train, 0 finished already." in err
    assert "runs/00003-mnist-a-jmvae-tiny is finished." in err
    head, *rows = [line.split() for line in out.splitlines()]
    assert head[:6] == ["run", "seed", "lam", "steps", "bound", "seconds"]
    assert "log_px_qxy" in head
    assert [row[:4] for row in rows] == [
        [f"0000{i}-mnist-a-jmvae-tiny", seed, lam, "4"]
        for i, (seed, lam) in enumerate([("0", "10"), ("0", "50"), ("1", "10"), ("1", "50")])
    ]
    assert {row[-1] for row in rows} == {"finished"}

    code, again, err = mindseye("sweep", *TINY, *OVER, "--no-compile")
    assert code == 0, err
    assert again == out
    assert "All 4 runs are finished." in err
    assert len(list(Path("runs").iterdir())) == 4


def test_json_holds_the_runs_with_their_settings_and_what_made_them(mindseye):
    code, out, err = mindseye("sweep", *TINY, "--over", "alpha=0.1", "--json")
    assert code == 0, err
    found = json.loads(out)
    (fact,) = found["runs"]
    assert found["recipe"] == TINY[0]
    assert found["settings"] == {"source": "digits", "steps": "4"}
    assert found["protocol"] is None
    assert "device" in found["provenance"]
    assert fact["run"] == "runs/00000-mnist-a-jmvae-tiny"
    assert fact["settings"] == {"alpha": "0.1"}
    assert fact["state"] == "finished"
    assert fact["bound"] < 0
    assert json.loads(Path(fact["run"], "recipe.json").read_text())["weights"]["alpha"] == 0.1


@pytest.mark.usefixtures("few_pictures")
def test_scores_are_those_of_the_validation_part_and_are_asked_for_once(mindseye, monkeypatch):
    few = dataclasses.replace(evaluation.PROTOCOLS["quick"], samples=2, queries=3)
    monkeypatch.setitem(evaluation.PROTOCOLS, "quick", few)
    asked = ("sweep", *TINY, "--over", "alpha=0.1,1", "--score", "quick", "--json")
    code, out, err = mindseye(*asked)
    assert code == 0, err
    found = json.loads(out)
    assert found["protocol"]["part"] == "validation"
    names = {f"{score} {n}" for score in ("correctness", "coverage") for n in (1, 2, 3)}
    assert [run["scores"].keys() for run in found["runs"]] == [names | {"correctness 4"}] * 2
    monkeypatch.setattr(sweeps, "evaluate_run", None)  # nobody is asked again
    code, again, err = mindseye(*asked)
    assert code == 0, err
    assert json.loads(again)["runs"] == found["runs"]


def test_an_unknown_protocol_is_named_before_anything_is_trained(mindseye, folder):
    code, _, err = mindseye("sweep", *TINY, "--over", "seed=0,1", "--score", "papr")
    assert code == 2
    assert "`protocol='papr'` is not known" in err
    assert "'paper'?" in err
    assert not (folder / "runs").exists()


def test_dry_run_says_what_would_be_trained(mindseye, folder):
    mindseye("sweep", *TINY, "--over", "seed=1")
    before = sorted(folder.rglob("*"))
    code, out, err = mindseye("sweep", *TINY, "--over", "seed=0..2", "--dry-run")
    assert code == 0, err
    assert [line.split()[:2] for line in out.splitlines()[:4]] == [
        ["seed", "run"],
        ["0", "new"],
        ["1", "00000-mnist-a-jmvae-tiny"],
        ["2", "new"],
    ]
    assert "to train: 2 of 3 runs\n" in out
    assert "expected time: " in out
    code, out, _ = mindseye("sweep", *TINY, "--over", "seed=1", "--dry-run", "--json")
    facts = json.loads(out)
    assert [run["state"] for run in facts["runs"]] == ["finished"]
    assert facts["seconds"] == 0
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], ["`--over` is missing", "--over seed=0,1,2"]),
        (["--over", "seed"], ["`--over seed` has no values", "--over NAME=VALUE,VALUE"]),
        (["--over", "seed="], ["`--over seed=` has no values"]),
        (["--over", "=3"], ["`--over =3` has no values"]),
        (["--over", "seed=0,,1"], ["has a value missing", "0..9"]),
        (["--over", "seed=9..0"], ["`9..0` is not a range"]),
        (["--over", "lamm=1,2"], ["`lamm` is not a setting", "Did you mean 'lam'?"]),
        (["--over", "lam=1,x"], ["lam=x", "is not a number"]),
        (["--over", "lam=1,1.0"], ["`lam=1` and `lam=1.0` are the same run"]),
        (["--over", "seed=0", "--over", "training.seed=1"], ["`--over training.seed` is there"]),
        (["--over", "training.steps=2,4"], ["`steps` is in --set and in --over"]),
        (["--over", "seed=0..100"], ["101 runs are more than 100", "add --yes"]),
    ],
)
def test_what_cannot_be_swept_is_one_line_and_a_hint(mindseye, folder, arguments, words):
    code, out, err = mindseye("sweep", *TINY, *arguments)
    assert code == 2
    assert out == ""
    assert len(err.strip().splitlines()) <= 2
    assert all(word in err for word in words), err
    assert not (folder / "runs").exists()


def test_many_runs_are_trained_when_that_is_said(mindseye, monkeypatch):
    monkeypatch.setattr(sweeps, "grid", lambda recipe, settings: [recipe])
    monkeypatch.setattr(sweeps, "points", lambda settings: [{}])
    monkeypatch.setattr(Run, "train", _trained())
    code, _, err = mindseye("sweep", *TINY, "--over", "seed=0..100", "--yes")
    assert code == 0, err


def test_missing_data_says_what_to_type_before_there_is_a_folder(mindseye, folder):
    code, _, err = mindseye("sweep", TINY[0], "--over", "seed=0,1", "--set", "source=mnist")
    assert code == 2
    assert "mindseye data get mnist" in err
    assert not (folder / "runs").exists()


def test_an_interrupted_sweep_says_how_to_go_on(mindseye, monkeypatch):
    monkeypatch.setattr(Run, "train", _trained(Record("train", 1, 0.0), then=KeyboardInterrupt()))
    code, out, err = mindseye("sweep", *TINY, *OVER)
    assert code == 130
    assert out == ""
    assert "The same command goes on where it was." in err


def test_runs_that_ran_away_are_named_and_exit_with_4(mindseye, monkeypatch):
    record = Record("rollback", 1, 0.0, note="the bound was not finite")
    away = _trained(record, then=NumericError("Training failed 3 times in a row."))
    monkeypatch.setattr(Run, "train", away)
    code, out, err = mindseye("sweep", *TINY, "--over", "seed=0,1")
    assert code == 4
    assert "unfinished" in out
    assert "00000-mnist-a-jmvae-tiny: the bound was not finite" in err
    assert "error: 2 of 2 runs ran away: 00000-mnist-a-jmvae-tiny, 00001-" in err
    assert "hint: Training failed 3 times in a row." in err


def _trained(*records: Record, then: BaseException | None = None):
    """A training that yields some records, and then fails or not."""

    def train(run: Run, *_, **__):
        yield from records
        if then:
            raise then

    return train
