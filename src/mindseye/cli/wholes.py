"""What commands say and write of models of parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mindseye.cli.output import answer, file_stem, print_json, sheet_path
from mindseye.errors import UsageError

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from mindseye.composing import Composer, Composition
    from mindseye.parts import Parts
    from mindseye.runs import Run

__all__ = ["check_marks", "imagine_wholes"]

MOST = 10_000
"""Wholes that are imagined at once."""


def imagine_wholes(
    run: Run,
    description: str,
    n: int,
    seed: int,
    out: str | None,
    device: torch.device,
    how: Mapping[str, bool],
    strange: Mapping[str, bool],
    *,
    as_json: bool,
) -> None:
    """Imagine wholes of some parts.

    Arguments:
        run: A run of a model of parts.
        description: The parts.
        n: How many wholes.
        seed: Chooses them.
        out: File or folder to write to.
        device: Where the model is.
        how: Options by name: `samples`, `ladder`, `marks`, `files`, `npz`.
        strange: Options that mean nothing here, and whether they were given.
        as_json: Print JSON.
    """
    _refuse(run, strange, out)
    composer = run.composer()
    composer.model.to(device)
    parts = composer.vocabulary.parse(description)
    check_marks(composer.vocabulary, how["marks"])
    if not 1 <= n <= MOST:
        raise UsageError(f"`n={n}` must be between 1 and {MOST}.")
    stem = file_stem(str(parts), seed)
    if how["ladder"]:
        files, n = _ladder(composer, parts, n, seed, sheet_path(out, f"{stem}-ladder"), how)
    else:
        whole = composer.composed(parts, n, seed)
        shown = whole.draws(seed) if how["samples"] else whole.means
        files = [_sheet(whole, shown, sheet_path(out, stem), how)]
        files += _extra(whole, shown, files[0], seed, how)
    report = {
        "model": composer.name,
        "description": str(parts),
        "parts": [str(part) for part in parts],
        "n": n,
        "seed": seed,
        "files": [str(path) for path in files],
    }
    _tell(report, as_json=as_json)


def check_marks(words: object, marks: bool) -> None:
    """Refuse rings where there are no parts, or parts without places."""
    if marks and not getattr(words, "axes", ()):
        raise UsageError("`--marks` rings parts at their places; here are none.", "Leave it out.")


def _refuse(run: Run, strange: Mapping[str, bool], out: str | None) -> None:
    """Refuse options that mean nothing for parts."""
    for name, given in strange.items():
        if given:
            raise UsageError(
                f"`--{name}` says nothing here: {run.name} is a model of parts.",
                "Leave it out; `mindseye compose` changes wholes part by part.",
            )
    if out is not None and out.lower().endswith(".gif"):
        raise UsageError(f"`--out {out}` is a film; wholes are drawn on a sheet.", "Name a .png.")


def _sheet(whole: Composition, shown: Tensor, path: Path, how: Mapping[str, bool]) -> Path:
    """All wholes in a grid."""
    from mindseye.pictures import save_picture
    from mindseye.wholesheets import wholes_sheet

    many = [whole.parts] * len(whole)
    return save_picture(path, wholes_sheet(shown, many, str(whole.parts), marks=how["marks"]))


def _ladder(
    composer: Composer, parts: Parts, n: int, seed: int, path: Path, how: Mapping[str, bool]
) -> tuple[list[Path], int]:
    """One row for every part that is added; the sheet, and how many wholes it has."""
    from mindseye.pictures import save_picture
    from mindseye.wholesheets import SHOWN, Step, steps_sheet

    first, *others = parts
    whole = composer.composed(composer.vocabulary.parts([first]), min(n, SHOWN), seed)
    steps = [Step("start", whole)]
    for part in others:
        whole = composer.added(whole, part, seed)
        steps.append(Step(f"+ {part}", whole))
    if how["samples"]:
        drawn = [replace(step.whole, means=step.whole.draws(seed)) for step in steps]
        steps = [Step(step.label, each) for step, each in zip(steps, drawn, strict=True)]
    save_picture(path, steps_sheet(steps, str(parts), marks=how["marks"]))
    return [path], len(steps) * len(whole)


def _extra(
    whole: Composition, shown: Tensor, sheet: Path, seed: int, how: Mapping[str, bool]
) -> list[Path]:
    """Single wholes and arrays, beside the sheet."""
    from mindseye.pictures import save_arrays, save_picture
    from mindseye.wholesheets import wholes_sheet

    stem, written = sheet.with_suffix(""), []
    if how["files"]:
        for i, each in enumerate(shown.cpu()):
            curve = each.shape[1] == 1
            picture = wholes_sheet(each[None], [whole.parts]) if curve else each.numpy()
            written.append(save_picture(stem / f"{i:04d}.png", picture))
    if how["npz"]:
        arrays = {
            "means": whole.means,
            "samples": whole.draws(seed),
            "deviations": whole.deviations,
        }
        arrays |= {"parts": whole.w, "noise": whole.noise}
        plain = {name: tensor.cpu().numpy() for name, tensor in arrays.items()}
        written.append(save_arrays(stem.with_name(stem.name + ".npz"), plain))
    return written


def _tell(report: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        return print_json(report)
    count = len(report["parts"])
    answer(f"p(x | {report['description']}): {count} part{'s' if count > 1 else ''} said")
    answer(f"Wrote {report['n']} wholes to {report['files'][0]}")
    if extra := report["files"][1:]:
        answer(f"Wrote {len(extra)} more files, {extra[0]} the first")
