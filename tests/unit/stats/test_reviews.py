"""Accuracy from labelled samples, and agreement between two rows of answers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from failscape.stats.judging.agreement import agreement
from failscape.stats.judging.reviews import FEW, LabelledStratum, accuracies_of, accuracy_of


def test_strata_count_with_what_they_stand_for() -> None:
    # 900 answers "yes", 100 "no", ten of each labelled: plain shares would give 9 / 12 for sensitivity.
    found = accuracy_of([LabelledStratum(True, 900, 9, 1), LabelledStratum(False, 100, 3, 7)])
    assert found.sensitivity.rate == pytest.approx(900 * 0.9 / (900 * 0.9 + 100 * 0.3))
    assert found.specificity.rate == pytest.approx(100 * 0.7 / (100 * 0.7 + 900 * 0.1))


counts = st.integers(1, 60)


@given(counts, counts, counts, counts)
def test_labels_for_everything_give_plain_shares(both, false_yes, missed, neither) -> None:
    found = accuracy_of(
        [
            LabelledStratum(True, both + false_yes, both, false_yes),
            LabelledStratum(False, missed + neither, missed, neither),
        ]
    )
    assert found.sensitivity.rate == pytest.approx(both / (both + missed))
    assert found.specificity.rate == pytest.approx(neither / (neither + false_yes))
    assert found.sensitivity.of <= both + missed


@given(st.lists(st.builds(LabelledStratum, st.booleans(), st.integers(1, 5000), counts, counts), max_size=6))
def test_any_labels_give_usable_rates(strata) -> None:
    for measured in (accuracy_of(strata).sensitivity, accuracy_of(strata).specificity):
        assert 0 <= measured.at_least(0.01) <= measured.rate + 1e-9
        assert measured.rate <= measured.at_most(0.01) + 1e-9 <= 1 + 1e-9


def test_what_nobody_saw_stays_unknown() -> None:
    """All answers were yes and all labels too: nothing is known about what does not hold."""
    found = accuracy_of([LabelledStratum(True, 500, 20, 0)])
    assert found.sensitivity.rate == 1
    assert found.sensitivity.of > 400
    assert (found.specificity.at_least(0.05), found.specificity.at_most(0.05)) == (0, 1)


def test_a_stratum_labelled_all_alike_is_not_without_doubt() -> None:
    few = accuracy_of([LabelledStratum(True, 900, 10, 0), LabelledStratum(False, 900, 0, 10)])
    many = accuracy_of([LabelledStratum(True, 900, 200, 0), LabelledStratum(False, 900, 0, 200)])
    assert few.sensitivity.at_least(0.05) < 0.9 < many.sensitivity.at_least(0.05)


def census(sensitivity: float, specificity: float, of: int = 400) -> list[LabelledStratum]:
    true, false = round(sensitivity * of), round(specificity * of)
    return [
        LabelledStratum(True, true + of - false, true, of - false),
        LabelledStratum(False, of - true + false, of - true, false),
    ]


def test_kinds_with_few_cases_are_helped_by_the_others() -> None:
    poor = [LabelledStratum(True, 500, 30, 0)]  # nothing was missing: nothing is known about what is
    alike = accuracies_of({"poor": poor, **{kind: census(0.95, 0.9) for kind in "abcdef"}})
    apart = accuracies_of(
        {
            "poor": poor,
            **dict(zip("abcdef", map(census, [0.95] * 6, [1, 0.9, 0.8, 0.7, 0.9, 0.6]), strict=True)),
        }
    )
    assert alike["poor"].sensitivity.rate == 1, "what it has enough of stays its own"
    assert alike["poor"].specificity.rate == pytest.approx(0.9, abs=0.01)
    assert alike["poor"].specificity.at_least(0.05) > 0.8
    assert apart["poor"].specificity.at_least(0.05) < 0.6, "kinds that differ tell little about one more"
    assert alike["a"].specificity.of > 5 * FEW


def test_two_kinds_tell_little_about_a_third() -> None:
    found = accuracies_of({"a": census(0.95, 0.9), "b": census(0.95, 0.9)})
    assert found["*"].sensitivity.of <= FEW


answers = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=2, max_size=80)


@given(answers)
def test_kappa_is_cohens(rows) -> None:
    first, second = (np.array(side) for side in zip(*rows, strict=True))
    found = agreement(first, second)
    assert found.share == pytest.approx(np.mean(first == second))
    if 0 < first.mean() < 1 and 0 < second.mean() < 1:
        assert found.kappa == pytest.approx(cohen_kappa_score(first, second))
        low, high = found.kappa_interval
        assert -1 <= low <= found.kappa <= high <= 1
    else:
        assert math.isnan(found.kappa)
    assert found.only_first + found.only_second == int(np.sum(first != second))


def test_answers_about_one_subject_count_as_few() -> None:
    rng = np.random.default_rng(0)
    first = rng.random(400) < 0.5
    wrong = np.repeat(rng.random(20) < 0.3, 20)  # whole subjects are disputed
    apart = agreement(first, first ^ wrong)
    together = agreement(first, first ^ wrong, np.repeat(np.arange(20), 20))
    assert np.diff(together.interval) > 2 * np.diff(apart.interval)
    assert np.diff(together.kappa_interval) > 2 * np.diff(apart.kappa_interval)


def test_rows_of_different_length_are_refused() -> None:
    with pytest.raises(ValueError, match="one length"):
        agreement([True], [True, False])
