"""Kernels for GPUs, in Triton: what torch would do in many passes over memory, in few.

Each computes what a line of plain torch computes, and is tested against it. They are used while a
captured step is recorded, and nowhere else: evaluation, the CPU and `--no-compile` run plain torch.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache

from torch import Tensor

from mindseye.errors import UsageError

__all__ = ["addressable", "available", "fused", "wanted"]

_wanted: ContextVar[bool] = ContextVar("wanted", default=False)


@cache
def available() -> bool:
    """Whether Triton is installed; it comes with torch for CUDA."""
    return importlib.util.find_spec("triton") is not None


def addressable(numbers: int) -> None:
    """Refuse more numbers than 32 bits can address; the kernels count with those."""
    if numbers >= 2**31:
        raise UsageError(
            f"`batch_size` is too large: one layer would hold {numbers:,} numbers, a kernel takes"
            " fewer than 2,147,483,648.",
            "Set a smaller batch_size, or train with --no-compile.",
        )


@contextmanager
def fused() -> Iterator[None]:
    """Use these kernels where there are any."""
    before = _wanted.set(True)
    try:
        yield
    finally:
        _wanted.reset(before)


def wanted(x: Tensor) -> bool:
    """Whether a function of this tensor should use its kernel."""
    return x.is_cuda and _wanted.get()
