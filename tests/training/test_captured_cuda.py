"""Captured steps on a GPU against eager ones: as good, resumable, and waiting for nothing."""

from __future__ import annotations

import gc
import weakref

import pytest
import torch
from torch import nn

from mindseye.kernels import available
from mindseye.models import JointVAE
from mindseye.papers import Recipe, get_recipe
from mindseye.training import (
    Checkpoints,
    Plan,
    Record,
    Training,
    train,
)
from mindseye.training.captured import STEPS, Captured
from mindseye.training.eager import Eager
from mindseye.training.learner import Learner

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(
        not (torch.cuda.is_available() and available()), reason="needs a CUDA device and Triton"
    ),
]

SETTINGS = {
    "networks": "paper",
    "width": "64",
    "hidden": "64",
    "source": "digits",
    "steps": "300",
    "batch_size": "32",
    "log_every": "100",
    "checkpoint_every": "100",
    "beta_warmup": "50",
    "clip": "200",
}


def recipe(name: str = "mnist-a/telbo-tiny", **settings: str) -> Recipe:
    return get_recipe(name).with_settings(SETTINGS | settings)


def model_of(made: Recipe) -> JointVAE:
    torch.manual_seed(0)
    model = made.build().cuda()
    assert isinstance(model, JointVAE)
    return model.to(memory_format=torch.channels_last)


def plan_of(made: Recipe) -> Plan:
    data, size = made.data.open("train").to("cuda"), made.training.batch_size
    return Plan(made.bounds, lambda n, count=1: data.batch(n, size, count), made.training)


def trained(made: Recipe, folder=None, until: int = 0, *, compiled: bool = True):
    """A model and its records, trained to its end or left at a checkpoint."""
    model, plan = model_of(made), plan_of(made)
    checkpoints = Checkpoints(folder) if folder else None
    records: list[Record] = []
    training = train(
        model,
        plan.bounds,
        plan.batch,
        plan.options,
        checkpoints=checkpoints,
        decayed=model.decayed(),
        compiled=compiled,
    )
    for record in training:
        records.append(record)
        if until and record.kind == "checkpoint" and record.step >= until:
            break
    training.close()
    return model, records


def bounds(records: list[Record]) -> list[float]:
    return [record.bound for record in records if record.kind == "train"]


def learner_of(made: Recipe, *, compiled: bool) -> Learner:
    model = model_of(made)
    return Learner(model, plan_of(made), model.decayed(), compiled=compiled)


# As good as eager


@pytest.fixture(scope="module")
def captured() -> tuple[JointVAE, list[Record]]:
    return trained(recipe())


def test_captured_training_reaches_the_bound_of_an_eager_one(captured):
    _, eager = trained(recipe(), compiled=False)
    _, records = captured
    assert not [r for r in (*records, *eager) if r.kind == "rollback"]
    for one, two in zip(bounds(records), bounds(eager), strict=True):
        assert one == pytest.approx(two, rel=0.1)  # two seeds differ as much in so few steps
    assert records[0].terms.keys() == eager[0].terms.keys()
    assert bounds(records)[-1] > bounds(records)[0]


def test_the_first_steps_have_the_bound_of_eager_ones():
    few = recipe(steps="10", log_every="10")
    (one, *_), (two, *_) = (
        bounds(trained(few, compiled=compiled)[1]) for compiled in (True, False)
    )
    assert one == pytest.approx(two, rel=0.05)


def test_parameters_are_float32_afterwards(captured):
    model, records = captured
    assert records[-1].kind == "done"
    assert {tensor.dtype for tensor in model.parameters()} == {torch.float32}
    assert all(tensor.isfinite().all() for tensor in model.state_dict().values())
    assert not model.training


def test_records_have_a_rate_a_beta_and_a_norm(captured):
    options = recipe().training
    logged = [record for record in captured[1] if record.kind == "train"]
    assert [record.learning_rate for record in logged] == [options.rate(s) for s in (99, 199, 299)]
    assert [record.beta for record in logged] == [1.0, 1.0, 1.0]
    assert all(0 < record.grad_norm < float("inf") for record in logged)


# Engines


def test_steps_are_captured_only_if_that_was_asked_for():
    assert isinstance(learner_of(recipe(), compiled=False).engine, Eager)
    learner = learner_of(recipe(), compiled=True)
    assert isinstance(learner.engine, Captured)
    learner.engine.release()


def test_on_a_cpu_nothing_is_captured():
    model = nn.Linear(2, 2)
    assert isinstance(Learner(model, plan_of(recipe()), compiled=True).engine, Eager)


def test_both_engines_have_the_same_state():
    one, two = (learner_of(recipe(), compiled=compiled) for compiled in (True, False))
    for learner in (one, two):
        learner.advance(STEPS)
    shapes = [{n: (t.shape, t.dtype) for n, t in each.state().items()} for each in (one, two)]
    missing = shapes[0].keys() ^ shapes[1].keys()
    assert all(name.startswith("adam.") for name in missing)  # eager Adam waits for a gradient
    shared = shapes[0].keys() & shapes[1].keys()
    assert {n: shapes[0][n] for n in shared} == {n: shapes[1][n] for n in shared}
    one.engine.release()


# Resuming


def test_a_captured_run_goes_on_where_it_was_left(tmp_path, captured):
    trained(recipe(), tmp_path, until=100)
    newest = Checkpoints(tmp_path).newest()
    assert newest is not None
    assert newest.step == 100
    _, records = trained(recipe(), tmp_path)
    assert records[0].note == "resumed from step 100"
    assert records[-1].step == 300
    assert bounds(records) == pytest.approx(bounds(captured[1])[1:], rel=0.05)


@pytest.mark.parametrize("compiled", [True, False])
def test_a_run_may_change_its_engine(tmp_path, compiled):
    """Small steps: the engines round differently, and large ones soon part their ways."""
    slow = recipe(steps="200", learning_rate="0.0005")
    _, whole = trained(slow, compiled=compiled)
    trained(slow, tmp_path, until=100, compiled=compiled)
    _, records = trained(slow, tmp_path, compiled=not compiled)
    assert records[0].note == "resumed from step 100"
    assert bounds(records) == pytest.approx(bounds(whole)[1:], rel=0.03)


def test_a_record_in_the_middle_of_a_graph_loses_no_step():
    """25 steps are two graphs of ten and one of five, captured while the others are queued."""
    odd = recipe(steps="50", log_every="25", learning_rate="0.0005")
    _, records = trained(odd)
    _, eager = trained(odd, compiled=False)
    assert bounds(records) == pytest.approx(bounds(eager), rel=0.03)
    learner = learner_of(odd, compiled=True)
    learner.advance(25)
    steps = [t.item() for n, t in learner.engine.live().items() if n.startswith("adam.step.")]
    assert set(steps) <= {0, 25}
    assert 25 in steps
    learner.engine.release()


def test_parameters_that_are_held_still_stay_and_are_kept(tmp_path):
    made = recipe(steps="20", log_every="10", checkpoint_every="20")
    model, plan = model_of(made), plan_of(made)
    model.label_decoder.requires_grad_(False)
    before = {n: t.clone() for n, t in model.state_dict().items()}
    saves = Checkpoints(tmp_path)
    list(train(model, plan.bounds, plan.batch, plan.options, checkpoints=saves, compiled=True))
    newest = saves.newest()
    assert newest is not None
    for name, tensor in model.state_dict().items():
        still = name.startswith("label_decoder.")
        assert not still or torch.equal(tensor, before[name])
        assert f"model.{name}" in newest.state()
    assert not torch.equal(
        model.state_dict()["image_decoder.layers.8.weight"], before["image_decoder.layers.8.weight"]
    )


def test_a_graph_is_gone_when_its_training_is():
    learner = learner_of(recipe(steps="20", log_every="10"), compiled=True)
    learner.advance(20)
    assert isinstance(learner.engine, Captured)
    graphs = [weakref.ref(graph) for graph in learner.engine.graphs.values()]
    gc.disable()  # it must not take a collection of garbage
    try:
        learner.engine.release()
        assert [graph() for graph in graphs] == [None]
    finally:
        gc.enable()


# Stages


def test_both_stages_of_a_recipe_are_captured():
    made = recipe("mnist-a/telbo-two-stage-tiny", steps="60", log_every="30")
    learner = learner_of(made, compiled=True)
    engine = learner.engine
    assert isinstance(engine, Captured)
    learner.advance(30)
    first = dict(learner.totals)
    learner.forget()
    learner.advance(60)
    assert [bound for bound, _ in engine.graphs] == list(learner.plan.bounds)
    assert {count for _, count in engine.graphs} == {STEPS}
    assert "log_px_qxy" in first
    assert "log_px_qxy" not in learner.totals
    assert learner.totals.keys() >= {"bound", "log_px_qx", "log_py_qy"}
    engine.release()


def test_after_a_rollback_over_stages_the_first_bound_is_summed_again():
    made = recipe("mnist-a/telbo-two-stage-tiny", steps="40", log_every="20")
    learner = learner_of(made, compiled=True)
    learner.advance(20)
    good, first = learner.state(), dict(learner.totals)
    learner.forget()
    learner.advance(40)
    learner.load(good, "the last good state")
    learner.step = 0
    learner.advance(20)
    assert learner.totals.keys() == first.keys()
    assert learner.totals["bound"] / 20 > first["bound"] / 20  # 20 steps later on the same stage
    learner.engine.release()


# Waiting


def test_a_replay_never_waits_for_the_device():
    learner = learner_of(recipe(), compiled=True)
    steps = [learner.plan.step(step, 0) for step in range(6 * STEPS)]
    learner.model.train()
    learner.engine.advance(steps[: 2 * STEPS])  # captured here
    torch.cuda.set_sync_debug_mode("error")
    try:
        learner.engine.advance(steps[2 * STEPS :])
    finally:
        torch.cuda.set_sync_debug_mode("default")
    totals = learner.engine.wait()
    assert totals["bound"][1] == 6 * STEPS
    learner.engine.release()


def test_the_callers_random_states_are_untouched_at_every_record():
    made = recipe(steps="40", log_every="20")
    model, plan = model_of(made), plan_of(made)
    options: Training = plan.options
    before = torch.get_rng_state(), torch.cuda.get_rng_state()
    for _ in train(model, plan.bounds, plan.batch, options, decayed=model.decayed(), compiled=True):
        assert torch.equal(torch.get_rng_state(), before[0])
        assert torch.equal(torch.cuda.get_rng_state(), before[1])
