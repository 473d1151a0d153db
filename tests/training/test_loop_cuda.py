from __future__ import annotations

import pytest
import torch
from torch import nn

from mindseye.objectives.bound import Bound
from mindseye.training import Checkpoints, Training, train

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]

OPTIONS = Training(
    steps=120, learning_rate=0.01, clip=1.0, ema=0.9, log_every=60, checkpoint_every=60
)


def network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 16), nn.Dropout(0.2), nn.Linear(16, 1)).cuda()


def bound(model, x, beta):
    value = -(model(x) - x.sum(-1, keepdim=True)).square().sum(-1)
    return Bound(value - beta * torch.rand((), device="cuda"), {"error": -value})


def batch(step):
    start = torch.arange(32, device="cuda", dtype=torch.float32).reshape(8, 4)
    return torch.sin(start * (step + 1))


def state() -> list[torch.Tensor]:
    return [torch.get_rng_state(), torch.cuda.get_rng_state()]


def test_a_step_never_waits_for_the_device():
    list(train(network(), bound, batch, OPTIONS))  # libraries are loaded, kernels chosen

    def watched(step):
        watch = 1 <= step % 60 <= 35  # numbers are read after steps 60, 100 and 120
        torch.cuda.set_sync_debug_mode("error" if watch else "default")
        return batch(step)

    try:
        list(train(network(), bound, watched, OPTIONS))
    finally:
        torch.cuda.set_sync_debug_mode("default")


def test_a_resumed_run_continues_on_the_same_noise(tmp_path):
    whole, model = network(), network()
    list(train(whole, bound, batch, OPTIONS))
    records = train(model, bound, batch, OPTIONS, checkpoints=Checkpoints(tmp_path))
    next(record for record in records if record.kind == "checkpoint")
    records.close()
    model = network()
    list(train(model, bound, batch, OPTIONS, checkpoints=Checkpoints(tmp_path)))
    for one, two in zip(model.parameters(), whole.parameters(), strict=True):
        torch.testing.assert_close(one, two, rtol=0, atol=1e-6)


def test_the_callers_random_states_are_untouched_at_every_record():
    model = network()
    before = state()
    for _ in train(model, bound, batch, OPTIONS):
        assert all(map(torch.equal, state(), before))


def test_a_run_of_the_cpu_goes_on_on_the_device(tmp_path):
    def anywhere(model, x, beta):
        value = -(model(x) - x.sum(-1, keepdim=True)).square().sum(-1)
        return Bound(value, {})

    records = train(
        network().cpu(),
        anywhere,
        lambda s: batch(s).cpu(),
        OPTIONS,
        checkpoints=Checkpoints(tmp_path),
    )
    next(record for record in records if record.kind == "checkpoint")
    records.close()
    *_, done = train(network(), anywhere, batch, OPTIONS, checkpoints=Checkpoints(tmp_path))
    assert done.step == 120
