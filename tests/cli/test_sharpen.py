"""A sharpener for a trained model at the command line: trained, used, and refused elsewhere."""

import sys

import numpy as np
import pytest

from mindseye import cli
from mindseye.papers import get_recipe
from mindseye.runs import Run, create, list_runs


@pytest.fixture(scope="module")
def base(briefly_trained) -> Run:
    return briefly_trained("captioned-mnist/align-tiny")


@pytest.fixture(scope="module")
def sharp(base) -> Run:
    """The run that `mindseye sharpen` makes."""
    root = str(base.path.parent)
    line = ["sharpen", base.name, "--runs", root, "--device", "cpu", "--width", "3", "--seed", "5"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["mindseye", *line, "--set", "steps=4", "--set", "lam=50"])
        with pytest.raises(SystemExit) as stop:
            cli.main()
    assert stop.value.code == 0
    return list_runs(root)[-1]


def refused(result: tuple[int, str, str], *words: str) -> None:
    code, out, err = result
    assert (code, out) == (2, "")
    assert "Traceback" not in err
    for word in words:
        assert word in " ".join(err.split())


def pictures(mindseye, run: Run, *options: str) -> np.ndarray:
    asked = ("imagine", "three", "--model", str(run.path), "-n", "2", "--npz", "--out", "a.png")
    code, _, err = mindseye(*asked, *options)
    assert code == 0, err
    with np.load("a.npz", allow_pickle=False) as file:
        return file["means"]


def test_a_sharpener_is_a_run_of_its_own(base, sharp):
    assert sharp.finished
    assert sharp.name == f"{int(base.name[:5]) + 1:05d}-captioned-mnist-align-tiny-sharp"
    recipe = sharp.recipe
    assert (recipe.start, recipe.model.sharpen) == (base.recipe.digest, 3)
    assert (recipe.training.steps, recipe.training.seed, recipe.weights) == (4, 5, {"lam": 50})
    assert (sharp.path / "samples.png").stat().st_size > 500


def test_the_model_below_is_the_one_that_was_trained_and_generators_learnt(base, sharp):
    model = sharp.model()
    weights = dict(model.base.named_parameters())
    assert all(p.equal(weights[name]) for name, p in base.model().named_parameters())
    assert all(generator.layers[-1].weight.any() for generator in model.generators)
    assert set(sharp.trained()[-1]["terms"]) == {"fool", "distance", "tell", "r1"}


def test_sharp_pictures_are_imagined_and_the_seed_decides_them(mindseye, base, sharp):
    found = pictures(mindseye, sharp)
    assert np.array_equal(found, pictures(mindseye, sharp))
    assert not np.array_equal(found, pictures(mindseye, sharp, "--seed", "1"))
    assert not np.array_equal(found, pictures(mindseye, base))
    assert (found.min() >= 0, found.max() <= 1) == (True, True)


def test_an_unfinished_run_is_named_with_how_to_go_on(mindseye, folder):
    run = create(get_recipe("captioned-mnist/align-tiny"), folder / "runs")
    told = mindseye("sharpen", run.name, "--device", "cpu")
    refused(told, f"{run.name} is not finished.", "hint: mindseye resume", run.name)
    assert len(list_runs(folder / "runs")) == 1


def test_what_is_sharp_is_not_sharpened_again(mindseye, sharp):
    told = mindseye("sharpen", str(sharp.path), "--device", "cpu")
    refused(told, "has a sharpener already.", "hint: Give one to the run that it began with.")


def test_a_model_that_paints_no_captions_is_refused(mindseye):
    told = mindseye("sharpen", "mnist-a", "--device", "cpu")
    refused(told, "`kind='joint'`; expected 'draw' or 'captioned'.", "captioned-mnist/align")
    assert list_runs("runs") == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--width", "-1"], "`sharpen=-1` must be between 0 and"),
        (["--set", "beta=3"], "`beta` is not a setting"),
        (["--set", "lam"], "`--set lam` has no value."),
    ],
)
def test_what_cannot_be_trained_is_refused_before_there_is_a_folder(
    mindseye, base, options, message
):
    refused(mindseye("sharpen", str(base.path), *options, "--device", "cpu"), message)
    assert list_runs("runs") == []
