"""Charts: heights in proportion, ends in sight, and nothing to draw refused."""

import numpy as np
import pytest

from mindseye.charts import (
    BELOW,
    CELL,
    COLOURS,
    LABELS,
    LEFT,
    Panel,
    Series,
    bar_chart,
    cloud_chart,
    heat_chart,
    heat_charts,
    line_chart,
    linked_chart,
    point_chart,
    split_chart,
)
from mindseye.errors import UsageError


def painted(image, colour) -> np.ndarray:
    return (np.asarray(image) == np.array(colour)).all(-1)


def test_a_bar_twice_as_high_has_twice_the_ink():
    chart = bar_chart([Series("a", [1.0, 2.0])], "title", "axis")
    columns = painted(chart, COLOURS[0]).sum(0)
    heights = columns[columns > 0]
    assert heights.max() / heights.min() == pytest.approx(2, abs=0.1)


def test_on_a_logarithmic_axis_equal_ratios_are_equal_steps():
    chart = bar_chart([Series("a", [1.0, 0.1, 0.01])], "title", "axis", log=True)
    columns = painted(chart, COLOURS[0]).sum(0)
    high, middle = sorted(set(columns[columns > 0].tolist()))[::-1][:2]
    assert middle == pytest.approx(high / 2, abs=2)


def test_every_series_has_a_strip_and_a_colour():
    chart = bar_chart([Series("a", [1.0]), Series("b", [2.0])], "title", "axis", line=1.5)
    rows = [painted(chart, COLOURS[i]).any(1).nonzero()[0].mean() for i in (0, 1)]
    assert rows[0] < rows[1]


@pytest.mark.parametrize("count", [1, 50, 100, 392, 2000])
def test_bars_however_many_end_where_the_grid_ends(count):
    chart = bar_chart([Series("a", [1.0] * count)], "title", "axis")
    (columns,) = painted(chart, COLOURS[0]).any(0).nonzero()
    assert columns.min() == 96
    assert columns.max() < chart.width - 16


def test_lying_bars_are_as_long_as_their_parts():
    series = [Series("a", [30.0, 10.0]), Series("b", [5.0, 15.0])]
    chart = split_chart(series, ["one", "two"], "title", "axis")
    lengths = [
        np.array([painted(chart, COLOURS[i])[row].sum() for row in (114, 176)]) for i in (0, 1)
    ]
    whole = chart.width - 2 * 16
    assert lengths[0] / whole == pytest.approx([0.75, 0.125], abs=0.01)
    assert lengths[1] / whole == pytest.approx([0.25, 0.375], abs=0.01)


def test_a_number_for_each_part_is_expected():
    with pytest.raises(UsageError, match="expected a number for each part"):
        split_chart([Series("a", [1.0])], ["one", "two"], "title", "axis")


def test_points_stand_where_their_numbers_say():
    chart = point_chart([("a", 0.0, 0.0), ("b", 1.0, 2.0)], "title", ("x", "y"))
    inside = np.asarray(chart)[:, :560]
    at = []
    for i in (0, 1):
        rows, columns = (inside == np.array(COLOURS[i])).all(-1).nonzero()
        at.append((columns.mean(), rows.mean()))
    assert at[0][0] < at[1][0]
    assert at[0][1] > at[1][1]


def test_nothing_to_draw_is_refused():
    with pytest.raises(UsageError, match="`series` is empty"):
        bar_chart([], "", "")
    with pytest.raises(UsageError, match="`points` is empty"):
        point_chart([], "", ("", ""))


def test_a_cloud_has_one_colour_and_stands_where_its_numbers_say():
    chart = cloud_chart([("a", [(0.0, 0.0), (0.0, 1.0)]), ("b", [(1.0, 0.5)])], "title", ("x", "y"))
    inside = np.asarray(chart)[:, :560]
    first, second = ((inside == np.array(COLOURS[i])).all(-1).nonzero() for i in (0, 1))
    assert len(first[0]) == 2 * len(second[0])
    assert first[1].mean() < second[1].mean()
    assert first[0].mean() == pytest.approx(second[0].mean(), abs=1)


def test_a_cloud_of_nothing_is_refused():
    with pytest.raises(UsageError, match="`groups` is empty"):
        cloud_chart([("a", [])], "title", ("x", "y"))


def test_a_cell_is_the_darker_the_larger_its_number():
    chart = np.asarray(heat_chart("a", [[0.0, 0.5, 1.0]], ["row"], ["x", "y", "z"]).convert("L"))
    inside = chart[50:52, :].mean(0)  # above the numbers
    shades = [inside[LABELS + CELL * j + 4] for j in range(3)]
    assert shades[0] > shades[1] > shades[2]
    assert shades[0] == 255


def test_tables_stand_under_each_other():
    one = ("a", [[0.1, 0.2]], ["row"], ["x", "y"])
    assert heat_charts([one, one], "t", "v").height > heat_charts([one], "t", "v").height


def test_a_table_that_does_not_fit_its_names_is_refused():
    with pytest.raises(UsageError, match="expected 1 rows of 2 numbers"):
        heat_chart("a", [[0.1]], ["row"], ["x", "y"])
    with pytest.raises(UsageError, match="`parts` is empty"):
        heat_charts([], "", "")


# Points that are joined


def test_lines_lie_beneath_the_points_they_join():
    groups = [("a", [(0.0, 0.0)]), ("b", [(1.0, 1.0)])]
    apart = linked_chart(groups, [], "t")
    joined = linked_chart(groups, [[(0.0, 0.0), (1.0, 1.0)]], "t")
    changed = np.any(np.asarray(apart) != np.asarray(joined), axis=-1)
    assert 200 < changed.sum() < 2000  # a thin line
    inks = {tuple(ink) for ink in np.asarray(apart)[changed]}
    assert inks == {(255, 255, 255)}  # nothing that was drawn is drawn over


def test_names_stand_beside_few_points():
    groups = [("a", [(0.0, 0.0), (1.0, 1.0)])]
    plain = np.asarray(linked_chart(groups, [], "t"))
    named = np.asarray(linked_chart(groups, [], "t", [("Ada", (0.0, 0.0))]))
    assert 20 < np.any(plain != named, axis=-1).sum() < 400


def test_points_that_are_not_there_cannot_be_joined():
    with pytest.raises(UsageError, match="`groups` is empty"):
        linked_chart([], [], "t")


# Lines: the frame of a panel is 300 high, 30 from its top, and ends 190 before the right


def rows_of(chart, i: int) -> np.ndarray:
    """The row of a line in every column of the frame that it goes through."""
    inked = painted(chart, COLOURS[i])[:, LEFT : chart.width - 190]
    return np.array([column.nonzero()[0].mean() for column in inked.T if column.any()])


def test_a_line_goes_from_one_end_of_the_frame_to_the_other_in_proportion():
    chart = line_chart([Panel("a", [("up", [(0, 0.0), (10, 1.0)])])], "title", ("x", "y"))
    rows = rows_of(chart, 0)
    assert len(rows) == pytest.approx(chart.width - 190 - LEFT, abs=2)
    assert np.diff(rows).max() <= 0
    middle = rows[len(rows) // 2]
    assert middle == pytest.approx((rows[0] + rows[-1]) / 2, abs=2)


def test_on_a_logarithmic_axis_lines_of_powers_are_straight_and_what_is_not_above_0_is_left_out():
    powers = [(step, 10.0**step) for step in range(5)]
    chart = line_chart(
        [Panel("a", [("powers", powers), ("cut", [(0, 10.0), (2, 0.0), (4, 10.0)])])],
        "title",
        ("x", "y"),
        log=True,
    )
    rows = rows_of(chart, 0)
    assert rows == pytest.approx(np.linspace(rows[0], rows[-1], len(rows)), abs=4)
    assert rows[0] - rows[-1] == pytest.approx(300 - BELOW - 30, abs=3)
    assert np.ptp(rows_of(chart, 1)) <= 1


def test_panels_have_one_scale_and_one_colour_for_every_place():
    low, high = [(0, 1.0), (1, 1.0)], [(0, 3.0), (1, 3.0)]
    both = line_chart([Panel("a", [("l", low)]), Panel("b", [("h", high)])], "title", ("x", "y"))
    upper, lower = np.split(painted(both, COLOURS[0])[56:, LEFT : both.width - 190], 2)
    assert upper.any(1).nonzero()[0].mean() > lower.any(1).nonzero()[0].mean() + 100


def test_a_place_on_the_axis_is_marked():
    line = [("a", [(0, 1.0), (100, 2.0)])]
    plain, marked = (
        np.asarray(line_chart([Panel("a", line, mark)], "title", ("x", "y"))).astype(int)
        for mark in (None, ("here", 25.0))
    )
    changed = (plain != marked).any((0, 2)).nonzero()[0]
    assert changed.min() == round(LEFT + (760 - 190 - LEFT) / 4)


@pytest.mark.parametrize("panels", [[], [Panel("a", [("l", [])])], [Panel("a", [])]])
def test_no_lines_are_refused(panels):
    with pytest.raises(UsageError, match="`panels` is empty"):
        line_chart(panels, "title", ("x", "y"))
