"""Models to give away: a run without what only training needs."""

from __future__ import annotations

import os
from pathlib import Path

from mindseye.errors import DataError, UsageError
from mindseye.files import explained, write_bytes
from mindseye.runs import Run
from mindseye.tensors import read_tensors, write_tensors

__all__ = ["export"]


_KEPT = ("log.jsonl", "evaluation.json", "provenance.json", "recipe.json")
"""Files that travel along; the recipe is last, since with one a folder is a run."""


def export(run: Run, folder: str | os.PathLike[str], *, half: bool = True) -> Run:
    """A finished run to give away: recipe, log, scores and weights, without checkpoints.

    Arguments:
        run: The run.
        folder: A new folder; any command opens it as a model.
        half: Round weights to float16, which halves the file.
    """
    if not run.finished:
        raise DataError(f"{run.path} is not finished.", f"`mindseye resume {run.path}` trains it.")
    path = Path(folder)
    with explained(path):
        try:
            path.mkdir(parents=True)
        except FileExistsError as error:
            raise UsageError(f"{path} is there already.", "Name a new folder.") from error
    weights = read_tensors(run.path / "weights.safetensors")
    kept = {n: w.half() if half and w.is_floating_point() else w for n, w in weights.items()}
    write_tensors(path / "weights.safetensors", kept)
    for name in _KEPT:
        if (run.path / name).is_file():
            write_bytes(path / name, (run.path / name).read_bytes())
    return Run(path)
