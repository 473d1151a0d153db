import subprocess
import sys

import numpy as np
import pytest

from mindseye.errors import UsageError
from mindseye.pictures import to_uint8
from mindseye.sheets import PALETTE, Row, contact_sheet, plane_sheet, row_sheet

PAPER, RED, INK = (250, 249, 246), (213, 48, 43), (34, 37, 43)


def test_writing_a_sheet_does_not_load_every_plugin():
    code = (
        "import sys, numpy as np; from mindseye.sheets import *; from mindseye.pictures import *;"
        "png_bytes(contact_sheet(np.zeros((2, 1, 8, 8)), ['a', 'b']));"
        "print([m for m in sys.modules if m in ('PIL.TiffImagePlugin', 'PIL.WebPImagePlugin')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# Contact sheets


def ink(sheet):
    """Where the sheet is not bare paper, (H, W)."""
    return (np.asarray(sheet) != PAPER).any(-1)


def red(sheet):
    return (np.asarray(sheet) == RED).all(-1)


def runs(line):
    """First and last index of each stretch of a boolean line."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], line.astype(int), [0]])))
    return [(int(a), int(b) - 1) for a, b in edges.reshape(-1, 2)]


def test_pictures_are_on_the_sheet_enlarged_and_whole():
    grey = np.random.default_rng(0).random((1, 1, 28, 28))
    sheet = np.asarray(contact_sheet(grey, scale=4))
    rows, cols = runs(ink(sheet).any(1)), runs(ink(sheet).any(0))
    (top, bottom), (left, right) = rows[0], cols[0]
    inside = sheet[top + 1 : bottom, left + 1 : right, 0]  # within the thin frame
    assert np.array_equal(inside[::4, ::4], to_uint8(grey)[0, 0])
    assert inside.shape == (112, 112)


@pytest.mark.parametrize("side", [8, 20, 28, 32, 48, 64, 100])
def test_pictures_are_of_a_comfortable_size(side):
    sheet = contact_sheet(np.ones((1, 1, side, side)) * 0.5)
    (left, right), *_ = runs(ink(sheet).any(0))
    assert 84 <= right - left - 1 <= 132


def test_margins_are_even():
    filled = ink(contact_sheet(np.zeros((6, 1, 28, 28))))
    rows, cols = np.flatnonzero(filled.any(1)), np.flatnonzero(filled.any(0))
    margins = {rows[0], cols[0], filled.shape[0] - 1 - rows[-1], filled.shape[1] - 1 - cols[-1]}
    assert len(margins) == 1


def test_only_wrong_pictures_have_a_red_frame():
    pixels = red(contact_sheet(np.zeros((3, 1, 16, 16)), wrong=[False, True, False], columns=3))
    third = pixels.shape[1] // 3
    assert not pixels[:, :third].any()
    assert not pixels[:, -third:].any()
    (left, right), *_ = runs(pixels.any(0))
    assert third <= left < right < 2 * third
    assert pixels[pixels.shape[0] // 2, [left, right]].all()


def test_a_red_frame_hides_no_pixel_and_moves_nothing():
    ones = np.ones((1, 1, 16, 16))
    plain, marked = contact_sheet(ones), contact_sheet(ones, wrong=[True])
    assert plain.size == marked.size
    white = [(np.asarray(sheet) == 255).all(-1) for sheet in (plain, marked)]
    assert np.array_equal(*white)


@pytest.mark.parametrize(
    "caption", ["0 · small\nclockwise\ntop-right", "m" * 60, "some words " * 9]
)
@pytest.mark.parametrize("scale", [1, 4])
def test_captions_stay_inside_their_column(caption, scale):
    pictures = np.zeros((3, 1, 28, 28))
    alone = ink(contact_sheet(pictures, [caption, "", caption], columns=3, scale=scale))
    centre = alone.shape[1] // 2
    frame = 28 * scale // 2 + 4
    below = alone.copy()
    below[:, centre - frame : centre + frame] = False
    cols = runs(below.any(0))
    assert all(b < centre - frame - 4 or a > centre + frame + 4 for a, b in cols)


def test_text_never_touches_the_edge():
    sheet = contact_sheet(
        np.zeros((2, 1, 8, 8)), ["x" * 200, "q\n" * 12], title="a very long title " * 8
    )
    filled = ink(sheet)
    assert not filled[:8].any()
    assert not filled[-8:].any()
    assert not filled[:, :8].any()
    assert not filled[:, -8:].any()


def test_accented_captions_are_drawn():
    assert ink(contact_sheet(np.zeros((1, 1, 8, 8)), ["größe — 中"])).any()


@pytest.mark.parametrize(
    ("count", "columns"), [(1, 1), (5, 5), (6, 3), (10, 5), (12, 4), (16, 4), (64, 8)]
)
def test_rows_are_filled_evenly(count, columns):
    sheet = contact_sheet(np.zeros((count, 1, 8, 8)), scale=2)
    assert len(runs(ink(sheet).any(0))) == columns


def test_columns_can_be_chosen():
    sheet = contact_sheet(np.zeros((4, 3, 8, 8)), columns=2)
    assert len(runs(ink(sheet).any(0))) == len(runs(ink(sheet).any(1))) == 2


def test_a_title_stands_above_the_pictures():
    plain = contact_sheet(np.zeros((3, 1, 28, 28)))
    titled = contact_sheet(np.zeros((3, 1, 28, 28)), title="q(z | digit=4)")
    assert titled.width == plain.width
    assert titled.height > plain.height
    assert np.array_equal(np.asarray(titled)[-plain.height + 24 :], np.asarray(plain)[24:])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"captions": ["a"]}, "`captions` has 1 entries for 2 pictures"),
        ({"wrong": [True] * 3}, "`wrong` has 3 entries for 2 pictures"),
        ({"columns": 0}, "`columns=0` and `scale=14` must be at least 1"),
        ({"scale": -1}, "`scale=-1` must be at least 1"),
    ],
)
def test_a_sheet_that_cannot_be_is_refused(arguments, message):
    with pytest.raises(UsageError, match=message):
        contact_sheet(np.zeros((2, 1, 8, 8)), **arguments)


@pytest.mark.parametrize("shape", [(8, 8), (2, 2, 8, 8), (0, 1, 8, 8)])
def test_a_sheet_of_no_pictures_is_refused(shape):
    with pytest.raises(UsageError, match=r"`pictures` has shape .*; expected \(N, C, H, W\)"):
        contact_sheet(np.zeros(shape))


# Rows


def test_one_row_without_a_label_is_a_contact_sheet():
    pictures, words, wrong = np.random.default_rng(2).random((3, 1, 28, 28)), list("abc"), [1, 0, 1]
    sheet = contact_sheet(pictures, words, wrong, columns=3, title="t")
    assert np.array_equal(row_sheet([("", pictures, words, wrong)], "t"), sheet)


def test_labels_stand_left_of_the_pictures_and_stay_there():
    rows = [Row(label, np.zeros((2, 1, 28, 28))) for label in ("a", "size=big, " * 9, "x" * 90)]
    filled = ink(row_sheet(rows))
    first, *others = runs(filled.any(0) & (filled.sum(0) > 3 * 100))  # columns of the pictures
    assert len(others) == 1
    assert not filled[:, first[0] - 12 : first[0]].any()  # nothing reaches the first picture
    assert filled[:, 24 : first[0] - 12].any()


def test_a_label_is_level_with_the_middle_of_its_pictures():
    filled = ink(row_sheet([Row("mmmm", np.zeros((1, 1, 28, 28)))]))
    (top, bottom), *_ = runs(filled[:, 100:].any(1))
    above, below = np.flatnonzero(filled[:, :60].any(1))[[0, -1]]
    assert (above + below) / 2 == pytest.approx((top + bottom) / 2, abs=4)


def test_a_label_taller_than_its_pictures_makes_room():
    tall = row_sheet([Row("line\n" * 12, np.zeros((1, 1, 8, 8))), Row("", np.zeros((1, 1, 8, 8)))])
    filled = ink(tall)
    assert not filled[:8].any()
    assert not filled[-8:].any()
    assert len(runs(filled[:, 24:50].any(1))) >= 12


def test_rows_may_differ_in_length_and_keep_their_columns():
    rows = [Row("a", np.zeros((4, 1, 8, 8))), Row("b", np.zeros((2, 1, 8, 8)), ["x", "y"])]
    filled = ink(row_sheet(rows))
    wide = [run for run in runs(filled.sum(0) > 100) if run[1] - run[0] > 60]
    assert len(wide) == 4
    lower = filled[filled.shape[0] // 2 :]
    assert lower[:, wide[1][0] : wide[1][1]].any()
    assert not lower[:, wide[2][0] :].any()


def test_only_the_wrong_pictures_of_a_row_are_red():
    rows = [Row("a", np.zeros((2, 1, 8, 8))), ("b", np.zeros((2, 1, 8, 8)), None, [False, True])]
    pixels = red(row_sheet(rows))
    assert not pixels[: pixels.shape[0] // 2].any()
    assert pixels[:, pixels.shape[1] // 2 :].any()


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "`rows` is empty; expected at least one row of pictures"),
        ([("a", np.zeros((0, 1, 8, 8)))], r"`pictures` has shape \(0, 1, 8, 8\) in row 'a'"),
        ([("a", np.zeros((2, 1, 8, 8)), ["x"])], "`captions` has 1 entries for 2 .* in row 'a'"),
    ],
)
def test_rows_that_cannot_be_are_refused(rows, message):
    with pytest.raises(UsageError, match=message):
        row_sheet(rows)


def test_rows_of_scale_zero_are_refused():
    with pytest.raises(UsageError, match="`scale=0` must be at least 1"):
        row_sheet([("a", np.zeros((2, 1, 8, 8)))], scale=0)


# Planes


def plane(rows=3, columns=4, **arguments):
    pictures = np.random.default_rng(3).random((rows, columns, 1, 8, 8))
    return pictures, np.asarray(plane_sheet(pictures, **arguments))


def test_no_ink_leaves_the_colour_and_full_ink_hides_it():
    colours = np.broadcast_to(np.array(PALETTE[:4])[None], (3, 4, 3))
    for value in (0, 1):
        sheet = plane_sheet(np.full((3, 4, 1, 8, 8), value), colours, scale=1)
        inside = np.asarray(sheet)[27:51, 27:59]  # within margin and frame
        grounds = to_uint8(colours)[0].repeat(8, 0)
        assert (inside == (grounds if value == 0 else INK)).all()


def test_every_picture_of_a_plane_is_in_its_place():
    pictures, sheet = plane(scale=2)
    inside = sheet[27 : 27 + 48, 27 : 27 + 64, 0]
    tiles = inside[::2, ::2].reshape(3, 8, 4, 8).swapaxes(1, 2)
    expected = 255 + pictures[:, :, 0] * (INK[0] - 255.0)
    assert np.abs(tiles - expected).max() < 1.6
    assert np.array_equal(inside[::2, ::2], inside[1::2, 1::2])


def test_a_colour_picture_counts_as_its_mean():
    grey = np.random.default_rng(4).integers(0, 256, (2, 2, 1, 4, 4), dtype=np.uint8)
    assert np.array_equal(plane_sheet(grey), plane_sheet(grey.repeat(3, 2)))


@pytest.mark.parametrize(("side", "columns"), [(28, 20), (28, 3), (64, 20), (8, 1)])
def test_planes_are_of_a_comfortable_size(side, columns):
    sheet = plane_sheet(np.zeros((1, columns, 1, side, side)))
    assert min(columns * 84, 640) <= sheet.width - 54 <= max(columns * side, 1280)


def test_a_legend_shows_every_colour_and_fits():
    legend = [(f"concept number {i}", colour) for i, colour in enumerate(PALETTE)]
    _, sheet = plane(legend=legend)
    _, bare = plane()
    below = sheet[bare.shape[0] - 24 :]
    for colour in PALETTE:
        assert (below == to_uint8(colour)).all(-1).sum() == 12 * 12
    assert not ink(sheet)[:, -24:].any()


def test_the_palette_is_muted_and_legible():
    colours = np.array(PALETTE)
    luminance = colours @ [0.2126, 0.7152, 0.0722]
    assert luminance.min() > 0.6
    assert np.ptp(luminance) < 0.16
    assert (np.ptp(colours, axis=1) < 0.35).all()
    apart = np.abs(colours[:, None] - colours[None]).sum(-1) + np.eye(len(colours))
    assert apart.min() > 0.15


@pytest.mark.parametrize(
    ("shape", "arguments", "message"),
    [
        ((2, 2, 8, 8), {}, r"`pictures` has shape \(2, 2, 8, 8\); expected \(R, C, channels, H, W"),
        ((2, 2, 2, 8, 8), {}, "with 1 or 3 channels"),
        ((2, 2, 1, 8, 8), {"colours": np.ones((2, 3, 3))}, r"`colours` .*; expected \(2, 2, 3\)"),
        ((2, 2, 1, 8, 8), {"scale": 0}, "`scale=0` must be at least 1"),
    ],
)
def test_a_plane_that_cannot_be_is_refused(shape, arguments, message):
    with pytest.raises(UsageError, match=message):
        plane_sheet(np.zeros(shape), **arguments)
