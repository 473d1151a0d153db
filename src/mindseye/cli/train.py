"""`mindseye train` and `mindseye resume`: a recipe becomes a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mindseye.cli.options import (
    DataFolder,
    Device,
    Json,
    NoCompile,
    Runs,
    chosen_device,
    setting,
)
from mindseye.cli.output import answer, bar, duration, note, print_json
from mindseye.errors import UsageError

if TYPE_CHECKING:
    from mindseye.papers import Recipe
    from mindseye.runs import Run
    from mindseye.training import Record

__all__ = ["TensorBoard", "follow", "resume", "train"]

TensorBoard = Annotated[
    bool, typer.Option("--tensorboard", help="Also write TensorBoard files into the run's folder.")
]


def train(
    recipe: Annotated[str, typer.Argument(help="A recipe's name; see mindseye list --recipes.")],
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="Change a field: steps=2000, lam=10, data.source=digits …"),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of weights, data and noise.")] = None,
    start: Annotated[
        str | None, typer.Option(help="Begin with the weights of this run, of the same model.")
    ] = None,
    runs: Runs = "runs",
    data: DataFolder = None,
    device: Device = "auto",
    no_compile: NoCompile = False,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Print the recipe, its size and its time; no training."),
    ] = False,
    tensorboard: TensorBoard = False,
    json: Json = False,
) -> None:
    """Train a model by a recipe.

    \b
    mindseye train mnist-a/telbo-lean
    mindseye train mnist-a/jmvae-fast --set steps=20000 --device cuda
    mindseye train mnist-a/telbo-tiny --set data.source=digits
    mindseye train mnist/iwae-lean --start runs/00003-mnist-vae-lean
    mindseye train graph/masked --data my-graph
    """
    from mindseye.papers import get_recipe
    from mindseye.runs import create, find

    settings = dict(setting(text) for text in set_ or [])
    chosen = get_recipe(recipe).with_settings(settings)
    if seed is not None:
        chosen = chosen.with_settings({"training.seed": str(seed)})
    if chosen.model.flow and not start:
        raise UsageError(
            f"`{recipe}` fits flows to a trained model.",
            "Name its run with --start, or use `mindseye aggregate RUN`.",
        )
    where = chosen_device(device)
    chosen = replace(chosen, data=chosen.data.resolved(data))
    if chosen.data.source == "digits":
        note("Drawing scikit-learn's small digits; `mindseye data get mnist` brings MNIST.")
    if dry_run:
        return _dry_run(chosen, where, data, compiled=not no_compile, as_json=json)
    chosen.data.open("train", folder=data)  # fail before a folder is made
    run = create(chosen, runs, start=find(start, runs) if start else None)
    records = run.train(where, data, compiled=not no_compile)
    follow(run, records, tensorboard=tensorboard, as_json=json)


def resume(
    run: Annotated[str, typer.Argument(help="A run's folder, name or number.")],
    runs: Runs = "runs",
    data: DataFolder = None,
    device: Device = "auto",
    no_compile: NoCompile = False,
    tensorboard: TensorBoard = False,
    json: Json = False,
) -> None:
    """Go on with a run that was stopped, from its last checkpoint.

    \b
    mindseye resume runs/00012-mnist-a-telbo-lean
    """
    from mindseye.runs import find

    found = find(run, runs)
    if found.finished:
        raise UsageError(f"{found.path} is finished.", "Train anew with more steps: --set steps=…")
    records = found.train(chosen_device(device), data, compiled=not no_compile)
    follow(found, records, tensorboard=tensorboard, as_json=json)


def follow(run: Run, records: Iterator[Record], *, tensorboard: bool, as_json: bool) -> None:
    """Train a run under a progress bar, then say what came out."""
    note(f"{run.path}: {run.recipe.about or run.recipe.name}")
    last: Record | None = None
    try:
        for record in _shown(run, records, tensorboard=tensorboard):
            last = record if record.kind == "train" else last
    except KeyboardInterrupt:
        note(f"Interrupted. To go on: mindseye resume {run.path}")
        raise typer.Exit(130) from None
    _finished(run, last, as_json=as_json)


def _shown(run: Run, records: Iterator[Record], *, tensorboard: bool) -> Iterator[Record]:
    """The same records, on a progress bar and on a TensorBoard on their way."""
    with ExitStack() as stack:
        progress = stack.enter_context(bar("training"))
        watch = stack.enter_context(_tensorboard(run)) if tensorboard else None
        total = run.recipe.training.steps + run.recipe.refit.updates
        task = progress.add_task("", total=total)
        for record in records:
            progress.update(task, completed=record.step)
            if watch:
                watch.add(record)
            if record.kind == "train":
                speed = f"{record.examples_per_second:.0f} {_unit(run)}/s"
                progress.update(task, description=f"bound {record.bound:.2f} nats, {speed}")
            if record.kind == "rollback":
                note(record.note)
            yield record


def _finished(run: Run, last: Record | None, *, as_json: bool) -> None:
    written = [path.name for path in sorted(run.path.iterdir())]
    if as_json:
        record = last.to_json() if last else None
        return print_json({"run": str(run.path), "files": written, "last": record})
    if last:
        answer(f"bound {last.bound:.2f} nats after {last.step} steps in {last.seconds:.0f} s")
        answer("  " + ", ".join(f"{name} {value:.2f}" for name, value in last.terms.items()))
    answer(f"Wrote {run.path} ({', '.join(written)})")
    if run.recipe.model.kind == "joint" and "q_y" in run.recipe.fits:
        answer(f'Try: mindseye imagine --model {run.path} ""')
    if run.recipe.model.kind == "comp":
        kit: Any = run.recipe.data.vocabulary
        answer(f'Try: mindseye compose {run.path} "{kit.example}"')
    if run.recipe.model.kind == "graph":
        answer(f"Try: mindseye evaluate {run.path}, mindseye links {run.path}")


def _unit(run: Run) -> str:
    """What a batch has so many of."""
    if not run.recipe.data.is_graph:
        return "pictures"
    return "links" if run.recipe.data.fanout else "steps"


def _dry_run(
    recipe: Recipe, device: Any, data: str | None, *, compiled: bool, as_json: bool
) -> None:
    """What would be trained, how large it is and how long it would take here."""
    from mindseye.runs import estimate

    guess = estimate(recipe, device, data, compiled=compiled)
    if as_json:
        return print_json({"recipe": recipe.to_json(), **guess})
    _show_fields(recipe.to_json())
    answer(f"parameters: {guess['parameters']:,}")
    answer(f"speed here: {guess['steps_per_second']:.2f} steps/s on {device}")
    answer(f"expected time: {duration(guess['seconds'])}")


def _show_fields(value: dict[str, Any], prefix: str = "") -> None:
    for name, inner in value.items():
        if isinstance(inner, dict):
            _show_fields(inner, f"{prefix}{name}.")
        else:
            answer(f"{prefix}{name} = {inner}")


class _tensorboard:
    """Records as TensorBoard scalars."""

    def __init__(self, run: Run):
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            raise UsageError(
                "`--tensorboard` needs the tensorboard package.", "pip install 'mindseye[track]'"
            ) from error
        self.writer = SummaryWriter(str(run.path / "tensorboard"))

    def __enter__(self) -> _tensorboard:
        return self

    def add(self, record: Record) -> None:
        if record.kind == "train":
            values: Iterable[tuple[str, float]] = {
                "bound": record.bound,
                "learning_rate": record.learning_rate,
                "examples_per_second": record.examples_per_second,
                **{f"terms/{name}": value for name, value in record.terms.items()},
            }.items()
            for name, value in values:
                self.writer.add_scalar(name, value, record.step)

    def __exit__(self, *_: object) -> None:
        self.writer.close()
