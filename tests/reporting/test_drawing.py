"""Charts place points where their axes say."""

from __future__ import annotations

import math
import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualfield.reporting.drawing import Series, _log_ticks, _ticks, line_chart, reliability_chart


def test_equal_ratios_are_equal_distances_on_a_log_axis() -> None:
    svg = line_chart([Series("gap", "first", [(1, 1.0), (2, 0.1), (3, 0.01)])], "passes", "gap", "A gap that falls.")
    (points,) = re.findall(r'points="([^"]+)"', svg)
    places = [tuple(map(float, pair.split(","))) for pair in points.split()]
    assert places[1][0] - places[0][0] == pytest.approx(places[2][0] - places[1][0], abs=0.11)
    assert places[1][1] - places[0][1] == pytest.approx(places[2][1] - places[1][1], abs=0.11)
    assert places[0][1] < places[2][1]  # up is larger


def test_points_that_cannot_be_drawn_are_left_out() -> None:
    points = [(1.0, math.nan), (2.0, -1.0), (3.0, 0.0), (4.0, math.inf), (5.0, 2.0)]
    svg = line_chart([Series("s", "first", points)], "x", "y", "One point is left.")
    assert svg.count("<circle") == 1
    assert "<polyline" not in svg
    assert line_chart([Series("s", "first", points[:4])], "x", "y", "None is left.") == ""
    assert reliability_chart([], "No answers.") == ""


@given(
    st.lists(st.tuples(st.floats(0, 1e6), st.floats(1e-100, 1e100)), min_size=1, max_size=20),
    st.booleans(),
)
def test_every_chart_is_sound_and_stays_in_its_frame(points: list[tuple[float, float]], log: bool) -> None:
    svg = line_chart([Series("s", "first", points, marked=True)], "x <b>", "y & z", 'words "quoted"', log=log)
    root = ElementTree.fromstring(svg)
    for circle in root.iter("circle"):
        assert -0.1 <= float(circle.attrib["cx"]) <= 400.1
        assert -0.1 <= float(circle.attrib["cy"]) <= 250.1
    assert root.attrib["aria-label"] == 'words "quoted"'


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6))
def test_ticks_are_few_round_and_inside(low: float, width: float) -> None:
    high = low + width
    if high <= low:
        return
    ticks = _ticks(low, high)
    assert 2 <= len(ticks) <= 6
    slack = 1e-6 * width + 1e-9 * abs(low)
    assert all(low - slack <= tick <= high + slack for tick in ticks)


@given(st.floats(-12, 12), st.floats(0.05, 15))
def test_ticks_of_log_axes_are_powers_of_ten_where_two_fit(exponent: float, decades: float) -> None:
    low, high = 10**exponent, 10 ** (exponent + decades)
    ticks = _log_ticks(low, high)
    assert 2 <= len(ticks) <= 6
    if decades >= 2:
        assert all(math.isclose(math.log10(tick), round(math.log10(tick)), abs_tol=1e-9) for tick in ticks)


def test_dots_of_a_reliability_chart_have_intervals_that_narrow_with_answers() -> None:
    svg = reliability_chart([(0.3, 0.25, 4), (0.8, 0.75, 4000)], "Two dots.")
    root = ElementTree.fromstring(svg)
    heights = [
        abs(float(line.attrib["y1"]) - float(line.attrib["y2"]))
        for line in root.iter("line")
        if line.attrib["class"] == "interval"
    ]
    assert heights[0] > 10 * heights[1] > 0
