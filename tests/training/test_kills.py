"""Training killed with SIGKILL at random instants goes on as if nothing had happened."""

from __future__ import annotations

import json
import os
import subprocess
import sys

KILLS = 8

# One process imports torch once and forks a trainer for every kill: a fresh start would cost
# seconds each time. It runs no backward pass itself, after which forking would not be safe.
SCRIPT = """
import hashlib, json, os, random, signal, sys, time
from pathlib import Path

import torch
from torch import nn
from mindseye.objectives.bound import Bound
from mindseye.training import Checkpoints, Training, train

torch.set_num_threads(1)
torch.optim.Adam([nn.Parameter(torch.zeros(1))])  # slow to import, so once and before the forks
OPTIONS = Training(steps=80, learning_rate=0.01, warmup=5, schedule="cosine", clip=1.0, ema=0.9,
                   beta_warmup=20, log_every=7, checkpoint_every=1, seed=3)


def bound(model, x, beta):
    value = -(model(x) - x.sum(-1, keepdim=True)).square().sum(-1)
    return Bound(beta * value - value.detach(), {"error": -value})


def trained(folder, pipe):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.Dropout(0.1), nn.Linear(16, 1))
    batch = lambda step: torch.randn(8, 4, generator=torch.Generator().manual_seed(step))
    for record in train(model, bound, batch, OPTIONS, checkpoints=Checkpoints(folder)):
        if record.kind == "checkpoint":
            os.write(pipe, b"%d " % record.step)


def fork(folder):
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            trained(folder, writer)
            os._exit(0)
        finally:
            os._exit(1)
    os.close(writer)
    return child, reader


def waited(child, reader):
    _, status = os.waitpid(child, 0)
    acknowledged = b""
    while part := os.read(reader, 65536):
        acknowledged += part
    os.close(reader)
    return status, [int(step) for step in acknowledged.split()]


def digests(folder):
    path = Checkpoints(folder).newest().path
    return [hashlib.sha256((path / f"{name}.safetensors").read_bytes()).hexdigest()
            for name in ("weights", "state")]


root, kills = Path(sys.argv[1]), int(sys.argv[2])
rng = random.Random(11)
begin = time.perf_counter()
status, steps = waited(*fork(root / "reference"))
assert status == 0 and steps == list(range(1, 81)), (status, steps)
duration = time.perf_counter() - begin
done, runs, acknowledged, lost, damaged, different = 0, 0, 0, 0, 0, 0
while done < kills or acknowledged:
    folder = root / f"run-{runs}"
    child, reader = fork(folder)
    if done < kills:
        time.sleep(rng.uniform(0, 0.6 * duration))
        os.kill(child, signal.SIGKILL)
    status, steps = waited(child, reader)
    done += os.WIFSIGNALED(status)
    assert os.WIFSIGNALED(status) or status == 0, status
    acknowledged = max([acknowledged, *steps])
    checkpoints = Checkpoints(folder)
    newest = checkpoints.newest()
    lost += acknowledged > (newest.step if newest else 0)
    damaged += len(checkpoints.skipped)
    if status == 0:
        different += digests(folder) != digests(root / "reference")
        runs, acknowledged = runs + 1, 0
print(json.dumps(dict(kills=done, runs=runs, lost=lost, damaged=damaged, different=different)))
"""


def test_no_kill_loses_damages_or_changes_anything(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    answer = subprocess.run(
        [sys.executable, script, tmp_path, str(KILLS)],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    counts = json.loads(answer.stdout)
    assert counts["runs"] >= 1
    assert counts | {"runs": 0} == {
        "kills": KILLS,
        "runs": 0,
        "lost": 0,
        "damaged": 0,
        "different": 0,
    }
