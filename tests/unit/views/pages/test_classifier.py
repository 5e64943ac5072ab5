"""The classifier's parts of the report: plots, cards and notes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from failscape.kinds.classifier.details import BugDetails, RateCounts, RealRate, SeenRates, Toggle
from failscape.kinds.classifier.page import LABELS, _bars, _shares, notes, placer
from failscape.trials import Finding
from failscape.views.figures.basic import mirrored

HOSTILE = "<b>&\"'"


def finding(**changes: Any) -> Finding:
    baseline = RateCounts(1, 50, 0, 0, 0.02, (0.0, 0.1))
    details = BugDetails("cat", "cats", (), "corpus", True, None, baseline, {}, {})
    details = replace(details, **changes)
    return Finding("cat; Said=x", "t", "c", "certified", 0.5, (0.4, 0.6), 100.0, 10, 5, details=details)


def test_wrong_labels_are_drawn_on_both_sides_and_escaped() -> None:
    plot = str(mirrored({"dog": 0.02}, {"dog": 0.4, HOSTILE: 0.1}))
    assert plot.count("<rect") == 4
    assert "40%" in plot
    assert "2.0%" in plot
    assert HOSTILE not in plot
    assert mirrored({}, {}) == ""


def test_only_the_commonest_labels_are_shown() -> None:
    plot = str(mirrored({}, {f"label {n}": n / 100 for n in range(30)}, most=5))
    assert plot.count("<title>") == 5
    assert "label 29" in plot


def test_counterfactuals_are_changes_from_the_bug() -> None:
    clause = "Background: place=snow"
    toggle = Toggle(clause, "the snow", True, "without", "", "", "cat", 0.35, (0.2, 0.5), 40, 0.05, 0.4)
    first, bar = _bars([toggle])
    assert (first.rate, bar.name, bar.effect, bar.interval) == (0.4, "without “snow”", -0.35, (-0.5, -0.2))
    assert bar.is_cause
    other = replace(toggle, what="instead", instead="beach")
    assert _bars([toggle, other])[2].name == "“beach” instead"
    assert _bars([]) == []


def test_labels_beyond_the_commonest_are_others_and_the_one_aimed_at_is_marked() -> None:
    wrong = {f"label {n:02}": 30 - n for n in range(20)} | {"aimed": 1}
    before, after = _shares(finding(wrong=wrong, aim="aimed").details, 1000)
    assert before == {}
    assert len(after) == LABELS + 1
    assert "→ aimed" in after
    assert sum(after.values()) == pytest.approx(sum(wrong.values()) / 1000)


def test_notes_say_what_to_be_careful_about() -> None:
    real = RealRate("captions", 3, 4, 0.75, (0.2, 0.99), 5, 50)
    said = list(notes(finding(spurious=("a=b",), confirmed=False, real=real)))
    assert len(said) == 3
    assert "3 of 4 fail" in said[1]
    assert list(notes(finding())) == []
    seen = SeenRates(40, 12, 0.3, (0.2, 0.45), 0.6, 2)
    (text,) = notes(finding(seen=seen))
    assert text.startswith("60% of the pictures show what was asked for")
    assert "as asked, 12 of 40 fail" in text
    assert "In 2 more the wrong label's object is there too" in text


def test_subjects_are_placed_by_class_and_kind() -> None:
    place = placer({})
    where = place("cat; Base: Colour=red; Background: Place=snow")
    assert where is not None
    assert (where.about, where.rows) == ("cat", ("Base: Colour", "Background: Place"))
    plain = place("cat")
    assert plain is not None
    assert plain.rows == ("in general",)
