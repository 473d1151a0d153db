"""What a trained model reads in many pictures, kept: flows are fitted to it and see no picture.

The posteriors of a part of the training pictures, or wholes, are computed once. A batch is then a
few numbers a picture instead of a picture that is rendered and read, so that fitting flows takes
minutes on a CPU, and a GPU does nothing else.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from mindseye.data import Batch, Dataset
from mindseye.labels import Labels
from mindseye.models import Flowing, FlowingParts
from mindseye.randomness import integers, keys

__all__ = ["Readings"]

KEPT = {"cuda": 2**18, "cpu": 2**17}
"""Pictures that are read, by where the model is: of 2**14, flows know each by heart."""

WHOLES = {"cuda": 2**18, "cpu": 2**16}
"""Wholes that are read; more of them, since of each one draw of z is kept."""

AT_ONCE = 512


class Readings:
    """What is read in training pictures, and their descriptions.

    Arguments:
        model: The model with its flows, on its device.
        dataset: The pictures, on the same.
        seed: Chooses the order, and what is drawn in reading.
        few: The most pictures that a short training can use.
    """

    def __init__(self, model: Flowing | FlowingParts, dataset: Dataset, seed: int, few: int):
        device = model.device
        most = WHOLES if isinstance(model, FlowingParts) else KEPT
        count = min(most[device.type], dataset.count, max(AT_ONCE, few))
        with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
            torch.manual_seed(seed)
            parts = [_read(model, dataset.examples(i)) for i in _pieces(count, device)]
        self.read = torch.cat([read for read, _ in parts])  # (N, ...)
        self.y = Labels(*(torch.cat(each) for each in zip(*(y for _, y in parts), strict=True)))
        self.seed = seed

    def batch(self, step: int | Tensor, size: int, count: int = 1) -> Batch[Labels]:
        """Training batch number `step`: what was read of pictures drawn with replacement."""
        rows = step * size + torch.arange(count * size, device=self.read.device)
        index = integers(keys(self.seed, rows, "readings"), len(self.read))
        codes, observed = self.y
        return Batch(self.read[index], Labels(codes[index], observed[index]))


def _pieces(count: int, device: torch.device) -> tuple[Tensor, ...]:
    return torch.arange(count, device=device).split(AT_ONCE)


@torch.no_grad()
def _read(model: Flowing | FlowingParts, batch: Batch[Any]) -> tuple[Tensor, Labels]:
    """What is read of pictures, and the words that describe them: none of parts, which are read."""
    read = model.read(batch.x, batch.y)
    nothing = torch.zeros(len(read), 0, dtype=torch.int64, device=read.device)
    return read, batch.y if isinstance(batch.y, Labels) else Labels.full(nothing)
