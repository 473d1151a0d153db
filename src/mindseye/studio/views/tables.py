"""Tables: what was published and what was found, as `mindseye reproduce` has written it."""

from __future__ import annotations

import os
from typing import Annotated

from fastapi import APIRouter, Path, Response
from pydantic import Field

from mindseye.papers import TABLES
from mindseye.reproduction.section import Section
from mindseye.studio import schemas
from mindseye.studio.answers import command
from mindseye.studio.house import ERRORS, TheHouse
from mindseye.studio.results import Result, find_results
from mindseye.studio.shelf import Absent

__all__ = ["router"]

router = APIRouter()


class TableName(schemas.Answer):
    """A table that was made."""

    name: str
    title: str


class Tables(schemas.Answer):
    """The tables of the folder."""

    folder: str
    tables: list[TableName]
    lines: schemas.Lines


class TableSection(schemas.Answer):
    """A heading, what is said under it, and a table."""

    title: str
    text: str
    head: list[str]
    rows: list[list[str]]
    words: int = Field(description="How many columns hold words; the others hold numbers.")


class TableFigure(schemas.Answer):
    """A picture of a table."""

    name: str
    caption: str
    width: int
    height: int


class Table(schemas.Answer):
    """A published table, made again."""

    name: str
    title: str
    opening: str
    sections: list[TableSection]
    figures: list[TableFigure]
    lines: schemas.Lines


@router.get("/api/tables", responses=ERRORS)
def tables(house: TheHouse) -> Tables:
    """The published tables that were made again, in the folder of tables."""
    folder = house.shelf.tables
    return Tables(
        folder=folder.name,
        tables=[TableName(name=t.name, title=t.title) for t in find_results(folder)],
        lines=schemas.Lines(
            command=command("reproduce", "vedantam-4a", quick=True),
            python="from mindseye.papers import TABLES\n\nlist(TABLES)",
        ),
    )


@router.get("/api/tables/{name}", responses=ERRORS)
def table(house: TheHouse, name: Annotated[str, Path(max_length=200)]) -> Table:
    """A table that was made again: what was published, and what was found."""
    found = house.shelf.table(name)
    return Table(
        name=found.name,
        title=found.title,
        opening=found.opening,
        sections=[_section(each) for each in found.sections],
        figures=[
            TableFigure(name=f.name, caption=f.caption, width=f.width, height=f.height)
            for f in found.figures
        ],
        lines=_table_lines(house.shelf.tables, found),
    )


@router.get(
    "/api/tables/{name}/figures/{number}",
    responses={**ERRORS, 200: {"content": {"image/png": {}}, "description": "The picture."}},
    response_class=Response,
)
def figure(
    house: TheHouse,
    name: Annotated[str, Path(max_length=200)],
    number: Annotated[int, Path(ge=0, le=999, description="Which of its figures, from 0.")],
) -> Response:
    """A picture of a table."""
    figures = house.shelf.table(name).figures
    if number >= len(figures):
        raise Absent(f"The table has {len(figures)} figures, counted from 0.")
    return Response(figures[number].path.read_bytes(), media_type="image/png")


def _section(section: Section) -> TableSection:
    head, *rows = section.grid
    return TableSection(
        title=section.title, text=section.text, head=head, rows=rows, words=section.words
    )


def _table_lines(folder: os.PathLike[str], found: Result) -> schemas.Lines:
    """The command that makes a table, or finds that it is made; and where its numbers are."""
    whole = len(found.rows) == len(TABLES[found.table].rows)
    out = os.path.join(os.path.relpath(folder), found.name)
    made = command(
        "reproduce",
        found.table,
        quick=found.quick,
        size=None if found.quick else found.size,
        seeds=None if found.quick else found.seeds,
        rows=None if found.quick or whole else ",".join(found.rows),
        out=out,
    )
    file = os.path.join(out, f"{found.table}.json")
    return schemas.Lines(
        command=made,
        python=f"from mindseye.files import read_json\n\nread_json({file!r})['entries']",
    )
