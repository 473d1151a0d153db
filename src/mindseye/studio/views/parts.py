"""Parts: wholes of parts as a model and as the generator make them, and what one part changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NamedTuple

import torch
from fastapi import APIRouter, Query
from pydantic import Field
from torch import Tensor

from mindseye.composing import Composition, Maker
from mindseye.data.sites import PALETTE
from mindseye.errors import UsageError
from mindseye.parts import Kit, Part, Parts
from mindseye.pictures import to_uint8
from mindseye.runs import spelled
from mindseye.studio import schemas
from mindseye.studio.answers import command, sprite
from mindseye.studio.house import ERRORS, ModelName, Seed, TheHouse, Watch
from mindseye.studio.shelf import Opened
from mindseye.studio.views.view import View

__all__ = ["VIEW", "kit_of"]

MOST = 64
"""Parts of one whole."""

WHOLES = 8
"""Wholes of one answer, of the model and of the generator each."""

MANY = 64
"""Wholes whose mean is shown."""

TEXT = 4000
"""Characters that name parts."""

router = APIRouter()


class Piece(schemas.Answer):
    """One part of a whole."""

    category: str
    place: list[float] = Field(description="A number for every axis.")
    text: str = Field(description="As it is written.")
    born: str = Field(description="The same where it stood before it was moved.")


class Side(schemas.Answer):
    """The wholes that one maker has made, or their mean."""

    curves: list[list[float]] | None = Field(description="Null where wholes are pictures.")
    deviation: list[float] | None = Field(description="Around the mean, if that was asked for.")
    before: list[list[float]] | None = Field(description="The curves before the change, if any.")


class Wholes(schemas.Answer):
    """Wholes of the same parts, as the generator and as the model make them."""

    model: str
    description: str
    parts: list[Piece] = Field(description="In the order of the kit.")
    before: str = Field(description="The parts before the change; empty if there is none.")
    n: int
    seed: int
    spread: bool = Field(description="Whether their mean is sent in their place.")
    truth: Side
    made: Side
    pictures: schemas.Sprite | None = Field(
        description="Of pictures: a row of the generator's, a row of the model's; of a mean, also"
        " twice the deviation."
    )
    lines: schemas.Lines
    seconds: schemas.Seconds


class _Asked(NamedTuple):
    """What wholes are made of, and how they came to be so."""

    parts: Parts
    start: Parts
    """The same before parts were moved."""
    moves: list[tuple[Part, Part]]
    before: Parts | None

    def made(self, maker: Maker, n: int, seed: int) -> Composition:
        """The wholes of a maker."""
        whole = maker.composed(self.start, n, seed)
        for old, new in self.moves:
            whole = maker.moved(whole, old, *new.place)
        return whole


@router.get("/api/parts", responses=ERRORS)
async def parts(
    house: TheHouse,
    model: ModelName = "",
    description: Annotated[
        str,
        Query(
            max_length=TEXT,
            description='What wholes are made of: "3×f2, f7", or "red@0.2,-0.5; blue@0.6,0.1".',
        ),
    ] = "",
    moved: Annotated[
        str,
        Query(
            max_length=TEXT,
            description="Parts that were moved, and where to: red@0.2,-0.5=0.3,-0.4; … They have"
            " the noise of where they were; those that are not there any more say nothing.",
        ),
    ] = "",
    before: Annotated[
        str, Query(max_length=TEXT, description="Parts whose wholes are sent beside these.")
    ] = "",
    n: Annotated[int, Query(ge=1, le=WHOLES, description="Wholes of each.")] = 4,
    seed: Seed = 0,
    spread: Annotated[
        bool, Query(description=f"The mean of {MANY} wholes and their deviation, not n wholes.")
    ] = False,
) -> Wholes:
    """Wholes of some parts: the generator's, and the model's beside them."""
    watch, composer, opened = Watch(), await house.composer(model), house.opened(model)
    asked = _asked(composer.vocabulary, description, moved, before)
    count = MANY if spread else n

    def work() -> list[tuple[Composition, Composition | None]]:
        makers: tuple[Maker, Maker] = (opened.truth, composer)
        earlier = asked.before
        return [
            (
                asked.made(maker, count, seed),
                None if earlier is None else maker.composed(earlier, count, seed),
            )
            for maker in makers
        ]

    found = await house.engine.run(work)
    truth, made = (_side(*each, spread=spread) for each in found.value)
    return Wholes(
        model=composer.name,
        description=str(asked.parts),
        parts=_pieces(asked),
        before="" if asked.before is None else str(asked.before),
        n=count,
        seed=seed,
        spread=spread,
        truth=truth,
        made=made,
        pictures=_pictures([whole for whole, _ in found.value], spread=spread),
        lines=_lines(opened, asked, count, seed, spread=spread),
        seconds=watch.seconds(found.seconds),
    )


def kit_of(opened: Opened) -> schemas.Kit:
    """What parts a model knows, and how they are drawn."""
    kit = opened.truth.vocabulary
    colours = {name: _hex(PALETTE[name]) for name in kit.names} if kit.axes else {}
    return schemas.Kit(
        categories=[schemas.Category(name=name, colour=colours.get(name)) for name in kit.names],
        axes=list(kit.axes),
        low=kit.low,
        high=kit.high,
        most=MOST,
        trained=opened.truth.data.most,
    )


# What is asked


def _asked(kit: Kit, description: str, moved: str, before: str) -> _Asked:
    said = _few(kit.parse(description))
    earlier = _few(kit.parse(before)) if before.strip() else None
    start, moves = said, []
    for old, new in _moves(kit, moved):
        if new in start and new != old:
            start, moves = start - new + old, [*moves, (old, new)]
    return _Asked(said, start, moves, None if earlier == said else earlier)


def _few(parts: Parts) -> Parts:
    if len(parts) > MOST:
        raise UsageError(
            f"{len(parts)} parts are more than {MOST}, the most that are shown here.",
            "`mindseye compose` takes more.",
        )
    return parts


def _moves(kit: Kit, text: str) -> list[tuple[Part, Part]]:
    """Parts where they were, and where they are."""
    pieces = [piece for piece in text.split(";") if piece.strip()]
    if len(pieces) > MOST:
        raise UsageError(f"`moved` has {len(pieces)} parts; at most {MOST} are read.")
    found = []
    for piece in pieces:
        old, equals, place = piece.partition("=")
        if not equals or not kit.axes:
            raise UsageError(
                f"`moved` has {piece.strip()[:40]!r}, which is no part with another place.",
                "Write it as red@0.2,-0.5=0.3,-0.4." if kit.axes else "Parts have no places here.",
            )
        (was,) = kit.parts([old])
        (now,) = kit.parts([f"{was.category}@{place}"])
        found.append((was, now))
    return found


# What is answered


def _pieces(asked: _Asked) -> list[Piece]:
    origins: dict[Part, list[Part]] = {}
    for old, new in asked.moves:
        origins.setdefault(new, []).append(old)
    return [
        Piece(
            category=part.category,
            place=list(part.place),
            text=str(part),
            born=str(origins[part].pop() if origins.get(part) else part),
        )
        for part in asked.parts
    ]


def _side(whole: Composition, before: Composition | None, *, spread: bool) -> Side:
    if whole.means.shape[2] != 1:
        return Side(curves=None, deviation=None, before=None)
    return Side(
        curves=_curves(whole, spread=spread),
        deviation=_numbers(whole.spread()[1][None])[0] if spread else None,
        before=None if before is None else _curves(before, spread=spread),
    )


def _curves(whole: Composition, *, spread: bool) -> list[list[float]]:
    """Every curve, or their mean alone."""
    return _numbers(whole.spread()[0][None] if spread else whole.means)


def _numbers(curves: Tensor) -> list[list[float]]:
    """Curves `(n, 1, 1, T)` in few digits."""
    return [[round(value, 4) + 0.0 for value in curve] for curve in curves.flatten(1).tolist()]


def _pictures(wholes: Sequence[Composition], *, spread: bool) -> schemas.Sprite | None:
    if wholes[0].means.shape[2] == 1:
        return None
    if not spread:
        return sprite(torch.cat([each.means.cpu() for each in wholes]), columns=len(wholes[0]))
    pairs = [(mean, 2 * deviation) for mean, deviation in (each.spread() for each in wholes)]
    return sprite(torch.stack([each.cpu() for pair in pairs for each in pair]), columns=2)


def _lines(opened: Opened, asked: _Asked, n: int, seed: int, *, spread: bool) -> schemas.Lines:
    """What makes the same elsewhere."""
    source, first = spelled(opened.run), asked.start if asked.before is None else asked.before
    shell = command(
        "compose",
        source,
        str(first),
        *_steps(asked),
        beside="truth",
        spread=spread,
        n=n,
        seed=seed,
    )
    python = [
        "from mindseye.runs import find",
        "",
        f"run = find({source!r})",
        "makers = run.truth(), run.composer()",
        f"wholes = [each.composed({str(asked.start)!r}, n={n}, seed={seed}) for each in makers]",
    ]
    for old, new in asked.moves:
        there = ", ".join(map(str, new.place))
        moved = f"maker.moved(whole, {str(old)!r}, {there})"
        python.append(f"wholes = [{moved} for maker, whole in zip(makers, wholes)]")
    if asked.before is not None:
        earlier = f"each.composed({str(asked.before)!r}, n={n}, seed={seed})"
        python.append(f"before = [{earlier} for each in makers]")
    python.append(
        "(truth, _), (model, _) = [whole.spread() for whole in wholes]"
        if spread
        else "truth, model = [whole.means for whole in wholes]"
    )
    return schemas.Lines(command=shell, python="\n".join(python))


def _steps(asked: _Asked) -> list[str]:
    """The options that lead from the first wholes to these."""
    words = []
    if asked.before is not None:
        kit, old, new = asked.parts.kit, asked.before.counts(), asked.start.counts()
        for name, more, less in (("--add", new, old), ("--remove", old, new)):
            items = [part for part, k in more.items() for _ in range(k - less.get(part, 0))]
            words += [name, str(kit.parts(items))] if items else []
    for was, now in asked.moves:
        words += ["--move", f"{was}={str(now).partition('@')[2]}"]
    return words


def _hex(rgb: tuple[float, float, float]) -> str:
    return "#" + "".join(f"{level:02x}" for level in to_uint8(rgb).tolist())


VIEW = View(
    "parts",
    "Parts",
    "Put a whole together of its parts, and see what is true beside what a model makes of it.",
    router,
    lambda mind: True,
    shows_parts=True,
)
