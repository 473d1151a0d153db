"""A run of pictures alone at the command line."""

import json

import pytest

from mindseye.runs import Run


@pytest.fixture(scope="module")
def run(briefly_trained) -> Run:
    return briefly_trained("mnist/vae-tiny")


def test_draws_and_pictures_are_as_many_as_asked_for(mindseye, run):
    code, out, _ = mindseye(
        "evaluate", str(run.path), "--draws", "3", "--pictures", "1", "--device", "cpu", "--json"
    )
    assert code == 0
    found = json.loads(out, parse_constant=pytest.fail)  # NaN is no JSON
    assert (found["k"], found["pictures"], found["active"]) == (3, 1, [0])


def test_no_draws_are_refused_and_not_taken_for_many(mindseye, run):
    code, _, err = mindseye("evaluate", str(run.path), "--draws", "0", "--device", "cpu")
    assert code == 2
    assert "`k=0` is too few" in err


@pytest.mark.parametrize("option", [["--samples", "3"], ["--markdown"], ["--product"]])
def test_an_option_of_other_models_is_refused(mindseye, run, option):
    code, _, err = mindseye("evaluate", str(run.path), *option, "--device", "cpu")
    assert code == 2
    assert f"`{option[0]}` says nothing here: what is measured of" in " ".join(err.split())
    assert "is a likelihood." in " ".join(err.split())


def test_draws_say_nothing_about_imagination(mindseye):
    code, _, err = mindseye("evaluate", "mnist-a", "--draws", "3", "--device", "cpu")
    assert code == 2
    assert "`--draws` says nothing here: what is measured of mnist-a is imagination." in " ".join(
        err.split()
    )
