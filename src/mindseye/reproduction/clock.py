"""How long a reproduction takes, over all the calls that it takes."""

from __future__ import annotations

import time
from pathlib import Path

from mindseye.files import read_json, write_json

__all__ = ["Clock"]


class Clock:
    """Seconds spent over all calls, what was begun and not finished too; calls at once add up."""

    def __init__(self, path: Path):
        self.path = path
        self.started = 0.0

    @property
    def seconds(self) -> float:
        """What has been spent so far."""
        return float(read_json(self.path)["seconds"]) if self.path.is_file() else 0.0

    def __enter__(self) -> None:
        self.started = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        spent = self.seconds + time.perf_counter() - self.started
        write_json(self.path, {"seconds": round(spent, 2)})
