"""What a session says about how long it will take."""

from __future__ import annotations

from failscape.atlas import Spent
from failscape.config import BudgetConfig
from failscape.runtime.engine import Budget
from failscape.runtime.progress import PlainReporter
from failscape.runtime.session import _Watch
from failscape.runtime.walk import Team
from failscape.trials import Progress

from .fakes import CountingHunt


def eta(limits: BudgetConfig, spent: Spent, total: int | None) -> float | None:
    """After ten seconds with 50 of `total` nodes finished, at two trials a second."""
    watch = _Watch(CountingHunt(1), Team({}), Budget(limits, spent), PlainReporter(), 0, None)
    watch._eta(2.0, Progress("", 0, total, 0), 100.0)
    return watch._eta(2.0, Progress("", 50, total, 0), 110.0)


def test_the_nearest_end_counts() -> None:
    assert eta(BudgetConfig(), Spent(), None) is None
    assert eta(BudgetConfig(), Spent(), 100) == 10.0
    assert eta(BudgetConfig(images=80), Spent(images=20), 100_000) == 30.0
    assert eta(BudgetConfig(images=80, seconds=25), Spent(images=20, seconds=20), 100_000) == 5.0
