"""The page of a reproduction, from its JSON alone: as Markdown, and as one HTML file."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from html import escape
from pathlib import Path
from textwrap import fill
from typing import Any

from mindseye.files import write_bytes, write_json
from mindseye.pictures import png_bytes
from mindseye.reproduction.drawing import Picture
from mindseye.reproduction.imagination_sections import imagination_sections
from mindseye.reproduction.ledger_sections import ledger_sections
from mindseye.reproduction.section import Section

__all__ = ["html", "markdown", "opening", "sections", "write_pages", "write_picture"]


def write_pages(result: dict[str, Any], folder: Path) -> None:
    """Write a reproduction as JSON, Markdown and HTML, named after its table."""
    path = folder / result["table"]
    write_json(path.with_suffix(".json"), result)
    write_bytes(path.with_suffix(".md"), markdown(result).encode())
    write_bytes(path.with_suffix(".html"), html(result, folder).encode())


def write_picture(picture: Picture, folder: Path, table: str) -> dict[str, str]:
    """Write a picture, and its film if it has one; what the JSON says about it.

    Files are named after their table, so that the pages of several may stand in one folder.
    """
    path = f"pictures/{table}-{picture.name}"
    made = {
        "figure": picture.figure,
        "file": f"{path}.png",
        "caption": picture.caption,
    }
    write_bytes(folder / made["file"], png_bytes(picture.image))
    if picture.film:
        made["film"] = f"{path}.gif"
        write_bytes(folder / made["film"], picture.film)
    return made


def markdown(result: dict[str, Any]) -> str:
    """The page as Markdown, readable before it is rendered too."""
    parts = [f"# {result['table']}", fill(opening(result), 100)]
    for section in sections(result):
        parts += [f"## {section.title}"] + [fill(section.text, 100)] * bool(section.text)
        parts += [_piped(section)]
    parts += ["## Pictures"]
    for picture in result["pictures"]:
        parts += [fill(f"**{picture['figure']}.** {picture['caption']}", 100)]
        parts += [f"![{picture['figure']}]({picture['file']})"]
        parts += [f"[As a film]({film})"] if (film := picture.get("film")) else []
    return "\n\n".join(parts) + "\n"


def html(result: dict[str, Any], folder: Path) -> str:
    """The page as HTML that needs nothing but itself: the pictures are inside it."""
    parts = [f"<h1>{escape(result['table'])}</h1>", f"<p>{escape(opening(result))}</p>"]
    for section in sections(result):
        parts += [f"<h2>{escape(section.title)}</h2>"]
        parts += [f"<p>{escape(section.text)}</p>"] * bool(section.text)
        parts += [_rows(section)]
    parts += ["<h2>Pictures</h2>"]
    for picture in result["pictures"]:
        data = base64.b64encode((folder / picture["file"]).read_bytes()).decode()
        image = f'<img alt="{escape(picture["figure"])}" src="data:image/png;base64,{data}">'
        caption = f"<b>{escape(picture['figure'])}.</b> {escape(picture['caption'])}"
        if film := picture.get("film"):
            caption += f' <a href="{escape(film)}">As a film.</a>'
        parts += [f"<figure>{image}<figcaption>{caption}</figcaption></figure>"]
    return _FRAME.format(title=escape(result["table"]), body="\n".join(parts))


def sections(result: dict[str, Any]) -> Iterator[Section]:
    """The tables of the page, and what has to be known to read them."""
    kind = imagination_sections if result.get("kind") is None else ledger_sections
    return kind(result)


def opening(result: dict[str, Any]) -> str:
    """What was made, by what, where and in which time."""
    made = result["provenance"]
    small = " This is the small version: do not compare its numbers." if result["quick"] else ""
    return (
        f"{result['title']}, made again by mindseye {made['mindseye']}, commit"
        f" {made['commit'] or 'unknown'}, torch {made['torch']}, on {made['device']},"
        f" {made['date']}. Size {result['size']}, training seeds"
        f" {', '.join(map(str, result['seeds']))}{_trained(result)}. {result['seconds']:.0f}"
        f" seconds in all.{small}"
    )


def _trained(result: dict[str, Any]) -> str:
    """What the runs say about where they come from: a run may be older than its table."""
    runs = [*result["runs"], *result.get("planes", ())]
    known = [made for run in runs if (made := run.get("provenance"))]
    devices, commits = (
        {made[fact] or "unknown" for made in known} for fact in ("device", "commit")
    )
    if not known:
        return ""
    return f"; trained on {', '.join(sorted(devices))}, commit {', '.join(sorted(commits))}"


def _piped(section: Section) -> str:
    grid = [[cell.replace("|", "\\|") for cell in row] for row in section.grid]
    widths = [max(3, *map(len, column)) for column in zip(*grid, strict=True)]
    rule = ["-" * (w - 1) + ("-" if i < section.words else ":") for i, w in enumerate(widths)]
    head, *body = grid
    lines = []
    for row in (head, rule, *body):
        cells = [
            cell.ljust(width) if i < section.words else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _rows(section: Section) -> str:
    """An HTML table; a line is drawn where the first column changes."""
    head, *body = section.grid
    lines = [f"<tr>{''.join(f'<th>{escape(cell)}</th>' for cell in head)}</tr>"]
    above = ""
    for row in body:
        new = ' class="new"' if row[0] != above and section.words == 2 else ""
        above = row[0]
        cells = (
            f'<td class="{"word" if i < section.words else "number"}">{escape(cell)}</td>'
            for i, cell in enumerate(row)
        )
        lines.append(f"<tr{new}>{''.join(cells)}</tr>")
    return f"<table>{''.join(lines)}</table>"


_FRAME = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ max-width: 68rem; margin: 2rem auto; padding: 0 1rem; font: 16px/1.5 system-ui, sans-serif;
  color: #222; background: #faf9f6; }}
table {{ border-collapse: collapse; font-size: 0.9rem; font-variant-numeric: tabular-nums; }}
th, td {{ padding: 0.2rem 0.8rem; text-align: left; vertical-align: top; }}
th {{ border-bottom: 2px solid #888; }}
td.number {{ text-align: right; white-space: nowrap; }}
tr.new td {{ border-top: 1px solid #bbb; }}
figure {{ margin: 2rem 0; }}
img {{ max-width: 100%; height: auto; border: 1px solid #ddd; }}
</style>
<body>
{body}
</body>
</html>
"""
