"""`mindseye evaluate`: the three C's of a run, or its likelihood."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mindseye.cli.options import DataFolder, Device, Json, ObserverName, Runs, chosen_device
from mindseye.cli.output import answer, bar, note, print_json, table
from mindseye.errors import UsageError

if TYPE_CHECKING:
    from mindseye.runs import Run

__all__ = ["evaluate"]

QUICK = 2000
"""Pictures that disentanglement is measured with by the quick protocol."""


def evaluate(
    run: Annotated[str, typer.Argument(help="A built-in model, a run's folder, name or number.")],
    protocol: Annotated[
        str,
        typer.Option(
            help="ours (all concepts, S = 100, bits), paper (480 a level, S = 10, nats) or quick."
        ),
    ] = "ours",
    samples: Annotated[int | None, typer.Option(help="Pictures a query, S.")] = None,
    base: Annotated[str | None, typer.Option(help="Log base of the divergence: 2 or e.")] = None,
    reference: Annotated[
        str | None,
        typer.Option(help="What unsaid attributes should look like: uniform or marginal."),
    ] = None,
    levels: Annotated[
        str | None, typer.Option(help="How many words are said, such as 4,3; all if not given.")
    ] = None,
    queries: Annotated[
        int | None, typer.Option(help="Queries a level, drawn; 0 for all of them once.")
    ] = None,
    product: Annotated[
        bool,
        typer.Option("--product", help="Leave out the experts of open attributes (the paper)."),
    ] = False,
    part: Annotated[
        str | None,
        typer.Option(help="Draws, sources, unseen combinations: test, or validation to choose by."),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Chooses queries and pictures.")] = None,
    draws: Annotated[
        int | None,
        typer.Option(help="Draws for every picture, of a model of pictures alone; 5000."),
    ] = None,
    pictures: Annotated[
        int | None, typer.Option(help="Pictures such a model is measured on; all of the part.")
    ] = None,
    disentanglement: Annotated[
        bool,
        typer.Option(
            "--disentanglement",
            help="How far dsprites' factors are kept apart; --protocol quick, or --pictures, for "
            "less than the papers ask.",
        ),
    ] = False,
    observer: ObserverName = None,
    runs: Runs = "runs",
    data: DataFolder = None,
    device: Device = "auto",
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown tables.")] = False,
    json: Json = False,
) -> None:
    """Score a model: correctness, coverage and compositionality, with ceilings.

    A model of pictures alone has a likelihood instead: nats a picture, what they are spent on, and
    the units that are active. A semi-supervised model has the share of pictures that it reads
    right, and its bound.

    \b
    mindseye evaluate mnist-a --protocol quick
    mindseye evaluate runs/00012-mnist-a-telbo-lean
    mindseye evaluate 12 --protocol paper --observer runs/00003-mnist-a-observer-paper
    mindseye evaluate 12 --part validation --seed 1
    mindseye evaluate runs/00013-mnist-iwae-lean --draws 500 --pictures 1000
    mindseye evaluate runs/00015-dsprites-beta-vae-lean --disentanglement --protocol quick
    mindseye evaluate runs/00014-mnist-dgm-conv-lean --part validation
    """
    from mindseye.evaluation import evaluate_observer, evaluate_run, get_protocol
    from mindseye.runs import find

    found, where, rules = find(run, runs), chosen_device(device), get_protocol(protocol)
    told = {
        "samples": samples,
        "base": base,
        "reference": reference,
        "levels": levels,
        "queries": queries,
        "product": product or None,
        "observer": observer,
        "markdown": markdown or None,
        "draws": draws,
        "pictures": pictures,
        "part": part,
        "seed": seed,
    }
    _expect(found, disentanglement, [name for name, value in told.items() if value is not None])
    if disentanglement:
        few = pictures or (QUICK if protocol == "quick" else 0)
        return _disentanglement(found, few, seed or 0, where, data, as_json=json)
    if found.recipe.model.kind == "observer":
        return _observer(evaluate_observer(found, device=where, data=data), as_json=json)
    if found.recipe.model.alone:
        k = 5000 if draws is None else draws
        how = {"part": part or "test", "k": k, "pictures": pictures or 0}
        return _likelihood(found, {**how, "seed": seed or 0}, where, data, as_json=json)
    if found.recipe.model.kind == "semi":
        how = {"part": part or "test", "pictures": pictures or 0, "seed": seed or 0}
        return _semi(found, how, where, data, as_json=json)
    changes: dict[str, Any] = {
        "samples": samples,
        "base": base,
        "reference": reference,
        "levels": None if levels is None else _levels(levels),
        "queries": queries,
        "fill": False if product else None,
        "part": part,
        "seed": seed,
    }
    given = {name: value for name, value in changes.items() if value is not None}
    asked = replace(rules, **given)
    with bar("evaluating") as progress:
        task = progress.add_task("queries", total=None)
        report = evaluate_run(
            found,
            asked,
            observer=observer,
            device=where,
            data=data,
            progress=lambda done, total: progress.update(task, completed=done, total=total),
        )
    if json:
        return print_json(report.to_json())
    answer(report.to_markdown() if markdown else report.to_text())


_OPTIONS = {
    "imagination": "samples base reference levels queries product observer markdown part seed",
    "a likelihood": "draws pictures part seed",
    "half-known descriptions": "pictures part seed",
    "disentanglement": "pictures seed",
    "an observer": "",
}
"""What may be said, by what is measured."""


def _expect(run: Run, disentanglement: bool, told: list[str]) -> None:
    """Refuse options that what is measured has no use for."""
    kinds = {"observer": "an observer", "semi": "half-known descriptions"}
    usual = "a likelihood" if run.recipe.model.alone else "imagination"
    what = "disentanglement" if disentanglement else kinds.get(run.recipe.model.kind, usual)
    for name in told:
        if name not in _OPTIONS[what].split():
            raise UsageError(
                f"`--{name}` says nothing here: what is measured of {run.name} is {what}.",
                "Leave it out; `mindseye evaluate --help` says what it is for.",
            )


def _likelihood(
    run: Run, how: dict[str, Any], device: Any, data: str | None, *, as_json: bool
) -> None:
    from mindseye.evaluation.likelihood import evaluate_likelihood

    _measured(evaluate_likelihood, "draws", run, device=device, data=data, as_json=as_json, **how)


def _semi(run: Run, how: dict[str, Any], device: Any, data: str | None, *, as_json: bool) -> None:
    from mindseye.evaluation.semi import evaluate_semi

    _measured(evaluate_semi, "pictures", run, device=device, data=data, as_json=as_json, **how)


def _disentanglement(
    run: Run, pictures: int, seed: int, device: Any, data: str | None, *, as_json: bool
) -> None:
    from mindseye.evaluation.disentangling import Asked, evaluate_disentanglement
    from mindseye.evaluation.representations import factors_of

    factors_of(run.recipe.data.name)
    if device.type == "cpu" and not pictures:
        note("Without a GPU this takes hours; --protocol quick takes minutes.")
    asked = Asked.few(pictures) if pictures else Asked()
    how: dict[str, Any] = {"device": device, "data": data, "seed": seed}
    _measured(evaluate_disentanglement, "scores", run, asked, as_json=as_json, **how)


def _measured(measure: Callable[..., Any], what: str, *of: Any, as_json: bool, **how: Any) -> None:
    """Measure under a progress bar, and print the report."""
    with bar("measuring") as progress:
        task = progress.add_task(what, total=None)
        report = measure(
            *of,
            **how,
            progress=lambda done, total: progress.update(task, completed=done, total=total),
        )
    if as_json:
        return print_json(report.to_json())
    answer(report.to_text())


def _observer(right: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        return print_json({name: estimate.to_json() for name, estimate in right.items()})
    rows = [["attribute", "right on real pictures", "95 % interval"]]
    for name, e in right.items():
        rows.append([name, f"{e.mean:.2%}", f"{e.low:.2%} to {e.high:.2%}"])
    table(rows)


def _levels(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError as error:
        raise UsageError(f"`--levels {text}` is not a list of numbers such as 4,3.") from error
