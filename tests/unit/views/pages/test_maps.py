"""The map adds up trials where they belong."""

from failscape.views.figures.heat import MapCell, failure_map
from failscape.views.read import SubjectCounts
from failscape.views.read.hunt import ALONE, place_node, placer_of

PLACE = place_node({"cat": ("animals", ""), "cup": ("things", "")})


def counted(**subjects):
    return [SubjectCounts(name, ok, fail, 0) for name, (fail, ok) in subjects.items()]


def test_a_subject_counts_in_the_row_of_each_of_its_attributes():
    counts = [
        SubjectCounts("cat", 9, 1, 0),
        SubjectCounts("cat; Base: Colour=red; Image: Style=sketch", 6, 4, 0),
        SubjectCounts("cat; Base: Colour=blue", 8, 2, 0),
    ]
    found = failure_map(counts, PLACE)
    assert found.rows[0] == ALONE
    assert found.cells[ALONE, "animals"] == MapCell(1, 10, 1)
    assert found.cells["Base: Colour", "animals"] == MapCell(6, 20, 2)
    assert found.cells["Image: Style", "animals"] == MapCell(4, 10, 1)


def test_unknown_and_untried_subjects_are_left_out():
    assert not failure_map(counted(dog=(1, 1), cat=(0, 0)), PLACE).cells


def test_the_least_tried_rows_are_dropped_and_counted():
    counts = [SubjectCounts(f"cat; F: S{n}=v", n, 1, 0) for n in range(60)]
    found = failure_map(counts, PLACE, most_rows=40)
    assert len(found.rows) == 40
    assert found.hidden_rows == 20
    assert "F: S59" in found.rows
    assert "F: S0" not in found.rows


def test_a_hunt_without_a_map_and_a_moved_corpus_place_nothing():
    assert placer_of("unheard of", {})("cat") is None
    assert placer_of("t2i", {"space": {"corpus": "no/such/folder"}})("cat") is None
