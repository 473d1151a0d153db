"""The log of a training: one record a line, as JSON, whole after any crash."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mindseye.files import explained, write_bytes
from mindseye.training.loop import Record

__all__ = ["Log", "read_log"]


class Log:
    """A log to append to, cut back to the step that training goes on from.

    Arguments:
        path: The file.
        step: Where training goes on; later records are dropped.
    """

    def __init__(self, path: Path, step: int):
        self.path, self.step = path, step

    def __enter__(self) -> Log:
        earlier = (r for r in read_log(self.path) if r.get("kind") != "done")
        kept = [r for r in earlier if r.get("step", 0) <= self.step]
        lines = "".join(json.dumps(record) + "\n" for record in kept)
        write_bytes(self.path, lines.encode())
        with explained(self.path):
            self.file = open(self.path, "a", encoding="utf-8")
        return self

    def append(self, record: Record) -> None:
        """Write a record, and leave nothing in buffers."""
        with explained(self.path):
            self.file.write(json.dumps(record.to_json()) + "\n")
            self.file.flush()

    def __exit__(self, *_: object) -> None:
        self.file.close()


def read_log(path: Path) -> Iterator[dict[str, Any]]:
    """The records of a log; a line that was cut short is left out."""
    if not path.is_file():
        return
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict) and _well_formed(record):
            yield record


def _well_formed(record: dict[str, Any]) -> bool:
    """Whether the numbers of a record are numbers; anybody may have touched the file."""
    step = record.get("step", 0)
    numbers = (record.get("seconds"), record.get("bound"))
    return (
        isinstance(step, int)
        and 0 <= step < 2**53
        and all(n is None or (isinstance(n, int | float) and abs(n) < 1e300) for n in numbers)
    )
