"""`mindseye imagine`: pictures of a description."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mindseye.cli.options import (
    Description,
    Device,
    Json,
    Marks,
    Model,
    ObserverName,
    Seed,
    chosen_device,
)
from mindseye.cli.output import answer, file_stem, print_json, sheet_path
from mindseye.cli.wholes import check_marks, imagine_wholes
from mindseye.errors import UsageError

if TYPE_CHECKING:
    import torch

    from mindseye.concepts import Concept
    from mindseye.imagine import Imagined, Mind

__all__ = ["imagine"]


def imagine(
    description: Description = "",
    model: Model = "mnist-a",
    n: Annotated[int, typer.Option("-n", "--n", help="How many pictures.")] = 16,
    seed: Seed = 0,
    out: Annotated[
        str | None,
        typer.Option(help="File or folder to write to (.gif: a film); imagined/ if none."),
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
    lattice: Annotated[
        bool,
        typer.Option("--lattice", help="A row for each concept with one word less or one more."),
    ] = False,
    traverse: Annotated[
        bool, typer.Option("--traverse", help="A row for each latent dimension, changed alone.")
    ] = False,
    steps: Annotated[
        int, typer.Option(min=2, max=64, help="Pictures of a row of --to or --traverse.")
    ] = 9,
    span: Annotated[float, typer.Option(min=0.1, max=10, help="How far --traverse goes.")] = 3.0,
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
    marks: Marks = False,
    device: Device = "cpu",
    json: Json = False,
) -> None:
    """Imagine pictures of a description.

    A model of parts is told what a whole is made of, and imagines curves or pictures of it.

    \b
    mindseye imagine "digit=4, size=big"
    mindseye imagine "6, small" --n 64 --seed 7
    mindseye imagine "digit=3" --to "digit=8"
    mindseye imagine "digit=7, size=big, location=top-left" --ladder
    mindseye imagine first.png --to second.png
    mindseye imagine "digit=4" --traverse
    mindseye imagine "digit=4" --traverse --out traversals.gif
    mindseye imagine "3×f2, f7" --model sines
    """
    from mindseye.runs import find

    run = find(model)
    if run.recipe.model.kind == "comp":
        strange = {
            "to": to is not None,
            "lattice": lattice,
            "traverse": traverse,
            "steps": steps != 9,
            "span": span != 3,
            "product": product,
            "temperature": temperature != 1,
            "observer": observer is not None,
        }
        where, extra = chosen_device(device), {"files": files, "npz": npz}
        how = {"samples": samples, "ladder": ladder, "marks": marks, **extra}
        return imagine_wholes(run, description, n, seed, out, where, how, strange, as_json=json)
    check_marks(run.recipe.data.vocabulary, marks)
    mind = run.mind(observer)
    mind.model.to(chosen_device(device))
    _check_one(to is not None, ladder, lattice, traverse)
    if _is_film(out) and not traverse:
        raise UsageError(f"`--out {out}` is a film; only --traverse makes one.", "Name a .png.")
    judge = judge and mind.can_judge
    if to is not None:
        report = _between(mind, description, to, n, steps, seed, out)
    elif traverse:
        report = _traversals(mind, description, steps, span, seed, out)
    elif lattice:
        report = _lattice(mind, mind.concept(description), min(n, 12), seed, out, fill=not product)
    elif ladder:
        concept = mind.concept(description)
        rungs = list(mind.ladder(concept, min(n, 12), seed, fill=not product))
        report = _ladder(mind, rungs, seed, out, samples=samples, judge=judge)
    else:
        imagined = mind.imagined(description, n, seed, fill=not product, temperature=temperature)
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
    from mindseye.metrics import glance
    from mindseye.pictures import save_picture

    verdicts = judged(mind, imagined) if judge else None
    path = sheet_path(out, _stem(imagined.concept, seed))
    save_picture(path, imagined_sheet(imagined, verdicts, samples=samples))
    report = _report(mind, imagined.concept, seed, len(imagined.means), path)
    if verdicts and imagined.concept.level:
        seen = [verdict.seen for verdict in verdicts]
        right = glance(imagined.concept, seen, mind.observer.accuracy).correctness
        report["judged right"] = right and right.value
        report["judged words"] = imagined.concept.level * len(verdicts)
        report["real pictures"] = right and right.ceiling
        report["verdicts"] = [str(concept) for concept in seen]
    return report


def _ladder(
    mind: Mind, rungs: list[Imagined], seed: int, out: str | None, *, samples: bool, judge: bool
) -> dict[str, Any]:
    """One row for every word that is added."""
    from mindseye.figures import judged, ladder_sheet
    from mindseye.pictures import save_picture

    verdicts = [judged(mind, rung) for rung in rungs] if judge else None
    concept = rungs[-1].concept
    path = sheet_path(out, f"{_stem(concept, seed)}-ladder")
    save_picture(path, ladder_sheet(rungs, verdicts, samples=samples))
    return _report(mind, concept, seed, sum(len(rung.means) for rung in rungs), path)


def _between(
    mind: Mind, start: str, end: str, n: int, steps: int, seed: int, out: str | None
) -> dict[str, Any]:
    """Rows of pictures on the way from one description to another, or one picture to another."""
    from mindseye.explore import way
    from mindseye.figures import between_sheet
    from mindseye.pictures import save_picture

    files = [_is_file(text) for text in (start, end)]
    if any(files) and not all(files):
        raise UsageError("Only one end is a picture.", "Give two descriptions or two pictures.")
    if all(files):
        first, last = (_latent(mind, path) for path in (start, end))
        pictures, concept, goal = way(mind, first, last, steps), mind.concept(""), end
        path = sheet_path(out, f"{Path(start).stem}-to-{Path(end).stem}")
        title = f"{Path(start).name}  →  {Path(end).name}"
    else:
        concept, other = mind.concept(start), mind.concept(end)
        pictures, goal = mind.between(concept, other, steps, min(n, 6), seed), str(other)
        path = sheet_path(out, f"{_stem(concept, seed)}-to-{_stem(other, seed)}")
        title = f"{concept}  →  {other}"
    save_picture(path, between_sheet(title, pictures))
    count = pictures.shape[0] * pictures.shape[1]
    return _report(mind, concept, seed, count, path) | {"to": goal}


def _traversals(
    mind: Mind, description: str, steps: int, span: float, seed: int, out: str | None
) -> dict[str, Any]:
    """One row for every latent dimension."""
    from mindseye.explore import traversals
    from mindseye.figures import traversal_sheet
    from mindseye.files import write_bytes
    from mindseye.films import film
    from mindseye.pictures import save_picture

    picture = _is_file(description)
    concept = mind.concept("" if picture else description)
    if picture:
        z, title = _latent(mind, description), Path(description).name
    else:
        z = mind.imagined(concept, 1, seed, temperature=0).latents[0]
        title = str(concept) if concept.level else "nothing said"
    values, pictures = traversals(mind, z, steps, span)
    stem = Path(description).stem if picture else _stem(concept, seed)
    if _is_film(out):
        path = Path(str(out))
        write_bytes(path, film(range(len(pictures)), pictures, title))
    else:
        path = sheet_path(out, f"{stem}-dimensions")
        save_picture(path, traversal_sheet(values, pictures, title))
    return _report(mind, concept, seed, pictures.shape[0] * pictures.shape[1], path)


def _lattice(
    mind: Mind, concept: Concept, n: int, seed: int, out: str | None, *, fill: bool
) -> dict[str, Any]:
    """A row for the concept and each of its neighbours."""
    from mindseye.figures import lattice_sheet
    from mindseye.imagine import Query
    from mindseye.pictures import save_picture

    around = [*concept.parents(), concept, *concept.children()]
    imagined = mind.answer([Query(each, n, seed, fill) for each in around])
    path = sheet_path(out, f"{_stem(concept, seed)}-lattice")
    save_picture(path, lattice_sheet(concept, imagined))
    return _report(mind, concept, seed, n * len(around), path)


def _check_one(*asked: bool) -> None:
    if sum(asked) > 1:
        raise UsageError(
            "`--to`, `--ladder`, `--lattice` and `--traverse` are different pictures; ask for one."
        )


def _is_film(out: str | None) -> bool:
    return out is not None and out.lower().endswith(".gif")


def _is_file(text: str) -> bool:
    """Whether a text names a picture file rather than says something."""
    return "=" not in text and "." in text and Path(text).is_file()


def _latent(mind: Mind, path: str) -> torch.Tensor:
    """Where the model sees a picture file, `(D,)`."""
    import torch

    from mindseye.pictures import read_picture

    x = torch.from_numpy(read_picture(path, mind.model.shape))
    return mind.read(x[None]).mean[0]


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
        "open": list(concept.missing) if mind.fills else [],
        "n": n,
        "seed": seed,
        "files": [str(path)],
    }


def _tell(report: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        return print_json(report)
    said, total = len(report["said"]), len(report["said"]) + len(report["open"])
    left = f"; {', '.join(report['open'])} left open" if report["open"] else ""
    about = f"q(z | {report['description']}): {said} of {total} attributes said{left}"
    answer(about if total else "p(z): the model knows no words, and nothing is said")
    if "judged right" in report:
        share, count = report["judged right"], report["judged words"]
        real = report["real pictures"]
        ceiling = "" if real is None else f" (in real pictures {real:.0%})"
        answer(f"The observer finds {share:.0%} of {count} said words in the pictures{ceiling}")
    answer(f"Wrote {report['n']} pictures to {report['files'][0]}")
    if extra := report["files"][1:]:
        answer(f"Wrote {len(extra)} more files, {extra[0]} the first")


def _stem(concept: Concept, seed: int) -> str:
    return file_stem(str(concept) if concept.level else "anything", seed)
