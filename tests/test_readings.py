"""What a model reads in pictures, kept: the same batches at any time, every row with its words."""

from dataclasses import replace

import pytest
import torch
from torch.testing import assert_close

from mindseye.papers import get_recipe
from mindseye.papers.flows import flowing
from mindseye.runs import Run, create
from mindseye.runs import reading as module
from mindseye.runs.reading import Readings
from mindseye.tensors import read_tensors


@pytest.fixture(scope="module", params=["vlvae", "vlvae-joint"])
def made(request):
    """A model with flows that was not trained, and its pictures."""
    recipe = flowing(get_recipe(f"one-object/{request.param}-tiny"), couplings=1)
    torch.manual_seed(0)
    return recipe.build().eval(), recipe.data.open("train")


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(module, "AT_ONCE", 16)
    monkeypatch.setitem(module.KEPT, "cpu", 40)


@pytest.fixture
def readings(made, few) -> Readings:
    return Readings(*made, seed=3, few=40)


def rows(readings: Readings, batch) -> torch.Tensor:
    """Which of the readings every row of a batch is."""
    same = (batch.x[:, None] == readings.read[None]).flatten(2).all(-1)
    assert (same.sum(1) == 1).all()
    return same.int().argmax(1)


def test_a_batch_is_a_function_of_its_number_alone(readings):
    first = readings.batch(7, 8)
    for other in (0, 9, torch.tensor(3)):
        readings.batch(other, 8)
    again = readings.batch(7, 8)
    assert torch.equal(first.x, again.x)
    assert torch.equal(first.y.codes, again.y.codes)
    assert torch.equal(first.x, readings.batch(torch.tensor(7), 8).x)
    assert not torch.equal(first.x, readings.batch(8, 8).x)


def test_batches_come_one_behind_the_other(readings):
    together = readings.batch(2, 4, 3)
    alone = [readings.batch(step, 4) for step in (2, 3, 4)]
    assert torch.equal(together.x, torch.cat([batch.x for batch in alone]))
    assert torch.equal(together.y.codes, torch.cat([batch.y.codes for batch in alone]))


def test_every_row_is_what_is_read_in_the_picture_of_its_description(made, readings):
    model, dataset = made
    batch = readings.batch(1, 32)
    x, y = dataset.examples(rows(readings, batch))
    assert torch.equal(batch.y.codes, y.codes)
    assert batch.y.observed.all()
    with torch.no_grad():
        q = model.base.q_xy(x, y) if model.joint else model.base.q_x(x)
    assert_close(batch.x[:, 0], q.mean, rtol=1e-4, atol=1e-5)
    assert_close(batch.x[:, 1], q.stddev, rtol=1e-4, atol=1e-5)
    assert_close(model.posterior(batch.x).mean, q.mean, rtol=1e-4, atol=1e-5)
    assert (batch.x[:, 1] > 0).all()
    assert not batch.x.requires_grad


def test_every_reading_is_drawn_as_often_as_any_other(readings):
    drawn = rows(readings, readings.batch(0, 400)).bincount(minlength=40)
    assert drawn.sum() == 400
    assert drawn.min() >= 1
    chi = ((drawn - 10) ** 2 / 10).sum().item()
    assert 15 < chi < 80  # 39 are expected, give or take 9


def test_the_seed_chooses_the_order_and_not_what_is_read(made, few, readings):
    other = Readings(*made, seed=4, few=40)
    assert torch.equal(other.read, readings.read)
    assert not torch.equal(other.batch(0, 8).x, readings.batch(0, 8).x)
    same = Readings(*made, seed=3, few=40)
    assert torch.equal(same.batch(5, 8).x, readings.batch(5, 8).x)


@pytest.mark.parametrize(("asked", "count"), [(0, 16), (16, 16), (25, 25), (40, 40), (9999, 40)])
def test_a_short_training_reads_few_pictures_and_a_long_one_not_too_many(made, few, asked, count):
    found = Readings(*made, seed=0, few=asked)
    assert found.read.shape == (count, 2, made[0].latent)
    assert found.y.codes.shape == (count, 2)


@pytest.fixture(scope="module")
def parts():
    recipe = flowing(get_recipe("sines/compvae-tiny"), couplings=1)
    torch.manual_seed(0)
    return recipe.build().eval(), recipe.data.open("train")


def test_of_wholes_the_sum_of_their_parts_is_read(parts, few, monkeypatch):
    monkeypatch.setitem(module.WHOLES, "cpu", 40)
    found = Readings(*parts, seed=3, few=40)
    model, dataset = parts
    assert found.read.shape == (40, 2 + 64)
    assert found.batch(0, 8).y.codes.shape == (8, 0)
    one, again = found.batch(5, 8), Readings(*parts, seed=3, few=40).batch(5, 8)
    assert torch.equal(one.x, again.x)
    index = rows(found, one)
    x, y = dataset.examples(index)
    z, total = model.posterior(one.x)
    with torch.no_grad():
        q_z = model.q_z(model.seen(x))
        q_w = model.q_w(model.seen(x), z, y, model.groups(y), torch.zeros(1))
        sums = model.total(q_w.mean, y, q_w.groups)
    assert ((z - q_z.mean) / q_z.stddev).abs().max() < 4
    assert torch.corrcoef(torch.stack([sums.flatten(), total.flatten()]))[0, 1] > 0.9


def test_reading_wholes_leaves_the_random_state_alone(parts, few):
    torch.manual_seed(5)
    before = torch.get_rng_state()
    Readings(*parts, seed=3, few=16)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("name", ["one-object/vlvae-tiny", "sines/compvae-tiny"])
def test_flows_that_were_stopped_end_as_if_they_were_not(few, tmp_path, name):
    recipe = get_recipe(name)
    base = create(replace(recipe, training=replace(recipe.training, steps=1)), tmp_path)
    list(base.train())
    flows = flowing(base.recipe, couplings=1)
    flows = replace(
        flows, training=replace(flows.training, steps=6, log_every=2, checkpoint_every=2)
    )
    whole, stopped = (create(flows, tmp_path, start=base) for _ in range(2))
    list(whole.train())
    records = stopped.train()
    assert next(record for record in records if record.step >= 4).step == 4
    records.close()
    again = Run(stopped.path)
    assert not again.finished
    assert 0 < again.step < 6
    list(again.train())
    one, two = (read_tensors(run.path / "weights.safetensors") for run in (whole, stopped))
    assert one.keys() == two.keys()
    assert all(torch.equal(one[name], two[name]) for name in one)
    start = read_tensors(whole.path / "start.safetensors")
    assert all(torch.equal(one[f"base.{name}"], start[name]) for name in start)
