"""The mean picture of a data set whose pictures are drawn when they are asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from mindseye.data.batch import Batch
from mindseye.randomness import integers, keys

__all__ = ["mean_picture"]

PICTURES, AT_ONCE = 8192, 1024


def mean_picture(
    examples: Callable[[Tensor], Batch[Any]], count: int, device: torch.device | str = "cpu"
) -> Tensor:
    """The mean of many examples, chosen at random and always the same, float32.

    Arguments:
        examples: The pictures of some indices.
        count: How many there are.
        device: Where they are.
    """
    index = integers(keys(0, torch.arange(PICTURES, device=device), "mean"), count)
    sums = [examples(some).x.double().sum(0) for some in index.split(AT_ONCE)]
    return (torch.stack(sums).sum(0) / PICTURES).float()
