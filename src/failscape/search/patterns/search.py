"""The search for minimal patterns of facts under which a model fails more often than usual. Pure.

See the package's docstring for how a hunt uses it, and `docs` for the idea. The same settings and the same
rows in the same order give the same search: that is what replay rests on.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from random import Random

import numpy as np

from failscape.search.patterns import naming
from failscape.search.patterns.candidates import CandidateFinder
from failscape.search.patterns.confirmation import ConfirmationTest, TestState, counted
from failscape.search.patterns.evidence import EvidenceRule
from failscape.search.patterns.exploring import CrowdComposer
from failscape.search.patterns.facts import FactSpace
from failscape.search.patterns.ledger import TestLedger
from failscape.search.patterns.naming import NameCheck, NameKeeper
from failscape.search.patterns.requests import PatternRequest, RequestPurpose, TrialRow
from failscape.search.patterns.results import GeneralClaim, PatternClaim, PatternSuspect, ResultReader
from failscape.search.patterns.rows import ContextRows, FailureCounts, RecordedRow
from failscape.search.patterns.settings import SearchSettings
from failscape.search.patterns.state import ContextState
from failscape.search.patterns.weighing import PatternWeigher

#: A context is weighed again when it has this share of rows more. It bounds the time, and delays what a
#: context learns by a twentieth of its rows.
_WEIGH_AGAIN = 0.05

#: A fact that so many captions mention is no slip of the tongue.
_RECURRING = 3

#: Trials of a check of a name that are asked for together: it saves rounds.
_STEP = 4


class PatternSearch:
    """Decides what to try next, learns from every trial, and says what is proven.

    Args:
        space: Contexts and facts. The search adds facts that captions bring.
        settings: Budget and numbers.
        rule: What a claim has to exceed.
    """

    def __init__(self, space: FactSpace, settings: SearchSettings, rule: EvidenceRule) -> None:
        self.space = space
        self.settings = settings
        self.rule = rule
        self.spent = 0
        #: Whether the judge is known to see facts. New tests then count only trials that show all of them.
        self.judge_sees_facts = False
        self._states = {
            name: ContextState(
                name, ContextRows(space, settings.described_passes), CrowdComposer(space, name)
            )
            for name in space.contexts
        }
        self.ledger = TestLedger(space, settings, rule, lambda name: self._states[name].plain)
        self._weigher = PatternWeigher(space, settings, rule)
        self.names = NameKeeper(space, settings, self.ledger, self.rows_of)
        self._finder = CandidateFinder(space, settings, self.ledger, self._weigher, self.names)
        self._results = ResultReader(space, settings, rule, self.ledger, self.names, self._states)
        self._requests = 0
        self._given_facts = len(space)
        self._mentions: dict[int, int] = {}
        self._checks: dict[int, NameCheck] = {}
        self._luck = Random(f"pattern search {settings.seed}")
        self._noise = np.random.default_rng(settings.seed)
        self._first_plain = self._plain_to_begin_with()

    def _plain_to_begin_with(self) -> int:
        """Plain trials of all contexts together take at most a tenth of the budget."""
        if not self.rule.needs_plain:
            return 0
        share = self.settings.budget // (10 * max(1, len(self._states)))
        return max(2, min(self.settings.first_plain, share))

    # What a hunt says before and beside the search

    def propose(
        self, context: str, facts: Iterable[str], chance: float, *, always_test: bool = False
    ) -> None:
        """Somebody thinks that a pattern is a bug: an earlier hunt, a language model, a user.

        Args:
            chance: The probability to begin with. The search looks at the pattern as soon as that tells most.
            always_test: Put it to the test whatever the search believes.

        Raises:
            ValueError: If a fact or the context is unknown.
        """
        if context not in self._states:
            raise ValueError(f"the context must be one of the space, but got {context!r}")
        key = self.space.key(facts)
        self._weigher.proposed[context, key] = max(chance, self._weigher.proposed.get((context, key), 0.0))
        self._states[context].is_stale = True
        if always_test:
            test = self.ledger.open(context, key, self.judge_sees_facts)
            if test is not None:
                test.always = True

    def skip(self, context: str) -> None:
        """Ask for nothing more in a context: its thing cannot be drawn."""
        self._states[context].is_skipped = True

    def charge(self, trials: int) -> None:
        """The hunt used trials of the budget for something of its own."""
        self.spent += trials

    def distrust_judge(self) -> None:
        """The judge turned out to see no facts: from now on trials count as asked for."""
        self.judge_sees_facts = False
        for test in self.ledger:
            test.count_hidden()

    @property
    def left(self) -> int:
        return max(0, self.settings.budget - self.spent)

    # Choosing

    def choose(self, number: int) -> list[PatternRequest]:
        """The next trials, at most `number`, at most what is left of the budget; empty when it is used up."""
        room = min(number, self.left)
        self.refresh()
        chosen: list[PatternRequest] = []
        owed = self._owed_confirmations()
        if self.left <= owed:
            chosen += self._confirm(room)
        chosen += self._plain(room - len(chosen))
        share = self._share_of_tests()
        chosen += self._tests(room - len(chosen), share)
        chosen += self._confirm(int(self.settings.test_share * (room - len(chosen))))
        chosen += self._check_names(int(self.settings.test_share * (room - len(chosen))))
        chosen += self._look_inside(int(self.settings.test_share * (room - len(chosen))))
        chosen += self._look_into(int(0.5 * (room - len(chosen))) if share < 1 else 0)
        chosen += self._explore(room - len(chosen)) if share < 1 else []
        chosen += self._tests(room - len(chosen), 1.0)
        chosen += self._explore(room - len(chosen))
        self.spent += len(chosen)
        return chosen

    def _request(
        self,
        context: str,
        key: Iterable[int],
        purpose: RequestPurpose,
        pattern: tuple[str, ...] = (),
    ) -> PatternRequest:
        self._requests += 1
        return PatternRequest(self._requests, context, self.space.named(key), purpose, pattern)

    def _active(self) -> list[ContextState]:
        return [state for state in self._states.values() if not state.is_skipped]

    def _plain(self, room: int) -> list[PatternRequest]:
        """As many plain trials as the longest open test of a context has, times the square root of the tests.

        All open tests share the plain trials. The variance of a difference falls with both sample sizes, so
        for k tests of n trials each, n·√k plain trials give the most for all trials together.
        """
        if not self.rule.needs_plain:
            return []
        lacking: list[tuple[int, ContextState]] = []
        sizes: dict[str, list[float]] = {}
        for test in self.ledger:
            if test.state is TestState.OPEN:
                sizes.setdefault(test.context, []).append(test.counts.trials)
        for state in self._active():
            tests = sizes.get(state.name, [0.0])
            wanted = max(self._first_plain, math.ceil(math.sqrt(len(tests)) * max(tests)))
            have = int(state.plain.trials) + state.plain_pending
            lacking += [(have + step, state) for step in range(wanted - have)]
        # In turn over contexts: one that cannot be drawn must not hold up the others.
        lacking.sort(key=lambda one: one[0])
        chosen: list[PatternRequest] = []
        for _, state in lacking[: max(0, room)]:
            state.plain_pending += 1
            chosen.append(self._request(state.name, (), RequestPurpose.PLAIN))
        return chosen

    def _share_of_tests(self) -> float:
        """Tests take more than their share of a round when what is left is needed to finish open ones."""
        if not self.left:
            return 1.0
        if self.left <= self.ledger.typical_images:
            return 1.0
        costs = sorted(
            self.ledger.images_lacking(test) for test in self.ledger if test.state is TestState.OPEN
        )
        affordable = self.left - self._owed_confirmations()
        demand = 0.0
        for cost in costs:
            if demand + cost > affordable:
                break
            demand += cost
        return min(1.0, max(self.settings.test_share, demand / self.left))

    def _tests(self, room: int, share: float) -> list[PatternRequest]:
        """Nearest to a proof first, a part that may keep the bug before the whole.

        While exploring pays, long shots share a small part of the room.
        """
        rooms = {
            False: int(share * room),
            True: room if share == 1 else int(self.settings.long_shot_share * room),
        }
        tests = [test for test in self.ledger if test.state is TestState.OPEN and not self._is_skipped(test)]
        costs = {id(test): self.ledger.images_lacking(test) for test in tests}
        tests.sort(key=lambda test: (not test.always, costs[id(test)], test.context, test.key))
        chosen: list[PatternRequest] = []
        for whole in tests:
            test = self._first_to_test(whole, tests)
            lacking = costs[id(whole)]
            is_far = self.ledger.is_long_shot(whole)
            available = min(rooms[is_far], room - len(chosen))
            step = math.ceil(min(self.ledger.next_step(test, lacking), available))
            if step <= 0 or test.pending or (share < 1 and self.names.is_explained(test)):
                continue
            test.pending = step
            rooms[is_far] -= step
            chosen += [
                self._request(test.context, test.key, RequestPurpose.TEST, test.facts) for _ in range(step)
            ]
        return chosen

    def _is_skipped(self, test: ConfirmationTest) -> bool:
        return self._states[test.context].is_skipped

    def _first_to_test(
        self, whole: ConfirmationTest, tests: Collection[ConfirmationTest]
    ) -> ConfirmationTest:
        for check in naming.part_checks(self.space, whole) if len(whole.key) > 1 else ():
            part = self.ledger.find(whole.context, check.part)
            if (
                part is not None
                and part.state is TestState.OPEN
                and self.names.chance_kept(whole, check) > 0.5
            ):
                return part
        return whole

    def _owed_confirmations(self) -> int:
        if not self.settings.confirm_images:
            return 0
        return sum(self._confirmations_lacking(test) for test in self.names.claimed())

    def _confirmations_lacking(self, test: ConfirmationTest) -> int:
        if self._is_skipped(test):
            return 0
        return max(0, self.settings.confirm_images - test.confirm_requested)

    def _confirm(self, room: int) -> list[PatternRequest]:
        chosen: list[PatternRequest] = []
        if not self.settings.confirm_images:
            return chosen
        for test in self.names.claimed():
            step = min(self._confirmations_lacking(test), room - len(chosen))
            if step > 0:
                test.confirm_requested += step
                chosen += [
                    self._request(test.context, test.key, RequestPurpose.CONFIRM, test.facts)
                    for _ in range(step)
                ]
        return chosen

    def _look_into(self, room: int) -> list[PatternRequest]:
        """The most telling queries; each is asked once, until its context is weighed again."""
        if room <= 0:
            return []
        ranked = sorted(
            ((query, state) for state in self._active() for query in state.queries),
            key=lambda one: (-one[0].information, one[1].name, one[0].facts),
        )
        chosen: list[PatternRequest] = []
        for query, state in ranked[:room]:
            state.queries.remove(query)
            chosen.append(self._request(state.name, query.facts, RequestPurpose.LOOK_INTO))
        return chosen

    def _explore(self, room: int) -> list[PatternRequest]:
        """Crowds where most is to be expected; every context first shows each of its facts once."""
        chosen: list[PatternRequest] = []
        states = self._active()
        if room <= 0 or not states:
            return chosen
        known = {state.name: self._known_patterns(state.name) for state in states}
        for _ in range(room):
            state = max(states, key=lambda one: (one.composer.is_young, self._finder.promise(one)))
            key = state.composer.compose(self.settings.crowd_size, known[state.name], self._noise)
            chosen.append(self._request(state.name, key, RequestPurpose.EXPLORE))
        return chosen

    def _known_patterns(self, context: str) -> list[frozenset[int]]:
        """Proven patterns: a crowd that holds one would tell nothing else."""
        return [frozenset(test.key) for test in self.ledger.of(context) if test.state is TestState.PROVEN]

    def _check_names(self, room: int) -> list[PatternRequest]:
        chosen: list[PatternRequest] = []
        for test in list(self.ledger):
            if self._is_skipped(test):
                continue
            state = self._states[test.context]
            for check in self.names.checks_of(test):
                chance = self.names.chance_kept(test, check)
                trials = naming.counts_of(check, state.rows).trials
                is_kept = chance > 0.5 and trials >= self.ledger.typical_images / 2
                if is_kept and not check.is_for_wider:
                    self.ledger.open(test.context, check.part, self.judge_sees_facts)
                    continue
                is_settled = chance <= self.settings.settled_doubt or is_kept
                enough = state.checks_drawn.get(check, 0) >= 2 * self.ledger.typical_images
                if is_settled or enough or state.checks_pending.get(check):
                    continue
                if len(chosen) + _STEP > room:
                    return chosen
                chosen += self._draw_check(state, test, check)
        return chosen

    def _look_inside(self, room: int) -> list[PatternRequest]:
        """Crowds within proven patterns that may be part of a narrower one, up to two typical tests each."""
        chosen: list[PatternRequest] = []
        for test in self.ledger:
            state = self._states[test.context]
            looked = state.looked_inside.get(test.key, 0)
            lacking = min(_STEP, 2 * self.ledger.typical_images - looked, room - len(chosen))
            if test.state is not TestState.PROVEN or lacking <= 0 or state.is_skipped:
                continue
            if not self.names.may_be_too_wide(test):
                continue
            state.looked_inside[test.key] = looked + lacking
            for _ in range(lacking):
                key = test.key
                if not self.space.complete:
                    size = self.settings.crowd_size + len(test.key)
                    key = state.composer.compose(size, (), self._noise, begin_with=test.key)
                chosen.append(self._request(state.name, key, RequestPurpose.LOOK_INTO))
        return chosen

    def _draw_check(
        self, state: ContextState, test: ConfirmationTest, check: NameCheck
    ) -> list[PatternRequest]:
        state.checks_pending[check] = _STEP
        requests: list[PatternRequest] = []
        for _ in range(_STEP):
            key = list(check.part)
            if check.substitutes:
                key.append(self._luck.choice(check.substitutes))
            request = self._request(state.name, key, RequestPurpose.CHECK_NAME, test.facts)
            self._checks[request.number] = check
            requests.append(request)
        return requests

    # Learning

    def observe(self, request: PatternRequest, row: TrialRow) -> None:
        """Learn from the trial of a request. Tell trials in the order in which they were asked for."""
        state = self._states[request.context]
        asked = self.space.closed(request.facts)
        shown = asked if row.facts is None else self.space.closed(row.facts)
        self._count(state, request, row.failed, asked <= shown)
        if row.failed is None:
            return
        described = shown if row.described is None else shown | self._described(row.described)
        state.rows.add(RecordedRow(shown, described, row.described is not None, row.failed))
        if self.space.complete and not asked >= shown:
            state.composer.note(shown - asked)

    def note(self, context: str, row: TrialRow) -> None:
        """Learn from a trial that the search did not ask for. It guides the search and proves nothing."""
        if row.failed is None or row.facts is None:
            return
        shown = self.space.closed(row.facts)
        described = shown if row.described is None else shown | self._described(row.described)
        self._states[context].rows.add(RecordedRow(shown, described, row.described is not None, row.failed))

    def _described(self, facts: Iterable[str]) -> frozenset[int]:
        """Facts of a caption. Those that recur can be asked for, as long as the budget can show them all."""
        numbers = self.space.closed(facts)
        for number in numbers:
            if number >= self._given_facts:
                self._mentions[number] = self._mentions.get(number, 0) + 1
                if self._mentions[number] == _RECURRING and self._has_room_for_facts():
                    self.space.offer(number)
        return numbers

    def _has_room_for_facts(self) -> bool:
        """Whether exploring can show one more fact ten times in every context."""
        showings = self.settings.budget * self.settings.crowd_size / max(1, len(self._states))
        most_options = max((len(self.space.options(name)) for name in self._states), default=0)
        return 10 * (most_options + 1) <= showings

    def _count(
        self, state: ContextState, request: PatternRequest, failed: bool | None, shows_all: bool
    ) -> None:
        """Count a trial where its purpose says."""
        if request.purpose is RequestPurpose.PLAIN:
            state.plain_pending -= 1
            if failed is not None:
                state.plain = counted(state.plain, failed)
        elif request.purpose is RequestPurpose.CHECK_NAME:
            check = self._checks.pop(request.number)
            state.checks_pending[check] -= 1
            state.checks_drawn[check] = state.checks_drawn.get(check, 0) + 1
        elif request.purpose in (RequestPurpose.TEST, RequestPurpose.CONFIRM):
            test = self.ledger.find(request.context, self.space.key(request.pattern))
            assert test is not None
            if request.purpose is RequestPurpose.TEST:
                test.add(failed, shows_all)
            elif failed is not None and (shows_all or not test.only_shown):
                test.confirmation = counted(test.confirmation, failed)

    def refresh(self) -> None:
        """Settle all tests, weigh contexts with news, and open tests of what explains failures best."""
        for name in self.ledger.settle():
            self._states[name].is_stale = True
        for state in self._active():
            grown = len(state.rows) >= max(self._first_plain, (1 + _WEIGH_AGAIN) * state.weighed_rows + 1)
            if grown or state.is_stale:
                self._finder.weigh(state, self.judge_sees_facts)

    def tests(self) -> list[ConfirmationTest]:
        """All tests, in the order opened."""
        return list(self.ledger)

    def rows_of(self, context: str) -> ContextRows:
        """All usable trials of a context."""
        return self._states[context].rows

    def shown_options(self, context: str) -> tuple[int, int]:
        """How many of the facts that can be asked for in a context were shown, and how many there are."""
        options = self.space.options(context)
        shown = self.rows_of(context).shown_facts
        return len(shown.intersection(options)), len(options)

    def plain_counts(self, context: str) -> FailureCounts:
        """The plain trials of a context."""
        return self._states[context].plain

    def claims(self) -> list[PatternClaim]:
        """Proven patterns by their minimal names, the surest first."""
        return self._results.claims()

    def general_claims(self) -> list[GeneralClaim]:
        """Patterns that are claimed in at least two contexts, those of most contexts first."""
        return self._results.general_claims()

    def suspects(self) -> list[PatternSuspect]:
        """Patterns that fail more than their limit and are not proven, nearest to a proof first."""
        return self._results.suspects()
