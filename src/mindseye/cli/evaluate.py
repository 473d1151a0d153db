"""`mindseye evaluate`: the three C's of a run, or its likelihood."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mindseye.cli.options import (
    DataFolder,
    Device,
    Json,
    ObserverName,
    Runs,
    chosen_device,
    chosen_observer,
)
from mindseye.cli.output import answer, bar, note, print_json, table
from mindseye.errors import UsageError

if TYPE_CHECKING:
    from mindseye.evaluation import Protocol
    from mindseye.runs import Run

__all__ = ["evaluate"]

Told = Mapping[str, Any]
"""The options that were given, by name."""

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
        typer.Option(
            help="Draws for every picture, of a model of pictures alone, 5000; of parts, 16."
        ),
    ] = None,
    pictures: Annotated[
        int | None, typer.Option(help="Pictures such a model is measured on; all of the part.")
    ] = None,
    wholes: Annotated[
        int | None,
        typer.Option(help="Wholes of every number of parts, of a model of parts; 64."),
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
    right, and its bound. A model of captions has the share of words that an observer sees in its
    pictures, bounds of log p(x|y), log p(x) and log p(y), and what they are made of. A model that
    paints has its bound of log p(x|y) and the words that an observer sees in its pictures, of
    combinations that were seen and of those that never were. A model of
    parts has the parts that are there in its wholes, how far these are from real ones, its bound,
    and what is left when a part is removed, by how many parts there are. A model of a graph has
    AUC, AP and Hits@K of the links that were held out.

    \b
    mindseye evaluate mnist-a --protocol quick
    mindseye evaluate runs/00012-mnist-a-telbo-lean
    mindseye evaluate 12 --protocol paper --observer runs/00003-mnist-a-observer-paper
    mindseye evaluate 12 --part validation --seed 1
    mindseye evaluate runs/00013-mnist-iwae-lean --draws 500 --pictures 1000
    mindseye evaluate runs/00015-dsprites-beta-vae-lean --disentanglement --protocol quick
    mindseye evaluate runs/00014-mnist-dgm-conv-lean --part validation
    mindseye evaluate 17 --observer runs/00016-two-objects-observer-lean --pictures 500
    mindseye evaluate runs/00018-sines-compvae-lean --wholes 256 --markdown
    mindseye evaluate runs/00019-cora-vgae
    mindseye evaluate runs/00020-captioned-mnist-comp-align-lean --pictures 400
    """
    from mindseye.evaluation import get_protocol
    from mindseye.runs import find

    options: dict[str, Any] = {
        "samples": samples,
        "base": base,
        "reference": reference,
        "levels": levels,
        "queries": queries,
        "product": product or None,
        "observer": chosen_observer(observer, runs),
        "markdown": markdown or None,
        "draws": draws,
        "wholes": wholes,
        "pictures": pictures,
        "part": part,
        "seed": seed,
    }
    told = {name: value for name, value in options.items() if value is not None}
    found = find(run, runs)
    what = _measured_of(found, disentanglement, told)
    _MEASURES[what](found, get_protocol(protocol), told, chosen_device(device), data, as_json=json)


def _measured_of(run: Run, disentanglement: bool, told: Collection[str]) -> str:
    """What is measured of a run, a key of `_MEASURES`; options of other measures are refused."""
    kinds = {
        "observer": "an observer",
        "semi": "half-known descriptions",
        "vlvae": "captions",
        "draw": "drawings",
        "captioned": "drawings",
        "comp": "parts",
        "graph": "links",
    }
    usual = "a likelihood" if run.recipe.model.alone else "imagination"
    what = "disentanglement" if disentanglement else kinds.get(run.recipe.model.kind, usual)
    for name in told:
        if name not in _OPTIONS[what].split():
            raise UsageError(
                f"`--{name}` says nothing here: what is measured of {run.name} is {what}.",
                "Leave it out; `mindseye evaluate --help` says what it is for.",
            )
    return what


def _imagination(
    run: Run, protocol: Protocol, told: Told, device: Any, data: str | None, *, as_json: bool
) -> None:
    from mindseye.evaluation import evaluate_run

    own = {name: told[name] for name in _OPTIONS["imagination"].split() if name in told}
    observer, markdown = own.pop("observer", None), own.pop("markdown", False)
    if "levels" in own:
        own["levels"] = _levels(own["levels"])
    if own.pop("product", False):
        own["fill"] = False
    asked = replace(protocol, **own)
    report = _under_bar(
        evaluate_run, "queries", run, asked, observer=observer, device=device, data=data
    )
    _tell(report, as_json, markdown)


def _likelihood(
    run: Run, protocol: Protocol, told: Told, device: Any, data: str | None, *, as_json: bool
) -> None:
    from mindseye.evaluation.likelihood import evaluate_likelihood

    how = {("k" if name == "draws" else name): value for name, value in told.items()}
    _tell(_under_bar(evaluate_likelihood, "draws", run, device=device, data=data, **how), as_json)


def _captions(
    run: Run, protocol: Protocol, told: Told, device: Any, data: str | None, *, as_json: bool
) -> None:
    from mindseye.evaluation.captions import JUDGES, evaluate_captions
    from mindseye.runs import load_observer

    how = dict(told)
    name = how.pop("observer", None) or run.observer(JUDGES.get(run.recipe.data.name, ""))
    if name is None:
        note("Without an observer only bounds are measured; train one: two-objects/observer-lean.")
    judge = load_observer(name) if name else None
    _tell(
        _under_bar(
            evaluate_captions, "pictures", run, observer=judge, device=device, data=data, **how
        ),
        as_json,
    )


def _drawings(
    run: Run, protocol: Protocol, told: Told, device: Any, data: str | None, *, as_json: bool
) -> None:
    from mindseye.evaluation.drawings import evaluate_drawings
    from mindseye.runs import load_observer

    how = dict(told)
    name = how.pop("observer", None) or run.observer()
    if name is None:
        note("Without an observer only bounds are measured; captioned-mnist/observer-lean is one.")
    judge = load_observer(name) if name else None
    how |= {"observer": judge, "device": device, "data": data}
    _tell(_under_bar(evaluate_drawings, "pictures", run, **how), as_json)


def _parts(
    run: Run, protocol: Protocol, told: Told, device: Any, data: str | None, *, as_json: bool
) -> None:
    from mindseye.evaluation.parts import evaluate_parts

    how = dict(told)
    markdown = how.pop("markdown", False)
    report = _under_bar(evaluate_parts, "numbers of parts", run, device=device, data=data, **how)
    _tell(report, as_json, markdown)


def _links(
    run: Run, protocol: Protocol, told: Told, device: Any, data: str | None, *, as_json: bool
) -> None:
    from mindseye.evaluation.links import evaluate_links

    how = dict(told)
    markdown = how.pop("markdown", False)
    report = _under_bar(evaluate_links, "measures", run, device=device, data=data, **how)
    _tell(report, as_json, markdown)


def _semi(
    run: Run, protocol: Protocol, told: Told, device: Any, data: str | None, *, as_json: bool
) -> None:
    from mindseye.evaluation.semi import evaluate_semi

    _tell(_under_bar(evaluate_semi, "pictures", run, device=device, data=data, **told), as_json)


def _disentanglement(
    run: Run, protocol: Protocol, told: Told, device: Any, data: str | None, *, as_json: bool
) -> None:
    from mindseye.evaluation import PROTOCOLS
    from mindseye.evaluation.disentangling import Asked, evaluate_disentanglement
    from mindseye.evaluation.representations import factors_of

    factors_of(run.recipe.data.name)
    pictures = told.get("pictures") or (QUICK if protocol is PROTOCOLS["quick"] else 0)
    if device.type == "cpu" and not pictures:
        note("Without a GPU this takes hours; --protocol quick takes minutes.")
    asked = Asked.few(pictures) if pictures else Asked()
    how: dict[str, Any] = {"device": device, "data": data, "seed": told.get("seed", 0)}
    _tell(_under_bar(evaluate_disentanglement, "scores", run, asked, **how), as_json)


def _observer(
    run: Run, protocol: Protocol, told: Told, device: Any, data: str | None, *, as_json: bool
) -> None:
    from mindseye.evaluation import evaluate_observer

    right = evaluate_observer(run, device=device, data=data)
    if as_json:
        return print_json({name: estimate.to_json() for name, estimate in right.items()})
    rows = [["attribute", "right on real pictures", "95 % interval"]]
    for name, e in right.items():
        rows.append([name, f"{e.mean:.2%}", f"{e.low:.2%} to {e.high:.2%}"])
    table(rows)


_MEASURES: dict[str, Callable[..., None]] = {
    "imagination": _imagination,
    "a likelihood": _likelihood,
    "half-known descriptions": _semi,
    "captions": _captions,
    "drawings": _drawings,
    "parts": _parts,
    "links": _links,
    "disentanglement": _disentanglement,
    "an observer": _observer,
}
_OPTIONS = {
    "imagination": "samples base reference levels queries product observer markdown part seed",
    "a likelihood": "draws pictures part seed",
    "half-known descriptions": "pictures part seed",
    "captions": "pictures part seed observer",
    "drawings": "pictures seed observer",
    "parts": "wholes draws part seed markdown",
    "links": "part seed markdown",
    "disentanglement": "pictures seed",
    "an observer": "",
}
"""What may be said, by what is measured."""


def _under_bar(measure: Callable[..., Any], what: str, *of: Any, **how: Any) -> Any:
    """Measure under a progress bar."""
    with bar("measuring") as progress:
        task = progress.add_task(what, total=None)
        return measure(
            *of,
            **how,
            progress=lambda done, total: progress.update(task, completed=done, total=total),
        )


def _tell(report: Any, as_json: bool, markdown: bool = False) -> None:
    """Print a report."""
    if as_json:
        return print_json(report.to_json())
    answer(report.to_markdown() if markdown else report.to_text())


def _levels(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError as error:
        raise UsageError(f"`--levels {text}` is not a list of numbers such as 4,3.") from error
