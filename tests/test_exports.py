"""A model to give away: smaller, complete, and the same but for rounding."""

import json

import pytest
import torch

from mindseye.errors import DataError, UsageError
from mindseye.exports import export
from mindseye.papers import get_recipe
from mindseye.runs import Run, create, find
from mindseye.tensors import read_tensors

FEW = {"source": "digits", "steps": "4", "log_every": "2", "checkpoint_every": "2"}


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Run:
    made = create(get_recipe("mnist-a/telbo-tiny").with_settings(FEW), tmp_path_factory.mktemp("r"))
    list(made.train())
    return made


def test_an_exported_model_imagines_what_the_run_does_to_half_precision(run, tmp_path):
    made = export(run, tmp_path / "mine" / "model")
    assert find(tmp_path / "mine" / "model").recipe == run.recipe
    one, two = (each.mind().imagined("digit=4", n=4, seed=3).means for each in (made, run))
    torch.testing.assert_close(one, two, rtol=0, atol=0.02)
    assert not torch.equal(one, two)
    assert made.log() == run.log()


def test_it_has_half_the_bytes_and_no_checkpoints(run, tmp_path):
    made = export(run, tmp_path / "model")
    assert sorted(file.name for file in made.path.iterdir()) == [
        "log.jsonl",
        "provenance.json",
        "recipe.json",
        "weights.safetensors",
    ]
    small, large = ((r.path / "weights.safetensors").stat().st_size for r in (made, run))
    assert small < 0.6 * large


def test_full_precision_keeps_every_number(run, tmp_path):
    made = export(run, tmp_path / "model", half=False)
    one, two = (read_tensors(r.path / "weights.safetensors") for r in (made, run))
    assert one.keys() == two.keys()
    assert all(torch.equal(one[name], two[name]) for name in one)


def test_scores_travel_along(run, tmp_path):
    (run.path / "evaluation.json").write_text(json.dumps({"score": {}}))
    try:
        made = export(run, tmp_path / "model")
    finally:
        (run.path / "evaluation.json").unlink()
    assert (made.path / "evaluation.json").is_file()


def test_a_folder_that_is_there_is_left_alone(run, tmp_path):
    with pytest.raises(UsageError, match="is there already"):
        export(run, tmp_path)
    assert not any(tmp_path.iterdir())


def test_what_is_not_finished_is_not_exported(tmp_path):
    made = create(get_recipe("mnist-a/telbo-tiny"), tmp_path / "runs")
    with pytest.raises(DataError, match="is not finished"):
        export(made, tmp_path / "model")
    assert not (tmp_path / "model").exists()
