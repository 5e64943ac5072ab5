"""Someone else's results as a hunt: passes and trials of each case, certified by the same rules. Pure.

It asks for nothing. A case fails when its own trials refute "it passes at least as often as the threshold",
with e-BH over all cases of the table.
"""

from typing import Literal

import numpy as np

from failscape.config.base import HuntConfig, ModelConfig, Settings
from failscape.plugins import HuntKind, lazy
from failscape.search.counts import Counts
from failscape.search.protocol import Hunt
from failscape.stats.evalues import e_value, log_e_bh, log_e_value
from failscape.stats.intervals import anytime_interval
from failscape.stats.judging.accuracy import JudgeAccuracy
from failscape.trials import IMPORTED, Finding, Probe, Progress, Purposes, Status, Trial


class TableSearch(Settings):
    """What counts as failing."""

    threshold: float = 0.8
    fdr: float = 0.05


class TableConfig(HuntConfig):
    """`hunt: table`: made by `failscape import`, never written by people."""

    hunt: Literal["table"]
    search: TableSearch = TableSearch()

    def models(self) -> dict[str, ModelConfig]:
        return {}


class TableHunt(Hunt):
    """Counts of each case, in the order told."""

    def __init__(self, threshold: float, level: float) -> None:
        self.threshold = threshold
        self.level = level
        self._counts: dict[str, Counts] = {}

    def ask(self, count: int) -> list[Probe]:
        return []

    def tell(self, trial: Trial) -> None:
        self._counts.setdefault(trial.subject, Counts()).count(trial.verdict)

    @property
    def done(self) -> bool:
        return True

    def findings(self) -> list[Finding]:
        return [self._finding(case, Status.CERTIFIED) for case in self._certified()]

    def suspects(self) -> list[Finding]:
        """Cases that fail more often than allowed, as far as one can see, but are not proven to."""
        certified = set(self._certified())
        rest = [case for case in self._counts if case not in certified]
        failing = [case for case in rest if self._counts[case].rate > 1 - self.threshold]
        return [self._finding(case, Status.SUSPECT) for case in sorted(failing, key=self._rank)]

    def progress(self) -> Progress:
        return Progress("imported", len(self._counts), len(self._counts), len(self._certified()))

    def _certified(self) -> list[str]:
        cases = [case for case, count in self._counts.items() if count.valid]
        if not cases:
            return []
        passes = np.array([self._counts[case].passes for case in cases])
        fails = np.array([self._counts[case].fails for case in cases])
        claimed = log_e_bh(log_e_value(passes, fails, self.threshold), self.level)
        return sorted((case for case, mark in zip(cases, claimed, strict=True) if mark), key=self._rank)

    def _rank(self, case: str) -> tuple[float, str]:
        count = self._counts[case]
        return -float(log_e_value(count.passes, count.fails, self.threshold)), case

    def _finding(self, case: str, status: Status) -> Finding:
        count = self._counts[case]
        missing = "more trials: its own do not prove it" if status is Status.SUSPECT else ""
        return Finding(
            subject=case,
            title=case,
            caption=case,
            status=status,
            rate=count.rate,
            interval=anytime_interval(count.fails, count.valid),
            e_value=float(e_value(count.passes, count.fails, self.threshold)),
            trials=count.valid,
            failures=count.fails,
            invalid=count.invalid,
            details={"missing": missing} if missing else {},
        )


class TableKind(HuntKind):
    name = "table"
    about = "results of somebody else, imported: passes and trials of each case"
    target = "table"
    unit = "trial"
    purposes = Purposes(IMPORTED)
    settings = TableConfig
    page = lazy("failscape.kinds.table.page")

    def build(
        self, config: TableConfig, shard: tuple[int, int] = (0, 1), accuracy: JudgeAccuracy | None = None
    ) -> TableHunt:
        return TableHunt(config.search.threshold, config.search.fdr)
