"""Whoever sits the exam: given a world and its budget, what does it claim and suspect? Pure."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from scipy import special

from failscape.search.patterns import (
    AboveFixedRate,
    EvidenceRule,
    ExcessOverPlain,
    FactSpace,
    PatternRequest,
    PatternSearch,
    RequestPurpose,
    SearchSettings,
    TrialRow,
)
from failscape.search.patterns.sight import chance_absent_if_denied
from failscape.search.second_opinion import ScannedTrial
from failscape.testing.exam.worlds import Facts, PatternWorld, WorldTrial

#: Context and facts.
Answer = tuple[str, Facts]


@dataclass(frozen=True, slots=True)
class ExamPaper:
    """What came of one world. `used` of its budget, `seconds` of own time without the world's.

    `only_shown`: claims are about trials that show all facts, not about trials that asked for them.
    """

    claims: Sequence[Answer]
    suspects: Sequence[Answer]
    used: int
    seconds: float
    only_shown: frozenset[Answer] = frozenset()
    trials: Sequence[ScannedTrial] = ()


ExamPlayer = Callable[[PatternWorld], ExamPaper]

#: Passes are described every so often.
DESCRIBED_PASSES = 4
ROUND = 200


class JudgeSight:
    """Whether a judge's no counts: what it does not see is more likely missing than overlooked."""

    def __init__(self) -> None:
        self._asked = [1, 1]
        self._others = [1, 1]

    def note(self, trial: WorldTrial, asked: Sequence[str]) -> None:
        for fact, answer in trial.seen.items():
            if answer is not None:
                counts = self._asked if fact in asked else self._others
                counts[not answer] += 1

    @property
    def sees(self) -> bool:
        low = special.betaincinv(self._asked[0], self._asked[1], 0.01)
        high = special.betaincinv(self._others[0], self._others[1], 0.99)
        return bool(low > high) and chance_absent_if_denied(*self._asked, *self._others) > 0.5


def play_patterns(world: PatternWorld) -> ExamPaper:
    """The pattern search by itself, as a hunt would run it."""
    return PatternPlayer(world).play()


class PatternPlayer:
    """Runs a pattern search in a world. `search` can be looked at afterwards."""

    def __init__(self, world: PatternWorld) -> None:
        self.world = world
        traits = world.traits
        rule: EvidenceRule
        if traits.complete:
            rule = AboveFixedRate(world.margin)
            settings = SearchSettings(traits.budget, seed=world.seed, crowd_size=2)
        else:
            rule = ExcessOverPlain(world.margin)
            settings = SearchSettings(traits.budget, seed=world.seed, described_passes=DESCRIBED_PASSES)
        space = FactSpace(world.contexts, world.listed, complete=traits.complete)
        self.search = PatternSearch(space, settings, rule)
        self.trials: list[ScannedTrial] = []
        self._sight = JudgeSight()
        self._passes = 0

    def play(self) -> ExamPaper:
        search, seconds = self.search, 0.0
        size = max(8, min(ROUND, self.world.traits.budget // 32))
        while True:
            clock = time.process_time()
            requests = search.choose(size)
            seconds += time.process_time() - clock
            if not requests:
                break
            trials = [self._draw(request) for request in requests]
            clock = time.process_time()
            for request, trial in zip(requests, trials, strict=True):
                row = self._row(request, trial)
                search.observe(request, row)
                self._record(request, row)
            search.judge_sees_facts = self._sight.sees
            seconds += time.process_time() - clock
        return self._paper(seconds)

    def _draw(self, request: PatternRequest) -> WorldTrial:
        asked_about = list(request.facts)
        if request.purpose is RequestPurpose.PLAIN:
            listed = sorted(self.world.listed)
            asked_about += [listed[(7 * request.number + step) % len(listed)] for step in range(3)]
        trial = self.world.draw(request.context, request.facts, request.number, asked_about)
        self._sight.note(trial, request.facts)
        return trial

    def _row(self, request: PatternRequest, trial: WorldTrial) -> TrialRow:
        if trial.failed is None:
            return TrialRow(None)
        if self.world.traits.complete:
            return TrialRow(trial.failed, trial.shown)
        facts = request.facts
        if self.search.judge_sees_facts:
            facts = tuple(fact for fact in facts if trial.seen.get(fact) is not False)
        self._passes += not trial.failed
        if not trial.caption or not (trial.failed or self._passes % DESCRIBED_PASSES == 0):
            return TrialRow(trial.failed, facts)
        for fact in trial.caption:
            self.search.space.add(fact, self.world.kinds[fact])
        return TrialRow(trial.failed, facts, trial.caption)

    def _record(self, request: PatternRequest, row: TrialRow) -> None:
        if row.failed is not None:
            facts = frozenset(row.facts or ()) | frozenset(row.described or ())
            self.trials.append(ScannedTrial(request.context, facts, row.failed))

    def _paper(self, seconds: float) -> ExamPaper:
        claims = [(claim.context, claim.facts) for claim in self.search.claims()]
        suspects = [(one.context, one.facts) for one in self.search.suspects()]
        only_shown = {(test.context, test.facts) for test in self.search.tests() if test.only_shown}
        return ExamPaper(
            claims,
            suspects,
            self.search.spent,
            seconds,
            frozenset(only_shown),
            self.trials,
        )
