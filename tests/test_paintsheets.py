"""Strips and films of paintings: what stands where, and nothing that moves by itself."""

from io import BytesIO
from itertools import pairwise

import numpy as np
import pytest
import torch
from PIL import Image

from mindseye.data.captioned_mnist import SENTENCE
from mindseye.painting import Painting
from mindseye.paintsheets import FRAME, REST, found_sheet, painting_film, painting_sheet

T, SIDE = 5, 10


def painting(words: bool = True, n: int = 2) -> Painting:
    """Canvas t is grey t / T all over; the picture is white; stroke t listens to word t."""
    caption = SENTENCE.parse("three top left")
    spoken = str(caption).split()
    attention = torch.eye(T, len(spoken)) if words else torch.zeros(T, 0)
    grey = torch.arange(T) / T
    return Painting(
        [caption] * n,
        [spoken] * n,
        grey.view(1, T, 1, 1, 1).expand(n, T, 1, SIDE, SIDE),
        attention.expand(n, T, -1),
        torch.tensor([4.5, 4.5, 1.0]).expand(n, T, 3),
        torch.ones(n, 1, SIDE, SIDE),
    )


def pixels(image: Image.Image) -> np.ndarray:
    return np.asarray(image.convert("RGB")).astype(int)


def test_a_strip_has_every_canvas_and_what_came_of_it():
    sheet = pixels(painting_sheet([painting(n=1)], window=4, side=40))
    greys = {round(255 * t / T) for t in range(T)}
    plain = sheet[(sheet.max(-1) == sheet.min(-1))][:, 0]
    for grey in greys:
        assert (plain == grey).sum() > 500  # most of a canvas of 40 by 40, less its frame


def test_words_are_as_dark_as_they_are_listened_to():
    with_words = pixels(painting_sheet([painting(n=1)], window=4, side=40))
    without = pixels(painting_sheet([painting(words=False, n=1)], window=4, side=40))
    blue = (with_words == (32, 92, 148)).all(-1)
    assert blue.sum() == T * 40 * 17  # one cell a stroke
    assert not (without == (32, 92, 148)).all(-1).any()
    assert with_words.shape[0] > without.shape[0]


def test_few_strokes_are_shown_of_many_and_the_last_is_among_them():
    few = painting_sheet([painting(n=1)], window=4, side=40, most=2)
    many = painting_sheet([painting(n=1)], window=4, side=40, most=5)
    assert many.width - few.width == 3 * 46
    assert (pixels(few)[..., 0] == round(255 * (T - 1) / T)).sum() > 500


@pytest.mark.parametrize("kind", ["gif", "png"])
def test_a_film_has_a_frame_a_stroke_and_rests_on_the_picture(kind):
    film = Image.open(BytesIO(painting_film([painting(), painting()], window=4, kind=kind)))
    assert film.n_frames == T + 1
    times, means = [], []
    for t in range(film.n_frames):
        film.seek(t)
        film.load()
        times.append(film.info["duration"])
        means.append(pixels(film)[10:40, 10:40].mean())
    assert times == [FRAME] * T + [REST]
    assert all(b > a for a, b in pairwise(means))  # it gets lighter


def test_frames_of_patches_stand_where_they_are_written():
    sheet = pixels(painting_sheet([painting(words=False, n=1)], window=4, side=100, most=1))
    red = np.argwhere((sheet == (194, 69, 45)).all(-1))
    height, width = red.max(0) - red.min(0)
    assert (height, width) == (30, 30)  # four filters, one pixel apart, ten times as large


def test_what_was_found_is_laid_out_in_rows_of_eight():
    one = found_sheet(torch.rand(8, 1, SIDE, SIDE), [1.0] * 8, ["a"] * 8, "found")
    two = found_sheet(torch.rand(9, 1, SIDE, SIDE), [1.0] * 9, ["a"] * 9, "found")
    assert two.width == one.width
    assert two.height > 1.5 * one.height
