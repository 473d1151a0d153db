"""Pictures of what a mind imagines, as a person wants to see them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle, product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from torch import Tensor

from mindseye.captions import BLANK, Caption
from mindseye.concepts import Concept, Vocabulary
from mindseye.data import Batch, Dataset
from mindseye.errors import UsageError
from mindseye.explore import ellipse, experts, plane
from mindseye.imagine import Imagined, Mind
from mindseye.labels import Labels, decode
from mindseye.sheets import (
    PALETTE,
    RGB,
    Outline,
    contact_sheet,
    gaussian_sheet,
    plane_sheet,
    row_sheet,
)

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = [
    "Verdict",
    "between_sheet",
    "comparison_sheet",
    "experts_plane",
    "imagined_sheet",
    "judged",
    "ladder_sheet",
    "latent_plane",
    "lattice_sheet",
    "real_sheet",
    "traversal_sheet",
    "verdicts_of",
    "words",
]


class Verdict(NamedTuple):
    """What the observer sees in one picture, beside what was said."""

    seen: Concept
    wrong: tuple[str, ...]
    """The said attributes that it sees otherwise."""

    @property
    def caption(self) -> str:
        """The values it sees."""
        return words(self.seen)


def words(concept: Concept) -> str:
    """A short caption: the values that are said, two a line; or the sentence they make."""
    if isinstance(concept, Caption):
        return str(concept).rstrip(f" {BLANK}")
    values = list(concept.values.values()) or ["anything"]
    return "\n".join(" · ".join(values[i : i + 2]) for i in range(0, len(values), 2))


def judged(mind: Mind, imagined: Imagined) -> list[Verdict]:
    """The observer's verdict on every picture; it looks at the draws, as the paper's does."""
    (found,) = verdicts_of(mind, [imagined])
    return found


def verdicts_of(mind: Mind, several: Sequence[Imagined]) -> list[list[Verdict]]:
    """The observer's verdicts on the pictures of several descriptions, judged together.

    One that is told a word is told that of the description. Where the description leaves it open,
    it is told the word with which it sees most of what is said: any of them would make it true.
    """
    pictures = torch.cat([imagined.samples for imagined in several])
    said = [imagined.concept for imagined in several for _ in imagined.samples]
    every = [
        map(_verdict, said, mind.judge(pictures, described)) for described in _tellings(mind, said)
    ]
    best = iter([min(each, key=lambda v: len(v.wrong)) for each in zip(*every, strict=True)])
    return [[next(best) for _ in imagined.samples] for imagined in several]


def _tellings(mind: Mind, said: Sequence[Concept]) -> list[Sequence[Concept]]:
    """Descriptions in which what the observer is told is never open."""
    if mind.observer.told is None:
        return [said]
    told = mind.vocabulary.attributes[mind.observer.told]
    if all(told.name in concept.values for concept in said):
        return [said]
    return [
        [mind.vocabulary.concept(**{told.name: value, **concept.values}) for concept in said]
        for value in told.values
    ]


def _verdict(said: Concept, seen: Concept) -> Verdict:
    return Verdict(seen, tuple(k for k in said.observed if seen.values[k] != said.values[k]))


def imagined_sheet(
    imagined: Imagined, verdicts: Sequence[Verdict] | None = None, *, samples: bool = False
) -> Image:
    """A contact sheet, a red border where a said word is judged wrong (Figure 3)."""
    return contact_sheet(
        _shown(imagined, samples),
        None if verdicts is None else [verdict.caption for verdict in verdicts],
        None if verdicts is None else [bool(verdict.wrong) for verdict in verdicts],
        title=str(imagined.concept) if len(imagined.concept.vocabulary) else "Draws",
    )


def real_sheet(data: Dataset, description: str, n: int, seed: int, *, title: str = "") -> Image:
    """Real pictures of a data set with their descriptions (Figure 6), or those of a concept."""
    concept = data.vocabulary.parse(description)
    seen = getattr(data, "seen", lambda x: x)  # of data that are no pictures as they are
    if concept.level:
        pictures = seen(data.pictures_of(concept, n, seed))
        return contact_sheet(pictures.numpy(), title=f"{title}: {concept}")
    batch = data.examples(torch.arange(n))
    captions = (
        [words(c) for c in decode(data.vocabulary, batch.y)] if len(data.vocabulary) else None
    )
    return contact_sheet(seen(batch.x).numpy(), captions, title=title)


def ladder_sheet(
    rungs: Sequence[Imagined],
    verdicts: Sequence[Sequence[Verdict]] | None = None,
    *,
    samples: bool = False,
    title: str = "From abstract to concrete",
) -> Image:
    """One row for every word that is added, from nothing to all that was said (Figure 4b)."""
    return row_sheet(
        [
            (
                str(rung.concept) if rung.concept.level else "nothing said",
                _shown(rung, samples),
                None,
                None if verdicts is None else [bool(v.wrong) for v in verdicts[i]],
            )
            for i, rung in enumerate(rungs)
        ],
        title=title,
    )


def lattice_sheet(concept: Concept, around: Sequence[Imagined]) -> Image:
    """A row for every concept with one word less, for the concept, and for those with one more."""
    return row_sheet(
        [(_step(concept, each.concept), _shown(each, False), None, None) for each in around],
        title=f"Around {concept if concept.level else 'nothing said'}",
    )


def _step(centre: Concept, other: Concept) -> str:
    """How a neighbour differs from a concept."""
    if other == centre:
        return str(centre) if centre.level else "nothing said"
    sign, more, less = ("+", other, centre) if other.level > centre.level else ("-", centre, other)
    (name,) = set(more.observed) - set(less.observed)
    return f"{sign} {name}={more.values[name]}"


def traversal_sheet(values: Sequence[float], pictures: Tensor, title: str) -> Image:
    """A row for each latent dimension, as it changes alone; `(D, steps, C, H, W)`."""
    captions = [f"{value:+.1f}" for value in values]
    shown = pictures.cpu().numpy()
    rows = [(f"z{k + 1}", row, None, None) for k, row in enumerate(shown[:-1])]
    return row_sheet([*rows, (f"z{len(shown)}", shown[-1], captions, None)], title=title)


def experts_plane(mind: Mind, concept: Concept, latents: Tensor, axes: str = "words") -> Image:
    """The prior, an expert for each word and their product, over training pictures (Figure 2)."""
    chosen = plane(mind, concept, latents, axes)
    size, belief = mind.model.latent, mind.belief(concept)
    grey, dark = PALETTE[-1], (0.1, 0.1, 0.1)
    outlines = [
        Outline("prior", ellipse(torch.zeros(size), torch.ones(size), chosen.axes), grey),
        *(
            Outline(
                f"{each.attribute}={each.value}",
                ellipse(each.mean.cpu(), each.stddev.cpu(), chosen.axes),
                rgb,
                3,
            )
            for each, rgb in zip(experts(mind, concept), cycle(PALETTE[:-1]))
        ),
        Outline(
            "product", ellipse(belief.mean[0].cpu(), belief.stddev[0].cpu(), chosen.axes), dark, 4
        ),
    ]
    said = str(concept) if concept.level else "nothing said"
    return gaussian_sheet(outlines, latents @ chosen.axes.T, chosen.names, said)


def between_sheet(title: str, pictures: Tensor) -> Image:
    """Rows of pictures `(n, steps, C, H, W)` on the way from one end to the other."""
    columns = pictures.shape[1]
    return contact_sheet(pictures.flatten(0, 1).cpu().numpy(), columns=columns, title=title)


def comparison_sheet(
    concept: Concept, rows: Sequence[tuple[str, Imagined, Sequence[Verdict]]]
) -> Image:
    """The same description imagined by several models, a row each."""
    return row_sheet(
        [
            (
                name,
                _shown(imagined, samples=False),
                [v.caption for v in verdicts] if verdicts else None,
                [bool(v.wrong) for v in verdicts] if verdicts else None,
            )
            for name, imagined, verdicts in rows
        ],
        title=str(concept),
    )


@torch.no_grad()
def latent_plane(mind: Mind, nearest: Batch[Labels] | None = None, side: int = 24) -> Image:
    """The plane of a two-dimensional latent, tinted by concept (Figure 7).

    A point's colour is the most probable description under p(y|z). Given pictures with their
    descriptions, it is that of the nearest picture's mean under q(z|x) instead: the only way for a
    model that was trained without words.
    """
    if mind.model.latent != 2:
        raise UsageError(
            f"`{mind.name}` has a latent of {mind.model.latent} dimensions; a plane shows 2.",
            "Train one of mnist-2bit/*.",
        )
    axis = torch.linspace(-3, 3, side, device=mind.device)
    z = torch.stack(torch.meshgrid(-axis, axis, indexing="ij")[::-1], -1).view(-1, 2)
    codes = mind.said_of(z).mode if nearest is None else _nearest(mind, z, nearest)
    palette = _palette(mind.vocabulary)
    colours = torch.tensor([palette[tuple(row)][1] for row in codes.tolist()]).view(side, side, 3)
    pictures = mind.model.p_x(z).mean.unflatten(0, (side, side))
    how = "p(y|z)" if nearest is None else "the nearest training picture"
    return plane_sheet(
        pictures.cpu().numpy(),
        colours.numpy(),
        list(palette.values()),
        title=f"{mind.name}: coloured by {how}",
    )


def _nearest(mind: Mind, z: Tensor, batch: Batch[Labels]) -> Tensor:
    """The codes of the pictures whose latents are nearest to some points."""
    latents = torch.cat([mind.model.q_x(x.to(mind.device)).mean for x in batch.x.split(1000)])
    return batch.y.codes.to(mind.device)[torch.cdist(z, latents).argmin(1)]


def _palette(vocabulary: Vocabulary) -> dict[tuple[int, ...], tuple[str, RGB]]:
    """A name and a colour for every combination of values; colours come again after the last."""
    every = product(*(range(size) for size in vocabulary.sizes))
    return {
        codes: (" · ".join(vocabulary.from_codes(codes).values.values()), colour)
        for codes, colour in zip(every, cycle(PALETTE), strict=False)
    }


def _shown(imagined: Imagined, samples: bool) -> np.ndarray:
    return (imagined.samples if samples else imagined.means).cpu().numpy()
