"""`mindseye sweep`: one recipe at many settings."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from dataclasses import asdict, replace
from math import prod
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mindseye.cli.options import (
    DataFolder,
    Device,
    Json,
    NoCompile,
    ObserverName,
    Runs,
    chosen_device,
    chosen_observer,
    setting,
)
from mindseye.cli.output import answer, bar, cell, duration, note, print_json, table
from mindseye.errors import NumericError, UsageError

if TYPE_CHECKING:
    from mindseye.papers import Recipe
    from mindseye.runs import Run
    from mindseye.sweeps import Tally

__all__ = ["sweep"]

MANY = 100
"""More runs than this are trained only when that is said."""


def sweep(
    recipe: Annotated[str, typer.Argument(help="A recipe's name; see mindseye list --recipes.")],
    over: Annotated[
        list[str] | None,
        typer.Option("--over", help="A field and its values: seed=0..4, lam=1,10,50 …"),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="Change a field of all runs: steps=2000, data.source=digits …"),
    ] = None,
    score: Annotated[
        str | None,
        typer.Option(
            help="Score every run on the validation part: paper, ours or quick; links; parts."
        ),
    ] = None,
    observer: ObserverName = None,
    runs: Runs = "runs",
    data: DataFolder = None,
    device: Device = "auto",
    no_compile: NoCompile = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the runs and their time; no training.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help=f"Train more than {MANY} runs.")] = False,
    json: Json = False,
) -> None:
    """Train a recipe at every combination of some settings.

    All runs share one process, which makes data and kernels ready once. A run that is there
    already is found by its recipe: the same command goes on where it was stopped. Scores are those
    of the validation part: settings may be chosen by them.

    \b
    mindseye sweep mnist-a/telbo-fast --over seed=0..4 --device cuda
    mindseye sweep mnist-a/telbo-fast --over lam=1,10,50 --over gamma=1,50 --score quick
    mindseye sweep mnist-a/jmvae-tiny --over alpha=0.1,1 --set data.source=digits --dry-run
    mindseye sweep cora/masked --over beta=0.3,1,3 --over split_seed=0..3 --score links
    mindseye sweep sites/compvae-lean --over width=1,2 --set steps=2000 --score parts
    """
    from mindseye import sweeps
    from mindseye.evaluation import get_protocol
    from mindseye.papers import get_recipe
    from mindseye.provenance import provenance

    base, settings = get_recipe(recipe), _settings(over or [])
    own = "links" if base.data.is_graph else "parts" if base.model.kind == "comp" else ""
    if score and score != own and (own or score in ("links", "parts")):
        raise UsageError(
            f"`--score {score}` does not fit {recipe}.",
            f"Score its {own}: --score {own}." if own else "Write --score paper, ours or quick.",
        )
    protocol = replace(get_protocol(score), part="validation") if score and not own else None
    fixed = dict(setting(text) for text in set_ or [])
    _check(settings, fixed, yes=yes)
    recipes = [
        replace(made, data=made.data.resolved(data))
        for made in sweeps.grid(base.with_settings(fixed), settings)
    ]
    where, judge = chosen_device(device), chosen_observer(observer, runs)
    if any(made.data.source == "digits" for made in recipes):
        note("Drawing scikit-learn's small digits; `mindseye data get mnist` brings MNIST.")
    points, compiled = sweeps.points(settings), not no_compile
    if dry_run:
        found = sweeps.find_runs(recipes, runs)
        seconds = _expected(recipes, found, where, data, compiled=compiled)
        return _planned(points, recipes, found, seconds, as_json=json)
    records = sweeps.sweep(recipes, runs, where, data, compiled=compiled)
    group = sweeps.runs_of(recipes, runs)
    tally = _follow(group, records)
    if score:
        _score(group, sweeps.scored(group, protocol, observer=judge, device=where, data=data))
    facts = {"recipe": recipe, "settings": fixed, "protocol": protocol and asdict(protocol)}
    _finished(points, group, facts | {"provenance": provenance(where)}, as_json=json)
    if tally.failed:
        names = ", ".join(run.name for run in tally.failed)
        reason = next(iter(tally.failed.values()))
        raise NumericError(f"{len(tally.failed)} of {len(group)} runs ran away: {names}.", reason)


def _settings(texts: list[str]) -> dict[str, list[str]]:
    """The values of every `--over`."""
    from mindseye.sweeps import values

    if not texts:
        raise UsageError("`--over` is missing.", "Write --over seed=0,1,2, or mindseye train.")
    settings: dict[str, list[str]] = {}
    for text in texts:
        name, _, listed = (part.strip() for part in text.partition("="))
        if not (name and listed):
            raise UsageError(f"`--over {text}` has no values.", "Write --over NAME=VALUE,VALUE,…")
        if any(_same(name, other) for other in settings):
            raise UsageError(f"`--over {name}` is there twice.", "Write all its values after one.")
        settings[name] = values(listed)
    return settings


def _check(settings: dict[str, list[str]], fixed: dict[str, str], *, yes: bool) -> None:
    """Refuse what contradicts itself, and what is more than was probably meant."""
    for name in settings:
        if both := [other for other in fixed if _same(name, other)]:
            raise UsageError(f"`{both[0]}` is in --set and in --over.", "Leave one of them out.")
    count = prod(len(values) for values in settings.values())
    if count > MANY and not yes:
        raise UsageError(f"{count} runs are more than {MANY}.", "If they are meant, add --yes.")


def _same(one: str, other: str) -> bool:
    """Whether two names are of one setting: seed and training.seed are."""
    return f".{one}".endswith(f".{other}") or f".{other}".endswith(f".{one}")


def _follow(group: list[Run], records: Any) -> Tally:
    """Train under one progress bar for all runs."""
    from mindseye.sweeps import Tally

    tally = Tally(group)
    finished = len(set(group)) - len(tally.runs)
    if not tally.runs:
        note(f"All {len(group)} runs are finished.")
        return tally
    note(f"{len(tally.runs)} runs to train, {finished} finished already.")
    try:
        with closing(records), bar("training") as progress:
            task = progress.add_task("", total=tally.total)
            for run, record in records:
                tally.add(run, record)
                progress.update(task, completed=tally.steps, description=_speed(tally))
                if record.kind in ("rollback", "failed"):
                    note(f"{run.path}: {record.note}")
                if record.kind == "done":
                    note(f"{run.path} is finished.")
    except KeyboardInterrupt:
        note("Interrupted. The same command goes on where it was.")
        raise typer.Exit(130) from None
    return tally


def _score(group: list[Run], scored: Iterable[Run]) -> None:
    """Score under a progress bar."""
    with bar("scoring") as progress:
        task = progress.add_task("", total=len(set(group)))
        for run in scored:
            progress.update(task, advance=1, description=run.name)


def _speed(tally: Tally) -> str:
    words = f"{tally.done}/{len(tally.runs)} runs, {tally.rate:,.0f} pictures/s"
    return words + (f", {tally.rollbacks} rollbacks" if tally.rollbacks else "")


def _finished(
    points: list[dict[str, str]], group: list[Run], made: dict[str, Any], *, as_json: bool
) -> None:
    """One row for each run."""
    from mindseye.sweeps import summary

    facts = [summary(run) for run in group]
    if as_json:
        parts = zip(group, points, facts, strict=True)
        rows = [{"run": str(run.path), "settings": p} | fact for run, p, fact in parts]
        return print_json(made | {"runs": rows})
    rows = [
        {"run": run.name} | point | _flat(fact)
        for run, point, fact in zip(group, points, facts, strict=True)
    ]
    _print(rows)


def _flat(fact: dict[str, Any]) -> dict[str, Any]:
    """The facts of a run with its terms and scores in columns of their own."""
    plain = {name: value for name, value in fact.items() if name not in ("terms", "scores")}
    return plain | fact["terms"] | fact["scores"]


def _expected(
    recipes: list[Recipe], found: list[Run | None], device: Any, data: str | None, *, compiled: bool
) -> float:
    """How long what is not finished would take here."""
    from mindseye.runs import estimate

    todo = [made for made, run in zip(recipes, found, strict=True) if not (run and run.finished)]
    if not todo:
        return 0.0
    rate = estimate(todo[0], device, data, compiled=compiled)["steps_per_second"]
    return sum(made.training.steps for made in todo) / rate


def _planned(
    points: list[dict[str, str]],
    recipes: list[Recipe],
    found: list[Run | None],
    seconds: float,
    *,
    as_json: bool,
) -> None:
    """Which runs there would be."""
    rows = [
        {"run": run.name if run else "new", "digest": made.digest, "state": _state(run)}
        for made, run in zip(recipes, found, strict=True)
    ]
    if as_json:
        facts = [{"settings": p} | row for p, row in zip(points, rows, strict=True)]
        return print_json({"runs": facts, "seconds": seconds})
    _print([point | row for point, row in zip(points, rows, strict=True)])
    todo = sum(row["state"] != "finished" for row in rows)
    answer(f"to train: {todo} of {len(rows)} runs")
    answer(f"expected time: {duration(seconds)}")


def _state(run: Run | None) -> str:
    if run is None:
        return "to train"
    return "finished" if run.finished else "to go on with"


def _print(rows: list[dict[str, Any]]) -> None:
    """Rows in columns by name; what is done or to do comes last."""
    names = dict.fromkeys(name for row in rows for name in row)
    columns = [*(name for name in names if name != "state"), "state"]
    table([columns, *([cell(row.get(name)) for name in columns] for row in rows)])
