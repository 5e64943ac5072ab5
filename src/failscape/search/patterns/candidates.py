"""From rows to candidates: scores, queries about unexplained failures, and tests of what is likely. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np
from scipy import special

from failscape.search.patterns.causes import (
    CauseQuery,
    best_query,
    expected_information,
    telling_facts,
    triples_of,
)
from failscape.search.patterns.confirmation import TestState
from failscape.search.patterns.facts import FactSpace, PatternKey
from failscape.search.patterns.ledger import TestLedger
from failscape.search.patterns.naming import NameKeeper
from failscape.search.patterns.settings import SearchSettings
from failscape.search.patterns.state import ContextState
from failscape.search.patterns.weighing import NOTHING, PatternScore, PatternWeigher

#: Failures of a context that are looked into at a time: so many of the most promising, and of the newest.
#: It bounds the time.
_FAILURES_AT_A_TIME = 20

#: Promising patterns of a context that are packed into crowds at a time. It bounds the time.
_PATTERNS_AT_A_TIME = 200


def _information(chance: float, usual_rate: float) -> float:
    """What a trial tells if it shows a bug with this probability."""
    return float(expected_information(np.array([chance]), usual_rate)[0])


class CandidateFinder:
    """Weighs a context and opens tests in it."""

    def __init__(
        self,
        space: FactSpace,
        settings: SearchSettings,
        ledger: TestLedger,
        weigher: PatternWeigher,
        names: NameKeeper,
    ) -> None:
        self._space = space
        self._settings = settings
        self._ledger = ledger
        self.weigher = weigher
        self._names = names

    def weigh(self, state: ContextState, only_shown: bool) -> None:
        state.weighed_rows = len(state.rows)
        state.is_stale = False
        state.rows.most_usual = self.weigher.rule.most_usual(state.plain)
        state.rows.accept(
            {
                test.key: test.rate
                for test in self._ledger.of(state.name)
                if test.state is not TestState.DROPPED
                and test.counts.trials
                and test.rate > self._ledger.limit(test)
            }
        )
        state.scores = self.weigher.weigh(state.name, state.rows)
        failures = self._promising_failures(state)
        if self._settings.largest_pattern > 2:
            triples = {key for facts in failures for key in triples_of(facts) if self._space.is_pattern(key)}
            state.scores |= self.weigher.weigh_triples(state.name, state.rows, sorted(triples))
        state.queries = self._queries(state, failures)
        self._open_tests(state, only_shown)
        self._open_sharper_tests(state, only_shown)

    def _promising_failures(self, state: ContextState) -> list[PatternKey]:
        """The telling facts of failures that nothing explains: the best explained ones, and the newest."""
        numbers = state.rows.unexplained_failures()
        by_fact: dict[int, float] = {}
        for key, score in state.scores.items():
            for fact in key:
                by_fact[fact] = max(by_fact.get(fact, NOTHING), score.log_odds)
        newest: dict[PatternKey, None] = {}
        ranked: dict[PatternKey, float] = {}
        for number in reversed(numbers):
            shown = state.rows.rows[number].shown
            facts = telling_facts(shown, state.scores)
            if len(newest) < _FAILURES_AT_A_TIME:
                newest.setdefault(facts)
            ranked.setdefault(facts, max(by_fact.get(fact, NOTHING) for fact in shown))
        best = sorted(ranked, key=lambda facts: -ranked[facts])[:_FAILURES_AT_A_TIME]
        return list(dict.fromkeys([*best, *newest]))

    def _queries(self, state: ContextState, failures: Iterable[PatternKey]) -> list[CauseQuery]:
        usual = state.rows.usual_rate
        largest = max(self._settings.crowd_size, self._settings.largest_pattern)
        found = {
            best_query(facts, state.scores, usual, largest, self._settings.largest_pattern)
            for facts in failures
        }
        for key in self._worth_a_direct_look(state):
            score = state.scores.get(key)
            odds = self.weigher.prior(state.name, key) if score is None else score.log_odds
            found.add(CauseQuery(_information(float(special.expit(odds)), usual), key))
        found |= self._promising_crowds(state)
        ranked = sorted(found, key=lambda query: (-query.information, query.facts))
        # A query has to tell more than the next crowd of facts that were met least.
        least = _information(self.promise(state), usual)
        return [query for query in ranked if query.information > least]

    def promise(self, state: ContextState) -> float:
        """Bugs to be expected per crowd: a gamma prior worth one bug in as many crowds as show all facts."""
        found = sum(test.state is TestState.PROVEN for test in self._ledger.of(state.name))
        first_crowds = state.composer.crowds_for_all / self._settings.crowd_size
        return (1 + found) / (first_crowds + state.composer.crowds)

    def _promising_crowds(self, state: ContextState) -> set[CauseQuery]:
        """Patterns that may be bugs and are not under test, the likeliest first, several to a trial.

        Where many trials fail anyway, no single failure tells of a cause: what is met a few times and failed
        more often than others has to be met again, and one trial can show several such patterns.
        """
        usual = state.rows.usual_rate
        likely = [
            score for score in state.scores.values() if self._ledger.find(state.name, score.key) is None
        ]
        likely.sort(key=lambda score: (-score.log_odds, score.key))
        known = [frozenset(test.key) for test in self._ledger.of(state.name)]
        waiting = likely[:_PATTERNS_AT_A_TIME]
        found: set[CauseQuery] = set()
        while waiting:
            facts: set[int] = set()
            none_is_bug = 1.0
            left: list[PatternScore] = []
            for score in waiting:
                joined = none_is_bug * (1 - float(special.expit(score.log_odds)))
                # A trial that is likely to fail anyway tells less with one pattern more.
                tells_more = _information(1 - joined, usual) > _information(1 - none_is_bug, usual)
                if tells_more and self._fits(facts, score.key, known):
                    facts.update(score.key)
                    none_is_bug = joined
                else:
                    left.append(score)
            if not facts:
                break
            found.add(CauseQuery(_information(1 - none_is_bug, usual), tuple(sorted(facts))))
            waiting = left
        return found

    def _fits(self, facts: set[int], key: PatternKey, known: Sequence[frozenset[int]]) -> bool:
        """Whether a pattern can join a crowd, and no pattern that is under test would be in it."""
        joined = facts.union(key)
        if len(joined) > max(self._settings.crowd_size, len(key)):
            return False
        if any(pattern <= joined for pattern in known):
            return False
        return all(self._space.are_compatible(one, other) for one, other in combinations(sorted(joined), 2))

    def _worth_a_direct_look(self, state: ContextState) -> list[PatternKey]:
        """Proposals, and patterns that fail in other contexts, as long as they are not under test here."""
        proposed = [key for name, key in self.weigher.proposed if name == state.name]
        keys = dict.fromkeys([*proposed, *self.weigher.general.patterns])
        return [key for key in keys if self._ledger.find(state.name, key) is None]

    def _open_tests(self, state: ContextState, only_shown: bool) -> None:
        """Test what explains failures best, each failure once."""
        likely = [score for score in state.scores.values() if score.log_odds > 0]
        likely.sort(key=lambda score: (-score.log_odds, score.key))
        covered: set[int] = set()
        for score in likely:
            failures = {number for number in state.rows.showing(score.key) if state.rows.rows[number].failed}
            if 2 * len(failures - covered) > len(failures):
                covered |= failures
                key = self._part_to_test_first(state, score.key)
                self._ledger.open(state.name, key, only_shown)
                self._offer(key)

    def _open_sharper_tests(self, state: ContextState, only_shown: bool) -> None:
        """A pattern that fails now and then may be part of one that fails for sure: test the best one."""
        for test in self._ledger.of(state.name):
            if not self._names.may_be_too_wide(test):
                continue
            best, fact = max(self._sharpening_odds(state, test.key), default=(NOTHING, -1))
            if best > 0:
                self._ledger.open(state.name, tuple(sorted((*test.key, fact))), only_shown)

    def _sharpening_odds(self, state: ContextState, key: PatternKey) -> list[tuple[float, int]]:
        """Log odds that one more fact splits the trials of a pattern into failing and harmless ones."""
        found: list[tuple[float, int]] = []
        parts = state.rows.split(key)
        prior = np.log(self._settings.expected_bugs / max(1, len(parts)))
        for fact, (inside, outside) in parts.items():
            if not inside.trials or not outside.trials or inside.rate <= outside.rate:
                continue
            if not self._space.is_pattern(tuple(sorted((*key, fact)))):
                continue
            fails = inside.fails + outside.fails
            passes = inside.passes + outside.passes
            factor = (
                special.betaln(1 + inside.fails, 1 + inside.passes)
                + special.betaln(1 + outside.fails, 1 + outside.passes)
                - special.betaln(1 + fails, 1 + passes)
            )
            found.append((float(prior + factor), fact))
        return found

    def _offer(self, key: PatternKey) -> None:
        for fact in key:
            self._space.offer(fact)

    def _part_to_test_first(self, state: ContextState, key: PatternKey) -> PatternKey:
        """A part that may explain it as well is tested first, and decides what the whole has to beat."""
        parts = [part for size in range(1, len(key)) for part in combinations(key, size)]
        known = [(state.scores[part].log_odds, part) for part in parts if part in state.scores]
        for odds, part in sorted(known, key=lambda one: (-one[0], one[1])):
            test = self._ledger.find(state.name, part)
            if test is None:
                if odds > 0:
                    return part
            elif test.state is TestState.OPEN and test.counts.trials < self._ledger.typical_images / 2:
                return part
        return key
