"""What pytest leaves alone when it collects doctests."""

from __future__ import annotations

import importlib.util

# Kernels import Triton, which comes with torch for CUDA only.
collect_ignore_glob = (
    [] if importlib.util.find_spec("triton") else ["src/mindseye/kernels/[!_]*.py"]
)
