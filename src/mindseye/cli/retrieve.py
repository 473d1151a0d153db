"""`mindseye retrieve`: real pictures that a caption describes, by the bound of a model."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mindseye.cli.options import Caption, DataFolder, Device, Json, Model, Seed, chosen_device
from mindseye.cli.output import answer, bar, file_stem, print_json, sheet_path
from mindseye.cli.paint import BUILT_IN, painter

if TYPE_CHECKING:
    from mindseye.concepts import Concept

__all__ = ["retrieve"]


def retrieve(
    description: Caption = "",
    model: Model = BUILT_IN,
    among: Annotated[
        int, typer.Option(min=1, max=10_000, help="How many test pictures are looked at.")
    ] = 64,
    n: Annotated[int, typer.Option("-n", "--n", min=1, max=256, help="How many are shown.")] = 8,
    draws: Annotated[
        int, typer.Option(min=1, max=1000, help="Draws of the strokes for every pair.")
    ] = 1,
    seed: Seed = 0,
    out: Annotated[
        str | None, typer.Option(help="File or folder to write to; imagined/ if none.")
    ] = None,
    data: DataFolder = None,
    device: Device = "cpu",
    json: Json = False,
) -> None:
    """Find the real pictures that a caption describes.

    A model that paints says how much likelier a caption makes a picture, log p(x|y) / p(x), by its
    bound; words left open may be any. Test pictures are ranked by it, the best first.

    \b
    mindseye retrieve "the digit three is at the top left of the image"
    mindseye retrieve "three" --among 256 -n 16
    """
    import torch

    from mindseye.figures import words
    from mindseye.labels import Labels, decode
    from mindseye.painting import AGAINST
    from mindseye.paintsheets import found_sheet
    from mindseye.pictures import save_picture
    from mindseye.runs import find

    mind = painter(model)
    mind.model.to(chosen_device(device))
    own = replace(find(model).recipe.data, compositional=False)  # of anything that can be said
    dataset = own.open("test", seed=seed, folder=data)
    batch = dataset.examples(torch.arange(min(among, dataset.count)))
    against = None if mind.fills else Labels(*(each[:AGAINST] for each in batch.y))
    with bar("looking") as progress:
        parts = progress.track(batch.x.split(8), description="pictures")
        scores = [
            mind.found(description, part, against=against, draws=draws, seed=seed) for part in parts
        ]
    nats, best = torch.cat(scores).cpu().sort(descending=True)
    nats, best = nats[:n], best[:n]
    right = decode(mind.vocabulary, batch.y)
    captions = [words(each) for each in right]
    shown = [captions[i] for i in best.tolist()]
    concept = mind.concept(description)
    path = sheet_path(out, f"{file_stem(str(concept), seed)}-found")
    title = f"{concept}: the best {len(best)} of {len(batch.x)} test pictures"
    save_picture(path, found_sheet(batch.x[best], nats.tolist(), shown, title))
    report: dict[str, Any] = {
        "model": mind.name,
        "description": str(concept),
        "among": len(batch.x),
        "fitting": sum(_fits(concept, each, mind.fills) for each in right),
        "found fitting": sum(_fits(concept, right[i], mind.fills) for i in best.tolist()),
        "pictures": [
            {"index": i, "nats": round(score, 3), "caption": captions[i]}
            for i, score in zip(best.tolist(), nats.tolist(), strict=True)
        ],
        "files": [str(path)],
    }
    if json:
        return print_json(report)
    answer(
        f"{report['found fitting']} of the best {len(best)} are described so, of"
        f" {report['fitting']} among {len(batch.x)}"
    )
    answer(f"Wrote {path}")


def _fits(asked: Concept, told: Concept, placed: bool) -> bool:
    """Whether a caption says what is asked for: at its places, or anywhere among free words."""
    if placed:
        return asked.generalizes(told)
    return set(asked.values.values()) <= set(told.values.values())
