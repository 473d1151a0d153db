"""A second stage: a run that begins with the weights of another."""

from dataclasses import replace

import pytest
import torch

from mindseye.errors import DataError, UsageError
from mindseye.papers import get_recipe
from mindseye.runs import Run, create
from mindseye.sweeps import runs_of, sweep

FIRST = get_recipe("mnist/vae-tiny").with_settings({"source": "digits", "steps": "4"})
SECOND = get_recipe("mnist/iwae-tiny").with_settings({"source": "digits", "steps": "4"})


@pytest.fixture
def first(tmp_path) -> Run:
    run = create(FIRST, tmp_path)
    list(run.train())
    return run


def test_a_second_stage_begins_where_the_first_ended(first, tmp_path, monkeypatch):
    run = create(SECOND, tmp_path, start=first)
    assert run.recipe.start == FIRST.digest
    seen = {}

    def watched(recipe, model, *_, **__):
        seen.update({name: w.clone() for name, w in model.state_dict().items()})
        return iter(())

    monkeypatch.setattr("mindseye.runs.run.trained", watched)
    list(run.train())
    weights = first.model().state_dict()
    assert all(torch.equal(seen[name], weight) for name, weight in weights.items())


def test_a_second_stage_learns_on(first, tmp_path):
    run = create(SECOND, tmp_path, start=first)
    list(run.train())
    before, after = first.model().state_dict(), run.model().state_dict()
    assert any(not torch.equal(before[name], after[name]) for name in before)


def test_a_sweep_finds_the_first_stage_by_its_digest(first, tmp_path):
    later = replace(SECOND, start=FIRST.digest)
    (run,) = runs_of([later], tmp_path)
    assert (run.path / "start.safetensors").is_file()
    list(sweep([later], tmp_path))
    assert run.finished


def test_a_first_stage_that_is_not_there_is_named(tmp_path):
    with pytest.raises(UsageError, match="begins with the weights of a run with digest 0123"):
        runs_of([replace(SECOND, start="0123456789ab")], tmp_path)


def test_statistics_of_no_model_cannot_be_held(tmp_path):
    with pytest.raises(UsageError, match="statistics of a trained model, and none is named"):
        create(get_recipe("two-objects/vlvae-tiny").with_settings({"held": "true"}), tmp_path)
    assert not list(tmp_path.iterdir())


def test_another_model_cannot_lend_its_weights(first, tmp_path):
    deep = get_recipe("mnist/iwae-2l-tiny").with_settings({"source": "digits"})
    with pytest.raises(DataError, match=r"weights\.safetensors"):
        create(deep, tmp_path, start=first)
    assert len(list(tmp_path.iterdir())) == 1
