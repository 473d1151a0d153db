"""`mindseye experts`: the product of experts as a drawing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mindseye.cli.options import DataFolder, Description, Json, Model
from mindseye.cli.output import answer, note, print_json

__all__ = ["experts"]


def experts(
    description: Description = "",
    model: Model = "mnist-a",
    axes: Annotated[
        str,
        typer.Option(
            help="words: the dimensions that say most; pca: where pictures vary most; or 0,1 …"
        ),
    ] = "words",
    points: Annotated[int, typer.Option(min=0, max=20_000, help="Training pictures below.")] = 2000,
    out: Annotated[str | None, typer.Option(help="Where the picture goes.")] = None,
    data: DataFolder = None,
    json: Json = False,
) -> None:
    """Draw the prior, an expert for each word and their product (Figure 2).

    \b
    mindseye experts "digit=4, size=big"
    mindseye experts "location=top-left" --axes 0,1
    """
    import torch

    from mindseye.errors import MindseyeError
    from mindseye.explore import latents_of
    from mindseye.figures import experts_plane
    from mindseye.pictures import save_picture
    from mindseye.runs import find

    run = find(model)
    mind = run.mind()
    concept, latents = mind.concept(description), torch.zeros(0, mind.model.latent)
    if points:
        try:
            latents = latents_of(mind, run.examples(points, data))
        except MindseyeError as error:
            note(f"No training pictures beneath: {error}")
    path = Path(out or f"imagined/experts-{'-'.join(concept.values.values()) or 'prior'}.png")
    save_picture(path, experts_plane(mind, concept, latents, axes))
    if json:
        return print_json(
            {"model": mind.name, "description": str(concept), "axes": axes, "files": [str(path)]}
        )
    answer(f"Wrote {path}")
