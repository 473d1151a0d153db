"""Runs: what was trained and is being trained, with curves and scores, and tables of results."""

from __future__ import annotations

import time
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from pydantic import Field, TypeAdapter

from mindseye.errors import UsageError
from mindseye.evaluation import compare_runs
from mindseye.imagine import Query as Asked
from mindseye.runs import Run, list_runs, spelled
from mindseye.studio import schemas
from mindseye.studio.answers import command, imagined
from mindseye.studio.house import ERRORS, Description, Seed, TheHouse, Watch
from mindseye.studio.views import tables
from mindseye.studio.views.view import View

__all__ = ["VIEW"]

RECENT = 60.0
"""Seconds since the last record of a run that is taken to be going on."""

MOST_RECORDS = 2000
"""Records of one answer; of more every second, third … is sent."""

router = APIRouter()
router.include_router(tables.router)


class Summary(schemas.Answer):
    """A run in a table."""

    name: str
    open: bool = Field(description="Whether the studio has it open as a model.")
    live: bool = Field(description="Whether it is being trained now.")
    facts: dict[str, str | float | None]


class Runs(schemas.Answer):
    """The runs of the folder."""

    folder: str
    runs: list[Summary]
    lines: schemas.Lines


class Record(schemas.Answer):
    """A line of a run's log."""

    step: int
    seconds: float | None
    bound: float | None
    terms: dict[str, float | None]


class Records(schemas.Answer):
    """How a run's training goes."""

    name: str
    steps: int = Field(description="Of the whole run.")
    live: bool
    next: int = Field(description="Ask for records after this one to get only new ones.")
    records: list[Record]
    lines: schemas.Lines


class Compared(schemas.Answer):
    """The same description imagined by several models."""

    description: str
    answers: list[schemas.Imagined]
    lines: schemas.Lines
    seconds: schemas.Seconds


@router.get("/api/runs", responses=ERRORS)
def runs(house: TheHouse) -> Runs:
    """The runs of the folder and the models that are open, with the scores they have."""
    shelf = house.shelf
    every = {each.run.path.resolve(): (each.name, each.run) for each in shelf.models.values()}
    for run in list_runs(shelf.runs):
        every.setdefault(run.path.resolve(), (run.name, run))
    rows = [
        Summary(name=name, open=name in shelf.models, live=_live(run), facts=_facts(run))
        for name, run in every.values()
    ]
    lines = schemas.Lines(
        command=command("list"),
        python="from mindseye.runs import list_runs\n\n[run.summary() for run in list_runs()]",
    )
    return Runs(folder=shelf.runs.name, runs=rows, lines=lines)


@router.get("/api/runs/{name}", responses=ERRORS)
def records(
    house: TheHouse,
    name: Annotated[str, Path(max_length=200)],
    after: Annotated[int, Query(ge=0, le=2**53, description="Records to leave out.")] = 0,
) -> Records:
    """The records of a run's log, or those after some."""
    run = house.shelf.run(name)
    every = run.trained()
    new = every[after:]
    return Records(
        name=name,
        steps=run.recipe.training.steps,
        live=_live(run),
        next=len(every),
        records=[_record(record) for record in new[:: 1 + len(new) // MOST_RECORDS]],
        lines=schemas.Lines(
            command=command("show", spelled(run)),
            python=f"from mindseye.runs import find\n\nfind({spelled(run)!r}).log()",
        ),
    )


@router.get("/api/compare", responses=ERRORS)
async def compare(
    house: TheHouse,
    models: Annotated[
        list[str], Query(min_length=1, max_length=4, description="Open models, by name.")
    ],
    description: Description = "",
    n: Annotated[int, Query(ge=1, le=16, description="Pictures of each model.")] = 8,
    seed: Seed = 0,
) -> Compared:
    """The same description imagined by several models."""
    watch, answers, sources = Watch(), [], []
    for name in models:
        mind = await house.mind(name)
        sources.append(mind.source)
        if "q_y" not in mind.fits:
            raise UsageError(f"`{mind.name}` imagines nothing from words.")
        asked = Asked(mind.concept(description), n, seed)
        (seen,) = await house.engine.pictures(mind, [asked])
        answers.append(imagined(mind, asked, seen, watch.seconds(seen.seconds)))
    said = answers[0].description
    return Compared(
        description=said,
        answers=answers,
        lines=schemas.Lines(
            command=command("compare", *sources, query=said, n=n, seed=seed),
            python=f"import mindseye\n\nnames = {sources!r}\n"
            f"asked = dict(n={n}, seed={seed}, mean=True)\n"
            f"pictures = [mindseye.load(name).imagine({said!r}, **asked) for name in names]",
        ),
        seconds=watch.seconds(sum(answer.seconds.model for answer in answers)),
    )


def _facts(run: Run) -> dict[str, str | float | None]:
    """A run's row; of a damaged one, what is the matter."""
    try:
        (facts,) = compare_runs([run])
        return _Facts.validate_python({k: v for k, v in facts.items() if k != "name"})
    except Exception:  # whatever is the matter with somebody's folder, the others are shown
        return {"state": "damaged"}


_Facts = TypeAdapter(dict[str, str | float | None])


def _live(run: Run) -> bool:
    """Whether a run that is not finished wrote a record a moment ago."""
    log = run.path / "log.jsonl"
    try:
        return not run.finished and time.time() - log.stat().st_mtime < RECENT
    except OSError:
        return False


def _record(record: dict[str, Any]) -> Record:
    """A line of a log."""
    terms = record.get("terms")
    pairs = terms.items() if isinstance(terms, dict) else ()
    return Record(
        step=record["step"],
        seconds=record.get("seconds"),
        bound=record.get("bound"),
        terms={str(name): value for name, value in pairs if _is_number(value)},
    )


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and abs(value) < 1e300)


VIEW = View(
    "runs",
    "Runs",
    "What was trained, what is being trained, two models side by side, and tables.",
    router,
    lambda mind: True,
    shows_parts=True,
    shows_graphs=True,
)
