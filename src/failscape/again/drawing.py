"""Asks models for the cases that a comparison lacks: pairs where the answer is open, and whole sets of cases.

Everything is recorded in one atlas of the comparison, a hunt for each model, as any hunt does it: durable,
resumable, paid for once. Any choice of pairs that looks only at what was seen before keeps e-values valid;
`plan_round` tries to be quick.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

import numpy as np

from failscape.again.asking import ModelAsker, bring_pictures
from failscape.again.cases import (
    GENERATOR,
    AskedCase,
    ModelSide,
    judge_difference,
    new_case,
)
from failscape.again.comparing import JudgeDrift, NotComparable
from failscape.again.decide import CompareRules, Flags, PairCounts, evidence, intervals, pair_up
from failscape.atlas import Atlas
from failscape.config import HuntConfig
from failscape.runtime.progress import Reporter
from failscape.search.certify import evidence_needed
from failscape.stats.evalues import Floats
from failscape.trials import Decide, Probe, Show, Step, Verdict, key_of_try, subject_of_key

#: Pairs that a subject gets before it is looked at: with fewer, nothing could be near.
FIRST = 4

#: Pairs that an open subject gets in a round: few enough to change one's mind, enough to keep models busy.
STEP = 8

#: The share of a budget for the random sample: it alone speaks for the whole space.
SAMPLE_SHARE = 0.3


@dataclass(frozen=True, slots=True)
class OpenSubject:
    """A subject that could get `room` more pairs. `claimed`: a search picked it, so it comes first."""

    subject: str
    counts: PairCounts
    room: int
    claimed: bool = False


def plan_round(subjects: Sequence[OpenSubject], room: int, rules: CompareRules) -> dict[str, int]:
    """Subject → how many more pairs, `room` in all at most; empty when nothing is open.

    In turn: what a search claimed and hardly anybody looked at; what is nearest to a claim; what has no pairs
    yet. The last two take turns, so that neither waits for ever.
    """
    able = [one for one in subjects if one.room > 0]
    if not able:
        return {}
    table = np.array([one.counts for one in able], np.float64)
    worse, better = evidence(table)
    settled = _settled(table, worse, better, rules, len(subjects))
    near = np.maximum(worse, better)
    looked = [at for at, one in enumerate(able) if one.counts.pairs >= FIRST and not settled[at]]
    fresh = [at for at, one in enumerate(able) if one.counts.pairs < FIRST]
    looked.sort(key=lambda at: (-near[at], able[at].subject))
    first = [at for at in fresh if able[at].claimed]
    later = [at for at in fresh if not able[at].claimed]
    found: dict[str, int] = {}
    for at in chain(first, _in_turn(looked, later)):
        wanted = STEP if able[at].counts.pairs >= FIRST else FIRST - able[at].counts.pairs
        given = min(wanted, able[at].room, room)
        if given <= 0:
            break
        found[able[at].subject] = given
        room -= given
    return found


def _settled(table: Floats, worse: Floats, better: Floats, rules: CompareRules, tests: int) -> Flags:
    """Proven with some to spare, or shown to lie within the margin."""
    logs = np.concatenate([worse, better])
    need = evidence_needed(logs, rules.level, 2 * tests)
    low, high = intervals(table)
    within = (low >= -rules.margin) & (high <= rules.margin)
    return np.asarray((np.maximum(worse, better) >= need) | within, dtype=np.bool_)


def _in_turn(first: Sequence[int], second: Sequence[int]) -> list[int]:
    """One of each, then the rest of the longer."""
    both = min(len(first), len(second))
    mixed = [at for pair in zip(first, second, strict=False) for at in pair]
    return [*mixed, *first[both:], *second[both:]]


#: A budget is spent in about so many rounds: each looks at all before it.
ROUNDS = 12

SMALLEST_ROUND = 32
#: Pairs that a subject can get where new pictures can be drawn of it.
WITHOUT_END = 1 << 20

#: Shown again: a judge that changed its mind on three of them or more has surely drifted.
SHOWN_AGAIN = 30

#: They are numbered from here on: below new cases, above those of a search.
AGAIN_NUMBER = 900


@dataclass
class DrawnSide:
    """A model with what it has been asked: in its own atlas before, and in the comparison's since."""

    recorded: ModelSide
    asker: ModelAsker
    now: ModelSide = field(init=False)

    def __post_init__(self) -> None:
        self.refresh()

    def refresh(self) -> None:
        kind = self.asker.kind
        self.now = self.recorded.with_cases(self.asker.cases(), kind.purposes)

    def lacks(self, case: AskedCase) -> bool:
        return (case.subject, case.case) not in self.now.cases and case.key not in self.asker.asked

    async def ask(self, probes: Iterable[Probe]) -> int:
        number = await self.asker.ask(list(probes))
        self.refresh()
        return number


@dataclass
class WantedCases:
    """What to ask next: new cases of both, and cases that one of them has already."""

    fresh: list[Probe] = field(default_factory=list)
    first: list[AskedCase] = field(default_factory=list)
    second: list[AskedCase] = field(default_factory=list)

    @property
    def trials(self) -> int:
        return 2 * len(self.fresh) + len(self.first) + len(self.second)


async def draw_pairs(
    sides: tuple[ModelSide, ModelSide],
    configs: tuple[HuntConfig, HuntConfig],
    folder: Path,
    budget: int,
    rules: CompareRules,
    reporter: Reporter,
) -> tuple[ModelSide, ModelSide, bool]:
    """Both sides with up to `budget` trials more in all, and whether somebody interrupted."""
    with Atlas.open(folder, create=True) as atlas:
        async with AsyncExitStack() as stack:
            here, there = (ModelAsker(config, atlas, reporter) for config in configs)
            first = DrawnSide(sides[0], await stack.enter_async_context(here))
            if here.hunt_id == there.hunt_id:  # the same model again: nothing is asked twice
                second = DrawnSide(sides[1], here)
            else:
                second = DrawnSide(sides[1], await stack.enter_async_context(there))
            differing = judge_difference(first.asker.identities, second.asker.identities)
            if differing:
                raise NotComparable(differing, "give both configs the same judge or verifier")
            drift = await judged_twice(sides[0], here)
            if drift.proven:
                fix = "judge it anew: failscape rejudge ATLAS --judge FILE"
                raise NotComparable(f"{sides[0].name}: {drift.sentence}", fix)
            stopped = await PairDrawing(first, second, atlas, rules).spend(budget)
        return first.now, second.now, stopped


class PairDrawing:
    """Spends a budget on pairs. What it asks next depends on what was seen before alone."""

    def __init__(self, first: DrawnSide, second: DrawnSide, atlas: Atlas, rules: CompareRules) -> None:
        self.first, self.second = first, second
        self._atlas = atlas
        self._rules = rules
        self._gone: set[str] = set()
        keys = first.asker.asked | second.asker.asked
        self._drawn = Counter(subject_of_key(key) for key in keys)
        #: What earlier sessions asked is part of the budget: the same command twice asks nothing new.
        self.spent = self._asked_before()

    def _asked_before(self) -> int:
        """Trials of this pair of models. What the first was asked for another model is not among them."""
        here, there = self.first.asker.asked, self.second.asker.asked
        if self.first.asker is self.second.asker:
            return len(here)
        theirs = {case.key for case in self.second.recorded.cases.values()} | there
        return len(there) + len(theirs.intersection(here))

    async def spend(self, budget: int) -> bool:
        """True when somebody interrupted."""
        if self.spent >= budget:
            return False
        await self._ask(self._sample(round(SAMPLE_SHARE * budget)))
        while self.spent < budget and not self._interrupted:
            wanted = self._round(min(budget - self.spent, max(SMALLEST_ROUND, budget // ROUNDS)))
            if not wanted.trials:
                break
            await self._ask(wanted)
        return self._interrupted

    @property
    def _interrupted(self) -> bool:
        return self.first.asker.interrupted or self.second.asker.interrupted

    def _sample(self, most: int) -> WantedCases:
        """Cases of the random sample that one side has and the other lacks, in the order recorded."""
        wanted = WantedCases()
        for has, lacks, into in self._ways(wanted):
            sampled = [(one.subject, one.case) for one in has.now.results.results if one.sampled]
            into += self._askable([has.now.cases[place] for place in sampled], lacks)[: most - wanted.trials]
        return wanted

    def _ways(self, wanted: WantedCases) -> list[tuple[DrawnSide, DrawnSide, list[AskedCase]]]:
        """Who has cases, who lacks them, and the list of what that one is asked."""
        return [(self.first, self.second, wanted.second), (self.second, self.first, wanted.first)]

    def _askable(self, cases: Sequence[AskedCase], side: DrawnSide) -> list[AskedCase]:
        """Those that a side lacks and whose pictures are there."""
        return [case for case in cases if side.lacks(case) and not self._gone.intersection(case.shown)]

    def _round(self, size: int) -> WantedCases:
        first, second = self.first.now, self.second.now
        claimed = first.results.claimed | second.results.claimed
        counts = {one.subject: one.all for one in pair_up(first.results, second.results)}
        stored = {
            subject: self._stored(subject, subject in claimed)
            for subject in dict.fromkeys([*first.by_subject, *second.by_subject])
        }
        options = [
            OpenSubject(subject, counts.get(subject, PairCounts()), room, subject in claimed)
            for subject, cases in stored.items()
            if (room := WITHOUT_END if self._fresh(subject, 0) else cases.trials)
        ]
        wanted = WantedCases()
        for subject, number in plan_round(options, size, self._rules).items():
            ready = stored[subject]
            taken = ready.second[:number]
            wanted.second += taken
            wanted.first += ready.first[: number - len(taken)]
            missing = number - min(number, ready.trials)
            wanted.fresh += [probe for place in range(missing) if (probe := self._fresh(subject, place))]
            if wanted.trials >= size:
                break
        return wanted

    def _stored(self, subject: str, claimed: bool) -> WantedCases:
        """Cases that one side has: of what a search claimed, only those drawn apart from the claim."""
        wanted = WantedCases()
        purposes = self.first.asker.kind.purposes
        has_fresh = any(purpose.fixed_beforehand for purpose in purposes)
        for has, lacks, into in self._ways(wanted):
            cases = has.now.by_subject.get(subject, [])
            if claimed and has_fresh:
                cases = [case for case in cases if purposes.of_key(case.key).fixed_beforehand]
            into += self._askable(cases, lacks)
        return wanted

    def _fresh(self, subject: str, place: int) -> Probe | None:
        """The next new case of a subject, and those after it."""
        like = (self.first.recorded.by_subject.get(subject) or self.second.recorded.by_subject[subject])[0]
        return new_case(self.first.asker.kind, like, self._drawn[subject] + place)

    async def _ask(self, wanted: WantedCases) -> None:
        """The first draws what is new; the second is asked the very same cases, where they were valid."""
        sources = [self.first.recorded.folder, self.second.recorded.folder]
        self._gone |= bring_pictures([*wanted.first, *wanted.second], sources, self._atlas)
        self._drawn.update(probe.subject for probe in wanted.fresh)
        here = [case.probe() for case in wanted.first if not self._gone.intersection(case.shown)]
        self.spent += await self.first.ask([*wanted.fresh, *here])
        if self._interrupted:
            return
        drawn = {case.key: case for case in self.first.asker.cases()}
        same = [drawn[probe.key] for probe in wanted.fresh if probe.key in drawn]
        cases = [case for case in (*same, *wanted.second) if not self._gone.intersection(case.shown)]
        self.spent += await self.second.ask(case.probe() for case in cases)


async def judged_twice(side: ModelSide, asker: ModelAsker) -> JudgeDrift:
    """Ask the judge of `asker` about pictures that were judged before. It costs calls, but no picture."""
    if asker.kind.target != GENERATOR:
        return JudgeDrift(0, 0)
    # The first picture of some subjects, spread over all of them.
    firsts = [cases[0] for cases in side.by_subject.values() if cases[0].images]
    cases = firsts[:: max(1, len(firsts) // SHOWN_AGAIN)][:SHOWN_AGAIN]
    gone = bring_pictures([_with_picture(case) for case in cases], [side.folder], asker.atlas)
    again = asker.kind.purposes.of_fresh_tries
    before = {
        key_of_try(case.subject, again, AGAIN_NUMBER): case
        for case in cases
        if not gone.intersection(case.images)
    }
    await asker.ask([Probe(key, case.subject, _with_picture(case).steps) for key, case in before.items()])
    after = {trial.key: trial.verdict for trial in asker.atlas.replay(asker.hunt_id) if trial.key in before}
    valid = {key: one is Verdict.FAIL for key, one in after.items() if one in (Verdict.PASS, Verdict.FAIL)}
    return JudgeDrift(len(valid), sum(failed != before[key].failed for key, failed in valid.items()))


def _with_picture(case: AskedCase) -> AskedCase:
    """The same checks on the picture as it is."""
    checks = [step for step in case.asked if isinstance(step, Decide)][-1:]
    steps: tuple[Step, ...] = (Show(case.images[-1:]), *checks)
    return replace(case, steps=steps)
