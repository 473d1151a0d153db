"""What a model draws when it is done, for people to look at: `samples.png` of its run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import torch
from torch import Tensor

from mindseye.figures import imagined_sheet, words
from mindseye.graphsheets import plane_sheet
from mindseye.imagine import Mind, Query
from mindseye.labels import Labels, decode
from mindseye.randomness import keys, normals
from mindseye.sheets import Row, row_sheet
from mindseye.wholesheets import growing_sheet

if TYPE_CHECKING:
    from PIL.Image import Image

    from mindseye.composing import Composer
    from mindseye.data import Batch
    from mindseye.linking import Linker
    from mindseye.papers import Recipe

__all__ = ["samples_sheet"]

ASKED = 8
"""Pictures or captions that a model is shown."""


class Finished(Protocol):
    """A run whose model can be opened, by what draws with it."""

    def mind(self) -> Mind:
        """The model, to imagine with."""
        ...

    def composer(self) -> Composer:
        """The model of parts, to put wholes together with."""
        ...

    def linker(self, data: str | None = None) -> Linker:
        """The model of a graph, to link nodes with."""
        ...


def samples_sheet(run: Finished, made: Recipe, data: str | None = None) -> Image | None:
    """A sheet of what a finished model imagines, of wholes or nodes; None if it draws nothing.

    Arguments:
        run: The run.
        made: Its recipe.
        data: A folder with the data.
    """
    if made.model.kind in ("draw", "captioned") and made.data.vocabulary.unordered:
        return _told(run.mind(), _examples(made, data))
    if "q_y" in made.fits:
        return imagined_sheet(run.mind().imagined("", n=32))
    if made.model.kind in ("vlvae", "joint"):
        return _unasked(run.mind(), _examples(made, data))
    if made.model.kind == "comp":
        return growing_sheet(run.composer(), made.data.wholes("test"))
    if made.model.kind == "graph":
        return plane_sheet(run.linker(data), straight=True)
    return None


def _told(mind: Mind, batch: Batch[Labels]) -> Image:
    """A row of what is imagined of each of a few captions, where none can be made up."""
    shown = mind.answer([Query(concept, ASKED) for concept in decode(mind.vocabulary, batch.y)])
    return row_sheet([Row(words(i.concept), i.means.numpy()) for i in shown])


def _unasked(mind: Mind, batch: Batch[Labels]) -> Image:
    """Pictures made again and pictures of the prior, over the captions that their latents write."""
    drawn = normals(keys(0, torch.arange(len(batch.x)), "samples"), mind.model.latent)
    latents = {"made again": _inferred(mind, batch), "of the prior": drawn.to(mind.device)}
    return row_sheet(
        [
            Row(
                label,
                mind.expected(z).cpu().numpy(),
                [str(caption) for caption in mind.tell(z).captions] if mind.writes else None,
            )
            for label, z in latents.items()
        ]
    )


@torch.no_grad()
def _inferred(mind: Mind, batch: Batch[Labels]) -> Tensor:
    """The mean of what is inferred from pictures, and from words where those must be read too."""
    if "q_x" in mind.fits:
        return mind.read(batch.x).mean
    x, y = batch.x.to(mind.device), batch.y.to(mind.device)
    return mind.model.q_xy(x, y).mean  # pyright: ignore[reportAttributeAccessIssue]


def _examples(made: Recipe, data: str | None) -> Batch[Labels]:
    """The first validation pictures, as many as there are up to eight."""
    dataset = made.data.open("validation", folder=data)
    return dataset.examples(torch.arange(min(ASKED, dataset.count)))
