"""Options that several commands share, so that they are spelt and explained once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from mindseye.errors import UsageError

if TYPE_CHECKING:
    import torch

__all__ = [
    "Caption",
    "DataFolder",
    "Description",
    "Device",
    "InOrder",
    "Json",
    "Marks",
    "Model",
    "NoCompile",
    "ObserverName",
    "Runs",
    "Seed",
    "chosen_device",
    "chosen_observer",
    "setting",
]

Description = Annotated[
    str,
    typer.Argument(
        help='What to imagine, such as "digit=4, size=big"; nothing said means anything. A model '
        'of parts is told what a whole is made of: "3×f2, f7".'
    ),
]
Caption = Annotated[
    str,
    typer.Argument(
        help='A caption, such as "the digit three is at the top left of the image", or its words:'
        ' "three, top left"; what is not said varies.'
    ),
]
Model = Annotated[
    str, typer.Option("--model", "-m", help="A built-in model, a run's folder, name or number.")
]
Seed = Annotated[int, typer.Option(help="The same seed gives the same pictures.")]
Device = Annotated[str, typer.Option(help="cpu, cuda, cuda:1 … or auto: cuda where there is one.")]
NoCompile = Annotated[
    bool,
    typer.Option(
        "--no-compile", help="Take eager float32 steps on a GPU: slower, nothing captured."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
Runs = Annotated[str, typer.Option(help="The folder of runs.")]
DataFolder = Annotated[
    str | None, typer.Option("--data", help="Folder with the data; else $MINDSEYE_DATA.")
]
ObserverName = Annotated[
    str | None, typer.Option("--observer", help="Who judges: a run or a built-in observer.")
]


Marks = Annotated[
    bool, typer.Option("--marks", help="Ring the parts of a picture, each in its colour.")
]


class InOrder(TyperCommand):
    """A command that is told the order of its options: `context.meta[InOrder.key]` has their names.

    A name stands there as often as the option was given.
    """

    key = "mindseye.order"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Note the order, and read the options as ever."""
        _, _, order = self.make_parser(ctx).parse_args(list(args))
        ctx.meta[self.key] = [parameter.name for parameter in order]
        return super().parse_args(ctx, args)


def chosen_device(name: str) -> torch.device:
    """The device of that name, or an error before anything is computed."""
    import torch

    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise UsageError(f"`--device {name}` cannot be used here.", "Try --device cpu.") from error
    return device


def chosen_observer(name: str | None, runs: str) -> str | None:
    """Who judges, found among the runs of a folder, by what it is found by from anywhere."""
    from mindseye.runs import find, spelled

    return None if name is None else spelled(find(name, runs))


def setting(text: str) -> tuple[str, str]:
    """The name and the value of `NAME=VALUE`."""
    name, equals, value = text.partition("=")
    if not equals:
        raise UsageError(f"`--set {text}` has no value.", "Write --set NAME=VALUE.")
    return name.strip(), value.strip()
