"""Models of parts on the command line: compose, imagine, preview, and what they cannot do."""

import json
import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from mindseye import sweeps
from mindseye.composing import STATISTICS
from mindseye.evaluation.parts import evaluate_parts
from mindseye.papers import get_recipe
from mindseye.runs import Run, create


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> dict[str, Run]:
    """Tiny runs of curves and of pictures."""
    folder = tmp_path_factory.mktemp("runs")
    short = {"steps": "3"}
    made = {
        name: create(get_recipe(f"{name}/compvae-tiny").with_settings(short), folder)
        for name in ("sines", "sites")
    }
    for run in made.values():
        list(run.train())
    return made


@pytest.fixture
def sines(trained) -> str:
    return str(trained["sines"].path)


@pytest.fixture
def sites(trained) -> str:
    return str(trained["sites"].path)


def refused(result: tuple[int, str, str], *words: str) -> None:
    """One line that says it, at most one hint, no traceback, exit code 2."""
    code, out, err = result
    assert (code, out) == (2, ""), err
    assert re.fullmatch(r"error: [^\n]+\n(hint: [^\n]+\n)?", err), err
    for word in words:
        assert word in err, err


def told(result: tuple[int, str, str]) -> dict:
    """The JSON that a command printed."""
    code, out, err = result
    assert code == 0, err
    return json.loads(out)


def numbers(path: str) -> np.ndarray:
    return np.load(path, allow_pickle=False)


# Compose


def test_compose_writes_a_row_for_each_step_and_says_where(mindseye, folder, sines):
    code, out, err = mindseye("compose", sines, "f9, f2, f7", "--add", "f3", "--remove", "f7")
    assert code == 0, err
    lines = [re.split(r"\s{2,}", line)[:2] for line in out.splitlines()[:4]]
    assert lines == [
        ["step", "parts"],
        ["start", "f2, f7, f9"],
        ["+ f3", "f2, f3, f7, f9"],
        ["- f7", "f2, f3, f9"],
    ]
    assert "Drew 4 of 4 wholes, a row for each step, in imagined/f2,f7,f9-seed0.png" in out
    with Image.open(folder / "imagined" / "f2,f7,f9-seed0.png") as sheet:
        assert sheet.height > 3 * 92


def test_steps_are_taken_in_the_order_they_are_written(mindseye, sines):
    changes = ["--remove", "f2", "--add", "f3", "--replace", "f3=2×f5", "--add=f1", "--remove=f5"]
    report = told(mindseye("compose", sines, "f2, f7", *changes, "--json"))
    assert [step["step"] for step in report["steps"]] == [
        "start",
        "- f2",
        "+ f3",
        "f3 → 2×f5",
        "+ f1",
        "- f5",
    ]
    assert report["steps"][-1]["parts"] == "f1, f5, f7"


def test_steps_there_and_back_change_nothing(mindseye, sines):
    there = ["--add", "f3", "--remove", "f3"]
    report = told(mindseye("compose", sines, "2×f2, f7", *there, "--save", "a.npy", "--json"))
    assert report["steps"][1]["change"] > 0
    told(mindseye("compose", sines, "f7, 2×f2", "--save", "b.npy", "--json"))
    np.testing.assert_allclose(numbers("a.npy"), numbers("b.npy"), atol=1e-5)


def test_adding_is_composing_with_one_part_more(mindseye, sines):
    told(mindseye("compose", sines, "f2, f7", "--add", "f2", "--save", "a.npy", "--json"))
    told(mindseye("compose", sines, "2×f2, f7", "--save", "b.npy", "--json"))
    np.testing.assert_allclose(numbers("a.npy"), numbers("b.npy"), atol=1e-5)


def test_numbers_are_saved_as_an_array_or_as_text(mindseye, sines):
    for name in ("a.npy", "a.csv"):
        report = told(mindseye("compose", sines, "f2", "-n", "3", "--save", name, "--json"))
        assert report["files"][1] == name
    assert numbers("a.npy").shape == (3, 200)
    np.testing.assert_array_equal(
        np.loadtxt("a.csv", delimiter=",", dtype=np.float32), numbers("a.npy")
    )
    told(mindseye("compose", sines, "f2", "-n", "3", "--seed", "1", "--save", "b.npy", "--json"))
    assert not np.array_equal(numbers("a.npy"), numbers("b.npy"))


def test_all_wholes_are_saved_also_those_that_are_not_drawn(mindseye, sines):
    _, out, _ = mindseye("compose", sines, "f2", "-n", "20", "--save", "a.npy")
    assert "Drew 6 of 20 wholes" in out
    assert "the 20 after the last step to a.npy" in out
    assert len(numbers("a.npy")) == 20


def test_an_observed_whole_is_taken_apart_first(mindseye, sines):
    Path("one.csv").write_text("\n".join(f"{np.sin(t / 8):.4f}" for t in range(200)))
    observed = ["--from", "one.csv", "--of", "f2, f7"]
    report = told(mindseye("compose", sines, *observed, "--add", "f3", "--json"))
    assert report["n"] == 1
    first, second = report["steps"]
    assert (first["step"], first["parts"]) == ("taken apart", "f2, f7")
    assert first["change"] > 0  # from what was observed
    assert second["parts"] == "f2, f3, f7"
    np.save("two.npy", np.zeros((2, 200)))
    report = told(mindseye("compose", sines, "--from", "two.npy", "--of", "f1", "--json"))
    assert (report["n"], report["files"]) == (2, ["imagined/two-seed0.png"])


def test_pictures_are_taken_apart_and_put_together(mindseye, sites):
    there = "red@0.2,-0.5; blue@0.6,0.1"
    options = ["-n", "1", "--marks", "--beside", "sum", "--save", "x.npy", "--json"]
    told(mindseye("compose", sites, there, *options))
    assert numbers("x.npy").shape == (1, 3, 32, 32)
    pixels = np.rint(255 * numbers("x.npy")[0].clip(0, 1)).astype(np.uint8)
    Image.fromarray(np.moveaxis(pixels, 0, -1)).save("x.png")
    moved = ["--replace", "blue@0.6,0.1=blue@0,0"]
    for file in ("x.png", "x.npy"):
        report = told(mindseye("compose", sites, "--from", file, "--of", there, *moved, "--json"))
        assert report["steps"][1]["parts"] == "red@0.2,-0.5; blue@0,0"


def test_a_part_is_moved_with_all_that_is_its_own(mindseye, sites, trained):
    words = ["compose", sites, "red@0.2,-0.5; blue@0.6,0.1", "--move", "red@0.2,-0.5=-0.3,0.4"]
    report = told(mindseye(*words, "--beside", "truth", "--save", "a.npy", "--json"))
    assert [step["parts"] for step in report["steps"]] == [
        "red@0.2,-0.5; blue@0.6,0.1",
        "red@-0.3,0.4; blue@0.6,0.1",
    ]
    assert report["steps"][1]["step"] == "red@0.2,-0.5 → red@-0.3,0.4"
    composer = trained["sites"].composer()
    before = composer.composed("red@0.2,-0.5; blue@0.6,0.1", 4)
    after = composer.moved(before, "red@0.2,-0.5", -0.3, 0.4).means
    np.testing.assert_allclose(numbers("a.npy"), after.numpy(), atol=1e-5)


def test_truth_and_the_sum_of_parts_have_rows_of_their_own(mindseye, sites):
    words = ["compose", sites, "red@0.2,-0.5; blue@0.6,0.1", "--add", "green@0,0"]
    heights = []
    for beside in ([], ["truth"], ["sum", "truth"]):
        more = [word for each in beside for word in ("--beside", each)]
        told(mindseye(*words, *more, "--out", "a.png", "--json"))
        with Image.open("a.png") as sheet:
            heights.append(sheet.height)
    one, two, three = heights
    assert two - one == three - two >= 2 * 128  # a row for each of two steps


def test_means_are_drawn_of_many_wholes(mindseye, sines):
    code, out, err = mindseye("compose", sines, "f2, f7", "--spread", "--beside", "truth")
    assert code == 0, err
    assert "Drew the mean of 64 wholes, a row for each step" in out


def test_wholes_are_drawn_toward_a_statistic(mindseye, sines):
    ends = {}
    for quantile in ("0,0.1", "0.9,1"):
        options = ["--toward", "max", "--quantile", quantile, "-n", "8", "--save", "x.npy"]
        report = told(mindseye("compose", sines, "f2, f7", *options, "--json"))
        assert report["n"] == 8
        ends[quantile] = numbers("x.npy").max(1)
    assert ends["0,0.1"].max() < ends["0.9,1"].min()


def test_help_names_every_statistic(mindseye):
    help_ = " ".join(mindseye("compose", "--help")[1].split())
    assert "max, min, mean, range or energy" in help_
    assert list(STATISTICS) == ["max", "min", "mean", "range", "energy"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], ["names no part", "such as 'f1'"]),
        (["f22"], ["'f22' is not a part", "Did you mean 'f2'?"]),
        (["f2", "--remove", "f3"], ["`f3` cannot be taken away", "has none of it"]),
        (["f2", "--remove", "f2"], ["`--remove f2` leaves nothing"]),
        (["f2", "--replace", "f2"], ["has no new part", "--replace OLD=NEW"]),
        (["f2", "--replace", "f3=f4"], ["`f3` cannot be taken away: `f2` has none"]),
        (["f2", "--replace", "f2="], ["names no part"]),
        (["f2", "--from", "x.csv"], ["`--of` is missing"]),
        (["--of", "f2"], ["`--from` is missing"]),
        (["f2", "--from", "x.csv", "--of", "f2"], ["are both parts", "after --of"]),
        (["--from", "x.csv", "--of", "f2", "-n", "2"], ["`-n` says nothing with --from"]),
        (["--from", "x.csv", "--of", "f2", "--toward", "max"], ["`--toward` says nothing"]),
        (["--from", "x.csv", "--of", "f2"], ["x.csv: No such file"]),
        (["f2", "--toward", "top"], ["'top'", "expected 'max'"]),
        (["f2", "--quantile", "0.1,0.2"], ["of what?", "--toward max"]),
        (["f2", "--toward", "max", "--quantile", "high"], ["is not two numbers"]),
        (["f2", "--toward", "max", "--quantile", "0.9,0.1"], ["the second larger"]),
        (["f2", "--save", "x.txt"], ["'.npy' or '.csv'"]),
        (["f2", "--marks"], ["`--marks` rings parts at their places"]),
        (["f2", "--device", "warp9"], ["--device warp9"]),
        (["f2", "--move", "f2=0.3"], ["--move f2=0.3", "no places", "--replace"]),
        (["f2", "--spread", "--beside", "sum"], ["--beside sum", "--spread"]),
    ],
)
def test_what_cannot_be_meant_is_one_line(mindseye, folder, sines, arguments, words):
    refused(mindseye("compose", sines, *arguments), *words)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("1\n2\n3\n", ["x.csv has 3 values; this model's curves have 200"]),
        ("nan\n" + 199 * "0\n", ["x.csv has 1 values that are NaN or infinite"]),
        ("time,load\n", ["x.csv, line 1: 'time' is not a number"]),
    ],
)
def test_files_that_are_no_wholes_are_one_line(mindseye, sines, content, words):
    Path("x.csv").write_text(content)
    refused(mindseye("compose", sines, "--from", "x.csv", "--of", "f2"), *words)


@pytest.mark.parametrize(
    ("move", "words"),
    [
        ("red@0.2,-0.5", ["must be one part and a place", "red@0.2,-0.5=0.3,-0.4"]),
        ("2×red@0.2,-0.5=0,0", ["must be one part and a place"]),
        ("red@0.2,-0.5=2,0", ["`x` of `red` (=2.0)", "from -1 to 1"]),
        ("red@0.1,-0.5=0,0", ["cannot be taken away", "Did you mean 'red@0.2,-0.5'?"]),
    ],
)
def test_places_that_cannot_be_moved_to_are_one_line(mindseye, sites, move, words):
    refused(mindseye("compose", sites, "red@0.2,-0.5", "--move", move), *words)


def test_unknown_options_are_found_before_anything_else(mindseye, sines):
    code, _, err = mindseye("compose", sines, "f2", "--ad", "f3")
    assert code == 2
    assert "--ad" in err


def test_models_of_words_are_not_composed(mindseye):
    told = mindseye("compose", "mnist-a", "f2")
    refused(told, "knows nothing of parts", "sines, sites and loads")


# Imagine


def test_imagine_takes_parts_where_the_model_has_parts(mindseye, folder, sines):
    code, out, err = mindseye("imagine", "f7, 3×f2", "--model", sines, "-n", "3")
    assert code == 0, err
    assert "p(x | 3×f2, f7): 4 parts said" in out
    assert "Wrote 3 wholes to imagined/3xf2,f7-seed0.png" in out
    assert (folder / "imagined" / "3xf2,f7-seed0.png").is_file()


@pytest.mark.parametrize("kind", ["sines", "sites"])
def test_single_wholes_and_arrays_are_those_of_the_sheet(mindseye, folder, trained, kind):
    run = trained[kind]
    said = {"sines": "f2, f7", "sites": "red@0,0; blue@0.5,0.5"}[kind]
    extra = ["--files", "--npz", "--samples", "--out", "x.png", "--json"]
    report = told(mindseye("imagine", said, "-m", str(run.path), "-n", "2", *extra))
    assert report["files"] == ["x.png", "x/0000.png", "x/0001.png", "x.npz"]
    assert (report["description"], len(report["parts"])) == (said, 2)
    with np.load("x.npz", allow_pickle=False) as file:
        arrays = dict(file)
    expected = run.composer().composed(said, 2)
    np.testing.assert_allclose(arrays["means"], expected.means, atol=1e-6)
    np.testing.assert_allclose(arrays["samples"], expected.draws(), atol=1e-6)


def test_parts_are_added_one_by_one_on_a_ladder(mindseye, sites):
    said = ["red@0,0; blue@0.5,0.5; white@-0.5,0", "-m", sites]
    report = told(mindseye("imagine", *said, "--ladder", "--marks", "-n", "2", "--json"))
    assert report["n"] == 6
    with Image.open(report["files"][0]) as sheet:
        assert sheet.height > 3 * 128


@pytest.mark.parametrize(
    "options",
    [
        ["--to", "f3"],
        ["--lattice"],
        ["--traverse"],
        ["--steps", "5"],
        ["--span", "2"],
        ["--product"],
        ["--temperature", "0"],
        ["--observer", "mnist-a-observer"],
    ],
)
def test_options_that_mean_nothing_for_parts_are_refused(mindseye, sines, options):
    refused(mindseye("imagine", "f2", "-m", sines, *options), options[0], "`mindseye compose`")


def test_other_slips_are_one_line(mindseye, sines):
    refused(mindseye("imagine", "", "-m", sines), "names no part")
    refused(mindseye("imagine", "f2", "-m", sines, "--out", "x.gif"), "is a film")
    refused(mindseye("imagine", "f2", "-m", sines, "-n", "0"), "between 1 and 10000")
    refused(mindseye("imagine", "f2", "-m", sines, "--marks"), "`--marks`")
    refused(mindseye("imagine", "4", "--marks"), "`--marks`")


# What the other commands make of such runs


@pytest.mark.parametrize("name", ["sines", "sites", "loads"])
def test_real_wholes_are_previewed_with_their_parts(mindseye, folder, name):
    code, out, err = mindseye("data", "preview", name, "-n", "5")
    assert code == 0, err
    assert f"Wrote 5 real wholes to imagined/{name}-train-seed0.png" in out
    marks = ["--marks"] if name == "sites" else []
    said = {"sines": "3×f2", "sites": "red@0,0", "loads": "2×solar"}[name]
    assert mindseye("data", "preview", name, "--concept", said, "-n", "2", *marks)[0] == 0
    refused(mindseye("data", "preview", name, "--concept", "digit=4"), "digit=4")


def test_a_trained_run_has_samples_and_says_what_to_try(mindseye):
    code, out, err = mindseye("train", "sines/compvae-tiny")
    assert code == 0, err
    assert "samples.png" in out
    assert 'Try: mindseye compose runs/00000-sines-compvae-tiny "3×f1, f10"' in out
    with Image.open("runs/00000-sines-compvae-tiny/samples.png") as sheet:
        assert sheet.width > 1000


def test_a_run_that_was_stopped_goes_on(mindseye):
    run = create(get_recipe("sines/compvae-tiny").with_settings({"checkpoint_every": "4"}))
    records = run.train()
    while next(records).step < 8:
        pass
    records.close()
    assert not run.finished
    code, _, err = mindseye("resume", "0")
    assert code == 0, err
    assert (run.path / "samples.png").is_file()


def test_runs_are_shown_listed_cited_and_given_away(mindseye, sines):
    assert "compvae" in mindseye("show", sines)[1]
    assert Path(sines).name in mindseye("list", "--runs", str(Path(sines).parent))[1]
    assert "berger2020" in mindseye("cite", sines)[1]
    assert mindseye("export", sines, "given")[0] == 0
    assert mindseye("compose", "given", "f2")[0] == 0


def test_wholes_of_many_parts_are_told_briefly_in_the_table_and_whole_in_json(mindseye, sines):
    many = ", ".join(f"{11 * n}×f{n}" for n in range(2, 11))
    code, out, _ = mindseye("compose", sines, f"{many}, f1", "-n", "1")
    assert code == 0
    assert max(map(len, out.splitlines()[:2])) < 120
    assert "…" in out
    found = json.loads(mindseye("compose", sines, f"{many}, f1", "-n", "1", "--json")[1])
    assert found["steps"][0]["parts"] == f"f1, {many}"


def test_what_needs_words_says_that_there_are_none(mindseye, sines):
    np.save("x.npy", np.zeros((1, 1, 200)))
    for command in (
        ["describe", "x.npy", "--model", sines],
        ["experts", "f2", "--model", sines],
        ["plane", sines],
    ):
        refused(mindseye(*command), "knows wholes by their parts, and no words", "mindseye compose")
    scored = ["--over", "seed=0,1", "--score", "quick"]
    told = mindseye("sweep", "sines/compvae-tiny", *scored)
    refused(told, "`--score quick` does not fit", "Score its parts: --score parts.")


def test_a_sweep_scores_models_of_parts_on_validation_wholes_once(mindseye, monkeypatch):
    few = partial(evaluate_parts, wholes=2, draws=2)
    monkeypatch.setattr(sweeps, "evaluate_parts", few)
    asked = ["sweep", "sines/compvae-tiny", "--over", "width=2,3", "--set", "steps=2"]
    asked += ["--set", "data.most=2", "--score", "parts", "--json"]
    code, out, err = mindseye(*asked)
    assert code == 0, err
    found = json.loads(out)["runs"]
    for run in found:
        kept = json.loads(Path(run["run"], "parts-validation.json").read_text())
        assert kept["part"] == "validation"
        assert run["scores"]["bound 2"] == kept["rows"][1]["values"]["bound"]["mean"]
        assert {f"recall {size}" for size in (1, 2, 20, 24, 30)} < run["scores"].keys()
    monkeypatch.setattr(sweeps, "evaluate_parts", None)  # nothing is measured again
    assert json.loads(mindseye(*asked)[1])["runs"] == found
    refused(
        mindseye("sweep", "mnist-a/telbo-tiny", "--over", "seed=0,1", "--score", "parts"),
        "`--score parts` does not fit",
        "paper, ours or quick",
    )


def test_a_sweep_trains_models_of_parts(mindseye):
    short = ["--set", "steps=2"]
    code, out, err = mindseye("sweep", "sines/compvae-tiny", "--over", "seed=0,1", *short)
    assert code == 0, err
    assert out.count("finished") == 2
