"""The map adds up: cells to totals, totals to the trials that the search drew; opening narrows."""

from __future__ import annotations

from failscape.views.viewer.screens.findings import Branches, Tried, confusions_of, failure_map, heat_of

TREE = {"cat": Branches("animal", "pet"), "cow": Branches("animal", "farm"), "car": Branches("thing", "road")}
RED, BIG = ("Base: Colour", "red"), ("Base: Size", "big")
TRIED = [
    Tried("cat", (), 0, 10),
    Tried("cat", (RED,), 5, 10),
    Tried("cow", (RED, BIG), 4, 4),
    Tried("car", (BIG,), 1, 8),
    Tried("car", (), 0, 0),
]


def cell(heat, row, column):
    rows, columns = ["", *heat["rows"]], ["", *heat["columns"]]
    found = heat["cells"][rows.index(row)][columns.index(column)]
    return found and (found["failures"], found["trials"])


def test_cells_count_trials_by_class_and_kind() -> None:
    heat = heat_of(TRIED, TREE, {})
    assert heat["columns"] == ["animal", "thing"]
    assert heat["rows"][0] == "alone"
    assert cell(heat, "Base: Colour", "animal") == (9, 14)
    assert cell(heat, "alone", "animal") == (0, 10)
    assert cell(heat, "Base: Colour", "thing") is None
    assert cell(heat, "", "thing") == (1, 8)
    assert cell(heat, "", "") == (10, 32), "a trial with two attributes counts once in the totals"


def test_opening_a_class_and_a_kind_narrows() -> None:
    assert heat_of(TRIED, TREE, {"class": "animal"})["columns"] == ["farm", "pet"]
    heat = heat_of(TRIED, TREE, {"class": "animal", "sub": "pet", "kind": "Base: Colour"})
    assert heat["columns"] == ["cat"]
    assert heat["rows"] == ["red"]
    assert cell(heat, "red", "cat") == (5, 10)
    assert heat_of(TRIED, {}, {})["columns"] == ["cow", "cat", "car"], "without a corpus things stand alone"


def test_totals_are_those_of_the_evidence_model(library) -> None:
    hunt = library.hunt("atlas", 1)
    found = failure_map(hunt, {"class": "", "kind": ""})["heat"]
    counts = list(hunt.reader.subjects())
    assert cell(found, "", "") == (sum(one.fails for one in counts), sum(one.valid for one in counts))
    for row in found["rows"]:
        mine = [one for one in counts if f"; {row}=" in one.subject]
        if row != "alone":
            assert cell(found, row, "") == (sum(one.fails for one in mine), sum(one.valid for one in mine))


def test_confusions_rank_what_is_taken_for_what() -> None:
    found = confusions_of({("cat", "dog"): 5, ("cat", "fox"): 1, ("cow", "dog"): 2})
    assert found["rows"] == ["cat", "cow"]
    assert found["columns"] == ["dog", "fox"]
    assert found["counts"] == [[5, 1], [2, 0]]
    assert found["total"] == 8
