"""Post-stratified accuracy: it covers, it needs fewer labels than labels alone, the plan is kept."""

from __future__ import annotations

import numpy as np
import pytest

from failscape.stats.judging.poststratified import (
    Cell,
    collapsed,
    half_width,
    labels_alone,
    labels_needed,
    share_right,
    share_true,
)

# Population and true error of a judge in four cells of kind x answer: checks fail in about 5 of 100.
WORLD = [(True, 6000, 0.01), (False, 300, 0.15), (True, 3500, 0.02), (False, 200, 0.25)]
TRUE = sum(size * (1 - error if answer else error) for answer, size, error in WORLD) / 10_000
RIGHT = sum(size * (1 - error) for _, size, error in WORLD) / 10_000


def labelled(labels: list[int], seed: int) -> list[Cell]:
    chance = np.random.default_rng(seed)
    cells = []
    for (answer, size, error), number in zip(WORLD, labels, strict=True):
        wrong = int(chance.binomial(number, error))
        cells.append(Cell(answer, size, number - wrong, wrong))
    return cells


def test_intervals_cover_what_is_true() -> None:
    hits = [0, 0]
    for seed in range(400):
        cells = labelled([40, 40, 40, 40], seed)
        for place, (found, truth) in enumerate(((share_right(cells), RIGHT), (share_true(cells), TRUE))):
            hits[place] += found[1][0] <= truth <= found[1][1]
    assert min(hits) >= 0.93 * 400


def test_both_shares_have_one_half_width_up_to_the_skew_of_binomials() -> None:
    cells = labelled([40, 40, 40, 40], 3)
    low, high = share_true(cells)[1]
    assert half_width(cells) == pytest.approx((high - low) / 2, rel=0.25)


def test_a_third_of_the_labels_tells_as_much_as_labels_alone() -> None:
    known = [Cell(answer, size, 0, 0) for answer, size, _ in WORLD]
    few = [cell._replace(right=19, wrong=1) for cell in known]
    assert labels_needed(few, 0.015) < labels_alone(few, 0.015)
    chance = np.random.default_rng(4)
    errors = {"judge": [], "alone": []}
    for seed in range(300):
        errors["judge"].append(share_true(labelled([25, 25, 25, 25], seed))[0] - TRUE)
        errors["alone"].append(chance.binomial(100, TRUE) / 100 - TRUE)
    ratio = np.std(errors["judge"]) / np.std(errors["alone"])
    assert ratio**2 < 0.55, "the same 100 labels are worth about twice as many, or more"


def test_the_plan_is_kept() -> None:
    """After as many labels as planned, shared out as planned, the half-width is what was asked for."""
    pilot = labelled([60, 60, 60, 60], 11)
    for goal in (0.03, 0.02):
        needed = labels_needed(pilot, goal)
        spreads = [cell.population * (cell.error * (1 - cell.error)) ** 0.5 for cell in pilot]
        shares = [max(60, round(needed * one / sum(spreads))) for one in spreads]
        widths = [half_width(labelled(shares, seed)) for seed in range(60)]
        assert np.median(widths) <= goal * 1.1


def test_no_label_at_all_means_anything_is_possible() -> None:
    assert half_width([Cell(True, 100, 0, 0), Cell(False, 50, 0, 0)]) == 0.5
    assert labels_needed([], 0.03) == labels_alone([], 0.03) == 0


def test_cells_that_nobody_reached_are_joined_to_the_same_answer_only() -> None:
    cells = [Cell(True, 100, 9, 1), Cell(True, 50, 0, 0), Cell(False, 40, 1, 0), Cell(False, 10, 0, 0)]
    assert sorted(collapsed(cells)) == sorted([Cell(True, 150, 9, 1), Cell(False, 50, 1, 0)])


def test_more_labels_than_answers_are_never_asked_for() -> None:
    assert labels_needed([Cell(True, 12, 0, 0), Cell(False, 3, 0, 0)], 0.01) <= 15


@pytest.mark.parametrize("goal", [0, -0.1, 0.5, 2])
def test_a_goal_must_be_a_half_width(goal: float) -> None:
    with pytest.raises(ValueError, match="half-width"):
        labels_needed([Cell(True, 10, 1, 0)], goal)
