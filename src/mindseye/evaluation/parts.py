r"""What a model of wholes and their parts is worth, by how many parts they have.

Inside the numbers of parts that it was trained on, and beyond them:

- whether its wholes have the parts that were said (`metrics.parts`), beside the generator's own
  wholes of the same parts (the ceiling) and its wholes of other parts (the floor);
- how far their law is from the generator's, by the energy distance, beside two sets of draws of the
  generator (the floor), parts that are written alone and summed, and wholes of other parts;
- the bound on the generator's wholes, what it is made of, and the error of reconstructions,
  relative to the deviation of wholes of as many parts;
- what becomes of a whole when the latents of its parts are extracted and one is left out. The
  generator can leave out the part itself, and keep every number of the others; the error is the
  mean square of the difference from that, relative to leaving the whole as it is.

What must be exact is checked: wholes do not depend on the order of parts, and a part that is added
and removed leaves no trace.

References:
    From abstract items to latent spaces to observed data and back: Compositional Variational
    Auto-Encoder, Berger and Sebag, 2020
    https://arxiv.org/abs/2001.07910
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import torch
from torch import Tensor

from mindseye.composing import Composer
from mindseye.data import Loads, Sines, Sites
from mindseye.data.wholes import Specifics, Wholes
from mindseye.errors import UsageError
from mindseye.evaluation.part_reports import PartsReport
from mindseye.evaluation.senses import SENSES, Values
from mindseye.evaluation.wholes import (
    chunks,
    drawn,
    extracted,
    real,
    rendered,
    repeated,
    summed,
    without,
    written,
)
from mindseye.files import read_json, write_json
from mindseye.metrics import Estimate, bootstrap
from mindseye.metrics.parts import energy_distances, information, ratio, share
from mindseye.models import Compositional
from mindseye.objectives.compvae import compvae
from mindseye.pieces import Pieces, decode_parts
from mindseye.provenance import provenance
from mindseye.randomness import keys
from mindseye.runs import BUILTIN, Run

__all__ = [
    "PartsReport",
    "Rows",
    "evaluate_parts",
    "generator_rows",
    "parts_report",
    "parts_scores",
    "sizes_of",
]

Progress = Callable[[int, int], None]
Rows = Mapping[int, Mapping[str, Estimate]]
"""Measures by the number of parts and by their names."""

BEYOND: dict[type[Wholes], tuple[int, ...]] = {
    Sines: (20, 24, 30),
    Sites: (10, 12, 16),
    Loads: (20, 24, 30),
}
"""Numbers of parts that are more than a model is trained on, by data set."""

SCORES = ("recall", "shown", "false alarms", "correlation", "bound", "kl_w", "kl_z")
"""Measures by which settings are compared."""

FEW, TWO = 4, 2
"""Draws of a description where each is costly: to be taken apart, and written part by part."""


def evaluate_parts(
    run: Run,
    *,
    wholes: int = 64,
    draws: int = 16,
    part: str = "test",
    device: torch.device | str = "cpu",
    data: str | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> PartsReport:
    """Measure a run, and keep the report beside its weights, that of the test as `parts.json`.

    Arguments:
        run: A run of a model of parts.
        wholes: Descriptions of every number of parts.
        draws: Wholes of every description.
        part: Whose wholes: test, or validation to choose by.
        device: Where to compute.
        data: Nothing: wholes are generated.
        seed: Chooses descriptions and draws.
        progress: Called with the numbers of parts that are done and those there are.
    """
    started = time.perf_counter()
    model = run.model().to(device)
    if not isinstance(model, Compositional):
        raise UsageError(f"{run.path} is of `kind={run.recipe.model.kind!r}`; expected 'comp'.")
    dataset = run.recipe.data.wholes(part, seed=seed).to(device)
    report = parts_report(
        model, dataset, name=run.name, wholes=wholes, draws=draws, seed=seed, progress=progress
    )
    if BUILTIN not in run.path.parents:
        facts = {
            "seconds": round(time.perf_counter() - started, 1),
            "provenance": provenance(device),
        }
        write_json(_kept(run, part), facts | report.to_json())
    return report


def parts_scores(run: Run, part: str) -> dict[str, float]:
    """The scores of a run on a part by measure and number of parts, as they were kept; or none."""
    file = _kept(run, part)
    rows = read_json(file)["rows"] if file.is_file() else []
    return {
        f"{name} {row['parts']}": row["values"][name]["mean"]
        for name in SCORES
        for row in rows
        if name in row["values"]
    }


def _kept(run: Run, part: str) -> Path:
    """Where the report of a part is kept."""
    return run.path / ("parts.json" if part == "test" else f"parts-{part}.json")


@torch.no_grad()
def parts_report(
    model: Compositional,
    dataset: Wholes,
    *,
    name: str = "",
    wholes: int = 64,
    draws: int = 16,
    seed: int = 0,
    progress: Progress | None = None,
) -> PartsReport:
    """Measure a model, where it is, on wholes of a generator, which is there too."""
    device = next(model.parameters()).device
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        rows = _measured(partial(_Row, model), dataset, wholes, draws, seed, progress)
    checks = _checks(Composer(model, name), dataset, seed)
    return PartsReport(name, dataset.part, wholes, draws, dataset.most, rows, checks)


@torch.no_grad()
def generator_rows(
    dataset: Wholes,
    *,
    wholes: int = 64,
    draws: int = 16,
    seed: int = 0,
    progress: Progress | None = None,
) -> Rows:
    """What a report says of the generator itself and of wholes of other parts; no model is asked.

    The names are those of a report, ending in `, generator` and in `, others`.
    """
    return _measured(_Real, dataset, wholes, draws, seed, progress)


def sizes_of(dataset: Wholes) -> list[int]:
    """Numbers of parts that are measured: 1, 2, 4 … up to the most of training, and some beyond."""
    inside = [2**power for power in range(dataset.most.bit_length()) if 2**power < dataset.most]
    beyond = BEYOND[type(dataset)]
    return [*inside, dataset.most, *(size for size in beyond if size > dataset.most)]


class _Real:
    """Real wholes of one number of parts, and what is measured of them."""

    def __init__(self, dataset: Wholes, size: int, wholes: int, draws: int, seed: int):
        self.dataset, self.size, self.seed = dataset, size, seed
        self.y = _descriptions(dataset, wholes, size)
        self.real, self.again = real(dataset, self.y, 2 * draws, seed).chunk(2, 1)
        self.sense = SENSES[type(dataset)](self.y, self.again)

    def values(self) -> Values:
        """Numbers of every whole, `(B,)`, by the names of a report."""
        others = self.real.roll(1, 0)
        for of, x in ((", generator", self.real), (", others", others)):
            yield from self._scores(x, of)
            yield from self._distance(x, of)

    def _scores(self, x: Tensor, of: str = "") -> Values:
        """Whether the parts that were said are there."""
        return ((name + of, values) for name, values in self.sense.scores(x))

    def _distance(self, x: Tensor, of: str = "") -> Values:
        """The energy distance to real wholes, the length of a whole the RMS of its values."""
        found = energy_distances(x, self.again)
        yield f"distance{of}", found.distance / x[0, 0].numel() ** 0.5
        yield f"scaled distance{of}", found.scaled


class _Row(_Real):
    """What is measured of a model's wholes of one number of parts too."""

    def __init__(
        self, model: Compositional, dataset: Wholes, size: int, wholes: int, draws: int, seed: int
    ):
        super().__init__(dataset, size, wholes, draws, seed)
        self.model, self.made = model, drawn(model, self.y, draws, seed)
        few = min(FEW, draws)
        self.many = repeated(self.y, few)
        key = keys(seed, torch.arange(wholes * few, device=dataset.device), "observed")
        self.specifics = dataset.draw(self.many, key)
        self.x = rendered(dataset, self.many, self.specifics)
        self.found = extracted(model, self.x, self.many, seed)
        self.rewritten = written(model, self.found, self.many)

    def values(self) -> Values:
        """Numbers of every whole, `(B,)`, by the names of a report."""
        yield from super().values()
        yield from self._scores(self.made.expected)
        yield from self._distance(self.made.draws)
        yield from self._distance(self.made.expected, ", expected")
        alone = summed(self.model, self.y, TWO, self.seed)
        yield from self._distance(alone, ", sum of parts")
        yield from self._bound()
        if self.size > 1:
            yield from self._taken_away()

    def _bound(self) -> Values:
        """The bound, what it is made of, and how far reconstructions are off."""
        terms = [compvae(self.model, self.x[at], y).terms for at, y in chunks(self.many, self.size)]
        every = {name: torch.cat([some[name] for some in terms]) for name in terms[0]}
        for name, values in information(every)._asdict().items():
            yield name, self._by_whole(values)
        deviation = (self.x - self.x.mean(0)).square().mean().sqrt()
        error = (self.rewritten - self.x).flatten(1).square().mean(1).sqrt()
        yield "reconstruction", self._by_whole(error / deviation)

    def _taken_away(self) -> Values:
        """What is left when a part is removed from wholes whose latents were extracted."""
        removable = self.sense.removable
        chosen, fits = removable.int().argmax(1), removable.any(1)
        each = chosen.repeat_interleave(len(self.x) // len(chosen))
        less, stays = without(self.many, each)
        rest = Specifics(self.specifics.own[stays], self.specifics.shared)
        truth, made = (
            rendered(self.dataset, less, rest),
            written(self.model, self.found, self.many, each),
        )
        apart, change = (
            self._by_whole((x - truth).flatten(1).square().mean(1))[fits] for x in (made, self.x)
        )
        yield "removal error", ratio(apart, change)
        if self.sense.sees:
            yield from self._missing(chosen, fits, made, truth)

    def _missing(self, chosen: Tensor, fits: Tensor, made: Tensor, truth: Tensor) -> Values:
        """Whether parts that were removed are gone, where they are in truth, and others stay."""
        before, after, ideal = (
            self.sense.there(x.unflatten(0, (len(chosen), -1)), self.y.sizes - less)
            for x, less in ((self.rewritten, 0), (made, 1), (truth, 1))
        )
        slots = torch.arange(before.shape[2], device=chosen.device)
        counted = self.sense.counted & fits[:, None]
        removed = counted & (slots == self.sense.slot(chosen)[:, None])
        gone = removed & ~ideal.any(1)
        yield "before", share(before, gone)
        yield "gone", share(~after, gone)
        yield "kept", share(after, counted & ~removed)
        yield "kept, generator", share(ideal, counted & ~removed)

    def _by_whole(self, values: Tensor) -> Tensor:
        """Means over the observed wholes of every description, `(B,)`."""
        return values.unflatten(0, (len(self.y.sizes), -1)).mean(1)


def _measured(
    row: Callable[..., _Real],
    dataset: Wholes,
    wholes: int,
    draws: int,
    seed: int,
    progress: Progress | None,
) -> Rows:
    """What is measured of every number of parts."""
    for argument, value in (("wholes", wholes), ("draws", draws)):
        if value < 2:
            raise UsageError(f"`{argument}={value}` is too few; expected 2 or more.")
    sizes, rows = sizes_of(dataset), {}
    for done, size in enumerate(sizes, 1):
        found = row(dataset, size, wholes, draws, seed).values()
        rows[size] = {name: e for name, values in found if (e := _estimate(values))}
        if progress:
            progress(done, len(sizes))
    return rows


def _checks(composer: Composer, dataset: Wholes, seed: int) -> dict[str, float]:
    """The largest differences where there must not be any."""
    wholes = decode_parts(composer.vocabulary, _descriptions(dataset, FEW, dataset.most))
    order, trace = [], []
    for parts, others in zip(wholes, wholes[1:] + wholes[:1], strict=True):
        before = composer.composed(parts, FEW, seed)
        turned = composer.composed(composer.vocabulary.parts(reversed(parts.items)), FEW, seed)
        new = others.items[0]
        after = composer.removed(composer.added(before, new, seed), new)
        order.append((turned.means - before.means).abs().max().item())
        trace.append((after.means - before.means).abs().max().item())
    return {"order": max(order), "added and removed": max(trace)}


def _descriptions(dataset: Wholes, many: int, size: int) -> Pieces:
    """The first descriptions of a data set, with so many parts each."""
    index = torch.arange(many, device=dataset.device)
    return dataset.examples(index, torch.full_like(index, size)).y


def _estimate(values: Tensor) -> Estimate | None:
    """The mean over wholes that have a number, with its interval."""
    known = values[~values.isnan()].cpu()
    return bootstrap(known)._replace(spread=None) if len(known) else None
