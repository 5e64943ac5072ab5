"""All tests of a search: slots fixed beforehand, evidence, and what a claim still costs. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from failscape.search.certify import evidence_for
from failscape.search.patterns.confirmation import ConfirmationTest, TestState
from failscape.search.patterns.evidence import EvidenceRule
from failscape.search.patterns.facts import FactSpace, PatternKey
from failscape.search.patterns.rows import FailureCounts
from failscape.search.patterns.settings import SearchSettings, divergence
from failscape.stats.evalues import log_e_bh

#: A test whose rate is not above its limit has no finite cost.
NEVER = math.inf

#: A test that would take more than this many typical ones is a long shot.
LONG_SHOT = 5


class TestLedger:
    """Opens, settles and orders tests. `plain` gives the plain trials of a context."""

    __test__ = False

    def __init__(
        self,
        space: FactSpace,
        settings: SearchSettings,
        rule: EvidenceRule,
        plain: Callable[[str], FailureCounts],
    ) -> None:
        self._space = space
        self._settings = settings
        self._rule = rule
        self._plain = plain
        self.slots = settings.slot_count(rule.planned_limit)
        self.typical_images = settings.typical_test_images(rule.planned_limit)
        self.tests: dict[tuple[str, PatternKey], ConfirmationTest] = {}
        self.evidence_needed = evidence_for(1, settings.level, self.slots)
        #: A test with this evidence would be a claim if it were the only one of its kind.
        self.near_proof = math.log(1 / settings.level)

    def __iter__(self) -> Iterator[ConfirmationTest]:
        return iter(self.tests.values())

    def of(self, context: str) -> list[ConfirmationTest]:
        return [test for test in self.tests.values() if test.context == context]

    def find(self, context: str, key: PatternKey) -> ConfirmationTest | None:
        return self.tests.get((context, key))

    def open(self, context: str, key: PatternKey, only_shown: bool) -> ConfirmationTest | None:
        """Put a pattern to the test; `None` if no slot is left.

        A dropped test goes on where it stopped, and gets twice its trials before it can be dropped again.
        """
        test = self.tests.get((context, key))
        if test is None:
            if len(self.tests) >= self.slots:
                return None
            test = ConfirmationTest(context, key, self._space.named(key), only_shown)
            self.tests[context, key] = test
        elif test.state is TestState.DROPPED and self._may_go_on(test):
            test.state = TestState.OPEN
            test.least_trials = 2 * test.counts.trials
        return test

    def _may_go_on(self, test: ConfirmationTest) -> bool:
        return not test.is_undrawable and test.drawn < LONG_SHOT * self.typical_images

    def settle(self) -> set[str]:
        """Look at all tests again. Returns the contexts in which a test was proven or dropped."""
        tests = list(self.tests.values())
        plain = [self._plain(test.context) for test in tests]
        for test, log_e in zip(tests, self._rule.log_evidence(tests, plain), strict=True):
            test.log_evidence = float(log_e)
        # The next claim joins those that e-BH makes already.
        claims = 1 + len(self.proven())
        self.evidence_needed = evidence_for(claims, self._settings.level, self.slots)
        changed: set[str] = set()
        for test in tests:
            state = self._state(test)
            if state is not test.state:
                test.state = state
                changed.add(test.context)
        return changed

    def _state(self, test: ConfirmationTest) -> TestState:
        if test.log_evidence >= self.evidence_needed:
            return TestState.PROVEN
        if test.state is TestState.DROPPED:
            return TestState.DROPPED
        if test.is_undrawable:
            return TestState.DROPPED
        if test.counts.trials >= test.least_trials and not (test.always and test.counts.trials < 1):
            chance = self._rule.chance_above(test, self._plain(test.context))
            if chance < self._settings.settled_doubt:
                return TestState.DROPPED
        return TestState.OPEN

    def limit(self, test: ConfirmationTest) -> float:
        return self._rule.limit(test, self._plain(test.context))

    def base_rate(self, test: ConfirmationTest, usual_rate: float) -> float:
        """The rate that an excess is counted from."""
        return self._plain(test.context).rate if self._rule.needs_plain else usual_rate

    def images_lacking(self, test: ConfirmationTest) -> float:
        """Trials that a proof still takes at the rate seen; hoped to be high before the first one."""
        rate = (test.counts.fails + 1.5) / (test.counts.trials + 2)
        limit = self.limit(test)
        if rate <= limit:
            return NEVER
        missing = max(0.0, self.evidence_needed - test.log_evidence)
        return max(1.0, missing / divergence(rate, limit))

    def next_step(self, test: ConfirmationTest, lacking: float) -> float:
        """Trials to ask for at once: what a test lacks, at most as many as it had, or half a typical test.

        So a test that disappoints stops early, and a long one takes few rounds. Unusable trials are replaced.
        """
        usable = (test.counts.trials + 1) / (test.drawn + 1)
        most = max(test.drawn, self.typical_images / 2)
        return min(max(lacking, 2.0) / usable, most)

    def is_long_shot(self, test: ConfirmationTest) -> bool:
        return self.images_lacking(test) > LONG_SHOT * self.typical_images

    def proven(self) -> list[ConfirmationTest]:
        """Tests that e-BH claims, over all slots."""
        tests = list(self.tests.values())
        logs = [test.log_evidence for test in tests]
        claimed = log_e_bh(logs, self._settings.level, self.slots)
        return [test for test, is_claimed in zip(tests, claimed, strict=True) if is_claimed]
