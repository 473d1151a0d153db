"""How rows of models that paint are scored, and what stands beside the table of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from mindseye.evaluation.drawings import DrawingReport, evaluate_drawings, measured_words
from mindseye.metrics import Estimate, bootstrap
from mindseye.metrics.sharpness import sharpness
from mindseye.painting import Painter, swapped
from mindseye.paintsheets import painting_film, painting_sheet
from mindseye.papers import Recipe
from mindseye.reproduction.drawing import Labelled, Picture
from mindseye.reproduction.ledger_plan import LedgerPlan
from mindseye.runs import Run, load_observer
from mindseye.sheets import row_sheet

__all__ = ["compared", "drawings", "drawings_limits", "flipped", "painted", "sharpened"]

Progress = Callable[[int, int], None]

ASKED: Mapping[str, Sequence[str]] = {
    "captioned-mnist": (
        "the digit three is at the top left of the image",
        "the digit seven is at the bottom right of the image",
        "the digit two is at the bottom left of the image",
    ),
    "captioned-pairs": (
        "the digit six is to the right of the digit one",
        "the digit two is above the digit seven",
        "the digit nine is to the left of the digit three",
    ),
    "coco": (
        "a yellow school bus parked in a parking lot",
        "a very large commercial plane flying in clear skies",
        "a herd of elephants walking across a dry grass field",
    ),
}
"""What is painted of every data set."""

FLIPS: Mapping[str, Sequence[tuple[str, str]]] = {
    "captioned-mnist": (("three", "five"), ("three", "eight"), ("top left", "bottom right")),
    "captioned-pairs": (("six", "three"), ("one", "eight"), ("to the right of", "above")),
    "coco": (("yellow", "red"), ("yellow", "green"), ("yellow", "blue")),
}
"""Words of the first of these, and what is said instead."""

TITLES = {"captioned-mnist": "One digit", "captioned-pairs": "Two digits", "coco": "COCO"}


def drawings(
    run: Run,
    asked: Mapping[str, float],
    device: torch.device | str,
    data: str | None,
    progress: Progress,
) -> dict[str, Any]:
    """The numbers of a row, by column, with the ends of their intervals."""
    pictures = int(asked["pictures"])
    if run.recipe.model.kind == "observer":
        return _observed(run, pictures, device, data)
    judge = run.observer()
    report = evaluate_drawings(
        run,
        observer=load_observer(judge) if judge else None,
        pictures=pictures,
        device=device,
        data=data,
        progress=progress,
    )
    return _values(report)


def drawings_limits(
    plan: LedgerPlan,
    recipe: Recipe,
    device: torch.device | str,
    data: str | None,
    progress: Progress,
) -> dict[str, dict[str, Any]]:
    """What words drawn at random get right; the observer is told how two digits stand."""
    name, words = recipe.data.name, recipe.data.vocabulary
    if name not in ("captioned-mnist", "captioned-pairs"):
        return {}
    places = [each for each in words if each.name != "relation"]
    shares = {each.name: 100 / len(each.values) for each in places}
    together = 100.0
    for share in shares.values():
        together *= share / 100
    found = {**shares, "all": together}
    columns = {f"{seen} {key}": v for seen in ("seen", "unseen") for key, v in found.items()}
    return {f"{TITLES[name]}, words at random (floor)": columns}


def painted(
    runs: Sequence[Labelled], device: torch.device | str, data: str | None
) -> Iterator[Picture]:
    """The canvas after every stroke, and the words listened to, by models that hear words."""
    for label, name, mind in _listening(runs, device):
        one, several = ([mind.paint(text, n, seed=1) for text in ASKED[name]] for n in (1, 4))
        yield Picture(
            f"paintings-{name}",
            f"{label}: the canvas after every stroke",
            "A frame shows where the patch of a stroke is written; under every canvas, how much "
            "each word was listened to before it, from white (not at all) to blue (only it).",
            painting_sheet(one, window=mind.window),
            painting_film(several, window=mind.window),
        )


def flipped(
    runs: Sequence[Labelled], device: torch.device | str, data: str | None, n: int = 8
) -> Iterator[Picture]:
    """One word changed, everything else the same: the noise of every stroke too."""
    for label, name, mind in _listening(runs, device):
        first = mind.concept(ASKED[name][0])
        said = [first, *(swapped(first, *pair) for pair in FLIPS[name])]
        rows = [(str(c), mind.imagine(c, n, 1, mean=True).cpu().numpy(), None, None) for c in said]
        yield Picture(
            f"flips-{name}",
            f"{label}: one word for another",
            "A column has the same noise in every row: what differs is what the word does.",
            row_sheet(rows, title=label),
        )


def compared(
    runs: Sequence[Labelled], device: torch.device | str, data: str | None, n: int = 8
) -> Iterator[Picture]:
    """The lecture's last slide: the same caption by every model."""
    every = list(_painters(runs, device))
    for name in dict.fromkeys(run.recipe.data.name for _, run, _ in every):
        rows = []
        for label, run, mind in every:
            if run.recipe.data.name == name:
                shown = mind.imagine(ASKED[name][0], n, 1, mean=True).cpu().numpy()
                rows.append((label, shown, None, None))
        yield Picture(
            f"compared-{name}",
            f"{TITLES[name]}: the same caption by every model",
            f"{ASKED[name][0].capitalize()}.",
            row_sheet(rows, title=ASKED[name][0]),
        )


def sharpened(
    runs: Sequence[Labelled], device: torch.device | str, data: str | None, n: int = 8
) -> Iterator[Picture]:
    """Pictures before they were sharpened, and after; real ones beside them."""
    for label, run, mind in _painters(runs, device):
        if not mind.painted.sharpener:
            continue
        name = run.recipe.data.name
        rows = []
        for text in ASKED[name]:
            painting = mind.paint(text, n, 1)
            rows.append((f"{text}\nbefore", painting.canvases[:, -1].cpu().numpy(), None, None))
            rows.append((f"{text}\nafter", painting.pictures.cpu().numpy(), None, None))
        real = replace(run.recipe.data, compositional=False).open("test", folder=data)
        shown = real.pictures_of(mind.concept(ASKED[name][0]), n, 0).numpy()
        rows.append((f"{ASKED[name][0]}\nreal", shown, None, None))
        yield Picture(
            f"sharpened-{name}",
            f"{label}: before and after",
            "What the model expects of random strokes, and the same sharpened.",
            row_sheet(rows, title=label),
        )


def _painters(
    runs: Sequence[Labelled], device: torch.device | str
) -> Iterator[tuple[str, Run, Painter]]:
    """The runs that paint, with their verbs."""
    for label, run in runs:
        if run.recipe.model.kind in ("draw", "captioned"):
            mind = run.mind()
            assert isinstance(mind, Painter)
            mind.model.to(device)
            yield label, run, mind


def _listening(
    runs: Sequence[Labelled], device: torch.device | str
) -> Iterator[tuple[str, str, Painter]]:
    """The first model of every data set that hears words by themselves, before it is sharpened."""
    seen: set[str] = set()
    for label, run, mind in _painters(runs, device):
        name = run.recipe.data.name
        if mind.listens and not mind.painted.sharpener and name not in seen:
            seen.add(name)
            yield label, name, mind


def _values(report: DrawingReport) -> dict[str, Any]:
    """Means and the ends of intervals, shares in percent."""
    found: dict[str, Any] = {}
    for name, e in report.values.items():
        found |= _interval(name, e, 100 if name.startswith(("seen", "unseen")) else 1)
    return found


def _interval(name: str, e: Estimate, scale: float) -> dict[str, float]:
    return {
        name: scale * e.mean,
        f"{name} low": scale * e.low,
        f"{name} high": scale * e.high,
    }


def _observed(
    run: Run, pictures: int, device: torch.device | str, data: str | None
) -> dict[str, Any]:
    """What an observer gets right in real pictures, of the combinations seen and the others."""
    observer, found = load_observer(run.path).eval().to(device), dict[str, Any]()
    for part, name in {"train": "seen", "test": "unseen"}.items():
        own = replace(run.recipe.data, compositional=True)
        dataset = own.open(part, folder=data).to(device)
        batch = dataset.examples(torch.arange(pictures, device=device))
        for place, right in measured_words(observer, batch.x, batch.y).items():
            found |= _interval(f"{name} {place}", bootstrap(right.double().cpu()), 100)
        if name == "seen":
            found["real sharpness"] = sharpness(batch.x).mean().item()
    return found
