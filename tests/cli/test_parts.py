"""A run of wholes and their parts at the command line: evaluated."""

import json

import pytest

from mindseye.papers import get_recipe
from mindseye.runs import Run, create


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Run:
    recipe = get_recipe("sines/compvae-tiny").with_settings({"steps": "2", "log_every": "1"})
    made = create(recipe, tmp_path_factory.mktemp("runs"))
    list(made.train())
    return made


def evaluated(mindseye, run: Run, *options: str) -> str:
    few = ("--wholes", "2", "--draws", "2", "--device", "cpu")
    code, out, err = mindseye("evaluate", str(run.path), *few, *options)
    assert code == 0, err
    return out


def test_evaluate_prints_a_page_and_keeps_the_report(mindseye, run):
    page = evaluated(mindseye, run)
    assert "2 test wholes of every number of parts, 2 draws of each" in page
    assert "parts that are there, percent" in page
    assert max(map(len, page.splitlines())) <= 100
    kept = json.loads((run.path / "parts.json").read_text())
    assert [row["parts"] for row in kept["rows"]] == [1, 2, 4, 8, 16, 20, 24, 30]


def test_evaluate_answers_programs_and_pages(mindseye, run):
    said = evaluated(mindseye, run, "--json", "--part", "validation", "--seed", "1")
    found = json.loads(said, parse_constant=pytest.fail)
    assert (found["part"], found["wholes"], found["most"]) == ("validation", 2, 16)
    assert found["checks"] == {"order": 0, "added and removed": 0}
    assert "\n## bound, nats\n\n| parts |" in evaluated(mindseye, run, "--markdown")


@pytest.mark.parametrize("option", [("--pictures", "3"), ("--samples", "3"), ("--base", "e")])
def test_an_option_of_other_measures_says_nothing_of_parts(mindseye, run, option):
    code, _, err = mindseye("evaluate", str(run.path), *option, "--device", "cpu")
    assert code == 2
    assert f"`{option[0]}` says nothing here" in " ".join(err.split())


def test_wholes_say_nothing_of_pictures(mindseye):
    code, _, err = mindseye("evaluate", "mnist-a", "--wholes", "3", "--device", "cpu")
    assert code == 2
    assert "`--wholes` says nothing here" in " ".join(err.split())


def test_one_whole_is_too_few(mindseye, run):
    code, _, err = mindseye("evaluate", str(run.path), "--wholes", "1", "--device", "cpu")
    assert code == 2
    assert "`wholes=1` is too few; expected 2 or more." in " ".join(err.split())
