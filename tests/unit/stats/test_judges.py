"""What a judge's errors do to rates: limits against brute force, correction, JSON, blame."""

from __future__ import annotations

from itertools import product
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from failscape.errors import ConfigError
from failscape.stats.intervals import clopper_pearson
from failscape.stats.judging.accuracy import TINY, JudgeAccuracy
from failscape.stats.judging.errors import KindAccuracy, Measured

chances = st.floats(0, 1)
pairs = st.lists(st.tuples(chances, chances), min_size=1, max_size=4)
better_than_chance = st.lists(st.tuples(st.floats(0.6, 1), st.floats(0.6, 1)), min_size=1, max_size=3)
thresholds = st.floats(0.05, 0.95)
counts = st.tuples(st.integers(0, 300), st.integers(0, 300)).map(lambda two: (min(two), max(two)))


def named(found: list) -> tuple[dict, list[str]]:
    return {f"kind {at}": one for at, one in enumerate(found)}, [f"kind {at}" for at in range(len(found))]


def judged_rates(accuracies: list[tuple[float, float]]) -> tuple[float, list[float]]:
    """How often an image is passed that shows all, and one that misses each possible set of checks."""
    right = prod(sensitivity for sensitivity, _ in accuracies)
    wrong = []
    for holds in product((True, False), repeat=len(accuracies)):
        if not all(holds):
            pairs = zip(holds, accuracies, strict=True)
            wrong.append(prod(sens if hold else 1 - spec for hold, (sens, spec) in pairs))
    return right, wrong


@given(pairs, thresholds)
def test_limits_are_the_worst_over_true_rates_and_dropped_checks(accuracies, threshold) -> None:
    rates, kinds = named(accuracies)
    limits = JudgeAccuracy.from_rates(rates).limits(kinds, threshold)
    right, wrong = judged_rates(accuracies)
    above = [p * right + (1 - p) * bad for p in (threshold, 1.0) for bad in wrong]
    below = [p * right + (1 - p) * bad for p in (0.0, threshold) for bad in wrong]
    assert limits.fail == pytest.approx(min(above), abs=2 * TINY)
    assert limits.passes == pytest.approx(max(below), abs=2 * TINY)


def test_one_check_drops_or_all_do() -> None:
    accuracy = JudgeAccuracy.from_rates({"entity": (0.95, 0.9), "*": (0.9, 0.8)})
    limits = accuracy.limits(["entity", "Base: Colour"], 0.8)
    assert limits.fail == pytest.approx(0.8 * 0.95 * 0.9 + 0.2 * 0.1 * 0.2)
    assert limits.passes == pytest.approx(0.8 * 0.95 * 0.9 + 0.2 * 0.95 * 0.2)


def test_a_perfect_judge_leaves_the_threshold_as_it_is() -> None:
    assert JudgeAccuracy.perfect().limits(["entity", "Base: Colour"], 0.8) == (0.8, 0.8)
    assert JudgeAccuracy.perfect().unreachable(["entity", "Base: Colour"], 0.8) == ""


@given(st.lists(st.tuples(counts, counts), min_size=1, max_size=3), thresholds)
def test_doubt_only_widens_the_limits_and_more_cases_narrow_them(found, threshold) -> None:
    def at(times: int) -> JudgeAccuracy:
        rows = [
            (hits * times, of * times, right * times, false * times) for (hits, of), (right, false) in found
        ]
        return JudgeAccuracy.from_counts(named(rows)[0])

    kinds = named(found)[1]
    few, many = at(1).limits(kinds, threshold), at(50).limits(kinds, threshold)
    rates = {kind: (one.sensitivity.rate, one.specificity.rate) for kind, one in at(1).kinds.items()}
    exact = JudgeAccuracy.from_rates(rates).limits(kinds, threshold)
    assert few.fail <= many.fail + 1e-9 <= exact.fail + 2e-9
    assert few.passes >= many.passes - 1e-9 >= exact.passes - 2e-9


def test_the_doubt_is_shared_among_all_measured_kinds() -> None:
    alone = JudgeAccuracy.from_counts({"a": (95, 100, 95, 100)})
    among = JudgeAccuracy.from_counts(dict.fromkeys("abcdefgh", (95, 100, 95, 100)))
    assert among.limits(["a"], 0.8).fail < alone.limits(["a"], 0.8).fail
    beside_exact = JudgeAccuracy({**alone.kinds, "b": KindAccuracy()})
    assert beside_exact.limits(["a"], 0.8) == alone.limits(["a"], 0.8)


@given(st.integers(0, 40), st.integers(0, 40))
def test_under_a_perfect_judge_correction_changes_nothing(passes, fails) -> None:
    rate, interval = JudgeAccuracy.perfect().correct(passes, fails, ["entity"])
    low, high = clopper_pearson(passes, passes + fails)
    assert rate == (passes / (passes + fails) if passes + fails else 0.5)
    assert interval == pytest.approx((float(low), float(high)))


@given(better_than_chance, st.floats(0, 1))
def test_correction_undoes_what_a_known_judge_does(accuracies, true_rate) -> None:
    rates, kinds = named(accuracies)
    right, wrong = judged_rates(accuracies)
    for bad in (min(wrong), max(wrong)):
        passes = round(1e7 * (true_rate * right + (1 - true_rate) * bad))
        _, (low, high) = JudgeAccuracy.from_rates(rates).correct(passes, 10**7 - passes, kinds)
        assert low - 1e-3 <= true_rate <= high + 1e-3


@given(st.lists(st.tuples(counts, counts), min_size=1, max_size=3), st.integers(0, 30), st.integers(0, 30))
def test_the_corrected_rate_lies_in_its_interval(found, passes, fails) -> None:
    rows = [(*seen, *missed) for seen, missed in found]
    table, kinds = named(rows)
    rate, (low, high) = JudgeAccuracy.from_counts(table).correct(passes, fails, kinds)
    assert 0 <= low <= rate <= high <= 1


def test_a_judge_that_may_be_a_coin_tells_nothing() -> None:
    unsure = JudgeAccuracy.from_counts({"*": (6, 10, 5, 10)})
    assert unsure.correct(20, 5, ["entity"])[1] == (0.0, 1.0)


def test_the_check_that_makes_the_threshold_unreachable_is_named() -> None:
    accuracy = JudgeAccuracy.from_counts({"entity": (990, 1000, 990, 1000), "Image: Style": (20, 40, 4, 10)})
    text = accuracy.unreachable(["entity", "Image: Style"], 0.8)
    assert "'Image: Style'" in text
    assert "sensitivity 0.500 from 40" in text
    assert accuracy.unreachable(["entity"], 0.8) == ""


def test_passes_can_be_unreachable_while_failures_are_not() -> None:
    accuracy = JudgeAccuracy({"entity": KindAccuracy(Measured(1.0), Measured(0.9, 0))})
    assert "to pass it must be above" in accuracy.unreachable(["entity"], 0.8)


@given(st.dictionaries(st.text(min_size=1), st.tuples(counts, counts), min_size=1), st.floats(0.5, 0.999))
def test_json_and_back(found, level) -> None:
    rows = {kind: (*seen, *missed) for kind, (seen, missed) in found.items()}
    accuracy = JudgeAccuracy.from_counts(rows, level)
    back = JudgeAccuracy.from_json(accuracy.to_json())
    assert back == accuracy
    assert back.digest == accuracy.digest


def test_where_it_comes_from_does_not_change_what_it_says() -> None:
    one = JudgeAccuracy.from_json('{"kinds": {"*": {"sensitivity": 0.9, "specificity": 1}}, "source": "x"}')
    assert one.digest == JudgeAccuracy.from_rates({"*": (0.9, 1.0)}).digest


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"kinds": []}',
        '{"kinds": {"*": {"sensitivity": 0.9}}}',
        '{"kinds": {"*": {"sensitivity": {"hits": 3}, "specificity": 1}}}',
        '{"kinds": {"*": {"sensitivity": "much", "specificity": 1}}}',
    ],
)
def test_files_that_are_no_tables_are_refused_with_an_example(text) -> None:
    with pytest.raises(ConfigError, match=r"judge\.json is no table") as caught:
        JudgeAccuracy.from_json(text, "judge.json")
    assert '"sensitivity"' in caught.value.fix


@pytest.mark.parametrize(("hits", "of"), [(11, 10), (-1, 10)])
def test_impossible_counts_are_refused(hits, of) -> None:
    with pytest.raises(ConfigError, match="hits <= of"):
        JudgeAccuracy.from_counts({"*": (hits, of, 1, 1)})
    with pytest.raises(ConfigError, match="rate <= 1"):
        JudgeAccuracy.from_rates({"*": (1.2, 1)})


def test_an_unknown_kind_is_an_error_that_says_how_to_mend_it() -> None:
    with pytest.raises(ConfigError, match="'Base: Size' is not known") as caught:
        JudgeAccuracy.from_rates({"entity": (1, 1)}).limits(["entity", "Base: Size"], 0.8)
    assert "failscape review" in caught.value.fix
