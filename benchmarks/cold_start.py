"""How long the first picture takes from a cold start, beside `import torch` alone.

Every run is a new process. `mindseye imagine "digit=4, size=big"` and `python -c "import torch"`
take turns, each first in every other round, and a round gives one ratio; the promise is at most
1.6. `mindseye --help` must not import torch, and promises at most half a second of processor time.

Modules are compiled once and kept, as they are for users: an environment that forbids it
(`PYTHONDONTWRITEBYTECODE`) would have ours compiled anew every time, and torch's not.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

DESCRIPTION = "digit=4, size=big"
TORCH = [sys.executable, "-c", "import torch"]
MINDSEYE = [sys.executable, "-c", "from mindseye.cli import main; main()"]
HELP = [*MINDSEYE, "--help"]


class Cost(NamedTuple):
    """Of one process, in seconds."""

    wall: float
    cpu: float


def main() -> None:
    options = _options()
    with tempfile.TemporaryDirectory() as folder:
        picture = Path(folder) / "four.png"
        figures = measure(imagining(options.model, picture), TORCH, options.rounds)
        assert picture.stat().st_size > 0
    report = {
        "imagine": figures,
        "help": {
            "cpu_seconds": statistics.median(cost(HELP).cpu for _ in range(options.rounds)),
            "imports_torch": "torch" in modules_of_help(),
        },
    }
    show(report)
    if options.json:
        options.json.write_text(json.dumps(report, indent=2) + "\n")


def imagining(model: str, picture: Path) -> list[str]:
    """The command that draws a picture."""
    return [*MINDSEYE, "imagine", DESCRIPTION, "--model", model, "--out", str(picture)]


def measure(ours: list[str], other: list[str], rounds: int) -> dict[str, float]:
    """Medians of two commands that take turns, after a round that fills the disk's cache."""
    pairs = [turns(ours, other, ours_first=number % 2 == 0) for number in range(rounds + 1)][1:]
    return {
        "seconds": statistics.median(a.wall for a, _ in pairs),
        "seconds_of_import_torch": statistics.median(b.wall for _, b in pairs),
        "ratio": statistics.median(a.wall / b.wall for a, b in pairs),
        "ratio_of_cpu": statistics.median(a.cpu / b.cpu for a, b in pairs),
    }


def ratio(ours: list[str], other: list[str]) -> float:
    """How many times as much processor time ours takes, once, whoever else is at work."""
    a, b = turns(ours, other, ours_first=True)
    return a.cpu / b.cpu


def turns(ours: list[str], other: list[str], *, ours_first: bool) -> tuple[Cost, Cost]:
    """What each costs, one right after the other."""
    if ours_first:
        return cost(ours), cost(other)
    second = cost(other)
    return cost(ours), second


def cost(command: list[str]) -> Cost:
    """Run a command in a new process and wait for it."""
    keeps = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before, start = os.times(), time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=keeps)
    wall, after = time.perf_counter() - start, os.times()
    children = after.children_user + after.children_system
    return Cost(wall, children - before.children_user - before.children_system)


def modules_of_help() -> set[str]:
    """The modules that are loaded once `mindseye --help` has printed."""
    code = (
        "import atexit, sys\n"
        "atexit.register(lambda: print('\\n--\\n', *sys.modules))\n"
        "sys.argv = ['mindseye', '--help']\n"
        "from mindseye.cli import main\n"
        "main()"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return set(done.stdout.rpartition("--")[2].split())


def show(report: dict) -> None:
    imagine, page = report["imagine"], report["help"]
    loads = "imports" if page["imports_torch"] else "does not import"
    print(f'mindseye imagine "{DESCRIPTION}"   {imagine["seconds"]:.2f} s')
    print(f"import torch                           {imagine['seconds_of_import_torch']:.2f} s")
    print(f"ratio                                  {imagine['ratio']:.2f}")
    print(f"ratio of processor time                {imagine['ratio_of_cpu']:.2f}")
    print(f"\nmindseye --help: {page['cpu_seconds']:.2f} s of processor time, {loads} torch")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure the time to the first picture.")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--model", default="mnist-a", help="a built-in model or a run")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    return parser.parse_args()


if __name__ == "__main__":
    main()
