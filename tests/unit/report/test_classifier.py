"""The classifier's parts of the report: plots, cards and notes."""

from __future__ import annotations

from typing import Any

from failscape.report.figures.mirrored import mirrored
from failscape.report.kinds.classifier import _bars, notes, placer
from failscape.trials import Finding

HOSTILE = "<b>&\"'"


def finding(**details: Any) -> Finding:
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
    toggle = {
        "clause": "Background: place=snow",
        "what": "without",
        "instead": "",
        "effect": 0.35,
        "interval": [0.2, 0.5],
        "pairs": 40,
        "rate": 0.05,
        "full_rate": 0.4,
    }
    first, bar = _bars({"toggles": [toggle]})
    assert (first.rate, bar.name, bar.effect, bar.interval) == (0.4, "without “snow”", -0.35, (-0.5, -0.2))
    assert bar.is_cause
    other = {**toggle, "what": "instead", "instead": "beach"}
    assert _bars({"toggles": [toggle, other]})[2].name == "“beach” instead"
    assert _bars({}) == []


def test_notes_say_what_to_be_careful_about() -> None:
    real = {"fails": 3, "photos": 4, "interval": [0.2, 0.99], "all_fails": 5, "all_photos": 50}
    said = list(notes(finding(spurious=["a=b"], confirmed=False, real=real)))
    assert len(said) == 3
    assert "3 of 4 fail" in said[1]
    assert list(notes(finding(spurious=[], confirmed=True))) == []


def test_subjects_are_placed_by_class_and_kind() -> None:
    place = placer({})
    where = place("cat; Base: Colour=red; Background: Place=snow")
    assert where is not None
    assert (where.about, where.rows) == ("cat", ("Base: Colour", "Background: Place"))
    plain = place("cat")
    assert plain is not None
    assert plain.rows == ("in general",)
