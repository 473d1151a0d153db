"""Curves: ink where the values say, one scale for all, and nothing to draw refused."""

import numpy as np
import pytest

from mindseye.curves import MODEL, OTHER, TRUTH, Curve, CurveRow, curve_sheet
from mindseye.errors import UsageError
from mindseye.pictures import to_uint8

SIZE = (120, 80)
FRAME = 24 + 3  # the margin of a sheet, and the frame around a panel
INSIDE = 5  # what curves keep free within a panel


def panel(sheet, row=0, column=0, size=SIZE, left=0):
    """The pixels of a panel of a sheet without title, labels and captions, (H, W, 3)."""
    top, across = FRAME + row * (size[1] + 22), FRAME + left + column * (size[0] + 18)
    return np.asarray(sheet).astype(int)[top : top + size[1], across : across + size[0]]


def heights(pixels, rgb) -> np.ndarray:
    """Where a colour stands in every column that has it, counted from the top."""
    near = (np.abs(pixels - to_uint8(rgb).astype(int)).sum(-1) < 90).astype(float)
    rows = np.arange(len(near))[:, None]
    with np.errstate(invalid="ignore"):
        return (near * rows).sum(0) / near.sum(0)


def expected(values, low, high, height=SIZE[1]) -> np.ndarray:
    return INSIDE + (height - 1 - 2 * INSIDE) * (high - np.asarray(values)) / (high - low)


def one(values, **options):
    return curve_sheet([CurveRow("", [[Curve(values)]])], size=SIZE, **options)


def test_ink_is_where_the_values_say():
    values = np.linspace(-2, 6, 50)
    found = heights(panel(one(values)), MODEL)
    (columns,) = np.isfinite(found).nonzero()
    along = (columns - columns[0]) / (columns[-1] - columns[0])
    np.testing.assert_allclose(found[columns], expected(-2 + 8 * along, -2, 6), atol=1.5)


def ends(pixels) -> tuple[int, int]:
    """The first and the last column with ink of the model's colour."""
    (columns,) = np.isfinite(heights(pixels, MODEL)).nonzero()
    return columns[0], columns[-1]


def test_a_curve_fills_its_panel_right_of_the_numbers():
    first, last = ends(panel(one(np.linspace(0, 1, 9))))
    assert INSIDE < first < 30
    assert last == pytest.approx(SIZE[0] - 1 - INSIDE, abs=1)


def test_panels_begin_in_one_column_whatever_their_numbers():
    rows = [CurveRow("", [[Curve(np.full(30, value))]] * 2) for value in (0.1, 4000.0)]
    sheet = curve_sheet(rows, size=SIZE, by_row=True)
    found = {ends(panel(sheet, row, column)) for row in (0, 1) for column in (0, 1)}
    assert len(found) == 1


def test_numbers_stand_in_the_first_panel_of_a_row():
    flat = [Curve(np.full(30, 1.0))]
    sheet = curve_sheet([CurveRow("", [flat, flat])] * 2, size=SIZE)
    for row in (0, 1):
        assert (panel(sheet, row)[:, :15] != 255).any()
        assert (panel(sheet, row, 1)[:, :15] == 255).all()


def test_zero_is_a_line_even_where_no_value_is_near_it():
    pixels = panel(one(np.full(20, 9.0) + np.linspace(0, 1, 20)))
    row = round(float(expected(0, 0, 10)))
    assert len(np.unique(pixels[row, 30:], axis=0)) == 1
    assert pixels[row, 30].sum() < pixels[row - 3, 30].sum()


def test_all_panels_of_a_sheet_have_one_scale():
    low, high = np.full(30, 1.0), np.full(30, 4.0)
    rows = [CurveRow("", [[Curve(low)], [Curve(low)]]), CurveRow("", [[Curve(high)]])]
    sheet = curve_sheet(rows, size=SIZE)
    for row, column, value in ((0, 0, 1), (0, 1, 1), (1, 0, 4)):
        found = np.nanmean(heights(panel(sheet, row, column), MODEL))
        assert found == pytest.approx(expected(value, 0, 4), abs=1)


def test_a_row_may_have_a_scale_of_its_own():
    rows = [CurveRow("", [[Curve(np.full(30, value))]]) for value in (0.01, 4.0)]
    sheet = curve_sheet(rows, size=SIZE, by_row=True)
    found = [np.nanmean(heights(panel(sheet, row), MODEL)) for row in (0, 1)]
    assert found == pytest.approx([INSIDE, INSIDE], abs=1)


def test_curves_keep_their_colours_and_the_last_is_on_top():
    flat = np.full(30, 2.0)
    panels = [[Curve(flat, TRUTH), Curve(-flat, MODEL)], [Curve(flat, TRUTH), Curve(flat, OTHER)]]
    sheet = curve_sheet([CurveRow("", panels)], size=SIZE)
    both, last = panel(sheet), panel(sheet, column=1)
    assert np.nanmean(heights(both, TRUTH)) == pytest.approx(expected(2, -2, 2), abs=1)
    assert np.nanmean(heights(both, MODEL)) == pytest.approx(expected(-2, -2, 2), abs=1)
    assert np.isfinite(heights(last, OTHER)).sum() > 80
    assert np.isfinite(heights(last, TRUTH)).sum() == 0


def test_faint_draws_are_paler_than_their_mean():
    draws = np.stack([np.full(40, 1.0), np.full(40, 3.0)])
    shown = curve_sheet(
        [CurveRow("", [[Curve(draws, MODEL, faint=True), Curve(draws.mean(0))]])], size=SIZE
    )
    dark = (255 - panel(shown)[:, 60]).sum(-1)  # down the middle
    rows = [round(float(expected(value, 0, 3))) for value in (1, 2, 3)]
    faint, strong, other = (dark[row - 1 : row + 2].max() for row in rows)
    assert 0 < max(faint, other) < 0.7 * strong


def test_a_curve_of_zeros_is_drawn_in_the_middle():
    assert np.nanmean(heights(panel(one(np.zeros(9))), MODEL)) == pytest.approx(39.5, abs=1)


def test_sheets_are_as_large_as_their_panels():
    flat = [Curve(np.zeros(9))]
    small, wide = (curve_sheet([CurveRow("", [flat] * n)], size=SIZE) for n in (1, 3))
    assert wide.width - small.width == 2 * (SIZE[0] + 18)
    tall = curve_sheet([CurveRow("", [flat])] * 2, size=SIZE)
    assert tall.height - small.height == SIZE[1] + 22


def test_labels_captions_title_and_legend_take_room():
    flat = [Curve(np.zeros(9))]
    plain = curve_sheet([CurveRow("", [flat])], size=SIZE)
    said = curve_sheet(
        [CurveRow("label", [flat], ["caption"])], "title", [("model", MODEL)], size=SIZE
    )
    assert said.width > plain.width
    assert said.height > plain.height + 50
    swatch = (np.asarray(said) == to_uint8(MODEL)).all(-1)
    assert swatch[-45:].sum() >= 100


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([], "is empty"),
        ([CurveRow("a", [])], "is empty"),
        ([CurveRow("a", [[]])], "is empty"),
        ([CurveRow("a", [[Curve([])]])], "shape"),
        ([CurveRow("a", [[Curve([1.0])]])], "T ≥ 2"),
        ([CurveRow("a", [[Curve(np.zeros((1, 2, 3)))]])], "shape"),
        ([CurveRow("a", [[Curve([0.0, np.nan])]])], "NaN or infinite in row 'a'"),
        ([CurveRow("a", [[Curve([0.0, 1.0])]], ["x", "y"])], "`captions` has 2 entries"),
    ],
)
def test_what_cannot_be_drawn_is_refused(rows, words):
    with pytest.raises(UsageError, match=words.replace("(", "\\(")):
        curve_sheet(rows)


def test_panels_too_small_to_see_are_refused():
    with pytest.raises(UsageError, match="at least 24 pixels"):
        curve_sheet([CurveRow("", [[Curve([0.0, 1.0])]])], size=(10, 80))
