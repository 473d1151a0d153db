"""Charts: heights in proportion, ends in sight, and nothing to draw refused."""

import numpy as np
import pytest

from mindseye.charts import COLOURS, Series, bar_chart, point_chart
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
