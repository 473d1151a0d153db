r"""Around a belief or a latent: experts in a plane, dimensions one by one, pictures nearby.

Whatever is drawn in two dimensions is projected by $P$, `(2, D)`, whose rows are orthonormal. So
$\mathcal{N}(\mu, \Sigma)$ becomes $\mathcal{N}(P \mu, P \Sigma P^\top)$; the prior stays as it is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from mindseye.concepts import Concept
from mindseye.data import Batch
from mindseye.distributions import Attributes
from mindseye.errors import UsageError
from mindseye.imagine import Mind, Query
from mindseye.labels import Labels
from mindseye.models import Described
from mindseye.randomness import keys_of_each, normals

__all__ = [
    "Ellipse",
    "Expert",
    "Plane",
    "density",
    "diversity",
    "effects",
    "ellipse",
    "experts",
    "latents_of",
    "liveliest",
    "manifold",
    "moved",
    "nearest",
    "openness",
    "plane",
    "prior_draws",
    "recast",
    "telling",
    "traversals",
    "way",
]

VAGUE = 1e-3
"""The least precision of an expert that is drawn: one that knows less is a circle off the page."""


class Expert(NamedTuple):
    """What one word says about the latent, before it is multiplied with anything."""

    attribute: str
    value: str
    mean: Tensor
    """`(D,)`."""
    stddev: Tensor
    """`(D,)`."""


class Plane(NamedTuple):
    """Two directions of the latent space."""

    names: tuple[str, str]
    axes: Tensor
    """Orthonormal, `(2, D)`."""


class Ellipse(NamedTuple):
    """Where a Gaussian of the plane is one standard deviation from its mean."""

    x: float
    y: float
    a: float
    """The longer half axis."""
    b: float
    """The shorter half axis."""
    angle: float
    """Of the longer axis, in radians."""


def experts(mind: Mind, concept: Concept) -> list[Expert]:
    r"""The expert of every word that is said.

    The belief in a word alone is the product of its expert with the standard normal prior, so the
    expert has precision $1 / \sigma^2 - 1$ and mean $\mu / (1 - \sigma^2)$.
    """
    if not mind.factorised:
        raise UsageError(f"`{mind.name}` has no experts: its symbols stand for whole descriptions.")
    found = []
    for name, value in concept.values.items():
        belief = mind.belief(concept.vocabulary.concept(**{name: value}))
        precision = belief.stddev.pow(-2)[0]
        own = (precision - 1).clamp_min(VAGUE)
        found.append(Expert(name, value, precision * belief.mean[0] / own, own.rsqrt()))
    return found


def plane(mind: Mind, concept: Concept, latents: Tensor, axes: str = "words") -> Plane:
    """The plane to look at a belief in.

    Arguments:
        mind: Whose latent space it is.
        concept: What is said.
        latents: Of training pictures, `(N, D)`.
        axes: "words", the two dimensions that say most about the concept; "pca", where the latents
            vary most; or two dimensions, such as "0,3".
    """
    if mind.model.latent < 2:
        raise UsageError(f"`{mind.name}` has a latent of one dimension; a plane shows two.")
    if axes == "words":
        return _along(mind, telling(mind, concept))
    if axes == "pca":
        return _components(latents) if len(latents) > 1 else _along(mind, (0, 1))
    size, texts = mind.model.latent, axes.split(",")
    chosen = [int(text) for text in texts if text.strip().isdecimal()]
    if len(texts) != 2 or len(set(chosen)) != 2 or max(chosen) >= size:
        raise UsageError(
            f"`axes={axes!r}` is not 'words', 'pca' or two of 0 to {size - 1}, such as '0,1'."
        )
    return _along(mind, chosen)


def _along(mind: Mind, dimensions: Sequence[int]) -> Plane:
    first, second = dimensions
    return Plane((f"z{first + 1}", f"z{second + 1}"), torch.eye(mind.model.latent)[[first, second]])


def _components(latents: Tensor) -> Plane:
    """The two principal components, each turned so that its largest entry is positive."""
    _, _, rows = torch.linalg.svd(latents - latents.mean(0), full_matrices=False)
    signs = rows.gather(1, rows.abs().argmax(1, keepdim=True)).sign()
    return Plane(("component 1", "component 2"), (rows * signs)[:2])


def telling(mind: Mind, concept: Concept) -> tuple[int, int]:
    """The two latent dimensions that say most about a concept: one for each of its first words.

    A word says most where its belief is furthest from the prior, in nats.
    """
    texts = [concept.vocabulary.concept(**{k: v}) for k, v in concept.values.items()][:2]
    chosen: list[int] = []
    for each in (*texts, concept, concept):
        belief = mind.belief(each)
        mean, variance = belief.mean[0], belief.variance[0]
        nats = 0.5 * (variance + mean.square() - 1 - variance.log())
        nats[chosen] = -1
        chosen.append(int(nats.argmax()))
    return chosen[0], chosen[1]


def ellipse(mean: Tensor, stddev: Tensor, axes: Tensor) -> Ellipse:
    """A diagonal Gaussian `(D,)`, projected."""
    x, y = (axes @ mean).tolist()
    values, vectors = torch.linalg.eigh((axes * stddev.square()) @ axes.T)  # ascending
    short, long = values.clamp_min(0).sqrt().tolist()
    dx, dy = vectors[:, 1].tolist()
    return Ellipse(x, y, long, short, math.atan2(dy, dx) % math.pi)


def density(points: Tensor, side: int = 40, reach: float = 4.0, width: float = 0.25) -> Tensor:
    """How dense points `(N, 2)` lie, relative to a standard normal, on a grid `(side, side)`.

    Near 1 where the aggregate of the pictures is what the prior expects, near 0 in a hole. Rows go
    from -reach to reach; every point is smoothed by a Gaussian of that width.
    """
    at = (torch.arange(side) + 0.5) / side * 2 * reach - reach
    near = [torch.exp(-0.5 * ((at[:, None] - c) / width) ** 2) for c in points.T]  # (side, N)
    found = near[1] @ near[0].T / (max(1, len(points)) * 2 * math.pi * width**2)
    spread = 1 + width**2  # the prior, smoothed alike
    prior = torch.exp(-0.5 * at.square() / spread)
    return found / (prior[:, None] * prior / (2 * math.pi * spread))


def prior_draws(mind: Mind, n: int = 1, seed: int = 0) -> Tensor:
    """Latents of the prior, `(n, D)`: where a model without words imagines its first n pictures."""
    key = keys_of_each([seed], n, "imagine", mind.device)[0]
    return normals(key, mind.model.latent)


def moved(z: Tensor, changes: Mapping[int, float]) -> Tensor:
    """A latent `(D,)` of which some dimensions have other values."""
    made = z.clone()
    for dimension, value in changes.items():
        if not 0 <= dimension < len(z):
            raise UsageError(f"`{dimension}` is not a dimension; expected 0 to {len(z) - 1}.")
        if not math.isfinite(value):
            raise UsageError(f"`{dimension}: {value}` is not a finite number.")
        made[dimension] = value
    return made


def traversals(
    mind: Mind,
    z: Tensor,
    steps: int = 9,
    span: float = 3.0,
    dimensions: Sequence[int] | None = None,
) -> tuple[list[float], Tensor]:
    """Expected pictures as each dimension of a latent `(D,)` goes from -span to span.

    Arguments:
        mind: Whose latent it is.
        z: Where the other dimensions stay.
        steps: Pictures of a row.
        span: How far to go.
        dimensions: Which rows there are, in this order; one for every dimension if not given.

    Returns:
        The values, and pictures `(R, steps, C, H, W)`.
    """
    _check_steps(steps)
    if not mind.walks:
        raise UsageError(
            f"`{mind.name}` has no dimensions to walk along: its latents are words and noise.",
            "`mindseye paint CAPTION --flip OLD=NEW` shows what a word changes.",
        )
    rows = list(range(len(z)) if dimensions is None else dimensions)
    if not rows or not 0 <= min(rows) <= max(rows) < len(z):
        raise UsageError(f"`dimensions={rows}` must be some of 0 to {len(z) - 1}.")
    values = torch.linspace(-span, span, steps, device=z.device)
    chosen = torch.eye(len(z), dtype=torch.bool, device=z.device)[rows, None]
    every = torch.where(chosen, values[:, None], z)  # (R, steps, D)
    return values.tolist(), mind.expected(every.flatten(0, 1)).unflatten(0, (len(rows), steps))


def manifold(
    mind: Mind,
    z: Tensor,
    across: int = 0,
    up: int = 1,
    side: int = 15,
    span: float = 3.0,
) -> tuple[list[float], Tensor]:
    """Expected pictures over two dimensions of a latent `(D,)`; with D = 2 that is all there is.

    Returns:
        The values from -span to span, and pictures `(side, side, C, H, W)`: columns go by `across`
        from the left, rows by `up` from the bottom, so that the last row has -span.
    """
    _check_steps(side, "side")
    if across == up or not (0 <= min(across, up) <= max(across, up) < len(z)):
        raise UsageError(
            f"`across={across}` and `up={up}` must be two dimensions of 0 to {len(z) - 1}.",
            "A latent of one dimension has no plane." if len(z) < 2 else "",
        )
    values = torch.linspace(-span, span, side, device=z.device)
    every = z.repeat(side, side, 1)
    every[..., across], every[..., up] = values, values.flip(0)[:, None]
    return values.tolist(), mind.expected(every.flatten(0, 1)).unflatten(0, (side, side))


def way(mind: Mind, start: Tensor, end: Tensor, steps: int = 9) -> Tensor:
    """Expected pictures on straight lines between latents `(D,)` or `(n, D)`.

    Returns:
        Pictures `(n, steps, C, H, W)`, of single latents with n = 1.
    """
    _check_steps(steps)
    first, last = torch.atleast_2d(start), torch.atleast_2d(end)
    t = torch.linspace(0, 1, steps, device=first.device)[:, None]
    z = torch.lerp(first[:, None], last[:, None], t)  # (n, steps, D)
    return mind.expected(z.flatten(0, 1)).unflatten(0, (len(z), steps))


def _check_steps(steps: int, name: str = "steps") -> None:
    if steps < 2:
        raise UsageError(f"`{name}={steps}` must be at least 2: both ends are shown.")


def effects(mind: Mind, z: Tensor | None = None, span: float = 3.0) -> Tensor:
    """How much the expected picture changes as each dimension goes from -span to span, `(D,)`.

    The mean of |x - x'| over pixels and latents. A dimension that the decoder does not use has 0.

    Arguments:
        mind: Whose decoder it is.
        z: Where the other dimensions stay, `(n, D)`; four draws from the prior if not given.
        span: How far to go.
    """
    found = []
    for where in prior_draws(mind, 4) if z is None else z:
        _, ends = traversals(mind, where, steps=2, span=span)  # (D, 2, C, H, W)
        found.append((ends[:, 0] - ends[:, 1]).abs().flatten(1).mean(1))
    return torch.stack(found).mean(0)


def liveliest(activity: Tensor) -> list[int]:
    """Dimensions by activity `(D,)`, the most active first; equal ones as they come.

    >>> liveliest(torch.tensor([0.0, 0.9, 0.0, 1.2]))
    [3, 1, 0, 2]
    """
    return activity.sort(descending=True, stable=True).indices.tolist()


def diversity(pictures: Tensor) -> float:
    """How unlike pictures `(n, C, H, W)` are: 0 if they are equal, 1 if no two share any ink.

    The mean over pairs of |x - x'| / (x + x'), summed over pixels (Bray and Curtis, 1957).
    """
    flat = pictures.flatten(1)
    pairs = torch.combinations(torch.arange(len(flat)))
    if not len(pairs):
        return 0.0
    one, other = flat[pairs[:, 0]], flat[pairs[:, 1]]
    ink = (one + other).sum(1).clamp_min(1e-9)
    return float(((one - other).abs().sum(1) / ink).mean())


@torch.no_grad()
def openness(mind: Mind, query: Query) -> float:
    r"""Bits that a description leaves open, by the model's own words for what it imagines.

    The sum over attributes of the entropy of $\mathbb{E}_z\, p(y_k \mid z)$, over latents of the
    description: $\log_2 n_k$ where all values are equally likely, 0 where one is sure.
    """
    believed = Attributes.mixture(mind.said_of(mind.latents(query)))
    return sum(float(torch.special.entr(p).sum()) for p in believed.by_attribute()) / math.log(2)


def nearest(latent: Tensor, among: Tensor, count: int = 8) -> Sequence[tuple[int, float]]:
    """Which of some latents `(N, D)` are nearest to one `(D,)`, and how far."""
    found = (among - latent).norm(dim=1).topk(min(count, len(among)), largest=False)
    return list(zip(found.indices.tolist(), found.values.tolist(), strict=True))


def recast(mind: Mind, pictures: Tensor, descriptions: Sequence[str]) -> Tensor:
    """Pictures `(N, C, H, W)` in their own manner under each description, `(V, N, C, H, W)`.

    The model is one whose latent is a description beside a manner, a semi-supervised one.
    """
    if not isinstance(mind.model, Described):
        raise UsageError("only a semi-supervised model has a manner apart from its descriptions.")
    words = mind.model.words
    manners = mind.read(pictures).mean[:, words:]
    said = [
        mind.belief(each).mean.flatten()[:words].expand(len(pictures), -1) for each in descriptions
    ]
    return torch.stack([mind.expected(torch.cat([each, manners], -1)) for each in said])


def latents_of(mind: Mind, batch: Batch[Labels]) -> Tensor:
    """The means of q(z|x) of a batch, `(B, D)`, on the CPU."""
    return torch.cat([mind.read(x).mean.cpu() for x in batch.x.split(64)])
