"""Pairing, statuses, and what is shown of them."""

from __future__ import annotations

import numpy as np
import pytest

from failscape.again.decide import (
    STATUSES,
    CaseResult,
    CompareRules,
    ModelResults,
    compare_results,
    pair_up,
)


def results(
    name: str, fails: dict[str, str], fresh: bool = True, sampled: bool = False, claimed: tuple[str, ...] = ()
) -> ModelResults:
    """`fails` is subject → a letter per case: x failed, . passed, anything else: no result."""
    found = [
        CaseResult(subject, str(number), letter == "x", fresh, sampled)
        for subject, letters in fails.items()
        for number, letter in enumerate(letters)
        if letter in "x."
    ]
    return ModelResults(name, tuple(found), frozenset(claimed))


def test_only_cases_that_both_have_are_paired() -> None:
    pairs = pair_up(results("a", {"cat": "x.-x", "dog": "x"}), results("b", {"cat": ".x.", "owl": "x"}))
    assert [one.subject for one in pairs] == ["cat"]
    assert tuple(pairs[0].all) == (0, 1, 1, 0)


def test_a_case_told_twice_counts_once() -> None:
    twice = results("a", {"cat": "x"})
    twice = ModelResults("a", twice.results * 2)
    assert pair_up(twice, results("b", {"cat": "."}))[0].all.pairs == 1


def test_each_status_has_its_subject() -> None:
    first = {"mended": "x" * 60, "eased": "x" * 60, "same": "." * 200, "hurt": "x...." * 40}
    second = {"mended": "." * 60, "eased": "x." * 30, "same": "." * 200, "hurt": "xxx.." * 40}
    first |= {"lost": "." * 60, "open": "x.x."}
    second |= {"lost": "x" * 60, "open": ".xx."}
    found = compare_results(results("a", first), results("b", second), CompareRules(limit=0.1))
    assert {row.subject: row.status for row in found.rows} == {
        "mended": "fixed",
        "eased": "better",
        "same": "unchanged",
        "hurt": "worse",
        "lost": "new",
        "open": "undecided",
    }


def test_a_subject_that_was_picked_shows_rates_of_fresh_pairs_only() -> None:
    picked = results("a", {"cat": "x" * 12}, fresh=False, claimed=("cat",))
    other = results("b", {"cat": "." * 12})
    row = compare_results(picked, other).rows[0]
    assert row.first_rate is None
    assert row.difference is None
    assert row.all.pairs == 12
    assert row.interval[1] < 0
    data = row.as_data()
    assert data["rates"] == [None, None]
    assert data["pairs"] == 12
    assert data["counted"] == 0


def test_the_json_has_a_list_for_each_status() -> None:
    data = compare_results(results("a", {"cat": "x."}), results("b", {"cat": ".."})).as_data()
    assert {*STATUSES, "overall", "power"} <= set(data)
    row = data["undecided"][0]
    assert row["subject"] == "cat"
    assert row["rates"] == [0.5, 0.0]
    assert row["difference"] == -0.5
    assert row["interval"][0] < -0.5 < row["interval"][1]
    assert row["e_value"] > 0


def test_nothing_in_common_is_an_empty_comparison() -> None:
    found = compare_results(results("a", {"cat": "x"}), results("b", {"dog": "x"}))
    assert not found.rows
    assert found.overall is None
    assert found.power.have == 0
    assert found.power.needed > 0


def test_the_overall_rate_is_that_of_the_random_sample_where_there_is_one() -> None:
    searched = results("a", {"cat": "x" * 50}).results
    sampled = results("a", {"dog": "." * 50}, sampled=True).results
    first = ModelResults("a", (*searched, *sampled))
    second = results("b", {"cat": "x" * 50, "dog": "." * 50})
    overall = compare_results(first, second).overall
    assert overall is not None
    assert overall.first_rate == 0
    assert "random sample" in overall.counted
    alone = compare_results(ModelResults("a", sampled), second).overall
    assert alone is not None
    assert alone.counted == "pairs in all", "a table of somebody else is no sample of a search"


def test_limits_of_a_judge_that_errs_are_used() -> None:
    first, second = results("a", {"cat": "x" * 60}), results("b", {"cat": "." * 60})
    strict = CompareRules(limit=0.2, limits={"cat": (0.3, 0.01)})
    assert compare_results(first, second).rows[0].status == "fixed"
    assert compare_results(first, second, strict).rows[0].status == "better"


@pytest.mark.parametrize("seed", range(3))
def test_swapping_the_models_mirrors_the_numbers(seed: int) -> None:
    rng = np.random.default_rng(seed)
    letters = {
        name: ["".join(rng.choice(["x", "."], 40, p=[rate, 1 - rate])) for rate in rates]
        for name, rates in {"a": (0.1, 0.9), "b": (0.1, 0.05)}.items()
    }
    first, second = (
        results(name, {f"s{at}": text for at, text in enumerate(letters[name])}) for name in ("a", "b")
    )
    there = {row.subject: row for row in compare_results(first, second).rows}
    back = {row.subject: row for row in compare_results(second, first).rows}
    for subject, row in there.items():
        assert back[subject].difference == pytest.approx(-(row.difference or 0.0))
        assert back[subject].interval == pytest.approx((-row.interval[1], -row.interval[0]))
        assert back[subject].log_e == pytest.approx(row.log_e)
