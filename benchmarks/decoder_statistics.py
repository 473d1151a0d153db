"""What the decoder's normalisation costs or gains when pictures are imagined.

The authors' code decodes every query by itself and normalises by that one picture; here running
averages of training are used. A model is scored with its decoder normalising by the running
averages, by batches of two sizes, and by each picture alone. The pictures of a batch answer
neighbouring queries, so what a batch does depends on its size. Queries, noise and observer are the
same, and the weights do not change.

    python benchmarks/decoder_statistics.py --model mnist-a --queries 120
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from unittest.mock import patch

import torch
from torch import Tensor, nn

from mindseye.evaluation import PROTOCOLS, ask, queries_of
from mindseye.networks.normalised import BatchNormELU
from mindseye.provenance import provenance
from mindseye.runs import find

BATCH, PICTURE = (0, 2, 3), (2, 3)
WAYS: dict[str, tuple[tuple[int, ...], int]] = {
    "running averages": ((), 64),
    "batches of 64": (BATCH, 64),
    "batches of 1024": (BATCH, 1024),
    "each picture": (PICTURE, 64),
}
"""What a mean and a variance are taken over (nothing for those of training), and the batch."""


def main() -> None:
    options = _options()
    torch.set_num_threads(options.threads)
    run = find(options.model)
    mind = run.mind()
    protocol = replace(PROTOCOLS["paper"], levels=(4, 3), queries=options.queries)
    asked = queries_of(mind.vocabulary, protocol)
    imagine = partial(mind.imagine_each, fill=protocol.fill)
    report = {"recipe": run.recipe.to_json(), "protocol": asdict(protocol), "rows": {}}
    for name, (dims, size) in WAYS.items():
        started = time.perf_counter()
        decoder = normalised_over(mind.model.image_decoder, dims)
        with decoder, patch("mindseye.imagine.CHUNK", size):
            score = ask(imagine, mind.observer, asked, protocol).to_json()
        found = {level["level"]: level["rows"]["model"] for level in score["levels"]}
        row = {
            "correctness 4": found[4]["correctness"]["mean"],
            "correctness 3": found[3]["correctness"]["mean"],
            "coverage 3": found[3]["coverage"]["mean"],
        }
        seconds = time.perf_counter() - started
        print(f"{name:16}", *(f"{key} {100 * value:5.1f}" for key, value in row.items()))
        report["rows"][name] = row | {"seconds": round(seconds, 1)}
    report["provenance"] = provenance("cpu")
    if options.json:
        options.json.write_text(json.dumps(report, indent=2) + "\n")


@contextmanager
def normalised_over(decoder: nn.Module, dims: tuple[int, ...]) -> Iterator[None]:
    """Let a decoder normalise by what it decodes; by its running averages if over nothing."""
    layers = [layer for layer in decoder.modules() if isinstance(layer, BatchNormELU)]
    assert layers, "this decoder normalises nothing"
    with ExitStack() as changed:
        for layer in layers if dims else ():
            changed.enter_context(patch.object(layer, "forward", _by_itself(layer, dims)))
        yield


def _by_itself(layer: BatchNormELU, dims: tuple[int, ...]) -> Callable[[Tensor], Tensor]:
    def forward(input: Tensor) -> Tensor:
        mean = input.mean(dims, keepdim=True)
        scale = (input.var(dims, keepdim=True, correction=0) + layer.eps).rsqrt()
        shaped = (input - mean) * scale * layer.weight[:, None, None] + layer.bias[:, None, None]
        return nn.functional.elu(shaped)

    return forward


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Score a decoder by other statistics.")
    parser.add_argument("--model", default="mnist-a", help="a built-in model or a run")
    parser.add_argument("--queries", type=int, default=480, help="of each level")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    return parser.parse_args()


if __name__ == "__main__":
    main()
