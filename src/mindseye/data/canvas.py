"""Small windows put on larger canvases: what is drawn is only where there is something to draw."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["paste", "portions"]


def paste(window: Tensor, canvas: Tensor, row: Tensor, column: Tensor) -> None:
    """Put windows `(B, 1, h, h)` on canvases `(B, 1, H, H)`, line by line.

    Arguments:
        window: What is put.
        canvas: What it is put on; changed in place.
        row: The first row of each window on its canvas, int64 `(B,)`.
        column: The first column.
    """
    small, large = window.shape[-1], canvas.shape[-1]
    first = torch.arange(len(window), device=row.device) * large**2 + row * large + column
    lines = first[:, None] + torch.arange(small, device=row.device) * large  # (B, h)
    canvas.view(-1).unfold(0, small, 1).index_copy_(0, lines.view(-1), window.view(-1, small))


def portions(canvas: Tensor) -> list[slice]:
    """What to draw at once: all on a GPU, as much as its caches hold on a CPU."""
    step = 256 if canvas.device.type == "cpu" else max(len(canvas), 1)
    return [slice(start, start + step) for start in range(0, len(canvas), step)]
