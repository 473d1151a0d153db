r"""MNIST with attributes: one digit, placed, turned and scaled on a canvas of 64 by 64.

A picture is a function of (source digit, attributes, key). The attributes choose Gaussians
(Vedantam et al., 2018, A.2), the key draws from them:

- scale: big $\mathcal{N}(0.9, 0.1)$, small $\mathcal{N}(0.6, 0.1)$, within $[0.4, 1]$;
- angle: $\mp 45^\circ$ for (anti)clockwise with $\sigma = 10^\circ$, within $\pm 90^\circ$;
  upright is exactly 0;
- centre: 12 or 52 on either axis with $\sigma = 4$, such that the digit's box stays on the canvas.

Where the authors draw again until a draw fits, this draws once from the truncated Gaussian, by its
quantile function: the same distribution, at a cost that does not depend on luck. The box is that of
the authors' code: the 28 by 28 square grown by its rotation, scaled, in whole pixels. They rotate,
then shrink, each by a bicubic resampling; here the source is smoothed as the scale asks (a digit at
0.4 would alias otherwise) onto twice as many pixels by a bicubic kernel, and read at its turned and
scaled place bilinearly. No box is larger than 40 by 40, so only the pixels of such a window are
drawn, then put on the canvas. Pixels are binarised by their own noise: picture $i$ is the same
picture whenever it is drawn.

References:
    Generative Models of Visually Grounded Imagination, Vedantam et al., 2018
    https://arxiv.org/abs/1705.10762
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple, Self

import torch
from torch import Tensor
from torch.nn.functional import grid_sample

from mindseye.concepts import Attribute, Concept, Vocabulary
from mindseye.data.batch import Batch
from mindseye.data.canvas import paste, portions
from mindseye.data.handwriting import Handwriting, sources_of
from mindseye.data.sources import Sources
from mindseye.data.splits import combinations, compositional_split
from mindseye.labels import Labels
from mindseye.randomness import keys, keys_of_each, pixel_uniforms, uniforms

__all__ = ["VOCABULARY", "Geometry", "MnistA", "place", "render"]

CANVAS, SOURCE, WINDOW = 64, 28, 40

VOCABULARY = Vocabulary(
    [
        Attribute("digit", [str(d) for d in range(10)]),
        Attribute("size", ["big", "small"]),
        Attribute("orientation", ["clockwise", "upright", "anticlockwise"]),
        Attribute("location", ["top-left", "top-right", "bottom-left", "bottom-right"]),
    ]
)


class Geometry(NamedTuple):
    """How pictures are placed; every field `(B,)`, float64."""

    scale: Tensor
    """Of the source digit, 0.4 to 1."""
    angle: Tensor
    """In degrees, anticlockwise positive."""
    row: Tensor
    """Of the centre of the digit's box, in pixels from the top."""
    column: Tensor
    """Of the centre of the digit's box, in pixels from the left."""


def place(codes: Tensor, key: Tensor) -> Geometry:
    """Draw the geometry of pictures with attributes `codes` `(B, 4)`, one key each."""
    return _placed(codes, uniforms(key, 4))


def render(sources: Tensor, geometry: Geometry, key: Tensor | None = None) -> Tensor:
    """Draw source digits uint8 `(B, 28, 28)` on canvases `(B, 1, 64, 64)`, binarised by `key`.

    Without keys the canvases hold the grey values themselves, the probabilities of ink.
    """
    canvas = torch.zeros(len(sources), 1, CANVAS, CANVAS, device=sources.device)
    for part in portions(canvas):
        some = Geometry(*(field[part] for field in geometry))
        _draw(canvas[part], sources[part], some, None if key is None else key[part])
    return canvas


class MnistA(Handwriting):
    """MNIST with attributes, rendered where and when it is asked for.

    Arguments:
        sources: The digits to draw.
        part: `train`, `validation`, `test` or `observer`: which sources, and in a compositional
            split which combinations.
        compositional: Whether combinations of attributes are divided too.
        split_seed: Chooses the division.
        replications: How many pictures of every source there are; 0 for no end of them. The paper
            has 10, each binarised once.
        labelled: The share of pictures whose description is known.
        seed: Chooses labels, geometry and noise.
    """

    vocabulary = VOCABULARY
    shape = (1, CANVAS, CANVAS)
    settings = ("compositional", "split_seed", "replications", "labelled")

    def __init__(
        self,
        sources: Sources,
        part: str = "train",
        *,
        compositional: bool = False,
        split_seed: int = 0,
        replications: int = 0,
        labelled: float = 1.0,
        seed: int = 0,
    ):
        every = combinations(self.vocabulary.sizes)
        if compositional and part != "observer":
            every = compositional_split(self.vocabulary.sizes, part, split_seed)
        own = sources_of(sources, part, split_seed)
        wanted = torch.isin(own.digits, every[:, 0])
        own = Sources(own.images[wanted], own.digits[wanted])
        super().__init__(own, part, every=every, replications=replications, seed=seed)
        self.labelled, self.tables = labelled, _by_digit(every)

    def examples(self, index: Tensor) -> Batch[Labels]:
        """The pictures of some indices: the same alone or together."""
        key = keys(self.seed, index, self.part)
        source = index % len(self.images)
        u = uniforms(key, 6)
        codes = self._codes(self.digits[source], u[:, 4])
        said = (u[:, 5:] < self.labelled).expand(codes.shape)
        x = render(self.images.index_select(0, source), _placed(codes, u[:, :4]), key)
        return Batch(x, Labels(codes, said))

    def pictures_of_each(self, concepts: Sequence[Concept], n: int, seeds: Sequence[int]) -> Tensor:
        """The pictures of every concept with its seed, all at once, `(Q, n, 1, 64, 64)`."""
        grid = keys_of_each(seeds, n, f"real {self.part}", self.images.device)
        key = grid.flatten()
        u = uniforms(key, 6)
        codes = self._drawn(concepts, u[:, 4].view_as(grid)).flatten(0, 1)
        self._check_digits(codes[:, 0])
        source = self._source_of(codes[:, 0], u[:, 5])
        pictures = render(self.images.index_select(0, source), _placed(codes, u[:, :4]), key)
        return pictures.unflatten(0, grid.shape)

    def to(self, device: torch.device | str) -> Self:
        """Move the sources; pictures are rendered where the sources are."""
        self.tables = tuple(table.to(device) for table in self.tables)
        return super().to(device)

    def _codes(self, digits: Tensor, u: Tensor) -> Tensor:
        """A combination for every source, uniform among those of its digit."""
        rows, counts = self.tables
        return rows[digits, (u * counts[digits]).long()]


def _placed(codes: Tensor, u: Tensor) -> Geometry:
    """The geometry at the quantiles `u` `(B, 4)` of scale, angle, row and column."""
    _, size, orientation, location = codes.unbind(1)
    scale = _truncated(u[:, 0], 0.9 - 0.3 * size.double(), 0.1, 0.4, 1.0)
    turn = _truncated(u[:, 1], 45.0 * (orientation.double() - 1), 10.0, -90.0, 90.0)
    angle = torch.where(orientation == 1, 0.0, turn)
    box = torch.floor(_grown(angle) * scale)
    corner = torch.stack([location // 2, location % 2], 1)
    row, column = _centre(u[:, 2:], corner, box[:, None]).unbind(1)
    return Geometry(scale, angle, row, column)


def _truncated(
    u: Tensor, mean: Tensor, std: float, low: Tensor | float, high: Tensor | float
) -> Tensor:
    """The quantile `u` of a Gaussian cut to [`low`, `high`]."""
    below = torch.special.ndtr((low - mean) / std)
    above = torch.special.ndtr((high - mean) / std)
    return (mean + std * torch.special.ndtri(below + u * (above - below))).clamp(low, high)


def _grown(angle: Tensor) -> Tensor:
    """The side in whole pixels of the rotated source's box."""
    turn = torch.deg2rad(angle)
    return 2 * torch.ceil(SOURCE / 2 * (turn.cos().abs() + turn.sin().abs()) - 1e-9)


def _centre(u: Tensor, side: Tensor, box: Tensor) -> Tensor:
    """A coordinate of the box's centre: drawn near 12 or 52, in whole pixels, the box inside.

    As in the authors' code pixels count from 1, `half` is rounded up to a pixel of margin, and a
    box of odd side has its centre half a pixel further on.
    """
    half = torch.floor(box / 2) + 1
    drawn = _truncated(u, 12.0 + 40.0 * side.double(), 4.0, 1 + half, 65 - half)
    pixel = torch.minimum(drawn.floor(), 64 - half)  # a draw is cut down to its pixel
    return pixel - 1 + box % 2 / 2


def _whole_scale(geometry: Geometry) -> Tensor:
    """The scale that fits the box to whole pixels."""
    grown = _grown(geometry.angle)
    return torch.floor(grown * geometry.scale) / grown


@cache
def _levels(device: torch.device) -> Tensor:
    r"""Resampling to twice as many pixels for scales 0.01, 0.02, ..., 1, `(100, 56, 28)`.

    A cubic kernel, 1/s times as wide at scale s: shrinking by s then does not alias. Renderings of
    MNIST differ from the authors' by 3.5 % of their ink, by 9 % with a kernel of one width.
    """
    scale = torch.arange(1, 101, dtype=torch.float64)[:, None, None] / 100
    fine = (torch.arange(2 * SOURCE, dtype=torch.float64) + 0.5) / 2 - 0.5
    weights = _cubic((fine[:, None] - torch.arange(SOURCE)) * scale)
    return (weights / weights.sum(-1, keepdim=True)).float().to(device)


def _cubic(x: Tensor) -> Tensor:
    """The cubic convolution kernel (Keys, 1981)."""
    x = x.abs()
    inner, outer = (1.5 * x - 2.5) * x**2 + 1, ((2.5 - 0.5 * x) * x - 4) * x + 2
    return torch.where(x < 1, inner, torch.where(x < 2, outer, 0.0))


def _smooth(sources: Tensor, scale: Tensor) -> Tensor:
    """Sources `(B, 28, 28)` on twice as many pixels, smoothed as scales ask, `(B, 56, 56)`."""
    level = (100 * scale).round().long() - 1
    weights = _levels(sources.device).index_select(0, level)  # faster than [level]
    return weights @ (sources.float() / 255) @ weights.mT


def _draw(canvas: Tensor, sources: Tensor, geometry: Geometry, key: Tensor | None) -> None:
    """Draw sources on empty canvases."""
    scale = _whole_scale(geometry)
    row, column = _corner(geometry.row), _corner(geometry.column)
    grid = _grid(geometry._replace(scale=scale), row, column)
    grey = grid_sample(_smooth(sources, scale)[:, None], grid, align_corners=False).clamp_(0, 1)
    window = grey if key is None else pixel_uniforms(key, WINDOW**2).view_as(grey).lt_(grey)
    paste(window, canvas, row, column)


def _corner(centre: Tensor) -> Tensor:
    """The first pixel of the window about a centre: as near as the canvas lets it."""
    return (centre.long() - WINDOW // 2).clamp_(0, CANVAS - WINDOW)


def _grid(geometry: Geometry, row: Tensor, column: Tensor) -> Tensor:
    r"""Where in the source the pixels of a window lie, `(B, 40, 40, 2)`; 1 is half its side.

    A point is a complex number: right plus $i$ times down, from the digit's centre. One product
    with $e^{i\,\text{angle}} / \text{scale}$ turns and scales it back into the source.
    """
    back = torch.polar(2 / SOURCE / geometry.scale, torch.deg2rad(geometry.angle))[:, None]
    pixel = torch.arange(WINDOW, device=row.device) + 0.5
    right = (pixel + (column - geometry.column)[:, None]) * back  # (B, 40)
    down = (pixel + (row - geometry.row)[:, None]) * (1j * back)
    points = right.to(torch.complex64)[:, None, :] + down.to(torch.complex64)[:, :, None]
    return torch.view_as_real(points)


def _by_digit(every: Tensor) -> tuple[Tensor, ...]:
    """For each digit its combinations `(10, M, 4)`, padded, and how many they are `(10,)`."""
    counts = torch.bincount(every[:, 0], minlength=10)
    rows = every.new_zeros(10, int(counts.max()), every.shape[1])
    for digit in range(10):
        rows[digit, : counts[digit]] = every[every[:, 0] == digit]
    return rows, counts
