"""What a pattern search has found: claims, claims over several contexts, and suspects. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from failscape.search.patterns.confirmation import ConfirmationTest, TestState
from failscape.search.patterns.evidence import EvidenceRule
from failscape.search.patterns.facts import FactSpace, PatternKey
from failscape.search.patterns.ledger import NEVER, TestLedger
from failscape.search.patterns.naming import NameKeeper, chance_above
from failscape.search.patterns.rows import FailureCounts
from failscape.search.patterns.settings import SearchSettings
from failscape.search.patterns.state import ContextState


@dataclass(frozen=True, slots=True)
class PatternClaim:
    """A proven pattern. `counts` are the trials of its test, `confirmation` fresh ones after the proof.

    `limit` is the rate that it was proven to exceed; `parts_cleared` says whether every part was shown not to
    keep the bug, so that the name is minimal as far as trials tell.
    """

    context: str
    facts: tuple[str, ...]
    counts: FailureCounts
    confirmation: FailureCounts
    limit: float
    log_evidence: float
    parts_cleared: bool


@dataclass(frozen=True, slots=True)
class GeneralClaim:
    """A pattern that is claimed in several contexts: "black backdrop: 4 of 4 classes".

    `examined` are contexts in which the pattern was tested, or is settled by all trials together.
    """

    facts: tuple[str, ...]
    failing: tuple[str, ...]
    examined: tuple[str, ...]


class SuspectLack(StrEnum):
    """What keeps a suspect from being a claim."""

    TRIALS = "more trials"
    SLOT = "a free test slot"
    TEST = "a test of its own"


@dataclass(frozen=True, slots=True)
class PatternSuspect:
    """A pattern that fails more often than its limit and is not proven.

    `counts` are the trials of its test, or all trials that show it if it has no test. `trials_lacking` is how
    many more a proof takes at the rate seen.
    """

    context: str
    facts: tuple[str, ...]
    counts: FailureCounts
    limit: float
    log_evidence: float
    evidence_needed: float
    trials_lacking: int
    lacks: SuspectLack


class ResultReader:
    """Makes claims and suspects of what the tests say."""

    def __init__(
        self,
        space: FactSpace,
        settings: SearchSettings,
        rule: EvidenceRule,
        ledger: TestLedger,
        names: NameKeeper,
        states: Mapping[str, ContextState],
    ) -> None:
        self._space = space
        self._settings = settings
        self._rule = rule
        self._ledger = ledger
        self._names = names
        self._states = states

    def claims(self) -> list[PatternClaim]:
        """Proven patterns by their minimal names, the surest first."""
        self._ledger.settle()
        found = [
            PatternClaim(
                test.context,
                test.facts,
                test.counts,
                test.confirmation,
                self._ledger.limit(test),
                test.log_evidence,
                self._names.parts_are_cleared(test),
            )
            for test in self._names.claimed()
        ]
        return sorted(found, key=lambda claim: (-claim.log_evidence, claim.context, claim.facts))

    def general_claims(self) -> list[GeneralClaim]:
        """Patterns that are claimed in at least two contexts, those of most contexts first."""
        failing: dict[tuple[str, ...], list[str]] = {}
        for claim in self.claims():
            failing.setdefault(claim.facts, []).append(claim.context)
        found = [
            GeneralClaim(facts, tuple(sorted(contexts)), self._examined(facts))
            for facts, contexts in failing.items()
            if len(contexts) > 1
        ]
        return sorted(found, key=lambda claim: (-len(claim.failing), claim.facts))

    def _examined(self, facts: tuple[str, ...]) -> tuple[str, ...]:
        """Contexts in which a pattern is decided: proven, or surely below its limit by all trials."""
        key = self._space.key(facts)
        found: list[str] = []
        for state in self._states.values():
            test = self._ledger.find(state.name, key)
            if test is not None and test.state is not TestState.OPEN:
                found.append(state.name)
                continue
            counts = self._all_counts(state, key)
            limit = state.plain.rate if self._rule.needs_plain else state.rows.usual_rate
            beat = float(self._rule.rate_to_beat(np.array([limit]))[0])
            if chance_above(counts, beat) < self._settings.settled_doubt:
                found.append(state.name)
        return tuple(found)

    def _all_counts(self, state: ContextState, key: PatternKey) -> FailureCounts:
        sums = state.rows.sums_of(key)
        return FailureCounts(float(sums[0] + sums[2]), float(sums[1] + sums[3]))

    def suspects(self) -> list[PatternSuspect]:
        """Patterns that fail more than their limit and are not proven, nearest to a proof first."""
        found: list[PatternSuspect] = []
        proven = {id(test) for test in self._ledger.proven()}
        for test in self._ledger:
            if id(test) in proven or test.state is TestState.DROPPED or test.rate <= self._ledger.limit(test):
                continue
            found.append(self._suspect_of(test, test.counts, SuspectLack.TRIALS))
        found += self._untested_suspects()
        return sorted(found, key=lambda one: (one.trials_lacking, one.context, one.facts))

    def _suspect_of(
        self, test: ConfirmationTest, counts: FailureCounts, lacks: SuspectLack
    ) -> PatternSuspect:
        lacking = self._ledger.images_lacking(test)
        return PatternSuspect(
            test.context,
            test.facts,
            counts,
            self._ledger.limit(test),
            test.log_evidence,
            self._ledger.evidence_needed,
            0 if lacking == NEVER else math.ceil(lacking),
            lacks,
        )

    def _untested_suspects(self) -> list[PatternSuspect]:
        """Patterns that are likely bugs and have no test: no slot was free, or no trial left."""
        found: list[PatternSuspect] = []
        lacks = SuspectLack.SLOT if len(self._ledger.tests) >= self._ledger.slots else SuspectLack.TEST
        for state in self._states.values():
            for score in state.scores.values():
                if score.log_odds <= 0 or self._ledger.find(state.name, score.key) is not None:
                    continue
                if self._is_covered(state, score.key):
                    continue
                test = ConfirmationTest(state.name, score.key, self._space.named(score.key), False)
                found.append(self._suspect_of(test, self._all_counts(state, score.key), lacks))
        return found

    def _is_covered(self, state: ContextState, key: PatternKey) -> bool:
        """Whether a test that stands is about the same failures: a part of the pattern, or a whole of it."""
        wanted = set(key)
        return any(
            test.state is not TestState.DROPPED and (set(test.key) <= wanted or set(test.key) >= wanted)
            for test in self._ledger.of(state.name)
        )
