"""How fast links are learnt, beside torch_geometric's own example, and how large a graph may be.

    python benchmarks/graphs.py --data FOLDER --json docs/results/graphs.json
    python benchmarks/graphs.py --rows 10000000

Contestants take steps on Cora, in turn, a block each, so that what else the machine does falls on
all of them:

- ours: the training loop of the package, with all pairs of nodes in every step, as in the paper;
- example: `autoencoder.py` of torch_geometric: `GCNConv` over dense features, as many pairs without
  a link drawn as there are links;
- example, all pairs: the same encoder with the paper's loss, as torch is usually written.

The promise: at most 1.2 times the time of the example. With `--rows`, an edge list of so many rows
and a tenth of as many nodes is written, read, trained on in mini-batches by `mindseye train
graph/large` and measured; the promise is at most 4 GB.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from mindseye.papers import get_recipe
from mindseye.provenance import provenance
from mindseye.runs.making import batches, data_of, fresh
from mindseye.training import train

ENOUGH, MOST_GB = 1.2, 4.0
CALL = [sys.executable, "-c", "from mindseye.cli import main; main()"]
BLOCK = 10
"""Steps between two looks at the clock."""


def main() -> None:
    options = _options()
    torch.set_num_threads(options.threads)
    report = {"provenance": provenance("cpu"), "threads": options.threads}
    if options.rows:
        report["large"] = large(options.rows, options.steps)
        _tell_large(report["large"])
    else:
        report["epochs"] = [
            compare(name, options.data, options.rounds) for name in ("gae", "vgae", "masked")
        ]
        for row in report["epochs"]:
            print(f"cora/{row['model']}")
            for who, ms in row["milliseconds"].items():
                print(f"  {who:20} {ms:8.2f} ms a step")
            print(f"  ours takes {row['ratio']:.2f} of the example's time")
    if options.json:
        known = json.loads(options.json.read_text()) if options.json.is_file() else {}
        options.json.write_text(json.dumps(known | report, indent=2) + "\n")


def compare(name: str, data: str | None, rounds: int) -> dict:
    """The figures of one recipe."""
    variational = name != "gae"
    each = {
        "ours": ours(f"cora/{name}", data),
        "example": example(data, variational, all_pairs=False),
        "example, all pairs": example(data, variational, all_pairs=True),
    }
    times: dict[str, list[float]] = {who: [] for who in each}
    for loop in each.values():
        next(loop)
    for _ in range(rounds):
        for who, loop in each.items():
            start = time.perf_counter()
            next(loop)
            times[who].append((time.perf_counter() - start) / BLOCK)
    found = {who: 1e3 * statistics.median(seconds) for who, seconds in times.items()}
    ratio = found["ours"] / found["example"]
    return {"model": name, "milliseconds": found, "ratio": ratio, "enough": ratio <= ENOUGH}


def ours(name: str, folder: str | None) -> Iterator[None]:
    """The training loop of the package, a block at a time."""
    recipe = get_recipe(name)
    rhythm = {"steps": 10**6, "log_every": BLOCK, "checkpoint_every": 10**6}
    recipe = replace(recipe, training=replace(recipe.training, **rhythm))
    data = data_of(recipe, "cpu", folder)
    model = fresh(recipe, "cpu", data)
    for record in train(model, recipe.bounds, batches(recipe, data), recipe.training):
        if record.kind == "train":
            yield


def example(folder: str | None, variational: bool, all_pairs: bool) -> Iterator[None]:
    """The example of torch_geometric, a block at a time."""
    from torch_geometric.nn import GAE, VGAE, GCNConv

    class Encoder(torch.nn.Module):
        def __init__(self, columns: int):
            super().__init__()
            self.first, self.mean = GCNConv(columns, 32), GCNConv(32, 16)
            self.scale = GCNConv(32, 16) if variational else None

        def forward(self, x: Tensor, links: Tensor) -> Tensor | tuple[Tensor, Tensor]:
            hidden = self.first(x, links).relu()
            mean = self.mean(hidden, links)
            return (mean, self.scale(hidden, links)) if self.scale else mean

    opened = get_recipe("cora/gae").data.graph("train", folder=folder)
    x = opened.graph.features.dense()
    links = torch.cat([opened.train, opened.train.flip(1)]).T.contiguous()
    model = (VGAE if variational else GAE)(Encoder(x.shape[1]))
    adam = torch.optim.Adam(model.parameters(), lr=0.01)
    label, weight, norm = _whole(links, len(x))
    while True:
        for _ in range(BLOCK):
            adam.zero_grad()
            z = model.encode(x, links)
            if all_pairs:
                loss = norm * binary_cross_entropy_with_logits(z @ z.T, label, pos_weight=weight)
            else:
                loss = model.recon_loss(z, links)
            if variational:
                loss = loss + model.kl_loss() / len(x)
            loss.backward()
            adam.step()
            loss.item()
        yield


def _whole(links: Tensor, nodes: int) -> tuple[Tensor, Tensor, float]:
    """All entries of A + I, and what the authors weigh them by."""
    label = torch.eye(nodes)
    label[links[0], links[1]] = 1
    edges, pairs = links.shape[1], nodes**2
    return label, torch.tensor((pairs - edges) / edges), pairs / (2 * (pairs - edges))


def large(rows: int, steps: int) -> dict:
    """Seconds and the largest memory of training on an edge list of so many rows."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "edges.csv"
        _write(path, rows)
        begun = time.perf_counter()
        command = [*CALL, "train", "graph/large", "--data", str(path)]
        command += ["--set", f"steps={steps}", "--runs", f"{folder}/runs", "--device", "cpu"]
        subprocess.run(command, check=True)
        trained = time.perf_counter()
        measure = [*CALL, "evaluate", "0", "--runs", f"{folder}/runs"]
        told = subprocess.run([*measure, "--json"], check=True, capture_output=True, text=True)
        scores = json.loads(told.stdout)["scores"]
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
    return {
        "rows": rows,
        "nodes": rows // 10,
        "steps": steps,
        "megabytes of file": round(path_size(rows)),
        "training seconds": round(trained - begun, 1),
        "evaluation seconds": round(time.perf_counter() - trained, 1),
        "peak GB": round(peak, 2),
        "auc": scores["auc"]["mean"],
        "enough": peak <= MOST_GB,
    }


def path_size(rows: int) -> float:
    """About how many megabytes the file has."""
    return rows * 2 * (len(str(rows // 10)) + 0.9) / 1e6


def _write(path: Path, rows: int) -> None:
    """Links within groups of a hundred nodes, and one in ten between any two."""
    generator, nodes = np.random.default_rng(0), rows // 10
    with path.open("w") as file:
        file.write("source,target\n")
        for start in range(0, rows, 10**6):
            count = min(10**6, rows - start)
            one = generator.integers(0, nodes, count)
            near = one - one % 100 + generator.integers(0, 100, count)
            far = generator.integers(0, nodes, count)
            other = np.where(generator.random(count) < 0.9, near % nodes, far)
            np.savetxt(file, np.stack([one, other], 1), fmt="%d", delimiter=",")


def _tell_large(found: dict) -> None:
    print(", ".join(f"{name} {value}" for name, value in found.items()))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", help="the folder with Cora")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--rows", type=int, default=0, help="of an edge list, instead of Cora")
    parser.add_argument("--steps", type=int, default=200, help="with --rows")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()
