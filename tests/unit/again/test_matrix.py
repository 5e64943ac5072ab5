"""Several models on several sets: counts, totals, pairs, and what is proven."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from failscape.again.cases import AskedCase, ModelSide
from failscape.again.comparing import TOTAL, CaseSet, matrix_of, recorded_sets
from failscape.again.decide import CaseResult, ModelResults
from failscape.atlas import HuntRow
from failscape.plugins import find_kind
from failscape.trials import Purpose

ROW = HuntRow(1, "classifier", {}, {}, (0, 1), None, 0.0)


def case(subject: str, mark: str, number: int, failed: bool) -> AskedCase:
    name = f"{subject}/{mark}{number}"
    return AskedCase(name, subject, f"{subject}#{mark}{number}", number, (), (), (name,), failed)


def _purpose(one: AskedCase) -> Purpose:
    return find_kind(ROW.kind).purposes.of_key(one.key)


def side(name: str, cases: list[AskedCase], found: tuple[str, ...] = ()) -> ModelSide:
    known = {(one.subject, one.case): one for one in cases}
    results = tuple(
        CaseResult(
            one.subject,
            one.case,
            one.failed,
            _purpose(one).fixed_beforehand,
            _purpose(one).samples_space,
            one.key,
        )
        for one in cases
    )
    return ModelSide(name, Path(name), ROW, known, ModelResults(name, results), found=frozenset(found))


def sides() -> list[ModelSide]:
    """The first fails on every fourth plain picture and on its bug, the second on hardly anything."""
    plain = [case("car", "b", number, number % 4 == 0) for number in range(80)]
    bug = [case("car; Time=night", "f", number, number % 5 > 0) for number in range(60)]
    toggles = [case("car; Time=noon", "f", number, False) for number in range(20)]
    later = [case("car; Time=night", "f", 1_000 + number, True) for number in range(9)]
    first = side("old", [*plain, *bug, *toggles, *later], ("car; Time=night",))
    second = side("new", [replace(one, failed=False) for one in (*plain, *bug)][:-10])
    return [first, second]


def test_sets_are_what_hunts_drew_before_anybody_compared() -> None:
    plain, bugs = recorded_sets(sides())
    assert (plain.name, len(plain.cases)) == ("plain pictures", 80)
    assert (bugs.name, len(bugs.cases)) == ("findings of old", 60), "neither toggles nor later pictures"


def test_every_model_is_counted_on_the_cases_that_all_have() -> None:
    both = sides()
    matrix = matrix_of(both, recorded_sets(both))
    assert matrix.sets == ("plain pictures", "findings of old", TOTAL)
    assert matrix.given == (80, 60, 140)
    (old_plain, old_bugs, old_all), (new_plain, new_bugs, new_all) = matrix.cells
    assert [(one.failures, one.cases) for one in (old_plain, old_bugs, old_all)] == [
        (20, 80),
        (40, 50),
        (60, 130),
    ]
    assert [(one.failures, one.cases) for one in (new_plain, new_bugs, new_all)] == [
        (0, 80),
        (0, 50),
        (0, 130),
    ]
    assert old_plain.beside is None
    assert new_bugs.beside is not None
    assert new_bugs.beside.difference == -0.8
    low, high = new_bugs.beside.interval
    assert low <= -0.8 <= high < 0
    assert new_bugs.proven
    assert matrix.as_data()["models"][1]["cells"][2]["difference"] == -60 / 130


def test_a_case_of_two_sets_counts_once_in_the_total() -> None:
    both = sides()
    plain = recorded_sets(both)[0]
    matrix = matrix_of(both, [plain, CaseSet("half of them", plain.cases[:40])])
    assert matrix.given == (80, 40, 80)
    assert matrix.cells[0][2].cases == 80


def test_models_that_do_the_same_differ_nowhere() -> None:
    first = sides()[0]
    matrix = matrix_of([first, side("twin", list(first.cases.values()))], recorded_sets([first]))
    for cell in matrix.cells[1]:
        assert cell.beside is not None
        assert cell.beside.difference == 0
        assert not cell.proven


def test_a_set_without_a_shared_case_has_no_rate() -> None:
    first = sides()[0]
    matrix = matrix_of([first, side("other", [case("owl", "b", 0, True)])], recorded_sets([first]))
    assert [cell.rate for cell in matrix.cells[1]] == [None] * 3
    assert not any(cell.proven for cell in matrix.cells[1])
