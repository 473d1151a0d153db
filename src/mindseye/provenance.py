"""What made a result: kept beside every figure that is written down."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import torch

from mindseye.version import __version__

__all__ = ["provenance"]


def provenance(device: torch.device | str) -> dict[str, str]:
    """What made a result: version, commit, device, date."""
    device = torch.device(device)
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else _processor()
    return {
        "mindseye": __version__,
        "commit": _commit(),
        "torch": torch.__version__,
        "python": platform.python_version(),
        "device": f"{device} ({name})",
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    }


def _commit() -> str:
    """`$MINDSEYE_COMMIT`, for copies without a history, or the commit of the checkout."""
    if said := os.environ.get("MINDSEYE_COMMIT"):
        return said
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"]
    try:
        found = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return found.stdout.strip() if found.returncode == 0 else ""


def _processor() -> str:
    return f"{platform.processor() or platform.machine()}, {torch.get_num_threads()} threads"
