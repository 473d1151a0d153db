"""`mindseye imagine`: pictures of a description."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mindseye.cli.options import Description, Device, Json, Model, ObserverName, Seed, chosen_device
from mindseye.cli.output import answer, print_json
from mindseye.errors import UsageError

if TYPE_CHECKING:
    from mindseye.concepts import Concept
    from mindseye.imagine import Imagined, Mind

__all__ = ["imagine"]


def imagine(
    description: Description = "",
    model: Model = "mnist-a",
    n: Annotated[int, typer.Option("-n", "--n", help="How many pictures.")] = 16,
    seed: Seed = 0,
    out: Annotated[
        str | None, typer.Option(help="File or folder to write to; imagined/ if not given.")
    ] = None,
    samples: Annotated[
        bool,
        typer.Option("--samples", help="Show draws from p(x|z) rather than expected pictures."),
    ] = False,
    files: Annotated[bool, typer.Option("--files", help="Also one PNG file a picture.")] = False,
    npz: Annotated[bool, typer.Option("--npz", help="Also the arrays, as .npz.")] = False,
    to: Annotated[
        str | None, typer.Option(help="A second description: show the way from one to the other.")
    ] = None,
    ladder: Annotated[
        bool, typer.Option("--ladder", help="Add the words one by one, a row for each (Figure 4b).")
    ] = False,
    product: Annotated[
        bool,
        typer.Option(
            "--product",
            help="Leave the experts of open attributes out, as the paper does, not fill them in.",
        ),
    ] = False,
    temperature: Annotated[float, typer.Option(help="Spread of the latents; 0 is typical.")] = 1.0,
    judge: Annotated[
        bool, typer.Option("--judge/--no-judge", help="Write the observer's verdict underneath.")
    ] = True,
    observer: ObserverName = None,
    device: Device = "cpu",
    json: Json = False,
) -> None:
    """Imagine pictures of a description.

    \b
    mindseye imagine "digit=4, size=big"
    mindseye imagine "6, small" --n 64 --seed 7
    mindseye imagine "digit=3" --to "digit=8"
    mindseye imagine "digit=7, size=big, location=top-left" --ladder
    """
    from mindseye.runs import find

    mind = find(model).mind(observer)
    mind.model.to(chosen_device(device))
    concept = mind.concept(description)
    if to is not None and ladder:
        raise UsageError("`--to` and `--ladder` are two different pictures; ask for one.")
    judge = judge and mind.can_judge
    if to is not None:
        report = _between(mind, concept, mind.concept(to), n, seed, out)
    elif ladder:
        rungs = list(mind.ladder(concept, min(n, 12), seed, fill=not product))
        report = _ladder(mind, rungs, seed, out, samples=samples, judge=judge)
    else:
        imagined = mind.imagined(concept, n, seed, fill=not product, temperature=temperature)
        report = _sheet(mind, imagined, seed, out, samples=samples, judge=judge)
        report["files"] += _extra(
            imagined, report["files"][0], samples=samples, each=files, npz=npz
        )
    _tell(report, as_json=json)


def _sheet(
    mind: Mind, imagined: Imagined, seed: int, out: str | None, *, samples: bool, judge: bool
) -> dict[str, Any]:
    """A contact sheet with the observer's verdicts."""
    from mindseye.figures import imagined_sheet, judged
    from mindseye.pictures import save_picture

    verdicts = judged(mind, imagined) if judge else None
    path = _target(out, _stem(imagined.concept, seed))
    save_picture(path, imagined_sheet(imagined, verdicts, samples=samples))
    report = _report(mind, imagined.concept, seed, len(imagined.means), path)
    if verdicts and imagined.concept.level:
        said = imagined.concept.level * len(verdicts)
        report["judged right"] = 1 - sum(len(v.wrong) for v in verdicts) / said
        report["judged words"] = said
        report["real pictures"] = _ceiling(mind, imagined.concept)
        report["verdicts"] = [str(verdict.seen) for verdict in verdicts]
    return report


def _ceiling(mind: Mind, concept: Concept) -> float | None:
    """How many of the said words the observer would find in real pictures."""
    known = mind.observer.accuracy
    if not set(concept.observed) <= set(known):
        return None
    return sum(known[name] for name in concept.observed) / concept.level


def _ladder(
    mind: Mind, rungs: list[Imagined], seed: int, out: str | None, *, samples: bool, judge: bool
) -> dict[str, Any]:
    """One row for every word that is added."""
    from mindseye.figures import judged, ladder_sheet
    from mindseye.pictures import save_picture

    verdicts = [judged(mind, rung) for rung in rungs] if judge else None
    concept = rungs[-1].concept
    path = _target(out, f"{_stem(concept, seed)}-ladder")
    save_picture(path, ladder_sheet(rungs, verdicts, samples=samples))
    return _report(mind, concept, seed, sum(len(rung.means) for rung in rungs), path)


def _between(
    mind: Mind, start: Concept, end: Concept, n: int, seed: int, out: str | None
) -> dict[str, Any]:
    """Rows of pictures on the way from one concept to the other."""
    from mindseye.figures import between_sheet
    from mindseye.pictures import save_picture

    pictures = mind.between(start, end, n=min(n, 6), seed=seed)
    path = _target(out, f"{_stem(start, seed)}-to-{_stem(end, seed)}")
    save_picture(path, between_sheet(start, end, pictures))
    count = pictures.shape[0] * pictures.shape[1]
    return _report(mind, start, seed, count, path) | {"to": str(end)}


def _extra(imagined: Imagined, sheet: str, *, samples: bool, each: bool, npz: bool) -> list[str]:
    """Single pictures and arrays, beside the sheet."""
    from mindseye.pictures import save_arrays, save_picture

    stem = Path(sheet).with_suffix("")
    shown = (imagined.samples if samples else imagined.means).cpu().numpy()
    written = []
    if each:
        written = [save_picture(stem / f"{i:04d}.png", picture) for i, picture in enumerate(shown)]
    if npz:
        arrays = {"means": imagined.means, "samples": imagined.samples, "latents": imagined.latents}
        plain = {name: tensor.cpu().numpy() for name, tensor in arrays.items()}
        written.append(save_arrays(stem.with_name(stem.name + ".npz"), plain))
    return [str(path) for path in written]


def _report(mind: Mind, concept: Concept, seed: int, n: int, path: Path) -> dict[str, Any]:
    return {
        "model": mind.name,
        "description": str(concept),
        "said": list(concept.observed),
        "open": list(concept.missing),
        "n": n,
        "seed": seed,
        "files": [str(path)],
    }


def _tell(report: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        return print_json(report)
    said, total = len(report["said"]), len(report["said"]) + len(report["open"])
    left = f"; {', '.join(report['open'])} left open" if report["open"] else ""
    answer(f"q(z | {report['description']}): {said} of {total} attributes said{left}")
    if "judged right" in report:
        share, count = report["judged right"], report["judged words"]
        real = report["real pictures"]
        ceiling = "" if real is None else f" (in real pictures {real:.0%})"
        answer(f"The observer finds {share:.0%} of {count} said words in the pictures{ceiling}")
    answer(f"Wrote {report['n']} pictures to {report['files'][0]}")
    if extra := report["files"][1:]:
        answer(f"Wrote {len(extra)} more files, {extra[0]} the first")


def _stem(concept: Concept, seed: int) -> str:
    """A file name a person can read."""
    plain = str(concept).replace(", ", ",") if concept.level else "anything"
    safe = "".join(c if c.isalnum() or c in "=,-_." else "_" for c in plain)
    return f"{safe[:150]}-seed{seed}"


def _target(out: str | None, stem: str) -> Path:
    """Where the sheet goes: the file that was named, or a readable name in a folder."""
    if out is not None and out.lower().endswith(".png"):
        return Path(out)
    return Path(out or "imagined") / f"{stem}.png"
