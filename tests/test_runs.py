"""Runs: a folder is made, trained, left, taken up again, opened, and refused when damaged."""

import errno
import json
import os
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from mindseye import runs
from mindseye.errors import DataError, UsageError
from mindseye.evaluation.captions import evaluate_captions
from mindseye.models import Draw, ImprintVAE, JointVAE, Observer
from mindseye.papers import Recipe, get_recipe
from mindseye.runs import Run, create, estimate, find, list_runs, load, load_observer, making
from mindseye.runs.making import fresh
from mindseye.tensors import read_tensors, write_tensors
from mindseye.training import Record

SETTINGS = {"source": "digits", "steps": "30", "log_every": "5", "checkpoint_every": "10"}
RECIPE = get_recipe("mnist-a/telbo-tiny").with_settings(SETTINGS)
OBSERVER = get_recipe("mnist-a/observer-tiny").with_settings(SETTINGS)


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def finished(root) -> Run:
    """A run that was trained in one go."""
    run = create(RECIPE, root)
    for _ in run.train():
        pass
    return run


@pytest.fixture(scope="module")
def observer(root, finished) -> Run:
    run = create(OBSERVER, root)
    for _ in run.train():
        pass
    return run


@pytest.fixture
def copy(finished, tmp_path) -> Run:
    """A copy of the finished run that may be spoilt."""
    return Run(Path(shutil.copytree(finished.path, tmp_path / finished.name)))


def interrupted(root: Path, kind: str, step: int) -> Run:
    """A run that was left at a record."""
    run = create(RECIPE, root)
    records = run.train()
    for record in records:
        if (record.kind, record.step) == (kind, step):
            break
    records.close()
    return run


def steps(run: Run, kind: str = "train") -> list[int]:
    return [record["step"] for record in run.log() if record["kind"] == kind]


# Folders


def test_runs_are_numbered_after_the_last(tmp_path):
    paths = [create(RECIPE, tmp_path / "new" / "runs").path for _ in range(2)]
    assert [p.name for p in paths] == ["00000-mnist-a-telbo-tiny", "00001-mnist-a-telbo-tiny"]
    (tmp_path / "new" / "runs" / "00041-something").mkdir()
    (tmp_path / "new" / "runs" / "notes.txt").touch()
    assert create(OBSERVER, tmp_path / "new" / "runs").name == "00042-mnist-a-observer-tiny"


def test_a_number_taken_meanwhile_is_passed_over(tmp_path, monkeypatch):
    create(RECIPE, tmp_path)
    # as if the folder had been empty
    monkeypatch.setattr("mindseye.runs.run._number", lambda path: -1)
    assert create(RECIPE, tmp_path).name == "00001-mnist-a-telbo-tiny"


def test_a_new_run_knows_its_recipe_and_nothing_else(tmp_path):
    run = create(RECIPE, tmp_path)
    assert Run(run.path).recipe == RECIPE
    assert [path.name for path in run.path.iterdir()] == ["recipe.json"]
    assert not run.finished
    assert run.log() == []
    assert run.summary()["steps"] == "0/30"
    with pytest.raises(DataError, match=r"has no weights yet\. `mindseye resume .*` trains it"):
        run.model()


@pytest.mark.parametrize("change", [{"networks": "lee"}, {"data.name": "mnist-2bit"}])
def test_a_model_that_cannot_be_built_gets_no_folder(tmp_path, change):
    with pytest.raises(UsageError, match=r"`networks='lee'`|draw 64 by 64 pixels"):
        create(RECIPE.with_settings(change), tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


def test_runs_are_listed_oldest_first(tmp_path):
    made = [create(recipe, tmp_path) for recipe in (RECIPE, OBSERVER, RECIPE)]
    (tmp_path / "00001-empty").mkdir()
    assert list_runs(tmp_path) == made
    assert list_runs(tmp_path / "none") == []


def test_a_run_is_found_by_folder_name_and_number(tmp_path):
    first, second = create(RECIPE, tmp_path), create(OBSERVER, tmp_path)
    assert find(second.path) == second
    assert find(second.name, tmp_path) == second
    assert find("1", tmp_path) == second
    assert find("00000", tmp_path) == first


def test_a_number_of_two_runs_is_refused(tmp_path):
    run = create(RECIPE, tmp_path)
    shutil.copytree(run.path, tmp_path / "00000-copy")
    message = "'0' could be '00000-copy' or '00000-mnist-a-telbo-tiny'; write one of them"
    with pytest.raises(UsageError, match=message):
        find("0", tmp_path)


@pytest.mark.parametrize("name", ["7", "²", "mnist-b", "", "a\0b"])
def test_a_run_that_is_not_there_is_refused(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises((UsageError, DataError), match=r"no run or built-in|is not a run"):
        find(name, tmp_path / "runs")


def test_a_misspelt_run_gets_the_nearest(tmp_path):
    create(RECIPE, tmp_path)
    with pytest.raises(UsageError, match="Did you mean '00000-mnist-a-telbo-tiny'"):
        find("0000-mnist-telbo-tiny", tmp_path)


def test_a_folder_that_is_no_run_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"is not a run: it has no recipe\.json"):
        find(tmp_path)


# Training


def test_training_leaves_what_the_documentation_says(finished):
    files = {path.name for path in finished.path.iterdir()}
    assert files == {
        "recipe.json",
        "log.jsonl",
        "checkpoints",
        "weights.safetensors",
        "samples.png",
        "provenance.json",
    }
    assert finished.finished
    assert [path.name for path in sorted((finished.path / "checkpoints").iterdir())] == [
        "step-00000020",
        "step-00000030",
    ]


def test_the_log_has_one_record_a_line(finished):
    lines = (finished.path / "log.jsonl").read_text().splitlines()
    assert finished.log() == [json.loads(line) for line in lines]
    assert steps(finished) == [5, 10, 15, 20, 25, 30]
    assert steps(finished, "checkpoint") == [10, 20, 30]
    assert steps(finished, "done") == [30]
    terms = finished.log()[0]["terms"]
    assert {"log_px_qxy", "log_py_qy", "kl_qx_p"} <= set(terms)


def test_a_summary_says_how_far_it_is(finished):
    summary = finished.summary()
    assert summary["steps"] == "30/30"
    assert summary["state"] == "finished"
    assert summary["objective"] == "telbo"
    assert summary["bound"] < 0


def test_training_raises_the_bound(finished):
    bounds = [record["bound"] for record in finished.log() if record["kind"] == "train"]
    assert bounds[-1] > bounds[0]


def test_training_twice_gives_the_same_weights_whatever_else_is_random(finished, tmp_path):
    torch.manual_seed(123)
    run = create(RECIPE, tmp_path)
    for _ in run.train():
        torch.rand(3)
    same = (run.path / "weights.safetensors").read_bytes()
    assert same == (finished.path / "weights.safetensors").read_bytes()


def test_training_leaves_the_global_random_state_alone(tmp_path):
    before = torch.random.get_rng_state()
    records = create(RECIPE, tmp_path).train()
    next(records)
    records.close()
    assert torch.equal(before, torch.random.get_rng_state())


def test_another_seed_gives_other_weights(finished, tmp_path):
    run = create(RECIPE.with_settings({"seed": "1", "steps": "1"}), tmp_path)
    for _ in run.train():
        pass
    assert not torch.equal(
        run.model().label_encoder.embedding, finished.model().label_encoder.embedding
    )


# Resuming


@pytest.mark.parametrize(("kind", "step"), [("train", 5), ("train", 15), ("checkpoint", 20)])
def test_a_resumed_run_ends_bit_identical(finished, tmp_path, kind, step):
    run = interrupted(tmp_path, kind, step)
    assert not run.finished
    assert run.checkpoints.newest().step == step
    for _ in run.train():
        pass
    same = (run.path / "weights.safetensors").read_bytes()
    assert same == (finished.path / "weights.safetensors").read_bytes()
    assert [(r["kind"], r["step"]) for r in run.log()] == [
        (r["kind"], r["step"]) for r in finished.log()
    ]


def test_steps_after_the_last_checkpoint_are_logged_once(finished, tmp_path):
    run = interrupted(tmp_path, "train", 25)
    shutil.rmtree(run.path / "checkpoints" / "step-00000025")  # as if killed, not left
    assert steps(run)[-1] == 25
    with open(run.path / "log.jsonl", "a") as log:
        log.write('{"kind": "train", "st')  # killed in the middle of a line
    for _ in run.train():
        pass
    assert steps(run) == [5, 10, 15, 20, 25, 30]
    same = (run.path / "weights.safetensors").read_bytes()
    assert same == (finished.path / "weights.safetensors").read_bytes()


def test_a_run_knows_what_finished_it_even_if_it_is_called_again(copy, tmp_path, monkeypatch):
    made = copy.provenance
    assert made["device"].startswith("cpu")
    monkeypatch.setenv("MINDSEYE_COMMIT", "a-later-one")
    list(copy.train())
    assert copy.provenance == made
    assert create(RECIPE, tmp_path).provenance == {}


def test_training_a_finished_run_changes_nothing(copy):
    weights, log = (copy.path / "weights.safetensors").read_bytes(), copy.log()
    assert [record.kind for record in copy.train()] == ["done"]
    assert (copy.path / "weights.safetensors").read_bytes() == weights
    assert [(r["kind"], r["step"]) for r in copy.log()] == [(r["kind"], r["step"]) for r in log]


def test_an_unfinished_run_can_be_used(tmp_path):
    run = interrupted(tmp_path, "train", 10)
    assert run.mind().imagine("digit=4", n=1).shape == (1, 1, 64, 64)


def test_a_damaged_checkpoint_is_passed_over(finished, tmp_path):
    run = interrupted(tmp_path, "train", 25)
    (run.path / "checkpoints" / "step-00000025" / "state.safetensors").write_bytes(b"x")
    first = next(iter(records := run.train()))
    records.close()
    assert first.step == 25
    assert "resumed from step 20" in first.note
    assert steps(run).count(25) == 1


# Opening


def test_a_finished_run_opens_as_a_mind(finished):
    mind = Run(finished.path).mind()
    assert mind.name == finished.name
    assert not mind.model.training
    assert mind.imagine("digit=4", n=2).shape == (2, 1, 64, 64)
    assert torch.equal(mind.imagine("", n=2, seed=3), load(finished.path).imagine("", n=2, seed=3))


def test_the_weights_in_use_are_those_on_the_disk(finished):
    weights = read_tensors(finished.path / "weights.safetensors")
    state = finished.model().state_dict()
    assert state.keys() == weights.keys()
    assert all(torch.equal(state[name], weights[name]) for name in weights)


def test_weights_of_half_precision_are_used_as_single(copy):
    weights = read_tensors(copy.path / "weights.safetensors")
    half = {n: w.half() if w.is_floating_point() else w for n, w in weights.items()}
    write_tensors(copy.path / "weights.safetensors", half)
    assert {p.dtype for p in copy.model().parameters()} == {torch.float32}
    assert copy.mind().imagine("", n=1).isfinite().all()


def test_opening_a_run_writes_nothing(copy):
    def snapshot():
        return {path: path.stat().st_mtime_ns for path in copy.path.rglob("*")}

    before = snapshot()
    copy.mind().imagine("", n=1)
    copy.log(), copy.summary()
    assert snapshot() == before


def test_a_finished_run_without_its_log_has_taken_all_steps(copy):
    (copy.path / "log.jsonl").unlink()
    summary = copy.summary()
    assert summary["steps"] == "30/30"
    assert summary["bound"] is None
    assert summary["seconds"] is None


def test_an_observer_judges_for_a_run(finished, observer):
    assert isinstance(load_observer(observer.path), Observer)
    mind = finished.mind(observer=str(observer.path))
    assert len(mind.judge(mind.imagine("", n=3))) == 3


def test_an_observer_imagines_nothing(observer):
    with pytest.raises(UsageError, match=r"is an observer: it judges pictures .* --observer"):
        observer.mind()


def test_a_joint_model_judges_nothing(finished):
    with pytest.raises(UsageError, match=r"is not an observer\. Train one: mnist-a/observer"):
        load_observer(finished.path)


def test_built_in_models_are_whole():
    for run in list_runs(runs.BUILTIN):
        assert isinstance(run.model(), JointVAE | Draw | ImprintVAE | Observer)
        assert find(run.name) == run


def test_an_estimate_needs_no_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    guess = estimate(RECIPE)
    assert guess["parameters"] == 97_608
    assert guess["seconds"] == pytest.approx(30 / guess["steps_per_second"])
    assert list(tmp_path.iterdir()) == []


def test_an_estimate_goes_by_steps_and_not_by_rollbacks(monkeypatch):
    def train(*_, **__):
        yield Record("train", 5, 1.0, examples_per_second=1.0)
        yield Record("rollback", 0, 1.0)
        yield Record("train", 5, 2.0, examples_per_second=80.0)

    monkeypatch.setattr(making, "train", train)
    assert estimate(RECIPE)["steps_per_second"] == 80 / RECIPE.training.batch_size


# Damage: one line, no traceback


def refusal(action) -> str:
    with pytest.raises(DataError) as caught:
        action()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def spoil(path: Path, change) -> None:
    path.write_bytes(change(path.read_bytes()))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: b"", "it ends inside its header"),
        (lambda data: data[:100], "it ends inside its header"),
        (lambda data: data[:-1], "its header promises"),
        (lambda data: data + b"\0", "its header promises"),
        (lambda data: data[:8] + b"?" + data[9:], "has a damaged header"),
        (lambda data: data[:-4] + b"\x00\x00\xc0\x7f", "holds non-finite values"),
    ],
)
def test_damaged_weights_are_refused(copy, change, message):
    spoil(copy.path / "weights.safetensors", change)
    told = refusal(copy.mind)
    assert message in told
    assert str(copy.path / "weights.safetensors") in told


def test_weights_of_another_shape_are_refused(copy):
    path = copy.path / "weights.safetensors"
    weights = read_tensors(path)
    write_tensors(path, weights | {"label_encoder.embedding": torch.zeros(4, 10, 31)})
    told = refusal(copy.model)
    assert "tensor 'label_encoder.embedding' has shape (4, 10, 31); expected (4, 10, 32)" in told


def test_missing_and_foreign_weights_are_refused(copy):
    path = copy.path / "weights.safetensors"
    weights = read_tensors(path)
    lost = weights.pop("label_encoder.embedding")
    write_tensors(path, weights)
    assert "lacks tensor 'label_encoder.embedding'" in refusal(copy.model)
    write_tensors(path, weights | {"label_encoder.embedding": lost, "spy": lost})
    assert "tensor 'spy' of shape (4, 10, 32) is not expected" in refusal(copy.model)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: b"", "is not valid JSON"),
        (lambda data: data[:50], "is not valid JSON"),
        (lambda data: b"\xff\xfe" + data, "is not valid JSON"),
        (lambda data: b"[]", "`recipe` must be an object with named fields"),
        (lambda data: data.replace(b'"steps"', b'"stepz"'), "Did you mean 'steps'?"),
        (lambda data: data.replace(b'"telbo"', b'"exec"'), "`objective='exec'` is not known"),
        (lambda data: data.replace(b'"lean"', b'"lee"'), "`networks='lee'` is not known"),
        (lambda data: data.replace(b'"latent": 4', b'"latent": 4e99'), "is not a whole number"),
        (lambda data: data.replace(b'"latent": 4', b'"latent": 5'), "expected ("),
        (lambda data: data.replace(b'"width": 8', b'"width": 99999999'), "must be between"),
    ],
)
def test_a_damaged_recipe_is_refused(copy, change, message):
    spoil(copy.path / "recipe.json", change)
    assert message in refusal(Run(copy.path).model)


def test_a_damaged_log_does_not_hide_the_rest(copy):
    log = copy.path / "log.jsonl"
    whole = copy.log()
    bad = b'{"kind": \n[1]\n\xff\xfe\nnull\n' + b"1" * 5000 + b"\n" + b"[" * 100_000 + b"\n"
    spoil(log, lambda data: bad + data)
    assert copy.log() == whole


# Places that cannot be written to


def test_a_root_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "runs").touch()
    assert "File exists" in refusal(lambda: create(RECIPE, tmp_path / "runs"))


def test_a_read_only_root_is_refused(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(Path, "mkdir", refuse)
    assert refusal(lambda: create(RECIPE, tmp_path)) == f"{tmp_path}: Read-only file system."


def test_training_in_a_read_only_folder_is_refused(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(errno.EACCES, "Permission denied")

    run = create(RECIPE, tmp_path)
    monkeypatch.setattr(tempfile, "mkstemp", refuse)
    told = refusal(lambda: next(iter(run.train())))
    assert told == f"{run.path / 'log.jsonl'}: Permission denied. Choose a folder you may write to."


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only to root")
def test_a_read_only_run_can_be_used(copy):
    for path in [*copy.path.rglob("*"), copy.path]:
        path.chmod(path.stat().st_mode & ~0o222)
    try:
        assert copy.mind().imagine("", n=1).shape == (1, 1, 64, 64)
        assert "Permission denied" in refusal(lambda: next(iter(copy.train())))
    finally:
        for path in [copy.path, *copy.path.rglob("*")]:
            path.chmod(path.stat().st_mode | 0o200)


# Whose pictures


def test_observers_and_models_are_trained_on_different_sources(monkeypatch, tmp_path):
    parts = []

    def spying(self, part, **_):
        parts.append(part)
        raise KeyboardInterrupt

    monkeypatch.setattr(type(RECIPE.data), "open", spying)
    for recipe in (RECIPE, OBSERVER):
        with pytest.raises(KeyboardInterrupt):
            next(iter(create(recipe, tmp_path).train()))
    assert parts == ["train", "observer"]


def test_a_refitted_run_is_summed_up_by_its_training(tmp_path):
    made = get_recipe("mnist-a/jmvae-refit-tiny").with_settings({"source": "digits", "steps": "40"})
    run = create(made, tmp_path)
    records = [
        {"kind": "train", "step": 20, "seconds": 2.0, "bound": -9.0},
        {"kind": "train", "step": 40, "seconds": 4.0, "bound": -8.0},
        {"kind": "train", "step": 60, "seconds": 1.0, "bound": -1.0},
    ]
    (run.path / "log.jsonl").write_text("\n".join(map(json.dumps, records)) + "\n")
    found = run.summary()
    assert (found["steps"], found["bound"], found["seconds"]) == ("40/40", -8.0, 5)
    assert [record["step"] for record in run.trained()] == [20, 40]


# Flows beside the model of another run


def few_steps(name: str, **settings: str) -> Recipe:
    return get_recipe(name).with_settings({"steps": "4", "log_every": "2", **settings})


@pytest.fixture(scope="module")
def captioned(root, finished, observer) -> Run:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mindseye.data.averages.PICTURES", 64)  # to render many takes long
        run = create(few_steps("one-object/vlvae-tiny"), root)
        list(run.train())
    return run


@pytest.mark.parametrize("name", ["vlvae-agg", "vlvae-true"])
def test_flows_begin_with_the_weights_of_the_model_they_are_fitted_to(captioned, tmp_path, name):
    run = create(few_steps(f"one-object/{name}-tiny"), tmp_path, start=captioned)
    assert run.recipe.start == captioned.recipe.digest
    weights = read_tensors(captioned.weights_file)
    began = fresh(run.recipe, "cpu", run.recipe.data.open("train"), run.path)
    list(run.train())
    for model in (began, run.model()):
        found = model.base.state_dict()
        assert found.keys() == weights.keys()
        assert all(torch.equal(found[each], weights[each]) for each in weights)
    assert run.model().knows_aggregate is (name == "vlvae-agg")
    assert run.recipe.fits == {"q_x", "q_y"}


def test_flows_are_not_put_beside_another_model(captioned, tmp_path):
    with pytest.raises(DataError, match="expected"):
        create(few_steps("two-objects/vlvae-agg-tiny"), tmp_path / "runs", start=captioned)
    assert not (tmp_path / "runs").exists()


def test_a_run_with_flows_is_taken_up_again(captioned, tmp_path):
    recipe = few_steps("one-object/vlvae-agg-tiny", checkpoint_every="2")
    whole, left = (create(recipe, tmp_path, start=captioned) for _ in range(2))
    list(whole.train())
    records = left.train()
    next(records)
    records.close()
    assert not left.finished
    list(left.train())
    same = (left.path / "weights.safetensors").read_bytes()
    assert same == (whole.path / "weights.safetensors").read_bytes()


def test_a_run_with_flows_opens_as_a_mind_that_reads_and_writes_captions(captioned, tmp_path):
    with pytest.raises(UsageError, match=r"imagines nothing from words.*`mindseye aggregate 0"):
        captioned.mind().imagine("large")
    run = create(few_steps("one-object/vlvae-agg-tiny"), tmp_path, start=captioned)
    list(run.train())
    mind = run.mind()
    assert mind.fills
    imagined = mind.imagined("large red", n=3)
    assert imagined.means.shape == (3, 3, 16, 16)
    assert len(mind.tell(imagined.latents).captions) == 3
    assert (run.path / "samples.png").exists()


def test_a_model_of_pictures_alone_learns_words_from_flows(tmp_path):
    settings = {"source": "digits", "steps": "2", "log_every": "1"}
    base = create(get_recipe("mnist/vae-tiny").with_settings(settings), tmp_path)
    list(base.train())
    recipe = replace(
        base.recipe,
        objectives=("aggregate",),
        weights={},
        model=replace(base.recipe.model, flow=2, flow_hidden=8, reads="q_x"),
    )
    run = create(recipe, tmp_path, start=base)
    list(run.train())
    mind = run.mind()
    assert mind.imagine("digit=4", n=2).shape == (2, 1, 28, 28)
    with pytest.raises(UsageError, match="is of `kind='vae'`; expected 'vlvae'"):
        evaluate_captions(run)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("one-object/vlvae-tiny", {"flow": "6"}),
        ("one-object/vlvae-agg-tiny", {"flow": "0"}),
        ("mnist-a/telbo-tiny", {"flow": "2"}),
    ],
)
def test_flows_and_their_objectives_go_together(name, settings):
    with pytest.raises(UsageError, match="to fit flows to a trained model") as refused:
        get_recipe(name).with_settings(settings)
    assert refused.value.hint == "`mindseye aggregate RUN` gives flows to the model of a run."
