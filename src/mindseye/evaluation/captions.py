r"""What a model of pictures and captions is worth: correctness, bounds, and what they are made of.

Of captions: the share of words that an observer sees in the expected picture of one latent drawn
from $q(z \mid y)$. Of the prior: the same of latents drawn from $p(z)$, or from the aggregate
$q(z)$, against a caption drawn from $p(y \mid z)$. Beside them stand real pictures (the ceiling)
and reconstructions (what the decoder can do).

Bounds are in nats, likelihoods unweighted, under one draw of $q(z \mid x)$:

$$ \log p(x \mid y) \ge \mathbb{E}_{q(z \mid x)}\left[
   \log \frac{p(x \mid z)\, q_φ(z \mid y)}{q(z \mid x)} \right], \qquad
   \log p(x) \ge \mathbb{E}_{q(z \mid x)}\left[
   \log \frac{p(x \mid z)\, r(z)}{q(z \mid x)} \right] , $$

with the prior $r = p(z)$ or $q_φ(z)$. By way of words there is a third, $r(z) = \sum_y p(y)\,
q_φ(z \mid y)$ with all captions alike, of which pictures of no description are imagined. Its sum is
taken over the caption of the picture and some that the latent writes, which is less.

The bound of $\log p(y)$ is the logarithm of the mean of $p(y \mid z)$ over many draws of the same
prior, the same ones for all captions. The rate of a bound is split as in the paper's eq. 17 and 5:

$$ \mathrm{KL}(q(z \mid x) \,\|\, p(z)) = \mathrm{KL}(q(z \mid x) \,\|\, q(z))
   + \mathrm{KL}(q(z) \,\|\, p(z)) . $$

References:
    On the Importance of Learning Aggregate Posteriors in Multimodal Variational Autoencoders,
    Cremer and Kushman, 2018
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.distributions import Distribution

from mindseye.data import Batch, Dataset
from mindseye.errors import UsageError
from mindseye.files import write_json
from mindseye.labels import Labels
from mindseye.metrics import Estimate, bootstrap
from mindseye.metrics.captions import Correctness, words_right
from mindseye.models import VLVAE, Flowing, Observer
from mindseye.objectives.vlvae import dequantised
from mindseye.provenance import provenance
from mindseye.randomness import keys, normals, uniforms
from mindseye.runs import BUILTIN, Run

__all__ = ["CaptionReport", "caption_report", "evaluate_captions"]

Progress = Callable[[int, int], None]

AT_ONCE = {"cuda": 500, "cpu": 50}
"""Pictures that are measured at once."""

CAPTIONS, DRAWS = {"cuda": 256, "cpu": 16}, {"cuda": 2**16, "cpu": 2**12}
PAIRS = {"cuda": 2**17, "cpu": 2**14}
"""Captions whose log p(y) is measured, draws of the prior it takes, and pairs scored at once."""

WRITTEN = 15
"""Captions that a latent writes, to find those that it belongs to."""

JUDGES = {"two-objects": "two-objects", "celeba-words": "celeba"}
"""Whose observer judges a data set."""

LABELS = {
    "real pictures": "words right in real pictures (ceiling)",
    "reconstructions": "words right in reconstructions",
    "correctness": "words right in pictures of captions, q(z|y)",
    "prior correctness": "words right in pictures of the prior",
    "by way of words": "words right in pictures of q(z|y), y drawn",
    "log p(x|y)": "log p(x|y), at least",
    "log p(x)": "log p(x), at least",
    "log p(y)": "log p(y), at least",
    "log q(z|y)": "  E log q(z|y)",
    "log r(z)": "  E log r(z), the prior",
    "log r(z), by way of words": "  E log r(z), by way of words, at least",
    "log p(x|z)": "  E log p(x|z)",
    "KL(q(z|x), p)": "  KL(q(z|x) || p(z))",
    "KL(q(z|x), q(z))": "    = KL(q(z|x) || q(z))",
    "KL(q(z), p)": "    + KL(q(z) || p(z))",
}
"""What is measured, and what a report calls it."""


@dataclass(frozen=True)
class CaptionReport:
    """What was measured of a model of pictures and captions."""

    part: str
    pictures: int
    values: Mapping[str, Estimate]
    """By the names of `LABELS`; what a model does not have is not there."""

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        found = {name: estimate.to_json() for name, estimate in self.values.items()}
        return {"part": self.part, "pictures": self.pictures, "values": found}

    def to_text(self) -> str:
        """Lines for people."""
        wide = max(map(len, LABELS.values()))
        lines = [f"{self.pictures} {self.part} pictures, 95 % intervals"]
        for name, label in LABELS.items():
            if name in self.values:
                e = self.values[name]
                share = "right" in label
                shown = (
                    f"{each:.2%}" if share else f"{each:.2f}" for each in (e.mean, e.low, e.high)
                )
                mean, low, high = shown
                lines.append(f"{label:{wide}}  {mean}  ({low} to {high})")
        return "\n".join(lines)


def evaluate_captions(
    run: Run,
    *,
    observer: Observer | None = None,
    part: str = "test",
    pictures: int = 2000,
    device: torch.device | str = "cpu",
    data: str | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> CaptionReport:
    """Measure a run, and keep the report beside its weights as `captions.json`.

    Arguments:
        run: A run of a vlvae, with flows or without.
        observer: Who says which words hold; without one only bounds are measured.
        part: Whose pictures: test, or validation to choose by.
        pictures: How many.
        device: Where to compute.
        data: A folder with the data.
        seed: Chooses pictures and draws.
        progress: Called with the pictures that are done and those there are.
    """
    started = time.perf_counter()
    model = run.model().to(device)
    if not isinstance(model, VLVAE | Flowing) or run.recipe.model.kind != "vlvae":
        raise UsageError(f"{run.path} is of `kind={run.recipe.model.kind!r}`; expected 'vlvae'.")
    dataset = run.recipe.data.open(part, seed=seed, folder=data).to(device)
    right = words_right(observer.eval().to(device), dataset.vocabulary) if observer else None
    report = caption_report(
        model, dataset, right, part=part, pictures=pictures, seed=seed, progress=progress
    )
    if BUILTIN not in run.path.parents:
        facts = {
            "seconds": round(time.perf_counter() - started, 1),
            "provenance": provenance(device),
        }
        write_json(run.path / "captions.json", facts | report.to_json())
    return report


@torch.no_grad()
def caption_report(
    model: VLVAE | Flowing,
    dataset: Dataset,
    right: Correctness | None,
    *,
    part: str = "test",
    pictures: int = 2000,
    seed: int = 0,
    progress: Progress | None = None,
) -> CaptionReport:
    """Measure a model on the first pictures of a data set.

    Arguments:
        model: The model, on its device.
        dataset: The pictures, on the same.
        right: Who says which words hold, if anybody.
        part: What the report calls the pictures.
        pictures: How many.
        seed: Chooses the draws.
        progress: Called with the pictures that are done and those there are.
    """
    device = next(model.parameters()).device
    if pictures < 1:
        raise UsageError(f"`pictures={pictures}` is too few; expected 1 or more.")
    pictures = min(pictures, dataset.count)
    found: dict[str, list[Tensor]] = {}
    done = 0
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        for index in torch.arange(pictures, device=device).split(AT_ONCE[device.type]):
            batch = dataset.examples(index)
            each = _Measured(model, batch, keys(seed, index, f"captions {part}"))
            for name, values in each.values(right):
                found.setdefault(name, []).append(values.double().cpu())
            done += len(index)
            if progress:
                progress(done, pictures)
    some = dataset.examples(torch.arange(min(pictures, CAPTIONS[device.type]), device=device)).y
    draws = min(DRAWS[device.type], 16 * pictures)
    found["log p(y)"] = [_log_py(model, some, draws, seed).double().cpu()]
    estimates = {name: bootstrap(torch.cat(values)) for name, values in found.items()}
    return CaptionReport(part, pictures, estimates)


class _Measured:
    """What is measured of some pictures."""

    def __init__(self, model: VLVAE | Flowing, batch: Batch[Labels], key: Tensor):
        self.model, self.batch, self.key = model, batch, key
        self.flows = model if isinstance(model, Flowing) else None

    def values(self, right: Correctness | None) -> Iterator[tuple[str, Tensor]]:
        """Numbers of every picture, by the names of `LABELS`."""
        x, y = self.batch
        q = self.model.q_xy(x, y) if _joint(self.model) else self.model.q_x(x)
        yield from self._bounds(q)
        if right:
            yield "real pictures", right(x, y)
            yield "reconstructions", right(self._picture(q.mean), y)
            yield "prior correctness", self._of_prior(right)
        if self.flows and right:
            z = self.flows.q_y(y).at(self._noise("captions"))
            yield "correctness", right(self._picture(z), y)
            yield "by way of words", self._told(z, right)

    def _bounds(self, q: Distribution) -> Iterator[tuple[str, Tensor]]:
        x, y = self.batch
        z = q.mean + q.stddev * self._noise("posterior")
        log_px = self.model.p_x(z).log_prob(dequantised(x))
        log_q, log_p = q.log_prob(z), self.model.prior.log_prob(z)
        log_r = self._prior.log_prob(z)
        yield "log p(x|z)", log_px
        yield "log r(z)", log_r
        yield "log p(x)", log_px + log_r - log_q
        yield "KL(q(z|x), p)", log_q - log_p
        if self.flows:
            log_qy = self.flows.q_y(y).log_prob(z)
            yield "log q(z|y)", log_qy
            yield "log p(x|y)", log_px + log_qy - log_q
            if not self.flows.vocabulary.unordered:
                yield "log r(z), by way of words", self._by_way_of_words(self.flows, z)
        if self._learnt:
            yield "KL(q(z|x), q(z))", log_q - log_r
            yield "KL(q(z), p)", log_r - log_p

    def _by_way_of_words(self, flows: Flowing, z: Tensor) -> Tensor:
        """At least the log of the mean of q(z|y) over all captions."""
        u = uniforms(keys(4, self.key), WRITTEN * len(flows.vocabulary)).view(len(z) * WRITTEN, -1)
        written, _ = self.model.p_y(z.repeat_interleave(WRITTEN, 0)).sample(u)
        codes = torch.cat([self.batch.y.codes[:, None], written.view(len(z), WRITTEN, -1)], 1)
        alike = (codes[:, :, None] == codes[:, None]).all(-1)  # (B, S, S)
        again = alike.tril(-1).any(-1)
        q = flows.q_y(Labels.full(codes.flatten(0, 1)))
        each = q.log_prob(z.repeat_interleave(1 + WRITTEN, 0)).view(again.shape)
        captions = math.prod(flows.vocabulary.sizes)
        return each.masked_fill(again, -torch.inf).logsumexp(-1) - math.log(captions)

    def _of_prior(self, right: Correctness) -> Tensor:
        """The share of words of captions from the prior that hold in pictures from it."""
        noise = self._noise("prior")
        return self._told(self.flows.aggregate.at(noise) if self.flows else noise, right)

    def _told(self, z: Tensor, right: Correctness) -> Tensor:
        """The share of words of the captions that latents write that hold in their pictures."""
        u = uniforms(keys(3, self.key), len(self.model.vocabulary))
        codes, _ = self.model.p_y(z).sample(u)
        return right(self._picture(z), Labels.full(codes))

    @property
    def _learnt(self) -> bool:
        """Whether the prior is a flow that was fitted to the aggregate posterior."""
        return self.flows is not None and self.flows.knows_aggregate

    @property
    def _prior(self) -> Distribution:
        return self.flows.aggregate if self.flows and self._learnt else self.model.prior

    def _picture(self, z: Tensor) -> Tensor:
        return self.model.p_x(z).mean

    def _noise(self, stream: str) -> Tensor:
        return normals(keys(0, self.key, stream), self.model.latent)


def _log_py(model: VLVAE | Flowing, y: Labels, draws: int, seed: int) -> Tensor:
    """The log of the mean chance of captions `(B,)` over draws of the prior; at most log p(y)."""
    device, found = y.codes.device, []
    noise = normals(keys(seed, torch.arange(draws, device=device), "log p(y)"), model.latent)
    z = model.aggregate.at(noise) if isinstance(model, Flowing) else noise
    for some in z.split(PAIRS[device.type] // len(y.codes)):
        rows = some.repeat_interleave(len(y.codes), 0)
        every = Labels(*(each.repeat(len(some), 1) for each in y))
        found.append(model.p_y(rows).log_prob(every).view(len(some), -1))
    return torch.cat(found).logsumexp(0) - math.log(draws)


def _joint(model: VLVAE | Flowing) -> bool:
    return model.joint
