"""A folder on disk, and the trained model in it."""

from mindseye.runs.making import blank, estimate
from mindseye.runs.run import (
    BUILTIN,
    Run,
    create,
    find,
    list_runs,
    load,
    load_observer,
    spelled,
)

__all__ = [
    "BUILTIN",
    "Run",
    "blank",
    "create",
    "estimate",
    "find",
    "list_runs",
    "load",
    "load_observer",
    "spelled",
]
