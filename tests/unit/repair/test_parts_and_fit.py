"""Who is shown what, and what a new last layer learns."""

from __future__ import annotations

import numpy as np
import pytest

from failscape.repair.last_layer import Layer, Rows, fit_layer, placebo_rows, row_weights
from failscape.views.export.splits import CLEAN, HIDDEN, REST, SHOWN, choose_parts, rule_of

FINDINGS = [f"penguin; Background: Place={place}" for place in ("meadow", "city", "desert", "beach")]


def test_a_third_of_each_rule_is_hidden_and_single_findings_are_shown() -> None:
    parts = choose_parts([*FINDINGS, "car; Base: Colour=blue"], ["owl; Base: Size=small", FINDINGS[0]], 5, 7)
    assert len(parts.hidden) == 1
    assert "car; Base: Colour=blue" in parts.shown
    assert set(parts.shown) | set(parts.hidden) == {*FINDINGS, "car; Base: Colour=blue"}
    assert parts.rest == ("owl; Base: Size=small",)
    assert parts == choose_parts([*FINDINGS, "car; Base: Colour=blue"], ["owl; Base: Size=small"], 5, 7)
    assert [parts.of(one) for one in (parts.shown[0], parts.hidden[0], parts.rest[0], "owl")] == [
        SHOWN,
        HIDDEN,
        REST,
        CLEAN,
    ]


def test_of_many_findings_a_proof_takes_some_by_chance_a_third_of_them_hidden() -> None:
    many = [f"{entity}; Base: Colour={at}" for entity in ("owl", "car", "crab") for at in range(20)]
    parts = choose_parts(many, ["owl; Base: Size=small"], 5, 7)
    few = parts.sampled(12)
    assert (len(few.shown), len(few.hidden), few.rest) == (8, 4, parts.rest)
    assert set(few.shown) < set(parts.shown)
    assert set(few.hidden) < set(parts.hidden)
    assert parts.sampled(60) == parts


def test_rules_leave_values_out() -> None:
    assert rule_of(FINDINGS[0]) == rule_of(FINDINGS[1]) == ("penguin", "Background: Place")
    one, other = ("count | counting | colour=red; size=big", "count | counting | colour=blue; size=small")
    assert rule_of(one) == rule_of(other)
    assert rule_of(one) != rule_of("count thing | counting | colour=red")


def planted(seed: int = 0) -> tuple[Layer, Rows, Rows]:
    """Two classes told apart by a feature, and an old layer that goes by another one which usually agrees."""
    rng = np.random.default_rng(seed)

    def rows(number: int, agree: bool, group: str) -> Rows:
        labels = rng.integers(0, 2, number)
        sign = 2.0 * labels - 1
        spurious = sign if agree else -sign
        features = np.column_stack([sign, spurious]) + 0.2 * rng.normal(size=(number, 2))
        return Rows(features, labels, (group,) * number)

    old = Layer(np.array([[-0.2, 0.2], [-2.0, 2.0]]), np.zeros(2))
    clean, failures = rows(200, True, ""), rows(40, False, "bug")
    both = Rows(
        np.concatenate([clean.features, failures.features]),
        np.concatenate([clean.labels, failures.labels]),
        (*clean.groups, *failures.groups),
    )
    return old, both, rows(500, False, "bug")


def accuracy(layer: Layer, rows: Rows) -> float:
    return float(np.mean(layer.scores(rows.features).argmax(axis=1) == rows.labels))


def test_failures_teach_what_matters_and_the_placebo_teaches_nothing() -> None:
    old, rows, fresh = planted()
    assert accuracy(old, fresh) < 0.05
    assert accuracy(fit_layer(old, rows), fresh) > 0.95
    assert accuracy(fit_layer(old, placebo_rows(rows, 1)), fresh) < 0.3


def test_a_strong_pull_keeps_the_old_layer() -> None:
    old, rows, _ = planted()
    held = fit_layer(old, rows, pull=1e6)
    assert np.allclose(held.weight, old.weight, atol=1e-3)


def test_weights_are_shared_by_findings_and_not_by_rows() -> None:
    weights = row_weights(("", "", "a", "a", "a", "b"))
    assert weights.sum() == pytest.approx(1)
    assert weights[2:5].sum() == pytest.approx(weights[5])
    assert weights[:2].sum() == pytest.approx(0.5)


def test_a_placebo_has_as_many_rows_and_no_failure() -> None:
    _, rows, _ = planted()
    twin = placebo_rows(rows, 3)
    assert len(twin.labels) == len(rows.labels)
    assert set(twin.groups) == {""}
