"""The pictures that stand beside a table: what the trained models imagine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import torch

from mindseye.concepts import Concept
from mindseye.evaluation import held_out, plane_of
from mindseye.figures import comparison_sheet, judged, ladder_sheet
from mindseye.imagine import Mind
from mindseye.papers.tables import Row, Split
from mindseye.reproduction.plan import Plan
from mindseye.runs import Run

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["Drawing", "Labelled", "Picture"]

Runs = Mapping[tuple[str, str], Sequence[Run]]
"""By split and family: one run per seed."""


Labelled = tuple[str, Run]
"""A run, and what the table calls its row."""


class Picture(NamedTuple):
    """A picture, the figure of the paper that it answers, and what it shows."""

    name: str
    figure: str
    caption: str
    image: Image
    film: bytes | None = None
    """The same as a GIF file that moves, if there is one."""


@dataclass(frozen=True)
class Drawing:
    """Pictures by the runs of the first seed, judged by one observer."""

    plan: Plan
    runs: Runs
    observer: Run
    device: torch.device | str
    data: str | None
    """The folder with MNIST."""
    n: int = 8
    """Pictures in a row."""

    def pictures(self, planes: Sequence[Run]) -> Iterator[Picture]:
        """All pictures of the table, in the order of their figures."""
        yield from self._familiar()
        yield from self._ladders()
        yield from self._planes(planes)
        yield from self._unseen()

    def _familiar(self) -> Iterator[Picture]:
        if asked := self.plan.table.familiar:
            caption = f"A description met in training, imagined by every model. {_VERDICTS}"
            sheet = self._compared(self.plan.table.splits[0], asked)
            yield Picture("figure-3", "Figure 3", caption, sheet)

    def _ladders(self) -> Iterator[Picture]:
        table = self.plan.table
        for row in (row for row in self.plan.rows if row.family in table.ladder_rows):
            sheet = _climbed(self._mind(table.splits[0], row), table.ladder, row.label, self.n)
            yield Picture(f"figure-4b-{row.family}", "Figure 4b", f"{row.label}{_LADDER}", sheet)

    def _planes(self, planes: Sequence[Run]) -> Iterator[Picture]:
        for run in planes:
            name = f"figure-7-{run.recipe.name.rpartition('/')[2]}"
            caption = f"{run.recipe.about} {_PLANE}"
            sheet = plane_of(run, device=self.device, data=self.data)
            yield Picture(name, "Figure 7", caption, sheet)

    def _unseen(self) -> Iterator[Picture]:
        split = self.plan.table.splits[-1]
        if wanted := self.plan.table.unseen:
            recipe = self.plan.recipes[split.name, self.plan.rows[0].family]
            asked = _nearest(held_out(recipe.data), wanted)
            caption = f"A combination that no model of this split has seen. {_VERDICTS}"
            yield Picture("figure-11", "Figure 11", caption, self._compared(split, asked))

    def _compared(self, split: Split, description: str | Concept) -> Image:
        """The same description by every model, with the observer's verdicts."""
        rows = []
        for row in self.plan.rows:
            mind = self._mind(split, row)
            imagined = mind.imagined(description, self.n, fill=False)
            rows.append((row.label, imagined, judged(mind, imagined)))
        return comparison_sheet(rows[0][1].concept, rows)

    def _mind(self, split: Split, row: Row) -> Mind:
        mind = self.runs[split.name, row.family][0].mind(str(self.observer.path))
        mind.model.to(self.device)
        return mind


_VERDICTS = (
    "Shown are expected pictures; under each, what the observer sees in a draw of its pixels, and "
    "a red frame where that is not what was said."
)
_LADDER = (
    ", from abstract to concrete: words are added one by one; the experts of what is open are left "
    "out of the product."
)
_PLANE = "The latent plane from -3 to 3, the expected picture at every point."


def _climbed(mind: Mind, words: Sequence[str], label: str, n: int) -> Image:
    """Pictures while words are added, in the order given, from nothing said on."""
    said = [", ".join(words[:count]) for count in range(len(words) + 1)]
    rungs = [mind.imagined(each, n, fill=False) for each in said]
    verdicts = [judged(mind, rung) for rung in rungs]
    return ladder_sheet(rungs, verdicts, title=f"{label}: from abstract to concrete")


def _nearest(concepts: Sequence[Concept], description: str) -> Concept:
    """The concept that shares most words with a description."""
    wanted = concepts[0].vocabulary.parse(description).values.items()
    return max(concepts, key=lambda concept: len(wanted & concept.values.items()))
