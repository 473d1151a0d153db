"""Write the generated page of the documentation: `docs/cli.md`, every command's help.

`make docs` runs it; `tests/test_docs.py` fails when the page is older than the commands. Help is
rendered without a terminal, 100 columns wide, so that every machine writes the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.main import get_command

from mindseye.cli import app

__all__ = ["PAGE", "cli_page", "commands"]

PAGE = Path(__file__).with_name("cli.md")
WIDTH = 100

HEAD = """# The command line

<!-- Written by docs/generate.py (`make docs`); edits here are lost. -->

Answers go to stdout, progress and errors to stderr. `--json` prints the same answer for programs.
`NO_COLOR` is respected, and nothing needs colour to be understood.

| exit code | meaning |
|---|---|
| 0 | fine |
| 2 | something you can mend: an argument, a file, a folder. One line and a hint, no traceback |
| 4 | training ran away and could not be brought back |
| 130 | interrupted |
"""


def commands() -> Iterator[tuple[str, Any, Any]]:
    """Every command's full name, the command itself and its context, groups before their own."""
    yield from _walk(get_command(app), "mindseye", None)


def cli_page() -> str:
    """The page."""
    return HEAD + "".join(
        f"\n## {name}\n\n```text\n{_help(command, context)}\n```\n"
        for name, command, context in commands()
    )


def _walk(command: Any, name: str, parent: Any) -> Iterator[tuple[str, Any, Any]]:
    settings = command.context_settings | {"terminal_width": WIDTH, "max_content_width": WIDTH}
    word = name.rpartition(" ")[2]
    context = command.context_class(command, parent=parent, info_name=word, **settings)
    yield name, command, context
    for inner in getattr(command, "commands", {}).values():
        yield from _walk(inner, f"{name} {inner.name}", context)


def _help(command: Any, context: Any) -> str:
    return "\n".join(line.rstrip() for line in command.get_help(context).strip().splitlines())


if __name__ == "__main__":
    PAGE.write_text(cli_page(), encoding="utf-8")
    print(f"Wrote {PAGE}")
