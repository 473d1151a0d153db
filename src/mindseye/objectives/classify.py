r"""The observer's objective, $\log p(y \mid x)$: exact, so the bound is the likelihood itself."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from mindseye.models.observer import Observer
from mindseye.objectives.bound import Bound
from mindseye.objectives.registry import objective

__all__ = ["log_likelihood"]


@objective("classify", fits="", cite="vedantam2018", trains="observer")
def log_likelihood(observer: Observer, x: Tensor, y: Any, *, beta: float = 1.0) -> Bound:
    """log p(y|x); there is no divergence for `beta` to weigh."""
    told = None if observer.told is None else y.codes[:, observer.told]
    log_py = observer(x, told).log_prob(y)
    return Bound(log_py, {"log_py_x": log_py})
