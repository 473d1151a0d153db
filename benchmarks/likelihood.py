"""How fast IWAEs train and are measured: alone and three together, eagerly and captured.

    python benchmarks/likelihood.py                    # on whatever is there
    python benchmarks/likelihood.py --seconds 5

Prints one line of JSON for each model: steps a second of one model eagerly, captured, and of three
models together (steps of each), then the seconds and the peak memory of measuring 10 000 pictures
with 5000 draws (fewer on a CPU). Pictures are noise: nothing is read from disk.
"""

import argparse
import json
import resource
import time
from contextlib import closing

import torch
from torch import nn

from mindseye.metrics.likelihood import log_evidence
from mindseye.models import VAE, DeepVAE
from mindseye.objectives import iwae, vae
from mindseye.runs.together import _all, _side_by_side
from mindseye.training import Training, train

MODELS = {
    "vae, 1 layer, k = 1": (VAE, vae, 1),
    "iwae, 1 layer, k = 50": (VAE, iwae, 50),
    "vae, 2 layers, k = 1": (DeepVAE, vae, 1),
    "iwae, 2 layers, k = 50": (DeepVAE, iwae, 50),
}


def rate(kind, objective, k: int, count: int, device: str, compiled: bool, seconds: float) -> float:
    """Steps a second of some models trained together."""
    models = nn.ModuleList(kind((1, 28, 28)) for _ in range(count)).to(device)
    pictures = (torch.rand(2500, 1, 28, 28, device=device) < 0.2).float()
    bound = _all([lambda model, x, beta: objective(model, x, k=k)] * count)
    one = lambda number, batches=1: pictures[: 250 * batches]  # noqa: E731
    few = 100 if device == "cuda" else 2
    options = Training(steps=10**9, batch_size=250, log_every=few, checkpoint_every=10**9)
    with closing(
        train(models, bound, _side_by_side([one] * count), options, compiled=compiled)
    ) as records:
        next(records)  # kernels are chosen and memory is taken in the first steps
        started, steps = time.perf_counter(), 0
        while time.perf_counter() - started < seconds:
            next(records)
            steps += few
        return steps / (time.perf_counter() - started)


def measured(kind, device: str) -> dict[str, float]:
    """Seconds and gigabytes of measuring a model."""
    pictures, draws = (10_000, 5000) if device == "cuda" else (1000, 50)
    model = kind((1, 28, 28)).to(device)
    x = (torch.rand(pictures, 1, 28, 28, device=device) < 0.2).float()
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    started = time.perf_counter()
    log_evidence(model, x, draws).mean().item()
    seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    if device == "cuda":
        peak = torch.cuda.max_memory_allocated() / 2**30
    found = {"pictures": pictures, "draws": draws}
    return found | {"seconds": round(seconds, 2), "peak GB": round(peak, 2)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=2.0, help="how long every rate is taken")
    seconds = parser.parse_args().seconds
    device = "cuda" if torch.cuda.is_available() else "cpu"
    print(json.dumps({"device": torch.cuda.get_device_name() if device == "cuda" else "cpu"}))
    for name, (kind, objective, k) in MODELS.items():
        torch.manual_seed(0)
        line = {"model": name, "eager": rate(kind, objective, k, 1, device, False, seconds)}
        if device == "cuda":
            line["captured"] = rate(kind, objective, k, 1, device, True, seconds)
            line["three together"] = rate(kind, objective, k, 3, device, True, seconds)
        line = {n: round(v, 1) if isinstance(v, float) else v for n, v in line.items()}
        print(json.dumps(line | {"measuring": measured(kind, device)}), flush=True)


if __name__ == "__main__":
    main()
