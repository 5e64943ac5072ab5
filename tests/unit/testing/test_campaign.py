"""The table of campaigns: every case has its rows, and differences are told."""

from __future__ import annotations

from pathlib import Path

from benchmarks.campaign.cases import CASES
from benchmarks.campaign.measurements import (
    at_least,
    at_most,
    differences,
    few_of,
    just,
    read_table,
    write_table,
)


def test_the_committed_table_has_every_case_and_no_other() -> None:
    assert {case for case, _ in read_table()} == set(CASES)


def test_a_table_comes_back_as_it_was_written(tmp_path: Path) -> None:
    rows = [just("found", 1234), at_least("share, in all", 0.25, 0.5), at_most("false", 1, 1)]
    table = {("some case", one.name): one for one in rows}
    write_table(table, tmp_path / "table.csv")
    assert read_table(tmp_path / "table.csv") == table


def test_promises_are_kept_up_to_their_limit() -> None:
    assert at_most("false", 5, 5).kept
    assert not at_most("false", 5.1, 5).kept
    assert not at_least("true", 4, 5).kept
    assert few_of("false", 5, 100, 0.05).kept
    assert not few_of("false", 30, 100, 0.05).kept


def test_differences_are_told_for_the_cases_that_were_played() -> None:
    before = {("a", "x"): just("x", 1), ("a", "gone"): just("gone", 1), ("b", "x"): just("x", 1)}
    now = {("a", "x"): at_most("x", 2, 1), ("a", "new"): just("new", 3)}
    assert differences(now, before) == [
        "a: gone: 1 -> not measured",
        "a: new: not measured -> 3",
        "a: x: 1 -> 2 (promise broken)",
    ]
    assert differences(before, before) == []
