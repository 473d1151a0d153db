"""The pictures that stand beside a ledger: what the models of its first seed draw."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from mindseye.charts import Series, bar_chart, cloud_chart, point_chart
from mindseye.data import Batch
from mindseye.data.bsds import seen
from mindseye.explore import latents_of, recast
from mindseye.files import read_json
from mindseye.labels import Labels
from mindseye.layouts import principal
from mindseye.metrics.likelihood import ACTIVE
from mindseye.reproduction import caption_pictures, paintings, part_pictures
from mindseye.reproduction.disentanglement_pictures import information, traversed, votes
from mindseye.reproduction.drawing import Labelled, Picture
from mindseye.reproduction.links import planes
from mindseye.reproduction.review import of_digits, of_sprites, of_words
from mindseye.runs import Run
from mindseye.sheets import row_sheet

__all__ = ["PAINTERS", "painted"]

Painter = Callable[
    [Sequence[Labelled], torch.device | str, str | None], Picture | Iterator[Picture]
]
"""One picture of all runs, or several."""


def painted(
    names: Sequence[str],
    runs: Sequence[Labelled],
    device: torch.device | str,
    data: str | None,
) -> Iterator[Picture]:
    """The pictures of some names, in order."""
    for name in names:
        drawn = PAINTERS[name](runs, device, data)
        yield from [drawn] if isinstance(drawn, Picture) else drawn


def _samples(
    runs: Sequence[Labelled], device: torch.device | str, data: str | None, n: int = 16
) -> Picture:
    rows = []
    for label, run in runs:
        mind = _mind(run, device)
        rows.append((label, mind.imagine("", n, mean=True).cpu().numpy(), None, None))
    sheet = row_sheet(rows, title="Draws from the prior", scale=2)
    return Picture("samples", "Samples", "Expected pictures of draws from each prior.", sheet)


def _activities(runs: Sequence[Labelled], device: torch.device | str, data: str | None) -> Picture:
    series = []
    for label, run in runs:
        layers = read_json(run.path / "likelihood.json")["activities"]
        for number, layer in enumerate(layers, 1):
            name = f"{label}, layer {number}" if len(layers) > 1 else label
            series.append(Series(name, [max(a, 1e-6) for a in sorted(layer, reverse=True)]))
    chart = bar_chart(
        series, "Activity of every unit", "variance of its mean", line=ACTIVE, log=True
    )
    caption = "Every unit's variance over pictures of its mean; the line is 0.01, and what is above"
    return Picture("activities", "Active units", f"{caption} is active.", chart)


def _rates(runs: Sequence[Labelled], device: torch.device | str, data: str | None) -> Picture:
    points = []
    for label, run in runs:
        found = read_json(run.path / "likelihood.json")
        points.append((label, found["rate"]["mean"], found["distortion"]["mean"]))
    chart = point_chart(points, "Rate and distortion", ("rate, nats", "distortion, nats"))
    caption = "What each model spends on a picture's code, and what it loses; the sum is -elbo."
    return Picture("rates", "Rate and distortion", caption, chart)


def _patches(
    runs: Sequence[Labelled], device: torch.device | str, data: str | None, n: int = 24
) -> Picture:
    real = runs[0][1].recipe.data.open("test", folder=data).examples(torch.arange(n)).x
    rows = [("test patches", seen(real).numpy(), None, None)]
    for label, run in runs:
        drawn = _mind(run, device).imagine("", n).cpu().numpy()
        rows.append((label, drawn, None, None))
    sheet = row_sheet(rows, title="Patches", scale=6)
    caption = "Patches of the test pictures, and patches drawn by each model. Grey is their mean."
    return Picture("patches", "Patches", caption, sheet)


def _reconstructions(
    runs: Sequence[Labelled], device: torch.device | str, data: str | None, n: int = 16
) -> Picture:
    rows, shown = [], None
    for label, run in runs:
        x = _held_out(run, data, n).x
        if shown is None or not torch.equal(x, shown):
            rows.append(("test pictures", x.numpy(), None, None))
            shown = x
        rows.append((label, _mind(run, device).reconstruct(x).cpu().numpy(), None, None))
    sheet = row_sheet(rows, title="Pictures and their reconstructions", scale=2)
    caption = "Test pictures, and what each model expects at the mean of what it reads in them."
    return Picture("reconstructions", "Reconstructions", caption, sheet)


def _classes(
    runs: Sequence[Labelled], device: torch.device | str, data: str | None, n: int = 16
) -> Picture:
    """By the model of the last row: a row for every value of the first attribute."""
    label, run = runs[-1]
    mind, x = _mind(run, device), _held_out(run, data, n).x
    attribute = mind.vocabulary.attributes[0]
    drawn = recast(mind, x, [f"{attribute.name}={value}" for value in attribute.values])
    rows = [("read from", x.numpy(), None, None)]
    rows += [(v, p.cpu().numpy(), None, None) for v, p in zip(attribute.values, drawn, strict=True)]
    sheet = row_sheet(rows, title=f"{label}: one manner a column", scale=2)
    caption = (
        "The manner z of every test picture above, and what it looks like with each description: "
        "the description stays in a row, the manner in a column."
    )
    return Picture("classes", "Descriptions and manners", caption, sheet)


def _embedding(
    runs: Sequence[Labelled], device: torch.device | str, data: str | None, n: int = 1000
) -> Picture:
    """By the model of the last row: the manners of test pictures, by their first attribute."""
    label, run = runs[-1]
    mind, batch = _mind(run, device), _held_out(run, data, n)
    attribute = mind.vocabulary.attributes[0]
    z = latents_of(mind, batch)[:, getattr(mind.model, "words", 0) :].double()
    at, codes = principal(z), batch.y.codes[:, 0]
    groups = [
        (f"{attribute.name} {value}", at[codes == i].tolist())
        for i, value in enumerate(attribute.values)
        if (codes == i).any()
    ]
    chart = cloud_chart(groups, f"{label}: means of q(z|x,y)", ("component 1", "component 2"))
    caption = (
        f"The two principal components of the manners of {len(z)} test pictures; a manner that "
        "does not tell the description mixes the colours."
    )
    return Picture("embedding", "Embedding of the manners", caption, chart)


def _held_out(run: Run, data: str | None, n: int) -> Batch[Labels]:
    """The first test pictures, as many as there are up to n."""
    dataset = run.recipe.data.open("test", folder=data)
    return dataset.examples(torch.arange(min(n, dataset.count)))


def _mind(run: Run, device: torch.device | str) -> Any:
    mind = run.mind()
    mind.model.to(device)
    return mind


def _only(painter: Painter, wanted: Callable[[Run], bool]) -> Painter:
    """A painter that is shown some of the runs, and draws nothing if there are none."""

    def draw(
        runs: Sequence[Labelled], device: torch.device | str, data: str | None
    ) -> Picture | Iterator[Picture]:
        chosen = [(label, run) for label, run in runs if wanted(run)]
        return painter(chosen, device, data) if chosen else iter(())

    return draw


PAINTERS: dict[str, Painter] = {
    "captions told": caption_pictures.told,
    "captions imagined": caption_pictures.imagined,
    "inference": caption_pictures.inference,
    "holes": caption_pictures.holes,
    "surgery": caption_pictures.surgery,
    "worlds": caption_pictures.worlds,
    "paintings": paintings.painted,
    "flipped words": paintings.flipped,
    "paintings compared": paintings.compared,
    "sharpened": paintings.sharpened,
    "losses of parts": part_pictures.losses,
    "parts drawn again": part_pictures.again,
    "parts put together": part_pictures.together,
    "sites added": part_pictures.added,
    "more parts": part_pictures.more,
    "measures by parts": part_pictures.measures,
    "samples": _samples,
    "samples of digits": _only(_samples, of_digits),
    "traversals of sprites": _only(traversed, of_sprites),
    "reconstructions of words": _only(_reconstructions, of_words),
    "classes of words": _only(_classes, of_words),
    "embedding of words": _only(_embedding, of_words),
    "patches": _patches,
    "activities": _activities,
    "rates": _rates,
    "reconstructions": _reconstructions,
    "classes": _classes,
    "embedding": _embedding,
    "traversals": traversed,
    "votes": votes,
    "information": information,
    "planes of nodes": planes,
}
