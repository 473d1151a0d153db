"""A semi-supervised run at the command line: evaluated, imagined with, described by."""

import json

import pytest

from mindseye.runs import Run


@pytest.fixture(scope="module")
def run(briefly_trained) -> Run:
    return briefly_trained("mnist/m2-tiny")


def test_evaluate_reads_the_pictures_of_a_part(mindseye, run):
    code, out, _ = mindseye(
        "evaluate", str(run.path), "--part", "validation", "--device", "cpu", "--json"
    )
    assert code == 0
    found = json.loads(out)
    assert (found["part"], found["pictures"]) == ("validation", 100)
    assert 0 <= found["accuracy"]["digit"]["mean"] <= 1


def test_a_digit_is_imagined_and_a_picture_described(mindseye, run, tmp_path):
    out = str(tmp_path / "four.png")
    code, *_ = mindseye("imagine", "digit=4", "--model", str(run.path), "-n", "1", "--out", out)
    assert code == 0
    code, said, _ = mindseye("describe", out, "--model", str(run.path), "--json")
    assert code == 0
    assert "digit" in said
