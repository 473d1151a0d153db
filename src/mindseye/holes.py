r"""Where words point and where pictures are: true posteriors and aggregates on a latent plane.

For a model with two latents, $p(z \mid y) ∝ p(y \mid z)\, p(z)$ is computed on a grid and
normalised, and so is the aggregate $\mathbb{E}_{p_D(x \mid y)}[q(z \mid x)]$ of some pictures of
$y$. Between the two lie the holes: latents that fit the words and belong to no picture.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from PIL import Image, ImageChops, ImageDraw, ImageFilter
from torch import Tensor

from mindseye.concepts import Concept
from mindseye.errors import UsageError
from mindseye.imagine import Mind
from mindseye.labels import Labels, encode
from mindseye.typesetting import typeset

__all__ = ["aggregate_on", "holes_plane", "posterior_on"]

REACH, SIDE, SCALE = 3.5, 200, 3
_SMOOTH = Image.Resampling.BICUBIC
COLOURS = ((40, 90, 200), (30, 140, 70), (190, 60, 40), (130, 80, 170))


def holes_plane(mind: Mind, captions: Sequence[Concept], pictures: Sequence[Tensor]) -> Image.Image:
    """Draw true posteriors as lines and aggregates as filled ground, a colour for each caption.

    Arguments:
        mind: A mind with two latents.
        captions: What is said.
        pictures: Real pictures of each, `(N, C, H, W)`.
    """
    if mind.model.latent != 2:
        raise UsageError(f"`{mind.name}` has {mind.model.latent} latents; a plane has two.")
    side = SIDE * SCALE
    plane = np.full((side, side, 3), 255.0)
    for colour, some in zip(COLOURS, pictures, strict=False):
        density = aggregate_on(mind, some, side).cpu().numpy()
        highest = max(float(density.max()), np.finfo(float).tiny)  # 0 if all is beyond the plane
        strength = 0.75 * np.clip(density / highest, 0, 1)[..., None] ** 0.5
        plane = plane * (1 - strength) + np.array(colour) * strength
    for colour, caption in zip(COLOURS, captions, strict=False):
        density = posterior_on(mind, caption).cpu().numpy()
        for share in (0.5, 0.9):
            line = _line(density, _level(density, share), side)[..., None]
            plane = plane * (1 - line) + np.array(colour) * line
    image = Image.fromarray(plane.round().astype(np.uint8)[::-1])
    return _explained(image, [str(caption) for caption in captions])


@torch.no_grad()
def posterior_on(mind: Mind, caption: Concept) -> Tensor:
    """p(z|y) on the grid, `(SIDE, SIDE)`, summing to 1; rows go up."""
    z, _ = _grid(mind.device, SIDE)
    said = encode([caption], mind.device)
    whole = Labels(*(each.expand(len(z), -1) for each in said))
    log = mind.p_y(z).log_prob(whole) + mind.model.prior.log_prob(z)  # pyright: ignore[reportAttributeAccessIssue]
    return log.softmax(0).view(SIDE, SIDE)


@torch.no_grad()
def aggregate_on(mind: Mind, pictures: Tensor, side: int | None = None) -> Tensor:
    """The mean of q(z|x) over pictures on a grid, `(side, side)`, summing to about 1.

    What a picture says may be narrower than a cell of `SIDE`, so `side` may be finer.
    """
    side = side or SIDE
    z, cell = _grid(mind.device, side)
    total = torch.zeros(len(z), device=mind.device)
    for some in pictures.split(10):
        q = mind.read(some)
        total += q.log_prob(z[:, None]).exp().sum(1)
    return (total * cell / len(pictures)).view(side, side)


def _grid(device: torch.device, side: int) -> tuple[Tensor, float]:
    """The points of the plane `(side², 2)`, and the area that each stands for."""
    line = torch.linspace(-REACH, REACH, side, device=device)
    up, right = torch.meshgrid(line, line, indexing="ij")
    step = 2 * REACH / (side - 1)
    return torch.stack([right, up], -1).view(-1, 2), step**2


def _level(density: np.ndarray, share: float) -> float:
    """The density above which a share of all lies."""
    down = np.sort(density.ravel())[::-1]
    return float(down[np.searchsorted(np.cumsum(down), share * down.sum())])


def _line(density: np.ndarray, level: float, side: int) -> np.ndarray:
    """How much of every pixel `(side, side)` a line around what is denser covers, 0 to 1."""
    fine, last = 4 * side, len(density) - 0.5  # its first and last points are on the edges
    coarse = Image.fromarray(density.astype(np.float32))
    smooth = coarse.resize((fine, fine), _SMOOTH, box=(0.5, 0.5, last, last))
    inside = Image.fromarray(np.asarray(smooth) >= level).convert("L")
    wide, narrow = inside.filter(ImageFilter.MaxFilter(5)), inside.filter(ImageFilter.MinFilter(5))
    edge = ImageChops.subtract(wide, narrow).resize((side, side), Image.Resampling.BOX)
    return np.asarray(edge) / 255


def _explained(image: Image.Image, names: Sequence[str]) -> Image.Image:
    """The plane over the names of its colours."""
    texts = typeset(list(names), image.width // max(1, len(names)) - 40, (16, 14, 12))
    sheet = Image.new("RGB", (image.width + 20, image.height + 20 + 34), "white")
    sheet.paste(image, (10, 10))
    draw, x = ImageDraw.Draw(sheet), 14
    for text, colour in zip(texts, COLOURS, strict=False):
        draw.rectangle((x, image.height + 22, x + 16, image.height + 38), fill=colour)
        text.write(sheet, x + 24, image.height + 20)
        x += 48 + text.width
    return sheet
