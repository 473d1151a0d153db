"""Runs trained together: each learns from its own pictures, and nothing is lost on the way."""

from dataclasses import replace

import pytest
import torch

from mindseye.papers import get_recipe
from mindseye.runs import Run, create
from mindseye.runs.together import alike, train_together
from mindseye.sweeps import _groups

SETTINGS = {"source": "digits", "steps": "30", "log_every": "10", "checkpoint_every": "10"}
RECIPE = get_recipe("mnist/iwae-tiny").with_settings(SETTINGS)


def seeded(seed: int, **settings: str):
    return RECIPE.with_settings({"seed": str(seed), **settings})


def made(folder, *seeds: int) -> list[Run]:
    return [create(seeded(seed), folder) for seed in seeds]


def test_every_run_is_finished_and_has_its_own_log(tmp_path):
    runs = made(tmp_path, 0, 1, 2)
    records = list(train_together(runs))
    assert all(run.finished for run in runs)
    assert {run for run, record in records if record.kind == "done"} == set(runs)
    bounds = [[r["bound"] for r in run.log() if r["kind"] == "train"] for run in runs]
    assert [len(each) for each in bounds] == [3, 3, 3]
    assert len({tuple(each) for each in bounds}) == 3
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
    first, second, _ = (run.model().state_dict() for run in runs)
    assert any(not torch.equal(first[name], second[name]) for name in first)


def test_a_model_learns_from_its_own_bound_alone(tmp_path):
    """With one draw of q the noise is all they share: without it, company changes nothing."""
    alone, pair = tmp_path / "alone", tmp_path / "pair"
    (single,) = made(alone, 1)
    quiet = [create(seeded(seed), pair) for seed in (0, 1)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.distributions.Normal, "rsample", _mean)
        list(single.train())
        list(train_together(quiet))
    one, two = single.model().state_dict(), quiet[1].model().state_dict()
    for name in one:
        torch.testing.assert_close(one[name], two[name], rtol=1e-4, atol=1e-5)


def _mean(self, sample_shape=torch.Size()):  # noqa: B008
    return self.loc.expand(self._extended_shape(sample_shape))


def test_runs_that_are_stopped_go_on_together(tmp_path):
    whole, broken = made(tmp_path / "whole", 0, 1), made(tmp_path / "broken", 0, 1)
    list(train_together(whole))
    records = train_together(broken)
    for _, record in records:
        if record.kind == "checkpoint" and record.step == 20:
            break
    records.close()
    assert not any(run.finished for run in broken)
    list(train_together(broken))
    for one, two in zip(whole, broken, strict=True):
        same = two.model().state_dict()
        assert all(torch.equal(w, same[name]) for name, w in one.model().state_dict().items())


def test_models_of_one_schedule_are_trained_together(tmp_path):
    recipes = [
        seeded(0),
        get_recipe("mnist/vae-2l-tiny").with_settings(dict(SETTINGS)),
        get_recipe("mnist/m2-tiny").with_settings({**SETTINGS, "labels": "20"}),
    ]
    runs = [create(recipe, tmp_path) for recipe in recipes]
    list(train_together(runs))
    for run in runs:
        assert run.finished
        first, *_, last = run.trained()
        assert last["bound"] > first["bound"]
    assert "log_qy" in runs[2].trained()[-1]["terms"]
    assert "log_qy" not in runs[0].trained()[-1]["terms"]


def test_recipes_of_one_schedule_are_alike():
    assert alike(seeded(0)) == alike(seeded(1)) == alike(seeded(0, k="5")) is not None
    assert alike(seeded(0)) != alike(seeded(0, steps="31"))
    assert alike(seeded(0, clip="1")) is None
    assert alike(get_recipe("mnist-a/telbo-tiny")) is None
    later = replace(seeded(0), start="0123456789ab")
    assert alike(later) == alike(seeded(0))


def test_company_is_of_eight_at_most(tmp_path):
    runs = made(tmp_path, *range(11))
    assert [len(group) for group in _groups(runs, "cuda", compiled=True)] == [8, 3]
    assert [len(group) for group in _groups(runs, "cpu", compiled=True)] == [1] * 11
