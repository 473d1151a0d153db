"""Flows for a trained model at the command line: fitted, used, and refused where there are none."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mindseye import cli
from mindseye.papers import cremer, get_recipe
from mindseye.runs import Run, create, list_runs, reading


@pytest.fixture(scope="module", autouse=True)
def few_readings():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "AT_ONCE", 32)
        yield


@pytest.fixture(scope="module")
def root(few_readings, tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("runs")


def briefly(name: str, root: Path, settings: dict[str, str] | None = None) -> Run:
    recipe = get_recipe(name).with_settings(settings or {})
    run = create(replace(recipe, training=replace(recipe.training, steps=2)), root)
    list(run.train())
    return run


@pytest.fixture(scope="module")
def base(root) -> Run:
    return briefly("one-object/vlvae-tiny", root)


def fitted(run: Run, *options: str) -> Run:
    """The run that `mindseye aggregate` makes."""
    root = str(run.path.parent)
    line = ["aggregate", run.name, "--runs", root, "--device", "cpu", "--set", "steps=4"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["mindseye", *line, *options])
        with pytest.raises(SystemExit) as stop:
            cli.main()
    assert stop.value.code == 0
    return list_runs(root)[-1]


@pytest.fixture(scope="module")
def flows(base) -> Run:
    return fitted(base, "--couplings", "2")


def flat(text: str) -> str:
    return " ".join(text.split())


def refused(result: tuple[int, str, str], *words: str) -> None:
    code, out, err = result
    assert code == 2
    assert out == ""
    assert "Traceback" not in err
    for word in words:
        assert word in flat(err)


def test_flows_are_a_run_of_their_own(base, flows):
    assert flows.finished
    assert flows.name == f"{int(base.name[:5]) + 1:05d}-one-object-vlvae-tiny-aggregate"
    assert flows.recipe.start == base.recipe.digest
    assert (flows.recipe.model.flow, flows.recipe.model.reads) == (2, "q_x")
    assert flows.recipe.training.steps == flows.log()[-1]["step"] == 4
    assert (flows.path / "samples.png").stat().st_size > 500
    weights = dict(flows.model().base.named_parameters())
    assert all(p.equal(weights[name]) for name, p in base.model().named_parameters())


def test_flows_imagine_captions(mindseye, flows):
    code, out, err = mindseye(
        *("imagine", "large blue", "--model", str(flows.path), "-n", "2", "--npz", "--out", "a.png")
    )
    assert code == 0, err
    assert "q(z | large blue): 2 of 2 attributes said" in out
    with np.load("a.npz", allow_pickle=False) as file:
        assert file["means"].shape == (2, 3, 16, 16)
        assert not np.array_equal(file["latents"][0], file["latents"][1])


def test_the_model_below_imagines_nothing_and_says_how_to(mindseye, base):
    told = mindseye("imagine", "large blue", "--model", str(base.path))
    refused(told, "imagines nothing from words", f"`mindseye aggregate {base.name}` fits one to it")


def test_without_an_observer_flows_have_bounds_alone(mindseye, flows):
    code, out, err = mindseye(
        "evaluate", str(flows.path), "--pictures", "4", "--device", "cpu", "--json"
    )
    assert code == 0, err
    assert "Without an observer only bounds are measured" in flat(err)
    found = json.loads(out, parse_constant=pytest.fail)
    assert (found["part"], found["pictures"]) == ("test", 4)
    assert not [name for name in found["values"] if "correct" in name or "pictures" in name]
    mean = {name: each["mean"] for name, each in found["values"].items()}
    split = mean["KL(q(z|x), q(z))"] + mean["KL(q(z), p)"]
    assert mean["KL(q(z|x), p)"] == pytest.approx(split, abs=1e-4)


def test_an_option_of_other_measures_says_nothing_of_captions(mindseye, flows):
    told = mindseye("evaluate", str(flows.path), "--samples", "3", "--device", "cpu")
    refused(told, "`--samples` says nothing here", "is captions.")


@pytest.mark.parametrize("count", ["0", "-3"])
def test_no_pictures_are_refused(mindseye, flows, count):
    told = mindseye("evaluate", str(flows.path), "--pictures", count, "--device", "cpu")
    refused(told, f"`pictures={count}` is too few; expected 1 or more.")


def test_the_true_posterior_is_another_target(mindseye, base):
    made = fitted(base, "--target", "true", "--hidden", "8", "--seed", "5")
    assert made.name.endswith("-one-object-vlvae-tiny-true-posterior")
    assert made.recipe.objectives == ("true-posterior",)
    assert (made.recipe.model.flow_hidden, made.recipe.training.seed) == (8, 5)
    assert made.recipe.model.normals == 0  # it fits no q(z)
    assert not made.model().knows_aggregate
    code, out, err = mindseye(
        *("imagine", "small", "--model", str(made.path), "-n", "1", "--out", "a.png")
    )
    assert code == 0, err
    assert "1 of 2 attributes said; colour left open" in out


@pytest.mark.parametrize(
    ("asked", "normals"),
    [((), 16), (("--base", "autoregressive"), 16), (("--base", "normal"), 0)],
)
def test_what_q_of_z_begins_with_may_be_chosen(base, asked, normals):
    made = fitted(base, *asked)
    assert made.recipe.model.normals == normals
    assert made.model().knows_aggregate


def test_another_base_of_q_of_z_is_refused(mindseye, base):
    told = mindseye("aggregate", str(base.path), "--base", "norm")
    refused(told, "'norm' is not one of 'autoregressive', 'normal'")
    told = mindseye("aggregate", str(base.path), "--target", "true", "--base", "autoregressive")
    refused(told, "`base='autoregressive'` says nothing here", "'true-posterior' fits no q(z)")


def test_a_model_that_believed_nothing_of_words_does_with_flows(mindseye, root):
    run = briefly("mnist-a/jvae-tiny", root, {"source": "digits"})
    asked = ("imagine", "digit=4", "-n", "1", "--no-judge", "--out", "a.png", "--model")
    refused(mindseye(*asked, str(run.path)), "imagines nothing from words")
    made = fitted(run, "--couplings", "1", "--set", "batch_size=4")
    assert made.recipe.model.reads == "q_xy"
    code, out, err = mindseye(*asked, str(made.path))
    assert code == 0, err
    assert "1 of 4 attributes said" in out


def test_an_unfinished_run_is_named_with_how_to_go_on(mindseye, folder):
    run = create(get_recipe("one-object/vlvae-tiny"), folder / "runs")
    told = mindseye("aggregate", run.name, "--device", "cpu")
    refused(told, f"{run.name} is not finished.", "hint: mindseye resume", run.name)
    assert len(list_runs(folder / "runs")) == 1


def test_flows_are_told_how_many_pictures_there_are(mindseye, base, tmp_path, monkeypatch):
    monkeypatch.setattr(cremer, "MANY", 2**50)  # pictures of one object are as many as one likes
    monkeypatch.setattr(cremer, "SEEN", 0)
    code, _, err = mindseye("aggregate", str(base.path), "--runs", str(tmp_path), "--device", "cpu")
    assert code == 0, err
    (made,) = list_runs(tmp_path)
    assert made.recipe.training.steps == made.log()[-1]["step"] == 1


def test_flows_are_not_fitted_to_flows(mindseye, flows):
    told = mindseye("aggregate", str(flows.path), "--device", "cpu")
    refused(told, "has flows already.", "hint: Fit them to the run that it began with.")


def test_an_observer_has_no_latents(mindseye):
    told = mindseye("aggregate", "mnist-a-observer", "--device", "cpu")
    refused(told, "`kind='observer'`; expected 'joint', 'vae', 'factor', 'vlvae' or 'comp'.")
    assert list_runs("runs") == []


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("mnist/vae-2l-tiny", "deep"),
        ("mnist/ladder-tiny", "ladder"),
        ("mnist/dgm-tiny", "semi"),
        ("captioned-mnist/align-tiny", "draw"),
        ("captioned-mnist/align-sharp-tiny", "draw"),
        ("captioned-mnist/dense-tiny", "captioned"),
        ("cora/vgae-tiny", "graph"),
    ],
)
@pytest.mark.parametrize("target", ["aggregate", "true"])
def test_a_model_without_one_vector_of_latents_is_refused(mindseye, folder, name, kind, target):
    made = create(get_recipe(name), folder / "runs")
    (made.path / "weights.safetensors").touch()
    told = mindseye("aggregate", made.name, "--target", target, "--device", "cpu")
    refused(told, f"`kind='{kind}'`; expected", "hint: It needs one latent vector")
    assert len(list_runs("runs")) == 1


# Parts


@pytest.fixture(scope="module")
def whole(root) -> Run:
    return briefly("sines/compvae-tiny", root)


@pytest.fixture(scope="module")
def parts(whole) -> Run:
    return fitted(whole, "--couplings", "2", "--set", "batch_size=32")


def test_a_model_of_parts_has_a_flow_and_is_one_still(whole, parts):
    assert parts.name.endswith("-sines-compvae-tiny-aggregate")
    assert parts.recipe.start == whole.recipe.digest
    assert (parts.recipe.objectives, parts.recipe.model.flow) == (("aggregate-parts",), 2)
    assert (parts.path / "samples.png").stat().st_size > 500
    weights = dict(parts.model().base.named_parameters())
    assert all(p.equal(weights[name]) for name, p in whole.model().named_parameters())


def test_parts_with_a_flow_come_and_go_without_a_trace(mindseye, parts):
    steps = ["--add", "f3", "--remove", "f3", "--save", "a.npy"]
    code, out, err = mindseye("compose", str(parts.path), "f2, f7", *steps, "--json")
    assert code == 0, err
    assert json.loads(out)["steps"][1]["change"] > 0
    mindseye("compose", str(parts.path), "f2, f7", "--save", "b.npy")
    assert np.array_equal(np.load("a.npy"), np.load("b.npy"))
    observed = ["--from", "a.npy", "--of", "f2, f7", "--replace", "f2=f5"]
    assert mindseye("compose", str(parts.path), *observed)[0] == 0
    code, out, err = mindseye("imagine", "f2, f7", "--model", str(parts.path), "--out", "a.png")
    assert code == 0, err


def test_parts_with_a_flow_are_measured_shown_and_given_away(mindseye, parts):
    few = ["--wholes", "2", "--draws", "2", "--device", "cpu", "--json"]
    code, out, err = mindseye("evaluate", str(parts.path), *few)
    assert code == 0, err
    assert json.loads(out)["checks"] == {"order": 0, "added and removed": 0}
    assert "aggregate-parts" in mindseye("show", str(parts.path))[1]
    cited = mindseye("cite", str(parts.path))[1]
    assert "cremer2018" in cited
    assert "berger2020" in cited
    assert mindseye("export", str(parts.path), "given")[0] == 0
    assert mindseye("compose", "given", "f2")[0] == 0


def test_parts_have_no_true_posterior_and_no_words_to_leave_out(mindseye, whole, parts):
    asked = ["aggregate", str(whole.path), "--device", "cpu"]
    told = mindseye(*asked, "--target", "true")
    refused(told, "by 'true-posterior' to a model of `kind='comp'`", "hint:", "--target aggregate.")
    refused(mindseye(*asked, "--set", "drop=0.5"), "`drop` is not a setting")
    refused(mindseye("aggregate", str(parts.path)), "has flows already.")
    assert list_runs("runs") == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--couplings", "0"], "`couplings=0` is too few"),
        (["--hidden", "-1"], "`flow_hidden=-1` must be between 0 and"),
        (["--set", "lam=3"], "`lam` is not a setting"),
        (["--target", "prior"], "'prior' is not one of 'aggregate', 'true'"),
    ],
)
def test_what_cannot_be_fitted_is_refused_before_there_is_a_folder(
    mindseye, base, options, message
):
    refused(mindseye("aggregate", str(base.path), *options, "--device", "cpu"), message)
    assert list_runs("runs") == []


def test_a_recipe_of_flows_needs_a_run_to_begin_with(mindseye):
    told = mindseye("train", "one-object/vlvae-agg-tiny", "--device", "cpu")
    refused(told, "fits flows to a trained model.", "--start", "`mindseye aggregate RUN`")
    assert list_runs("runs") == []
