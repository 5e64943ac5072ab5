"""Figures are well-formed, in range, and say their numbers in words."""

import math
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from failscape.trials import Verdict
from failscape.views.figures.basic import curve, interval_bar, ticks, verdict_bar
from failscape.views.read.numbers import number, percent, spread

share = st.floats(0, 1)


@given(share, share, share)
def test_interval_bars_stay_on_their_scale(low, rate, high):
    svg = ET.fromstring(interval_bar(rate, (min(low, high), max(low, high)), 0.2))
    span = next(part for part in svg if part.get("class") == "span")
    assert float(span.get("x")) >= 0
    assert float(span.get("x")) + float(span.get("width")) <= 101


def test_an_interval_bar_without_numbers_is_still_a_picture():
    ET.fromstring(interval_bar(math.nan, (math.nan, math.inf)))


def test_the_parts_of_a_verdict_bar_fill_it():
    svg = ET.fromstring(verdict_bar({Verdict.PASS: 3, Verdict.FAIL: 1, Verdict.INVALID: 0, Verdict.NONE: 9}))
    widths = {part.get("class"): float(part.get("width")) for part in svg}
    assert widths == {"fail": 25, "pass": 75}
    ET.fromstring(verdict_bar(dict.fromkeys(Verdict, 0)))


@given(st.lists(st.integers(0, 10**7), min_size=1, max_size=30))
def test_curves_hold_any_growth(counts):
    points = [(0, 0), *((at + 1, count) for at, count in enumerate(counts))]
    svg = ET.fromstring(curve(points, "trials", "findings"))
    line = next(part for part in svg if part.get("class") == "line")
    for point in line.get("points").split():
        x, y = map(float, point.split(","))
        assert 0 <= x <= 560
        assert 0 <= y <= 220


def test_a_curve_escapes_the_names_of_its_axes():
    assert "<b>" not in curve([(0, 0), (1, 1)], "<b>", "findings")


@given(st.integers(0, 10**9))
def test_ticks_are_few_round_and_reach_the_top(most):
    marks = ticks(most)
    assert marks[0] == 0
    assert marks[-1] >= most
    assert 2 <= len(marks) <= 7


@pytest.mark.parametrize(
    ("value", "text"), [(0.0, "0%"), (0.032, "3.2%"), (0.41, "41%"), (1.0, "100%"), (math.nan, "–")]
)
def test_percent(value, text):
    assert percent(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.5, "0.5"), (19.96, "20"), (1234.5, "1,234"), (3.2e14, "3.2·10¹⁴"), (math.inf, "∞"), (math.nan, "–")],
)
def test_number(value, text):
    assert number(value) == text


@pytest.mark.parametrize(
    ("interval", "text"),
    [
        ((0.63, 1.0), "63–100%"),
        ((0.09, 0.99), "9–99%"),
        ((0.0, 0.37), "0–37%"),
        ((0.012, 0.049), "1.2–4.9%"),
        ((0.0001, 0.016), "0–1.6%"),
        ((0.994, 1.0), "99.4–100%"),
        ((math.nan, 1.0), "–"),
    ],
)
def test_intervals_are_short_to_read(interval, text):
    assert spread(interval) == text
