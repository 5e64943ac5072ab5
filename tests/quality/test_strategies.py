"""Every t2i strategy in a model without luck: its claims are true, and what it never tried is not claimed.

How much each of them finds, and how often it errs, is in `benchmarks/campaign/t2i.py`.
"""

from __future__ import annotations

from typing import Any

import pytest
from benchmarks.campaign.t2i import make_config

from failscape.kinds.t2i.build import build_hunt
from failscape.trials import Trial
from tests.quality.sure_worlds import play

STRATEGIES = ["failureatlas", "curtailed", "sprt", "certified", "listed"]
SPACE: dict[str, Any] = {
    "corpus": "toybox",
    "entities": ["car", "owl", "apple"],
    "families": ["Base"],
    "depth": 1,
}
IMAGES = 800


def fails(subject: str) -> bool:
    """One entity and one value, with whatever they are combined."""
    return subject.startswith("owl") or "pink" in subject


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_all_claims_are_true_and_were_tried(strategy: str) -> None:
    hunt = build_hunt(make_config(strategy, IMAGES, 1, SPACE))
    tried: set[str] = set()

    def after(trials: list[Trial]) -> None:
        tried.update(trial.subject for trial in trials)
        claimed = {finding.subject for finding in hunt.findings()}
        assert {subject for subject in claimed if not fails(subject)} == set()
        assert claimed <= tried

    assert play(hunt, fails, IMAGES, after) <= IMAGES
    claimed = {finding.subject for finding in hunt.findings()}
    assert "owl" in claimed
    assert not [subject for subject in claimed if subject.startswith("owl; ")], "the entity explains them"
    assert [subject for subject in claimed if "pink" in subject]


@pytest.mark.parametrize("strategy", [*STRATEGIES, "random"])
def test_nothing_is_claimed_of_a_model_that_never_fails(strategy: str) -> None:
    hunt = build_hunt(make_config(strategy, IMAGES, 1, SPACE))
    play(hunt, lambda subject: False, IMAGES, lambda trials: _assert_none(hunt.findings()))
    assert hunt.findings() == []


def _assert_none(findings: list[Any]) -> None:
    assert findings == []
