"""How a classifier hunt puts its classes and clauses to the pattern search. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from failscape.kinds.classifier.record import HuntRecord
from failscape.search.patterns import ConfirmationTest, ExcessOverPlain, FactSpace, FailureCounts
from failscape.search.patterns.rows import Floats
from failscape.stats.differences import absent_share, log_excess, log_excess_grid


def fact_space(record: HuntRecord) -> FactSpace:
    """Classes are contexts, the values of the corpus are facts, as far as they make sense for a class."""
    clauses = record.candidates.clauses
    options = {target.name: record.candidates.options(target) for target in record.targets}
    used = sorted({number for numbers in options.values() for number in numbers})
    conflicts = record.candidates.conflicts
    pairs = combinations(used, 2) if conflicts is not None and conflicts.any() else ()
    return FactSpace(
        options,
        {clauses[number].label: clauses[number].kind for number in used},
        plausible={name: [clauses[at].label for at in numbers] for name, numbers in options.items()},
        conflicts=[
            (clauses[one].label, clauses[other].label)
            for one, other in pairs
            if conflicts is not None and conflicts[one, other]
        ],
    )


class PresenceAwareExcess(ExcessOverPlain):
    """A description fails more often than plain pictures do, though the presence check errs.

    The judge accepts a share of pictures that do not show the class, at most `slip` of those. Evidence allows
    for all of them to have failed for that reason.
    """

    def __init__(self, record: HuntRecord) -> None:
        super().__init__(record.rules.margin)
        self._record = record

    def log_evidence(self, tests: Sequence[ConfirmationTest], plain: Sequence[FailureCounts]) -> Floats:
        if not tests or not self._record.rules.slip:
            return super().log_evidence(tests, plain)
        base = log_excess_grid([one.fails for one in plain], [one.passes for one in plain])
        fails = [test.counts.fails for test in tests]
        passes = [test.counts.passes for test in tests]
        return log_excess(base, fails, passes, self.margin, self._absent(tests))

    def _absent(self, tests: Sequence[ConfirmationTest]) -> Floats:
        """The share of each test's pictures that may not show the class."""
        rules = self._record.rules
        accepted: list[int] = []
        seen: list[int] = []
        for test in tests:
            subject = self._record.subject(self._record.describe(test.context, test.facts))
            known = self._record.tests.get(subject)
            asked = known.counts.asked if known else 0
            accepted.append(asked)
            seen.append(asked + (known.counts.absent if known else 0))
        return np.asarray(absent_share(accepted, seen, rules.sensitivity, rules.slip))
