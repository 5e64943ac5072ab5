"""What a judge's no about a fact is worth."""

import pytest

from failscape.search.patterns.sight import chance_absent_if_denied


@pytest.mark.parametrize(("obeys", "accuracy"), [(0.5, 1.0), (0.5, 0.9), (0.8, 0.95), (0.6, 0.75)])
def test_a_judge_that_mostly_sees_is_worth_a_no_where_the_generator_leaves_facts_out(obeys, accuracy):
    yes = 1_000 * (obeys * accuracy + (1 - obeys) * (1 - accuracy))
    false_yes = 1_000 * (1 - accuracy)
    absent = (1 - obeys) * accuracy / (1 - yes / 1_000)
    found = chance_absent_if_denied(
        round(yes), round(1_000 - yes), round(false_yes), round(1_000 - false_yes)
    )
    assert found == pytest.approx(absent, abs=0.02)


def test_where_the_generator_always_obeys_a_no_is_a_slip_of_the_judge():
    assert chance_absent_if_denied(900, 100, 100, 900) == pytest.approx(0.0, abs=0.01)


def test_a_judge_that_tosses_a_coin_is_worth_nothing():
    assert chance_absent_if_denied(500, 500, 500, 500) == 0.0


def test_a_judge_that_denied_nothing_is_not_doubted():
    assert chance_absent_if_denied(500, 0, 0, 300) == 1.0
