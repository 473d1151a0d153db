from __future__ import annotations

import errno
import json
import math
from dataclasses import replace

import pytest
import torch
from torch import nn

from mindseye.errors import DataError, UsageError
from mindseye.objectives.bound import Bound
from mindseye.training import Checkpoints, Record, Training, train

NAMES = "kind step seconds examples_per_second bound terms learning_rate beta grad_norm note"
EVERYTHING = Training(
    steps=40,
    batch_size=8,
    learning_rate=0.02,
    warmup=6,
    schedule="cosine",
    beta_warmup=11,
    clip=0.7,
    ema=0.95,
    weight_decay=0.01,
    log_every=1,
    checkpoint_every=9,
    seed=5,
)


class Quadratic(nn.Module):
    """One number to learn."""

    def __init__(self, start: float = 0.0):
        super().__init__()
        self.w = nn.Parameter(torch.tensor([start], dtype=torch.float64))


def nearness(model, batch, beta):
    value = -0.5 * (model.w - batch).square()
    return Bound(value, {"error": -2 * value, "beta": torch.full_like(value, beta)})


def network() -> nn.Sequential:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.Dropout(0.2), nn.Linear(16, 1))


def noisy(model, x, beta):
    value = -(model(x) - x.sum(-1, keepdim=True)).square().sum(-1)
    return Bound(value - beta * torch.rand(()), {"error": -value})


def batch(step):
    return torch.randn(8, 4, generator=torch.Generator().manual_seed(step))


def trained(options=EVERYTHING, checkpoints=None, until=None, bound=noisy, batch=batch):
    """A network trained to its end, or left at a record."""
    model = network()
    records = train(
        model, bound, batch, options, checkpoints=checkpoints, decayed=[*model[0].parameters()]
    )
    for record in records:
        if record.step == until:
            break
    records.close()
    return model


def difference(one: nn.Module, two: nn.Module) -> float:
    pairs = zip(one.state_dict().values(), two.state_dict().values(), strict=True)
    return max((a.double() - b.double()).abs().max().item() for a, b in pairs)


def test_training_finds_the_maximum_of_a_known_bound():
    model = Quadratic()
    options = Training(steps=600, learning_rate=0.05, schedule="cosine")
    *_, done = train(model, nearness, lambda _: torch.tensor([1.0, 3.0]), options)
    assert (done.kind, done.step) == ("done", 600)
    assert model.w.item() == pytest.approx(2.0, abs=1e-6)


def test_records_are_the_means_since_the_last_one():
    model, targets = Quadratic(), lambda step: torch.tensor([step + 1.0, step + 1.0]) / 2
    options = Training(steps=5, batch_size=2, learning_rate=1e-12, log_every=2, beta_warmup=4)
    records = list(train(model, nearness, targets, options))
    assert [(r.kind, r.step) for r in records] == [
        ("train", 2),
        ("train", 4),
        ("train", 5),
        ("done", 5),
    ]
    assert [r.bound for r in records[:3]] == pytest.approx([-(1 + 4) / 16, -(9 + 16) / 16, -25 / 8])
    assert [r.terms["error"] for r in records[:3]] == pytest.approx([0.625, 3.125, 6.25])
    assert [r.terms["beta"] for r in records[:3]] == pytest.approx([0.125, 0.625, 1.0])
    assert [r.beta for r in records[:3]] == [0.25, 0.75, 1.0]
    assert [r.grad_norm for r in records[:3]] == pytest.approx([1.0, 2.0, 2.5])
    assert all(r.examples_per_second > 0 for r in records[:3])
    assert records[0].seconds < records[1].seconds < records[2].seconds == records[3].seconds


def test_the_norm_of_the_gradient_is_taken_before_clipping():
    options = Training(steps=1, clip=0.1)
    first, *_ = train(Quadratic(), nearness, lambda _: torch.tensor([3.0]), options)
    assert first.grad_norm == pytest.approx(3.0)


def test_terms_may_come_and_go_between_records():
    def staged(model, step, beta):
        value = -model.w.square() - 1
        return Bound(value, {"early" if step < 3 else "late": value * 0 + step})

    options = Training(steps=5, learning_rate=1e-9, log_every=5)
    first, *_ = train(Quadratic(), staged, lambda step: step, options)
    assert first.bound == pytest.approx(-1.0)
    assert first.terms == {"early": 1.0, "late": 3.5}


def test_a_record_is_plain_json():
    first, *_ = train(Quadratic(), nearness, lambda _: torch.tensor([3.0]), Training(steps=1))
    assert list(first.to_json()) == NAMES.split()
    assert json.loads(json.dumps(first.to_json(), allow_nan=False))["bound"] == -4.5
    odd = Record("train", 1, 0.0, bound=math.nan, terms={"kl": math.inf, "log_px": 2.0}).to_json()
    assert (odd["bound"], odd["terms"]) == (None, {"kl": None, "log_px": 2.0})


def test_the_number_of_reads_does_not_grow_with_the_number_of_steps(monkeypatch):
    def reads(steps: int) -> int:
        count = 0

        def counted(method):
            def read(*arguments):
                nonlocal count
                count += 1
                return method(*arguments)

            return read

        with monkeypatch.context() as patch:
            for name in ("item", "tolist", "__bool__", "__float__", "__int__", "cpu", "numpy"):
                patch.setattr(torch.Tensor, name, counted(getattr(torch.Tensor, name)))
            options = replace(EVERYTHING, steps=steps, log_every=90, checkpoint_every=90)
            list(train(network(), noisy, batch, replace(options, weight_decay=0.0)))
        return count

    assert 0 < reads(10) == reads(80)


def test_the_average_is_what_the_model_holds_in_the_end(tmp_path):
    checkpoints = Checkpoints(tmp_path)
    model = trained(checkpoints=checkpoints)
    newest = checkpoints.newest()
    assert newest is not None
    assert not model.training
    for name, tensor in model.state_dict().items():
        assert torch.equal(newest.weights()[name], tensor)
        assert torch.equal(newest.state()[f"ema.{name}"], tensor)
    assert not torch.equal(newest.state()["model.0.weight"], newest.weights()["0.weight"])


# Randomness.


def test_the_callers_random_state_is_untouched_at_every_record():
    model = network()
    torch.manual_seed(99)
    before = torch.get_rng_state()
    for _ in train(model, noisy, batch, replace(EVERYTHING, weight_decay=0.0)):
        assert torch.equal(torch.get_rng_state(), before)


def test_what_the_caller_draws_between_records_changes_nothing():
    calm, busy = network(), network()
    options = replace(EVERYTHING, weight_decay=0.0)
    list(train(calm, noisy, batch, options))
    for record in train(busy, noisy, batch, options):
        torch.rand(record.step + 1)
        busy.eval()
    assert difference(calm, busy) == 0.0


def test_another_seed_gives_other_noise():
    assert difference(trained(), trained(replace(EVERYTHING, seed=6))) > 0.0


# Checkpoints.


def test_a_run_left_at_any_step_resumes_exactly(tmp_path):
    whole = trained(checkpoints=Checkpoints(tmp_path / "whole"))
    worst = 0.0
    for step in range(1, EVERYTHING.steps + 1):
        checkpoints = Checkpoints(tmp_path / str(step))
        trained(checkpoints=checkpoints, until=step)
        newest = checkpoints.newest()
        assert newest is not None
        assert newest.step == step
        worst = max(worst, difference(whole, trained(checkpoints=checkpoints)))
        files = [
            (tmp_path / name / "step-00000040" / "state.safetensors").read_bytes()
            for name in ("whole", str(step))
        ]
        assert files[0] == files[1]
    assert worst == 0.0


def test_saving_changes_nothing(tmp_path):
    assert difference(trained(), trained(checkpoints=Checkpoints(tmp_path))) == 0.0


def test_the_records_say_what_was_saved_and_resumed(tmp_path):
    checkpoints = Checkpoints(tmp_path)
    options = replace(EVERYTHING, weight_decay=0.0, log_every=10)
    records = list(train(network(), noisy, batch, options, checkpoints=checkpoints))
    saved = [record for record in records if record.kind == "checkpoint"]
    assert [record.step for record in saved] == [9, 18, 27, 36, 40]
    assert saved[0].note == "step-00000009"
    assert [record.kind for record in records[-3:]] == ["train", "checkpoint", "done"]
    more = list(train(network(), noisy, batch, replace(options, steps=45), checkpoints=checkpoints))
    assert [(r.kind, r.step) for r in more] == [("train", 45), ("checkpoint", 45), ("done", 45)]
    assert more[0].note == "resumed from step 40"
    assert more[0].seconds > records[-1].seconds


def test_a_finished_run_has_nothing_left_to_do(tmp_path):
    checkpoints = Checkpoints(tmp_path)
    first = trained(checkpoints=checkpoints)
    again = network()
    options = replace(EVERYTHING, weight_decay=0.0)
    records = list(train(again, noisy, batch, options, checkpoints=checkpoints))
    assert [(r.kind, r.note) for r in records] == [("done", "resumed from step 40")]
    assert difference(first, again) == 0.0


def test_a_damaged_checkpoint_is_passed_over_and_named(tmp_path):
    checkpoints = Checkpoints(tmp_path)
    whole = trained(checkpoints=checkpoints)
    (tmp_path / "step-00000040" / "state.safetensors").write_bytes(b"")
    model = network()
    records = list(
        train(
            model,
            noisy,
            batch,
            EVERYTHING,
            checkpoints=checkpoints,
            decayed=[*model[0].parameters()],
        )
    )
    assert "resumed from step 36; " in records[0].note
    assert "step-00000040/state.safetensors is damaged" in records[0].note
    assert difference(whole, model) == 0.0


def test_ctrl_c_inside_a_step_saves_the_last_state_that_is_whole(tmp_path):
    def interrupted(step):
        if step == 35:
            raise KeyboardInterrupt
        return batch(step)

    options = replace(EVERYTHING, checkpoint_every=15, log_every=100)
    whole, checkpoints = trained(options), Checkpoints(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        trained(options, checkpoints, batch=interrupted)
    newest = checkpoints.newest()
    assert newest is not None
    assert newest.step == 30
    assert difference(whole, trained(options, checkpoints)) == 0.0


def test_an_error_in_a_step_saves_what_the_checks_have_seen(tmp_path):
    def broken(step):
        if step == 205:
            raise RuntimeError("out of memory")
        return batch(step)

    options = replace(EVERYTHING, steps=300, checkpoint_every=1000)
    with pytest.raises(RuntimeError, match="out of memory"):
        trained(options, Checkpoints(tmp_path), batch=broken)
    newest = Checkpoints(tmp_path).newest()
    assert newest is not None
    assert newest.step == 200


def test_nothing_is_saved_before_the_first_step(tmp_path):
    def broken(step):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        trained(checkpoints=Checkpoints(tmp_path / "none"), batch=broken)
    assert not (tmp_path / "none").exists()


def test_a_checkpoint_that_cannot_be_written_stops_the_training_and_spares_the_others(tmp_path):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    checkpoints = Checkpoints(tmp_path)
    trained(checkpoints=checkpoints, until=20)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.replace", full)
        with pytest.raises(DataError, match="No space left on device"):
            trained(checkpoints=checkpoints)
    newest = checkpoints.newest()
    assert newest is not None
    assert newest.step == 20
    assert difference(trained(), trained(checkpoints=checkpoints)) == 0.0


def test_a_folder_with_checkpoints_is_not_started_anew(tmp_path):
    checkpoints = Checkpoints(tmp_path)
    trained(checkpoints=checkpoints)
    options = replace(EVERYTHING, weight_decay=0.0)
    with pytest.raises(UsageError, match=r"`resume` is False, but there is .*step-00000040"):
        next(train(network(), noisy, batch, options, checkpoints=checkpoints, resume=False))


def test_a_folder_where_everything_is_damaged_is_not_started_anew(tmp_path):
    checkpoints = Checkpoints(tmp_path)
    trained(checkpoints=checkpoints)
    for path in tmp_path.glob("*/manifest.json"):
        path.write_text("{}")
    with pytest.raises(DataError, match=r"No checkpoint is whole: .* is not a manifest"):
        trained(checkpoints=checkpoints)


def test_a_checkpoint_of_another_model_is_named_with_both_shapes(tmp_path):
    checkpoints = Checkpoints(tmp_path)
    trained(checkpoints=checkpoints)
    model = network()
    model[3] = nn.Linear(16, 2)
    options = replace(EVERYTHING, weight_decay=0.0)
    message = r"'model.3.weight' has shape \(1, 16\); expected \(2, 16\)"
    with pytest.raises(DataError, match=message):
        next(train(model, noisy, batch, options, checkpoints=checkpoints))


def test_an_average_that_was_never_kept_cannot_be_resumed(tmp_path):
    checkpoints = Checkpoints(tmp_path)
    trained(replace(EVERYTHING, ema=0.0), checkpoints)
    with pytest.raises(DataError, match=r"lacks tensor 'ema.0.weight'"):
        trained(checkpoints=checkpoints)
