"""The command line: one file per command; it prints, and computes nothing.

Answers go to stdout, progress and errors to stderr. Exit codes: 0 fine, 2 something the user can
mend (one line and a hint, never a traceback), 4 training ran away, 130 interrupted.

Commands import what they need when they run: `mindseye --help` must not wait for torch.
"""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from mindseye.cli.aggregate import aggregate
from mindseye.cli.cite import cite
from mindseye.cli.compare import compare
from mindseye.cli.compose import compose
from mindseye.cli.data import data
from mindseye.cli.describe import describe
from mindseye.cli.evaluate import evaluate
from mindseye.cli.experts import experts
from mindseye.cli.export import export
from mindseye.cli.imagine import imagine
from mindseye.cli.links import links
from mindseye.cli.list import list_
from mindseye.cli.options import InOrder
from mindseye.cli.paint import paint
from mindseye.cli.plane import plane
from mindseye.cli.reproduce import reproduce
from mindseye.cli.retrieve import retrieve
from mindseye.cli.sharpen import sharpen
from mindseye.cli.show import show
from mindseye.cli.studio import studio
from mindseye.cli.sweep import sweep
from mindseye.cli.train import resume, train
from mindseye.errors import MindseyeError
from mindseye.version import __version__

__all__ = ["app", "main"]

app = typer.Typer(
    name="mindseye",
    help="Descriptions to pictures, pictures to descriptions.",
    epilog='Try: mindseye imagine "digit=4, size=big"',
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)

for _command in (
    imagine,
    describe,
    paint,
    retrieve,
    compose,
    links,
    studio,
    train,
    resume,
    aggregate,
    sharpen,
    sweep,
    evaluate,
    compare,
    reproduce,
    plane,
    experts,
    export,
    show,
    cite,
):
    app.command(cls=InOrder if _command is compose else None)(_command)
app.command("list")(list_)
app.add_typer(data)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Descriptions to pictures, pictures to descriptions."""


def main() -> None:
    """Run a command; a mistake of the user's is one line and a hint."""
    try:
        app()
    except MindseyeError as error:
        _fail(error.message, error.hint, error.exit_code)
    except KeyboardInterrupt:
        _fail("interrupted.", "", 130)
    except BrokenPipeError:  # the reader of a pipe has left
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        _fail(f"{where}{error.strerror or error}.", "", 2)


def _fail(message: str, hint: str, code: int) -> None:
    typer.echo(f"error: {message}", err=True)
    if hint:
        typer.echo(f"hint: {hint}", err=True)
    sys.exit(code)
