"""`mindseye retrieve`: real pictures that a caption describes, by the bound of a model."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Annotated, Any

import typer

from mindseye.cli.options import Caption, DataFolder, Device, Json, Model, Seed, chosen_device
from mindseye.cli.output import answer, bar, file_stem, print_json, sheet_path
from mindseye.cli.paint import BUILT_IN, painter

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
    from mindseye.paintsheets import found_sheet
    from mindseye.pictures import save_picture
    from mindseye.runs import find

    mind = painter(model)
    mind.model.to(chosen_device(device))
    own = replace(find(model).recipe.data, compositional=False)  # of anything that can be said
    dataset = own.open("test", seed=seed, folder=data)
    batch = dataset.examples(torch.arange(min(among, dataset.count)))
    with bar("looking") as progress:
        track = partial(progress.track, description="pictures")
        found = mind.retrieved(description, batch, draws=draws, seed=seed, track=track)
    best, nats = found.order[:n], found.nats[:n].tolist()
    right = decode(mind.vocabulary, Labels(*(each[best] for each in batch.y)))
    captions = [words(each) for each in right]
    concept = mind.concept(description)
    path = sheet_path(out, f"{file_stem(str(concept), seed)}-found")
    title = f"{concept}: the best {len(best)} of {len(batch.x)} test pictures"
    save_picture(path, found_sheet(batch.x[best], nats, captions, title))
    report: dict[str, Any] = {
        "model": mind.name,
        "description": str(concept),
        "among": len(batch.x),
        "fitting": int(found.fits.sum()),
        "found fitting": int(found.fits[:n].sum()),
        "pictures": [
            {"index": i, "nats": round(score, 3), "caption": caption}
            for i, score, caption in zip(best.tolist(), nats, captions, strict=True)
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
