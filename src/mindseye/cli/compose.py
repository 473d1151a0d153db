"""`mindseye compose`: wholes made of parts, taken apart and changed part by part."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mindseye.cli.options import Device, InOrder, Json, Marks, Runs, Seed, chosen_device
from mindseye.cli.output import answer, briefly, cell, file_stem, print_json, sheet_path, table
from mindseye.cli.wholes import MOST, check_marks
from mindseye.errors import UsageError

if TYPE_CHECKING:
    from torch import Tensor

    from mindseye.composing import Composer, Composition, Maker
    from mindseye.parts import Kit, Parts
    from mindseye.wholesheets import Step

__all__ = ["compose"]

FEW = 4
"""Wholes if nobody says how many."""

MANY = 64
"""Wholes whose mean is drawn, if nobody says how many."""

USUAL = "0.9,1"
"""Quantiles if nobody says which."""


class Beside(StrEnum):
    """What wholes are shown beside."""

    sum = "sum"
    truth = "truth"


def compose(
    context: typer.Context,
    run: Annotated[str, typer.Argument(help="A run of a model of parts: folder, name or number.")],
    parts: Annotated[
        str, typer.Argument(help='What the wholes are made of, such as "3×f2, f7".')
    ] = "",
    add: Annotated[
        list[str] | None, typer.Option("--add", help="Add a part, all else as it was.")
    ] = None,
    remove: Annotated[list[str] | None, typer.Option("--remove", help="Take a part away.")] = None,
    replace: Annotated[
        list[str] | None, typer.Option("--replace", help="One part for another: f2=f5.")
    ] = None,
    move: Annotated[
        list[str] | None,
        typer.Option("--move", help="A part to another place: red@0.2,-0.5=0.3,-0.4."),
    ] = None,
    from_: Annotated[
        str | None,
        typer.Option("--from", help="Take observed wholes apart: a .npy, .csv or picture file."),
    ] = None,
    of: Annotated[str | None, typer.Option("--of", help="The parts of what --from names.")] = None,
    toward: Annotated[
        str | None,
        typer.Option(help="Draw wholes by a number of theirs: max, min, mean, range or energy."),
    ] = None,
    quantile: Annotated[
        str | None, typer.Option(help=f"Between which of its quantiles; {USUAL} if not given.")
    ] = None,
    beside: Annotated[
        list[Beside] | None,
        typer.Option(
            help="sum: also what the parts give, each made alone. truth: also what the generator "
            "of the data makes of the same parts."
        ),
    ] = None,
    spread: Annotated[
        bool,
        typer.Option("--spread", help="The mean of the wholes, and how far they are from it."),
    ] = False,
    n: Annotated[
        int | None,
        typer.Option(
            "-n", "--n", min=1, max=MOST, help=f"How many wholes; {FEW}, or {MANY} with --spread."
        ),
    ] = None,
    seed: Seed = 0,
    marks: Marks = False,
    out: Annotated[
        str | None, typer.Option(help="File or folder the sheet goes to; imagined/ if none.")
    ] = None,
    save: Annotated[
        str | None, typer.Option(help="Also write the last wholes as numbers, .npy or .csv.")
    ] = None,
    runs: Runs = "runs",
    device: Device = "cpu",
    json: Json = False,
) -> None:
    """Make wholes of parts, and change them part by part.

    Steps are taken in the order they are written, and each has a row of the sheet. The latents of
    all other parts, and what the whole has of its own, stay as they are. With --from, latents are
    those of observed wholes: what would this curve be without that part?

    \b
    mindseye compose sines "f2, f7, f9" --add f3 --remove f7 --replace f2=f5
    mindseye compose sines --from curve.csv --of "f2, f7" --add f3 --save changed.csv
    mindseye compose sines "4×f2, f7" --beside sum --beside truth
    mindseye compose loads "3×family, solar" --toward max --quantile 0.9,1
    mindseye compose sites "red@0.2,-0.5; blue@0.6,0.1" --move red@0.2,-0.5=0.4,-0.5 --marks
    """
    from mindseye.runs import find
    from mindseye.wholefiles import check_target, save_wholes

    also = set(beside or ())
    _check(parts, from_, of, toward, quantile, n)
    if spread and Beside.sum in also:
        raise UsageError("`--beside sum` is of single wholes, `--spread` of all.", "Ask for one.")
    if save:
        check_target(save)
    found = find(run, runs)
    composer = found.composer()
    composer.model.to(chosen_device(device))
    check_marks(composer.vocabulary, marks)
    observed = _read(composer, from_) if from_ else None
    usual = MANY if spread else FEW
    start = _start(composer, parts or of or "", observed, toward, quantile, n or usual, seed)
    told = {"add": add, "remove": remove, "replace": replace, "move": move}
    changes = _changes(context, told)
    steps = _steps(composer, start, changes, seed, first="taken apart" if from_ else "start")
    if Beside.sum in also:
        steps = [step._replace(beside=composer.summed(step.whole)) for step in steps]
    if Beside.truth in also:
        truth = found.truth()
        real = _steps(truth, truth.composed(start.parts, len(start), seed), changes, seed)
        pairs = zip(steps, real, strict=True)
        steps = [step._replace(truth=true.whole) for step, true in pairs]
    path = sheet_path(out, file_stem(Path(from_).stem if from_ else str(start.parts), seed))
    title = _title(start, from_, toward, quantile)
    _draw(steps, path, title, observed, toward, marks=marks, spread=spread)
    files = [path, *([save_wholes(save, steps[-1].whole.means.cpu().numpy())] if save else [])]
    report = {
        "model": composer.name,
        "n": len(start),
        "seed": seed,
        "steps": _facts(steps, observed),
        "files": [str(file) for file in files],
    }
    _tell(report, as_json=json, spread=spread)


def _check(
    parts: str,
    from_: str | None,
    of: str | None,
    toward: str | None,
    quantile: str | None,
    n: int | None,
) -> None:
    """Refuse what does not go together."""
    if bool(from_) != bool(of):
        lacks = "--of" if from_ else "--from"
        raise UsageError(
            f"`{lacks}` is missing.", 'Write --from FILE --of "f2, f7": a whole and its parts.'
        )
    if from_ and parts:
        raise UsageError(
            f"`{parts}` and `--of {of}` are both parts.", "With --from, say them after --of."
        )
    for name, given in {"-n": n, "--toward": toward}.items():
        if from_ and given:
            raise UsageError(f"`{name}` says nothing with --from, whose wholes are given.")
    if quantile and not toward:
        raise UsageError(f"`--quantile {quantile}` of what?", "Write --toward max, or mean …")


def _read(composer: Composer, path: str) -> Tensor:
    """Observed wholes of a file."""
    import torch

    from mindseye.wholefiles import read_wholes

    return torch.from_numpy(read_wholes(path, composer.model.shape))


def _start(
    composer: Composer,
    parts: str,
    observed: Tensor | None,
    toward: str | None,
    quantile: str | None,
    n: int,
    seed: int,
) -> Composition:
    """The wholes before anything is changed."""
    meant = composer.vocabulary.parse(parts)
    if observed is not None:
        return composer.extracted(observed, meant, seed)
    if toward:
        return composer.biased(meant, toward, *_quantiles(quantile), n, seed)
    return composer.composed(meant, n, seed)


def _quantiles(text: str | None) -> tuple[float, float]:
    """Two shares of all wholes."""
    try:
        low, high = (float(part) for part in (text or USUAL).split(","))
    except ValueError as error:
        raise UsageError(
            f"`--quantile {text}` is not two numbers.", f"Write --quantile {USUAL}."
        ) from error
    if not 0 <= low < high <= 1:
        raise UsageError(
            f"`--quantile {text}` must be two numbers from 0 to 1, the second larger.",
            f"Write --quantile {USUAL}.",
        )
    return low, high


def _changes(context: typer.Context, told: dict[str, list[str] | None]) -> list[tuple[str, str]]:
    """What is done and to which parts, in the order it was written."""
    texts = {name: iter(values or []) for name, values in told.items()}
    return [(name, next(texts[name])) for name in context.meta[InOrder.key] if name in texts]


def _steps(
    maker: Maker,
    start: Composition,
    changes: list[tuple[str, str]],
    seed: int,
    first: str = "start",
) -> list[Step]:
    """The wholes before and after every change."""
    from mindseye.wholesheets import Step

    steps = [Step(first, start)]
    for verb, text in changes:
        old, new = _change(maker.vocabulary, verb, text)
        whole = steps[-1].whole
        if verb == "move":
            (part,), (there,) = old, new
            steps.append(Step(f"{old} → {new}", maker.moved(whole, part, *there.place)))
            continue
        if not len(whole.parts - old) and not len(new):
            raise UsageError(f"`--{verb} {text}` leaves nothing.", "A whole has a part or more.")
        for part in new:
            whole = maker.added(whole, part, seed)
        for part in old:
            whole = maker.removed(whole, part)
        label = f"{old} → {new}" if old and new else f"+ {new}" if new else f"- {old}"
        steps.append(Step(label, whole))
    return steps


def _change(kit: Kit, verb: str, text: str) -> tuple[Parts, Parts]:
    """The parts that go and those that come."""
    none = kit.parts([])
    if verb == "add":
        return none, kit.parse(text)
    if verb == "remove":
        return kit.parse(text), none
    old, equals, new = text.partition("=")
    if verb == "move":
        return _moved(kit, text, old, new)
    if not equals:
        raise UsageError(f"`--replace {text}` has no new part.", "Write --replace OLD=NEW.")
    return kit.parse(old), kit.parse(new)


def _moved(kit: Kit, text: str, old: str, place: str) -> tuple[Parts, Parts]:
    """A part before and after it has moved."""
    if not kit.axes:
        raise UsageError(f"`--move {text}`: parts have no places here.", "Try --replace OLD=NEW.")
    parts = kit.parse(old)
    if not place or len(parts) != 1:
        raise UsageError(
            f"`--move {text}` must be one part and a place.", "Write --move red@0.2,-0.5=0.3,-0.4."
        )
    return parts, kit.parse(f"{parts.items[0].category}@{place}")


def _facts(steps: list[Step], observed: Tensor | None) -> list[dict[str, Any]]:
    """What every step made of the wholes, as numbers."""
    facts, before = [], observed
    for step in steps:
        x = step.whole.means.cpu()
        change = None if before is None else float((x - before).square().mean().sqrt())
        facts.append(
            {
                "step": step.label,
                "parts": str(step.whole.parts),
                "least": float(x.min()),
                "mean": float(x.mean()),
                "most": float(x.max()),
                "change": change,
            }
        )
        before = x
    return facts


def _title(start: Composition, from_: str | None, toward: str | None, quantile: str | None) -> str:
    """What the first row of the sheet shows."""
    if from_:
        return f"{Path(from_).name}: {start.parts}"
    if toward:
        low, high = _quantiles(quantile)
        return f"{start.parts}: {toward} between its quantiles {low:g} and {high:g}"
    return str(start.parts)


def _draw(
    steps: list[Step],
    path: Path,
    title: str,
    observed: Tensor | None,
    toward: str | None,
    *,
    marks: bool,
    spread: bool,
) -> None:
    """The sheet, with the number that wholes were drawn by under the first ones."""
    from mindseye.composing import STATISTICS
    from mindseye.pictures import save_picture
    from mindseye.wholesheets import steps_sheet

    whole, captions = steps[0].whole, None
    if toward:
        values = STATISTICS[toward](whole.means.flatten(1)).tolist()
        captions = [f"{toward} {value:.3g}" for value in values]
    sheet = steps_sheet(steps, title, observed, captions, marks=marks, spread=spread)
    save_picture(path, sheet)


def _tell(report: dict[str, Any], *, as_json: bool, spread: bool) -> None:
    from mindseye.wholesheets import SHOWN

    if as_json:
        return print_json(report)
    rows = [[briefly(cell(value)) for value in step.values()] for step in report["steps"]]
    table([list(report["steps"][0]), *rows])
    sheet, *numbers = report["files"]
    n, drawn = report["n"], min(report["n"], SHOWN)
    what = f"the mean of {n} wholes" if spread else f"{drawn} of {n} wholes"
    answer(f"Drew {what}, a row for each step, in {sheet}")
    for file in numbers:
        answer(f"Wrote the numbers of the {n} after the last step to {file}")
