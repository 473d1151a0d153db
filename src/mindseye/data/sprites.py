r"""Sprites: a square, an ellipse or a heart, drawn from five numbers, as dSprites draws them.

This is a reconstruction. The published pictures are of one closed rule, and the rule was found
again from 320 of them (the frames of the animation in the data set's own description). With the
codes of shape, scale $i$, orientation $j$ and position $k, l$, the point of the sprite that a pixel
shows, from the sprite's middle, is

$$ \begin{pmatrix} u \\ v \end{pmatrix} = \frac{1}{s_i}
   \begin{pmatrix} \cos t_j & -\sin t_j \\ \sin t_j & \cos t_j \end{pmatrix}
   \begin{pmatrix} \text{column} + ½ - 16 - 32 k / 31 \\
   \text{row} + ½ - 16 - 32 l / 31 \end{pmatrix}, $$

$s_i = 0.5, 0.6, …, 1$ and $t_j = 2π j / 39$. The pixel is 1 if the point is inside:

- square: $|u|$ and $|v|$ below 9.598;
- ellipse: $(u / 12.7657)^2 + (v / 7.2132)^2 < 1$;
- heart: inside the curve $u = 9.5938 \sin^3 φ$, $v = -1.4363 - 0.66221\, f(\cos φ)$, where
  $f(c) = 13 \cos φ - 5 \cos 2φ - 2 \cos 3φ - \cos 4φ = 4 + 19 c - 2 c^2 - 8 c^3 - 8 c^4$.

Of the 77 010 pixels of sprites in the 320 frames 8 differ, all of one heart that is shown four
times; squares and ellipses are exact.

References:
    dSprites: Disentanglement testing Sprites dataset, Matthey, Higgins, Hassabis and Lerchner, 2017
    https://github.com/google-deepmind/dsprites-dataset
"""

from __future__ import annotations

import math
from functools import cache

import torch
from torch import Tensor

from mindseye.data.canvas import paste, portions

__all__ = ["SIZES", "render"]

SIZES = (3, 6, 40, 32, 32)
"""How many shapes, scales, orientations, columns and rows there are."""

CANVAS, WINDOW = 64, 28  # no sprite reaches further than 14 pixels
SQUARE = 9.598
ELLIPSE = (12.7657, 7.2132)
HEART = (9.5938, 0.66221, -1.4363)  # half its width, the unit of its height, its middle


def render(codes: Tensor) -> Tensor:
    """Draw the sprites of codes int64 `(B, 5)`, float32 `(B, 1, 64, 64)`.

    The codes are those of shape (square, ellipse, heart), scale, orientation, column and row.
    Points are float64, and none is so near an outline that a device could decide otherwise.
    """
    canvas = torch.zeros(len(codes), 1, CANVAS, CANVAS, device=codes.device)
    for part in portions(canvas):
        _draw(canvas[part], *codes[part].unbind(1))
    return canvas


def _draw(
    canvas: Tensor, shape: Tensor, scale: Tensor, orientation: Tensor, x: Tensor, y: Tensor
) -> None:
    """Draw sprites on empty canvases."""
    turns, middles = _tables(canvas.device)
    column, row = (middles[place].long() - WINDOW // 2 for place in (x, y))
    pixel = torch.arange(WINDOW, device=canvas.device) + 0.5
    right = (pixel + column[:, None] - middles[x][:, None])[:, None, :]  # (B, 1, 28)
    down = (pixel + row[:, None] - middles[y][:, None])[:, :, None]  # (B, 28, 1)
    cosine, sine = turns[scale, orientation][:, :, None, None].unbind(1)
    inside = _inside(right * cosine - down * sine, right * sine + down * cosine, shape)
    paste(inside.float()[:, None], canvas, row, column)


def _inside(u: Tensor, v: Tensor, shape: Tensor) -> Tensor:
    """Whether points `(B, h, w)` are inside the sprites of shapes `(B,)`."""
    shape = shape[:, None, None]
    square = torch.maximum(u.abs(), v.abs()) < SQUARE
    ellipse = (u / ELLIPSE[0]) ** 2 + (v / ELLIPSE[1]) ** 2 < 1
    return torch.where(shape == 0, square, torch.where(shape == 1, ellipse, _in_heart(u, v)))


def _in_heart(u: Tensor, v: Tensor) -> Tensor:
    """Whether points are between the two heights that the outline has at their width."""
    half, unit, middle = HEART
    sine2 = (u.abs() / half) ** (2 / 3)
    cosine = (1 - sine2).clamp(min=0).sqrt()
    height = (middle - v) / unit
    even = 4 - 2 * cosine**2 - 8 * cosine**4
    odd = 19 * cosine - 8 * cosine**3
    return (sine2 < 1) & ((height - even).abs() < odd)


@cache
def _tables(device: torch.device) -> tuple[Tensor, Tensor]:
    """Cosine and sine over scale of all scales and orientations `(6, 40, 2)`, and middles `(32,)`.

    They are computed on the CPU, so that all devices have the same.
    """
    _, scales, orientations, places, _ = SIZES
    angles = [2 * math.pi * j / (orientations - 1) for j in range(orientations)]
    turns = [
        [(math.cos(angle) / s, math.sin(angle) / s) for angle in angles]
        for s in (0.5 + 0.5 * i / (scales - 1) for i in range(scales))
    ]
    middles = [16 + 32 * k / (places - 1) for k in range(places)]
    made = (torch.tensor(turns, dtype=torch.float64), torch.tensor(middles, dtype=torch.float64))
    return made[0].to(device), made[1].to(device)
