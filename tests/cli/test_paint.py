"""`mindseye paint`, `mindseye retrieve` and other commands, with a model that paints."""

import json
import shutil

import pytest
from PIL import Image

SAID = "the digit three is at the top left of the image"


@pytest.fixture(scope="session")
def run(briefly_trained) -> str:
    return str(briefly_trained("captioned-mnist-comp/align-tiny").path)


def test_a_strip_is_painted(mindseye, folder, run):
    code, out, _ = mindseye("paint", SAID, "--model", run, "-n", "2", "--out", "strip.png")
    assert code == 0
    assert out.splitlines() == [f"{SAID}: 2 strokes, 2 pictures", "Wrote strip.png"]
    with Image.open(folder / "strip.png") as strip:
        assert strip.width > 200


def test_words_are_flipped_by_any_name(mindseye, run):
    flips = ("--flip", "3=5", "--flip", "top left=lower right", "--flip", "place=*")
    code, out, _ = mindseye("paint", "3, top left", "--model", run, *flips, "--json")
    assert code == 0
    said = [each["description"] for each in json.loads(out)["paintings"]]
    assert said == [
        SAID,
        SAID.replace("three", "five"),
        SAID.replace("top left", "bottom right"),
        SAID.replace("top left", "*"),
    ]


def test_the_built_in_model_paints_what_it_is_told(mindseye):
    """The observer of the package sees more than four words of five in draws of the pixels."""
    told = ("imagine", SAID, "--model", "captioned-mnist", "-n", "32", "--json")
    code, out, _ = mindseye(*told)
    assert code == 0
    assert json.loads(out)["judged right"] >= 0.8
    code, out, _ = mindseye("paint", SAID, "-n", "1", "--json")
    assert code == 0
    (painting,) = json.loads(out)["paintings"]
    assert painting["description"] == SAID


@pytest.mark.parametrize(("file", "kind"), [("film.gif", "GIF"), ("film.apng", "PNG")])
def test_a_film_is_written_where_one_is_named(mindseye, folder, run, file, kind):
    code, _, _ = mindseye("paint", "three", "--model", run, "--out", file)
    assert code == 0
    with Image.open(folder / file) as film:
        assert film.format == kind
        assert film.n_frames > 1  # those that are alike are one


def test_pictures_are_found(mindseye, folder, run):
    told = ("--among", "12", "-n", "3", "--json")
    code, out, _ = mindseye("retrieve", "three", "--model", run, *told)
    assert code == 0
    found = json.loads(out)
    nats = [each["nats"] for each in found["pictures"]]
    assert len(nats) == 3
    assert nats == sorted(nats, reverse=True)
    assert (folder / found["files"][0]).is_file()


def test_captions_are_imagined_described_and_evaluated(mindseye, folder, run):
    code, out, _ = mindseye("imagine", "three", "--model", run, "-n", "2", "--files")
    assert code == 0
    assert "1 of 2 attributes said; place left open" in out
    picture = next(folder.glob("imagined/**/0000.png"))
    code, out, _ = mindseye("describe", str(picture), "--model", run, "--json")
    assert code == 0
    (chances,) = json.loads(out).values()
    assert sum(chances["digit"].values()) == pytest.approx(1, abs=1e-3)
    code, out, _ = mindseye("evaluate", run, "--pictures", "8")
    assert code == 0
    assert "log p(x|y) of test, at least" in out
    assert "words right, combinations never seen: all" in out  # by the observer of the package


def test_an_observer_is_looked_for_among_the_same_runs(mindseye, briefly_trained, tmp_path):
    recipes = ("captioned-mnist-comp/align-tiny", "captioned-mnist/observer-tiny")
    for number, recipe in enumerate(recipes):
        shutil.copytree(briefly_trained(recipe).path, tmp_path / f"elsewhere/0000{number}-run")
    told = ("0", "--observer", "1", "--runs", "elsewhere", "--pictures", "8")
    code, out, err = mindseye("evaluate", *told)
    assert code == 0, err
    assert "words right: all" in out
    code, _, err = mindseye("evaluate", "0", "--observer", "2", "--runs", "elsewhere")
    assert code == 2
    assert "no run or built-in model is called '2'" in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("paint", "thre", "--model", "RUN"), "Did you mean 'three'?"),
        (("paint", "the digit twelve", "--model", "RUN"), "'twelve' is not a word here"),
        (("paint", "three " * 500, "--model", "RUN"), "has no place left"),
        (("paint", SAID, "--model", "mnist-a"), "`mnist-a` paints no captions"),
        (("paint", SAID, "--model", "RUN", "--flip", "three"), "has no second word"),
        (("paint", SAID, "--model", "RUN", "--flip", "five=six"), "'five' is not said in"),
        (("retrieve", "", "--model", "RUN"), "nothing is said"),
        (("imagine", SAID, "--model", "RUN", "--to", "five"), "is not walked between captions"),
        (("imagine", SAID, "--model", "RUN", "--traverse"), "has no dimensions to walk along"),
    ],
)
def test_a_mistake_is_one_line_and_a_hint(mindseye, run, arguments, words):
    code, out, err = mindseye(*(run if each == "RUN" else each for each in arguments))
    assert (code, out) == (2, "")
    assert words in err
    assert "Traceback" not in err
