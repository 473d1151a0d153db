"""The pictures of wholes and their parts: Figures 4 to 8 of Berger and Sebag (2020), and beyond.

Where the paper shows its model alone, the generator's wholes of the same parts stand beside it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mindseye.charts import Panel, line_chart
from mindseye.composing import Composer, Composition
from mindseye.curves import MODEL, TRUTH, Curve, CurveRow, curve_sheet
from mindseye.data.wholes import Specifics, Wholes
from mindseye.evaluation.parts import sizes_of
from mindseye.files import read_json
from mindseye.models.compositional import LEAST
from mindseye.parts import Parts
from mindseye.pieces import Pieces, decode_parts, encode_parts
from mindseye.reproduction.drawing import Labelled, Picture
from mindseye.reproduction.parts import places_of
from mindseye.runs import Run
from mindseye.wholesheets import WholeRow, whole_sheet

__all__ = ["added", "again", "losses", "measures", "more", "together"]

TITLES = {"sines": "Sine waves", "sites": "Coloured sites", "loads": "Streets of households"}

LOSSES = {"sines": "Losses, Figure 4", "sites": "Losses, Figure 7", "loads": "Losses"}

KINDS = {"sines": ("f1", "f4", "f9"), "loads": ("family", "electric-car", "solar")}
"""Parts that are drawn again."""

WHOLES = {
    "sines": "f1, f2, f4, f7, f10",
    "sites": "red@-0.6,-0.5; green@0.5,-0.7; blue@0.1,0.1; white@-0.5,0.7; black@0.6,0.6",
    "loads": "worker, family, electric-car, heat-pump, solar",
}
"""Parts that are put together one by one."""

LIKELY = {"sines": "recall", "sites": "shown", "loads": "correlation"}
"""What is drawn by the number of parts."""


def losses(
    runs: Sequence[Labelled], device: torch.device | str, data: str | None
) -> Iterator[Picture]:
    """Figures 4 and 7: what is lost and what latents tell, as training goes on."""
    for name, figure in LOSSES.items():
        if panels := [_losses(label, run) for label, run in _of(runs, name)]:
            caption = (
                "The terms of the bound on training wholes, in nats: what the latents of the parts"
                " and of the whole tell, what is lost of x, and their sum. As in the paper, what"
                " is lost of x is counted from the least that there can be, every deviation at its"
                " floor and no error. Right of the line wholes may have all their parts."
            )
            chart = line_chart(panels, TITLES[name], ("steps", "nats"), log=True)
            yield Picture(f"losses-{name}", figure, caption, chart)


def again(
    runs: Sequence[Labelled], device: torch.device | str, data: str | None, n: int = 6
) -> Iterator[Picture]:
    """Figure 5: one part alone, drawn again and again."""
    for name, kinds in KINDS.items():
        own, rows = _of(runs, name), []
        for kind in kinds if own else ():
            real = _data(own[0][1])
            parts = real.vocabulary.parse(kind)
            drawn = real.wholes_of(encode_parts([parts]), 0, n)[0]
            rows.append(WholeRow(f"{kind}\ngenerator", drawn, colours=[TRUTH] * n))
            for label, run in own:
                made = _composer(run, device).imagine(parts, n)
                rows.append(WholeRow(f"{kind}\n{_short(label)}", made))
        if rows:
            caption = (
                "A whole of one part, by the generator (black) and by the model (blue): draws of"
                " what no description tells, such as amplitude and phase."
            )
            figure = "One part, drawn again" + ", Figure 5" * (name == "sines")
            sheet = whole_sheet(rows, TITLES[name])
            yield Picture(f"again-{name}", figure, caption, sheet)


def together(
    runs: Sequence[Labelled], device: torch.device | str, data: str | None
) -> Iterator[Picture]:
    """Figure 6: parts, and the wholes of each with all parts above it."""
    for name in KINDS:
        for label, run in _of(runs, name):
            composer, real = _composer(run, device), _data(run)
            caption = (
                "On each row a part, and the whole of this part and all above it: of the"
                " generator; imagined by the model from what is said; and taken apart, the latents"
                " of the parts extracted from the generator's last whole, with the generator's"
                " beneath in black."
            )
            rows = _put_together(composer, real, composer.vocabulary.parse(WHOLES[name]))
            legend = [("generator", TRUTH), ("model", MODEL)]
            sheet = curve_sheet(rows, f"{label}: parts and wholes", legend)
            figure = "Parts put together" + ", Figure 6" * (name == "sines")
            yield Picture(f"together-{run.name}", figure, caption, sheet)


def added(
    runs: Sequence[Labelled], device: torch.device | str, data: str | None, n: int = 4
) -> Iterator[Picture]:
    """Figure 8: sites added one by one, by the generator and by the model."""
    for label, run in _of(runs, "sites"):
        composer, real = _composer(run, device), _data(run)
        parts = composer.vocabulary.parse(WHOLES["sites"])
        growing = _growing(parts)
        alone = [parts.kit.parts([part]) for part in parts]
        rows = [
            WholeRow("parts", _real(real, alone), [part.category for part in parts], alone),
            WholeRow("generator", _real(real, growing), None, growing),
        ]
        drawn = torch.stack([composer.imagine(some, n) for some in growing], 1)  # (n, K, ...)
        rows += [WholeRow("model" if not i else "", row) for i, row in enumerate(drawn)]
        caption = (
            "First the parts, each alone, its place ringed; then the generator's wholes of the"
            " first one, the first two and so on; below, the same by the model, four times."
        )
        sheet = whole_sheet(rows, label, marks=True)
        yield Picture(f"added-{run.name}", "Sites added, Figure 8", caption, sheet)


def more(
    runs: Sequence[Labelled], device: torch.device | str, data: str | None, n: int = 2
) -> Iterator[Picture]:
    """Wholes of as many parts as were trained on, and of more."""
    for name in TITLES:
        if not (own := _of(runs, name)):
            continue
        real = _data(own[0][1])
        places = places_of(sizes_of(real), real.most)
        sizes = [size for place in ("most", "beyond", "far") for size in places[place] * n]
        described = real.examples(torch.arange(len(sizes)), torch.tensor(sizes)).y
        wholes = decode_parts(real.vocabulary, described)
        counts = [f"{size} parts" for size in sizes]
        black = [TRUTH] * len(sizes)
        rows = [WholeRow("generator", _real(real, wholes), counts, None, black)]
        for label, run in own:
            composer = _composer(run, device)
            made = torch.cat([composer.imagine(parts) for parts in wholes])
            rows.append(WholeRow(_short(label), made, counts))
        caption = (
            f"Wholes of {real.most} parts, the most of training, and of more, by the generator and"
            " by the model from the same descriptions: their colours and frequencies should agree,"
            " their phases need not."
        )
        sheet = whole_sheet(rows, f"{TITLES[name]}: more parts than in training")
        yield Picture(f"more-{name}", "More parts", caption, sheet)


def measures(
    runs: Sequence[Labelled], device: torch.device | str, data: str | None
) -> Iterator[Picture]:
    """Whether parts are there, and what latents tell, by the number of parts."""
    for name, measure in LIKELY.items():
        own = [(_short(label), run, _report(run)) for label, run in _of(runs, name)]
        found = [(label, run, rows) for label, run, rows in own if rows]
        if not found:
            continue
        first = found[0][2]
        lines = [(label, _line(rows, measure)) for label, _, rows in found]
        lines += [("generator", _line(first, f"{measure}, generator"))]
        lines += [("other parts", _line(first, f"{measure}, others"))]
        mark = ("trained up to here", float(_data(found[0][1]).most))
        what = {"recall": "frequencies that are heard", "shown": "sites that are there"}
        chart = line_chart(
            [Panel(what.get(measure, "correlation of mean days"), lines, mark)],
            f"{TITLES[name]} by the number of parts",
            ("parts", "1 is all, or the same"),
        )
        caption = (
            "Whether wholes have the parts that were said, by how many parts there are; beside the"
            " model, the generator's wholes of the same and of other parts."
        )
        yield Picture(f"measures-{name}", "By the number of parts", caption, chart)


# Losses


def _losses(label: str, run: Run) -> Panel:
    """The lines of one run, z first: colours are then those of the paper, nearly."""
    shape, training = run.recipe.data.shape, run.recipe.training
    floor = math.log(LEAST[shape[1] == 1]) + math.log(2 * math.pi) / 2  # of one value
    lines: dict[str, list[tuple[float, float]]] = {"z": [], "x": [], "parts": [], "all": []}
    for record in run.trained():
        terms, step = record["terms"], float(record["step"])
        x = -terms["log_px_qzw"] - math.prod(shape) * floor
        z, w = terms["kl_qz_pz"], terms["kl_qw_pw"]
        for name, value in {"z": z, "x": x, "parts": w, "all": x + z + w}.items():
            kept = [point for point in lines[name] if point[0] < step]  # others were rolled back
            lines[name] = [*kept, (step, value)]
    grown = max(0, _data(run).most - 2) * training.growth
    mark = (f"K = {_data(run).most}", float(grown)) if 0 < grown < training.steps else None
    return Panel(label, list(lines.items()), mark)


# Parts put together


def _put_together(composer: Composer, real: Wholes, parts: Parts) -> list[CurveRow]:
    """A row for every part: alone and with all above it, three times."""
    y = encode_parts([parts])
    specifics = real.draw(y, torch.zeros(1, dtype=torch.int64))
    alone, whole = real.alone(y, specifics), _first(real, y, specifics)
    apart = composer.extracted(whole[-1:], parts)
    rows = []
    for i, part in enumerate(parts):
        single, growing = parts.kit.parts([part]), parts.kit.parts(list(parts)[: i + 1])
        imagined = [composer.imagine(each)[0] for each in (single, growing)]
        taken = [_kept(composer, apart, each).means[0] for each in (single, growing)]
        truth = [Curve(_flat(each[i]), TRUTH) for each in (alone, whole)]
        panels = [[each] for each in truth] + [[Curve(_flat(each), MODEL)] for each in imagined]
        panels += [[t, Curve(_flat(each), MODEL)] for t, each in zip(truth, taken, strict=True)]
        last = i == len(parts) - 1
        rows.append(CurveRow(f"+ {part}" if i else str(part), panels, COLUMNS if last else None))
    return rows


COLUMNS = [
    f"{what}, {who}"
    for who in ("generator", "imagined", "taken apart")
    for what in ("part", "whole")
]


def _first(real: Wholes, y: Pieces, specifics: Specifics) -> Tensor:
    """The generator's wholes of the first part, of the first two and so on, `(K, C, H, W)`."""
    return torch.cat(
        [
            real.render(
                Pieces(y.codes[:many], y.places[:many], torch.tensor([many])),
                Specifics(specifics.own[:many], specifics.shared),
            )
            for many in range(1, len(y.codes) + 1)
        ]
    )


def _kept(composer: Composer, whole: Composition, parts: Parts) -> Composition:
    """The same whole with some of its parts alone; all are different."""
    for part in whole.parts:
        if part not in parts:
            whole = composer.removed(whole, part)
    return whole


def _growing(parts: Parts) -> list[Parts]:
    """The first part, the first two and so on."""
    return [parts.kit.parts(list(parts)[:many]) for many in range(1, len(parts) + 1)]


# Wholes, runs and what they are called


def _real(real: Wholes, wholes: Sequence[Parts]) -> Tensor:
    """One of the generator's for each description, `(n, C, H, W)`."""
    return real.wholes_of(encode_parts(wholes), 0)[:, 0]


def _flat(whole: Tensor) -> np.ndarray:
    return whole.detach().cpu().numpy().ravel()


def _of(runs: Sequence[Labelled], name: str) -> list[Labelled]:
    """The runs of models of one data set of wholes."""
    return [
        (label, run)
        for label, run in runs
        if run.recipe.model.kind == "comp" and run.recipe.data.name == name
    ]


def _short(label: str) -> str:
    """A label without its data set, which the title has."""
    return label.partition(", ")[2] or label


def _data(run: Run) -> Wholes:
    return run.recipe.data.wholes("test")


def _composer(run: Run, device: torch.device | str) -> Composer:
    composer = run.composer()
    composer.model.to(device)
    return composer


def _report(run: Run) -> list[dict[str, Any]]:
    """The rows of what was measured of a run; none if nothing was."""
    file = run.path / "parts.json"
    return read_json(file)["rows"] if file.is_file() else []


def _line(rows: Sequence[Mapping[str, Any]], measure: str) -> list[tuple[float, float]]:
    """A measure by the number of parts."""
    return [
        (float(row["parts"]), row["values"][measure]["mean"])
        for row in rows
        if measure in row["values"]
    ]
