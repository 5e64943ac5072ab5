"""Runs a gate: asks a new model the cases of a baseline and decides whether it is worse than it may be."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from failscape.atlas import Atlas
from failscape.atlas.contents import digest_of, keep_pictures
from failscape.comparison.baseline import FrozenCase, GateBaseline
from failscape.comparison.cases import fresh_probe
from failscape.comparison.comparing import NotComparable
from failscape.comparison.decide import CasePair, CaseResult, PairCounts, counts_of
from failscape.comparison.drawing import ModelAsker
from failscape.comparison.harm import (
    TURNS,
    GateHarm,
    GateResult,
    GateRow,
    GateRules,
    base_cases,
    gate_power,
    judge_harm,
    next_cases,
)
from failscape.comparison.reading import ModelSide, judge_difference
from failscape.config import HuntConfig
from failscape.evidence import config_of
from failscape.runtime.progress import Reporter
from failscape.stats.differences import anytime_difference, log_e_more
from failscape.stats.evalues import Floats
from failscape.trials import Probe, Show, Step

#: With more than this share of cases whose pictures came out otherwise, nothing is compared.
STRANGE = 0.1


async def run_gate(
    config: HuntConfig,
    baseline: GateBaseline,
    folder: Path,
    budget: int,
    rules: GateRules,
    reporter: Reporter,
) -> GateResult:
    """Ask up to `budget` cases, all recorded in the atlas at `folder`; what is there already is not asked."""
    with Atlas.open(folder, create=True) as atlas:
        asker = ModelAsker(config, atlas, reporter, draws=True)
        refuse_other(baseline, config, asker)
        keep_pictures(atlas, asker.kind.pictures(config))
        async with asker:
            run = _GateRun(baseline, asker, rules)
            await run.spend(budget)
        return run.result(budget)


async def draw_more(side: ModelSide, folder: Path, budget: int, reporter: Reporter) -> ModelSide:
    """So many new cases of the old model, every subject in turn: a baseline can only catch what it holds."""
    with Atlas.open(folder, create=True) as atlas:
        asker = ModelAsker(config_of(side.row), atlas, reporter)
        kind = asker.kind
        firsts = [cases[0] for cases in side.by_subject.values()]
        wanted: list[Probe] = []
        for number in range(budget):
            turn = [fresh_probe(kind.target, like, number) for like in firsts]
            new = [probe for probe in turn if probe is not None and probe.key not in asker.asked]
            if len(wanted) >= budget or not any(turn):
                break
            wanted += new
        async with asker:
            await asker.ask(wanted[:budget])
        return side.with_cases(asker.cases(), kind.fresh, kind.sampled)


def refuse_other(baseline: GateBaseline, config: HuntConfig, asker: ModelAsker) -> None:
    """Raise `NotComparable` where the config does not measure what the baseline did."""
    if config.hunt != baseline.kind:
        raise NotComparable(
            f"the baseline is of a {baseline.kind} hunt, the config of a {config.hunt} hunt",
            "freeze an atlas of that kind",
        )
    there = digest_of(asker.identities)
    if baseline.corpus != there:
        raise NotComparable(
            f"the baseline is of another corpus ({baseline.corpus[:9] or 'none'}, now {there[:9] or 'none'})",
            "take the same `space.corpus`, or freeze it again",
        )
    limit = _limit(config)
    if limit != baseline.limit:
        raise NotComparable(
            f"the baseline was made at threshold {_threshold(baseline.limit)}, the config has "
            f"{_threshold(limit)}",
            "give the config the baseline's threshold, or freeze it again",
        )
    differing = judge_difference(baseline.identities, asker.identities)
    if differing:
        raise NotComparable(f"the baseline and the config: {differing}", "judge alike, or freeze it again")


def _limit(config: HuntConfig) -> float | None:
    threshold = getattr(getattr(config, "search", None), "threshold", None)
    margin = getattr(getattr(config, "confirm", None), "margin", None)
    return 1 - float(threshold) if threshold is not None else float(margin) if margin is not None else None


def _threshold(limit: float | None) -> str:
    return "none" if limit is None else f"{1 - limit:g}"


@dataclass
class _GateRun:
    """One gate under way: which cases each subject has been asked, and what came of them."""

    baseline: GateBaseline
    asker: ModelAsker
    rules: GateRules
    asked: int = 0
    _next: dict[str, int] = field(default_factory=dict)
    _base: set[tuple[str, str]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._cases = {subject: self._askable(cases) for subject, cases in self.baseline.by_subject().items()}
        self._subjects = list(self._cases)
        self._next = dict.fromkeys(self._subjects, 0)
        self._answers: dict[tuple[str, str], CaseResult] = {}
        self._keys = set(self.asker.asked)
        self._read_answers()

    def _askable(self, cases: Sequence[FrozenCase]) -> list[FrozenCase]:
        """Those whose photos are there; of a random sample first, for these come first."""
        at_hand = [case for case in cases if self._has_pictures(case)]
        return sorted(at_hand, key=lambda case: not case.sampled)

    def _has_pictures(self, case: FrozenCase) -> bool:
        shown = [digest for step in case.steps if isinstance(step, Show) for digest in step.images]
        return all(self.asker.atlas.images.name(digest) is not None for digest in shown)

    async def spend(self, budget: int) -> None:
        each = base_cases(budget, len(self._subjects))
        first = {subject: min(each, len(self._cases[subject])) for subject in self._subjects}
        self._base = {
            (case.subject, case.case) for s, number in first.items() for case in self._cases[s][:number]
        }
        await self._ask(first, budget)
        for turn in range(TURNS):
            left = budget - self._taken
            if left <= 0 or self.asker.interrupted:
                return
            given = next_cases(self._log_e(), self._room(), left, turn)
            if not given.any():
                return
            await self._ask(dict(zip(self._subjects, given.tolist(), strict=True)), left)

    @property
    def _taken(self) -> int:
        return sum(self._next.values())

    def _room(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        return np.array([len(self._cases[s]) - self._next[s] for s in self._subjects], dtype=np.int64)

    async def _ask(self, wanted: dict[str, int], most: int) -> None:
        probes: list[Probe] = []
        for subject, number in wanted.items():
            number = min(number, most - len(probes))
            start = self._next[subject]
            cases = self._cases[subject][start : start + number]
            probes += [self._probe(case) for case in cases if self._is_open(case)]
            self._next[subject] = start + number
        self.asked += await self.asker.ask(probes)
        self._read_answers()

    def _is_open(self, case: FrozenCase) -> bool:
        return (case.subject, case.case) not in self._answers and _as_asked(case) not in self._tried

    def _probe(self, case: FrozenCase) -> Probe:
        """The case under a key that is free: an atlas that served another baseline has others by its keys."""
        stem = case.key.rstrip("0123456789")
        number = int(case.key[len(stem) :])
        while f"{stem}{number}" in self._keys:
            number += 1
        self._keys.add(f"{stem}{number}")
        return replace(case.probe(), key=f"{stem}{number}")

    def _read_answers(self) -> None:
        """By what a case is known by, so that all that this atlas was ever asked counts."""
        cases = self.asker.cases()
        self._answers = {
            (case.subject, case.case): CaseResult(case.subject, case.case, case.failed) for case in cases
        }
        self._drawn = {(case.subject, case.seed, case.asked) for case in cases}
        stored = self.asker.atlas.trials(self.asker.hunt_id)
        self._tried = {(one.trial.subject, one.trial.seed, one.steps) for one in stored}

    def _pairs(self, subject: str) -> list[CasePair]:
        """Cases that came out as the same case: a picture drawn otherwise is another one."""
        found = []
        for case in self._cases[subject][: self._next[subject]]:
            answer = self._answers.get((case.subject, case.case))
            if answer is not None:
                found.append(CasePair(case.result(), answer))
        return found

    def _table(self) -> Floats:
        return np.array([counts_of(self._pairs(s)) for s in self._subjects], np.float64).reshape(-1, 4)

    def _log_e(self) -> Floats:
        table = self._table()
        return log_e_more(table[:, 2], table[:, 1], table.sum(axis=1), self.rules.margin)

    def result(self, budget: int) -> GateResult:
        # Answered cases that came out with another picture than in the baseline.
        asked = [case for s in self._subjects for case in self._cases[s][: self._next[s]]]
        lacking = [one for one in asked if (one.subject, one.case) not in self._answers]
        table, strange = self._table(), sum(_as_asked(one) in self._drawn for one in lacking)
        pairs = table.sum(axis=1)
        _refuse_strange(strange, int(pairs.sum()))
        base = [
            (subject, pair.difference)
            for subject in self._subjects
            for pair in self._pairs(subject)
            if (pair.first.subject, pair.first.case) in self._base
        ]
        harm = judge_harm(base, table[:, 2], table[:, 1], pairs, self.rules)
        have = min(budget, sum(len(cases) for cases in self._cases.values()))
        return GateResult(
            self.baseline.name,
            self.asker.config.target.model or self.asker.target.provider,
            self.rules,
            harm,
            tuple(sorted(self._rows(table, harm), key=lambda row: -row.log_e)),
            gate_power(self.baseline.rates(), self.rules, have),
            self.baseline.calibrated,
            self.asked,
            strange,
            self._notes(),
            self.asker.interrupted,
        )

    def _rows(self, table: Floats, harm: GateHarm) -> list[GateRow]:
        low, high = anytime_difference(table[:, 2], table[:, 1], table.sum(axis=1))
        return [
            GateRow(
                subject,
                self._cases[subject][0].group if self._cases[subject] else subject,
                PairCounts(*table[at].astype(int).tolist()),
                (float(low[at]), float(high[at])),
                at in harm.harmed,
                float(harm.log_e[at]),
            )
            for at, subject in enumerate(self._subjects)
        ]

    def _notes(self) -> tuple[str, ...]:
        notes = []
        if not self.baseline.calibrated:
            notes.append("the judge is not calibrated: nobody has measured how it errs (failscape review)")
        if self.asker.interrupted:
            notes.append("interrupted: run it again to go on")
        return tuple(notes)


def _as_asked(case: FrozenCase) -> tuple[str, int, tuple[Step, ...]]:
    """What it takes to ask it: the same again is the same case, unless its picture comes out otherwise."""
    return case.subject, case.seed, case.steps


def _refuse_strange(strange: int, pairs: int) -> None:
    fix = "use the same generator and photos as the baseline, or freeze it again"
    if strange > STRANGE * (strange + pairs):
        total = strange + pairs
        raise NotComparable(
            f"{strange:,} of {total:,} cases came out with another picture than in the baseline", fix
        )
    if not pairs:
        raise NotComparable("the new model has no valid result on any case of the baseline", fix)
