"""What every route needs: the shelf, the engine, and the parameters that requests share."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter
from typing import Annotated, Any

from fastapi import Depends, Query, Request

from mindseye.composing import Composer
from mindseye.errors import UsageError, listed
from mindseye.imagine import Mind
from mindseye.linking import Linker
from mindseye.painting import Painter
from mindseye.studio import schemas
from mindseye.studio.answers import LINK
from mindseye.studio.background import Background
from mindseye.studio.engine import Engine
from mindseye.studio.shelf import Opened, Shelf

__all__ = [
    "ERRORS",
    "Description",
    "House",
    "ModelName",
    "PictureText",
    "Product",
    "Seed",
    "TheHouse",
    "Watch",
]

ERRORS: dict[int | str, dict[str, Any]] = {
    400: {"model": schemas.Complaint, "description": "A word or a value that cannot be meant."},
    404: {"model": schemas.Complaint, "description": "No such model or run is open."},
    413: {"model": schemas.Complaint, "description": "The body is too large."},
    422: {"model": schemas.Complaint, "description": "A parameter is missing or out of range."},
    429: {"model": schemas.Complaint, "description": "Too many requests are waiting."},
    503: {"model": schemas.Complaint, "description": "The answer took too long."},
}
"""What every route may answer instead."""


@dataclass(frozen=True)
class House:
    """All that is shared by the routes."""

    shelf: Shelf
    engine: Engine
    reading: Background = field(default_factory=Background)
    """Where graphs are read."""
    layouts: Background = field(default_factory=Background)
    """Where their nodes are laid out."""

    def opened(self, name: str) -> Opened:
        """An open model, the first if the name is empty."""
        return self.shelf.opened(name)

    async def mind(self, name: str) -> Mind:
        """An open model's mind; the first time it is read where models work."""
        found = await self._read(name)
        if isinstance(found, Composer):
            raise UsageError(
                f"`{found.name}` knows wholes by their parts, and no words.", "Parts shows it."
            )
        return found

    async def composer(self, name: str) -> Composer:
        """The verbs of an open model of parts."""
        found = await self._read(name)
        if isinstance(found, Composer):
            return found
        raise UsageError(
            f"`{found.name}` knows nothing of parts.",
            "The built-in models `sines`, `sites` and `loads` do.",
        )

    async def _read(self, name: str) -> Mind | Composer:
        opened = self.opened(name)
        if opened.is_read:
            return self.shelf.read(opened)
        return (await self.engine.run(lambda: self.shelf.read(opened))).value

    async def speaker(self, name: str) -> Mind:
        """The mind of an open model that knows words."""
        mind = await self.mind(name)
        if not len(mind.vocabulary):
            raise UsageError(
                f"`{mind.name}` knows no words: it was trained on pictures alone.",
                "Imagine, Between and Latents show it.",
            )
        return mind

    async def painter(self, name: str) -> Painter:
        """An open model that paints what it is told."""
        mind = await self.speaker(name)
        if isinstance(mind, Painter):
            return mind
        raise UsageError(
            f"`{mind.name}` does not paint.",
            "`mindseye train captioned-mnist/align-lean` trains a model that does.",
        )

    async def walker(self, name: str) -> Mind:
        """The mind of an open model whose latents are numbers that may be changed one by one."""
        mind = await self.mind(name)
        if not mind.walks:
            raise UsageError(
                f"`{mind.name}` has a sentence in its latents, and nothing lies between two.",
                "Captions shows what a word changes.",
            )
        return mind

    async def linker(self, name: str) -> Linker:
        """An open model of a graph with its verbs; the first time it is read beside the engine."""
        opened = self.opened(name)
        if not opened.is_graph:
            graphs = [each.name for each in self.shelf.models.values() if each.is_graph]
            raise UsageError(
                f"`{opened.name}` is no model of a graph.",
                f"Choose {listed(graphs[:5])}."
                if graphs
                else "Train one: mindseye train graph/vgae",
            )
        if not opened.is_read:
            reading = self.reading.begin(opened.name, lambda _: opened.linker)
            await reading.within(self.engine.patience)
        return self.shelf.linker(opened)

    def close(self) -> None:
        """End what is under way."""
        for each in (self.reading, self.layouts):
            each.close()


def _house(request: Request) -> House:
    return request.app.state.house


class Watch:
    """How long an answer takes."""

    def __init__(self) -> None:
        self.started = perf_counter()

    def seconds(self, model: float) -> schemas.Seconds:
        """Of the networks, and from the request until now."""
        every = perf_counter() - self.started
        return schemas.Seconds(model=round(min(model, every), 5), all=round(every, 5))


TheHouse = Annotated[House, Depends(_house)]
ModelName = Annotated[
    str, Query(alias="model", max_length=200, description="An open model; the first if empty.")
]
Description = Annotated[
    str, Query(max_length=1000, description='What is said, such as "digit=4, size=big".')
]
Seed = Annotated[
    int, Query(ge=-(2**53), le=2**53, description="The same seed gives the same pictures.")
]
Product = Annotated[bool, Query(description="Leave experts of open attributes out.")]
PictureText = Annotated[
    str, Query(max_length=LINK, description="A picture, as /api/pictures gives it.")
]
