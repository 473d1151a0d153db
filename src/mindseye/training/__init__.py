"""How a model learns: the loop, its schedules, the average of the weights, and checkpoints.

Nothing in here knows a paper: a bound and a batch come in, records come out.
"""

from __future__ import annotations

from mindseye.training.averaging import Average
from mindseye.training.checkpoints import Checkpoint, Checkpoints
from mindseye.training.logs import Log, read_log
from mindseye.training.loop import Record, Training, train
from mindseye.training.plan import Growth, Plan

__all__ = [
    "Average",
    "Checkpoint",
    "Checkpoints",
    "Growth",
    "Log",
    "Plan",
    "Record",
    "Training",
    "read_log",
    "train",
]
