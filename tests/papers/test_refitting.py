"""The last stage: experts fitted to where pictures are."""

import pytest
import torch

from mindseye.data import Data
from mindseye.errors import UsageError
from mindseye.papers import get_recipe
from mindseye.papers.recipe import Refit
from mindseye.papers.refitting import aggregate_of, refitted
from mindseye.runs import create

OPTIONS = Refit(updates=60, pictures=512)


@pytest.fixture(scope="module")
def data():
    return Data("mnist-a", source="digits").open("train")


def make():
    torch.manual_seed(0)
    return get_recipe("mnist-a/telbo-tiny").build()


def test_refitting_moves_the_experts_and_nothing_else(data):
    model = make()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    list(refitted(model, data, OPTIONS))
    moved = {n for n, t in model.state_dict().items() if not torch.equal(t, before[n])}
    assert moved == {n for n in before if n.startswith("label_encoder.")}
    assert all(parameter.requires_grad for parameter in model.parameters())


def test_refitting_brings_the_experts_to_the_aggregate(data):
    records = list(refitted(make(), data, Refit(updates=400, pictures=512)))
    bounds = [record.bound for record in records if record.kind == "train"]
    assert bounds[-1] > bounds[0]
    assert -8 < bounds[-1] < 0.5  # it is minus a divergence


@pytest.mark.parametrize("joint", [True, False])
def test_the_aggregate_holds_the_posteriors_of_the_first_pictures(data, joint):
    model = make().eval()
    options = Refit(updates=1, pictures=40, bandwidth=0.0)
    aggregate = aggregate_of(model, data, options, joint=joint)
    batch = data.examples(torch.arange(40))
    assert torch.equal(aggregate.codes, batch.y.codes)
    with torch.no_grad():
        q = model.q_xy(batch.x, batch.y) if joint else model.q_x(batch.x)
        mean = q.mean
        expected = q.log_prob(mean[:, None]).T  # each posterior at every mean
    one = aggregate.densities.T
    found = torch.cat([-(mean**2) / 2, mean, torch.ones(40, 1)], 1) @ one.T
    torch.testing.assert_close(found, expected.T, rtol=1e-3, atol=1e-3)


def test_without_a_trained_joint_reader_pictures_are_read_alone(tmp_path, monkeypatch):
    few = {"source": "digits", "steps": "2", "updates": "2", "pictures": "16"}
    used = []
    monkeypatch.setattr(
        "mindseye.runs.making.refitted", lambda *_, joint, **__: used.append(joint) or iter(())
    )
    for name in ("mnist-a/jmvae-tiny", "mnist-a/bivcca-tiny"):
        list(create(get_recipe(name).with_settings(few), tmp_path).train())
    assert used == [True, False]


def test_a_run_that_is_stopped_while_refitting_goes_on_as_if_it_were_not(tmp_path):
    recipe = get_recipe("mnist-a/telbo-tiny").with_settings(
        {"source": "digits", "steps": "6", "log_every": "2", "updates": "8", "pictures": "64"}
    )
    whole, broken = create(recipe, tmp_path), create(recipe, tmp_path)
    list(whole.train())
    records = broken.train()
    for record in records:
        if record.kind == "checkpoint" and record.step == 6 + 4:
            break
    records.close()
    list(broken.train())
    same = whole.model().state_dict(), broken.model().state_dict()
    assert all(torch.equal(same[0][name], same[1][name]) for name in same[0])
    steps = [r["step"] for r in broken.log() if r["kind"] == "train"]
    assert steps == sorted(set(steps))
    assert [r["kind"] for r in whole.log()].count("done") == 1


def test_senseless_refits_are_refused():
    with pytest.raises(UsageError, match="out of range"):
        Refit(updates=-1)
    with pytest.raises(UsageError, match="out of range"):
        Refit(pictures=0)
