"""Runs a gate: asks a new model the cases of a baseline and decides whether it is worse than it may be.

The baseline is a small JSON file to commit: subjects, seeds, how each went; no pictures. A case keeps how
it was asked, so that the file alone is enough to ask a new model the same.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from failscape import __version__
from failscape.again.asking import ModelAsker
from failscape.again.cases import ANSWERER, AskedCase, ModelSide, judge_difference, knows_truth, new_case
from failscape.again.comparing import NotComparable, threshold_words
from failscape.again.decide import CasePair, CaseResult, PairCounts, counts_of
from failscape.again.harm import (
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
from failscape.atlas import Atlas
from failscape.atlas.files import write_whole
from failscape.atlas.hunts import digest_of, keep_pictures
from failscape.config import HuntConfig
from failscape.errors import ConfigError
from failscape.models.roles import Identity
from failscape.plugins import find_kind
from failscape.runtime.progress import Reporter
from failscape.stats.differences import anytime_difference, log_e_more
from failscape.stats.evalues import Floats
from failscape.trials import (
    Caption,
    Embed,
    Probe,
    Propose,
    Show,
    Step,
    key_of_gate_question,
    key_of_try,
    next_unused_key,
    steps_from_json,
    steps_to_json,
)
from failscape.trials.purposes import ASKED_BY_GATE
from failscape.views.read import config_of, limit_of

NAME = "failscape-gate"
VERSION = 1
#: Cases of a baseline, unless told: about a megabyte.
MOST_CASES = 5_000

#: Steps that decide nothing: a gate does without them.
HELPERS = (Caption, Embed, Propose)


@dataclass(frozen=True, slots=True)
class FrozenCase(CaseResult):
    """One case of the baseline: how the old model did, and how to ask it. `case` is what it is known by."""

    group: str = ""
    steps: tuple[Step, ...] = ()
    seed: int = 0

    def probe(self) -> Probe:
        return Probe(self.key, self.subject, self.steps, self.seed)


@dataclass(frozen=True)
class GateBaseline:
    """What a gate compares a new model with. `calibrated`: how the judge errs was measured."""

    kind: str
    name: str
    limit: float | None
    corpus: str
    identities: Mapping[str, Identity]
    calibrated: bool
    claimed: frozenset[str]
    cases: tuple[FrozenCase, ...]

    def by_subject(self) -> dict[str, list[FrozenCase]]:
        found: dict[str, list[FrozenCase]] = {}
        for case in self.cases:
            found.setdefault(case.subject, []).append(case)
        return found

    def rates(self) -> list[float]:
        """The failure rate of every subject, drawn a little towards one half: few cases say little."""
        return [
            (sum(case.failed for case in cases) + 0.5) / (len(cases) + 1)
            for cases in self.by_subject().values()
        ]


def freeze(side: ModelSide, most: int = MOST_CASES) -> GateBaseline:
    """At most `most` cases: the random sample first, then every subject in turn, in the order recorded."""
    results = {(one.subject, one.case): one for one in side.results.results}
    chosen = _choose(side, results, most)
    numbers: dict[str, int] = {}
    frozen: list[FrozenCase] = []
    for case in chosen:
        number = numbers[case.subject] = numbers.get(case.subject, -1) + 1
        key = _key(find_kind(side.kind).target, case.subject, number, len(frozen))
        result = results[case.subject, case.case]
        steps = tuple(step for step in case.asked if not isinstance(step, HELPERS))
        frozen.append(
            FrozenCase(
                case.subject,
                case.case,
                case.failed,
                result.fresh,
                result.sampled,
                key,
                side.results.group(case.subject),
                steps,
                case.seed,
            )
        )
    asked = {find_kind(side.kind).target, "judge", "verifier"}
    return GateBaseline(
        side.kind,
        side.name,
        side.limit,
        digest_of(side.row.identities),
        {role: one for role, one in side.row.identities.items() if role in asked},
        side.accuracy is not None or knows_truth(side.row.identities),
        side.results.claimed & {case.subject for case in chosen},
        tuple(frozen),
    )


def _key(target: str, subject: str, number: int, place: int) -> str:
    """A key that is unique in the gate's hunt, in the form that a hunt of that role reads."""
    if target == ANSWERER:
        return key_of_gate_question(place)
    return key_of_try(subject, ASKED_BY_GATE, number)


def _choose(side: ModelSide, results: Mapping[tuple[str, str], CaseResult], most: int) -> list[AskedCase]:
    sampled = [case for place, case in side.cases.items() if results[place].sampled][:most]
    rest = {subject: list(cases) for subject, cases in side.by_subject.items()}
    taken = {(case.subject, case.case) for case in sampled}
    found, turn = list(sampled), 0
    while len(found) < most and any(turn < len(cases) for cases in rest.values()):
        for cases in rest.values():
            if turn < len(cases) and (cases[turn].subject, cases[turn].case) not in taken:
                found.append(cases[turn])
        turn += 1
    return found[:most]


def write_baseline(baseline: GateBaseline, path: Path) -> None:
    plans: dict[str, int] = {}
    rows: dict[str, dict[str, Any]] = {}
    for case in baseline.cases:
        row = rows.setdefault(case.subject, {"group": case.group, "cases": []})
        plan = plans.setdefault(steps_to_json(case.steps), len(plans))
        flags = case.failed + 2 * case.fresh + 4 * case.sampled
        row["cases"].append([case.case, plan, case.seed, flags])
    data = {
        "format": NAME,
        "version": VERSION,
        "made_by": __version__,
        "hunt": baseline.kind,
        "model": baseline.name,
        "limit": baseline.limit,
        "corpus": baseline.corpus,
        "identities": {role: one.data for role, one in baseline.identities.items()},
        "judge_calibrated": baseline.calibrated,
        "claimed": sorted(baseline.claimed),
        "counts": {
            subject: [sum(case[3] & 1 for case in row["cases"]), len(row["cases"])]
            for subject, row in rows.items()
        },
        "plans": [json.loads(text) for text in plans],
        "subjects": rows,
    }
    write_whole(path, (json.dumps(data, ensure_ascii=False, separators=(",", ":")) + "\n").encode())


def read_baseline(path: Path) -> GateBaseline:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(
            f"{path}: cannot be read: {error.strerror}", "make one: failscape gate freeze ATLAS --output FILE"
        ) from None
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: is not JSON: {error}", "freeze it again") from None
    if not isinstance(data, dict) or data.get("format") != NAME:
        raise ConfigError(
            f"{path}: is no baseline of a gate", "make one: failscape gate freeze ATLAS --output FILE"
        )
    if data.get("version") != VERSION:
        raise NotComparable(
            f"{path}: has version {data.get('version')!r} of the format, this failscape reads {VERSION}",
            "pip install --upgrade failscape, or freeze it again",
        )
    try:
        return _parsed(data)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        raise ConfigError(
            f"{path}: is damaged ({type(error).__name__}: {error})",
            "take the committed one, or freeze it again",
        ) from None


def _parsed(data: dict[str, Any]) -> GateBaseline:
    target = find_kind(str(data["hunt"])).target
    plans = [steps_from_json(json.dumps(plan)) for plan in data["plans"]]
    rows = (
        (subject, row, number, case)
        for subject, row in data["subjects"].items()
        for number, case in enumerate(row["cases"])
    )
    cases = [
        FrozenCase(
            subject,
            str(case),
            bool(flags & 1),
            bool(flags & 2),
            bool(flags & 4),
            _key(target, subject, number, at),
            str(row["group"]),
            plans[plan],
            _seed(seed),
        )
        for at, (subject, row, number, (case, plan, seed, flags)) in enumerate(rows)
    ]
    identities = {
        str(role): Identity(str(one["role"]), str(one["provider"]), str(one["model"]), dict(one["settings"]))
        for role, one in data["identities"].items()
    }
    return GateBaseline(
        str(data["hunt"]),
        str(data["model"]),
        None if data["limit"] is None else float(data["limit"]),
        str(data["corpus"]),
        identities,
        bool(data["judge_calibrated"]),
        frozenset(map(str, data["claimed"])),
        tuple(cases),
    )


def _seed(value: Any) -> int:
    seed = int(value)
    if not 0 <= seed < 2**63:
        raise ValueError(f"a seed must be a whole number from 0 to 2**63 - 1, but got {seed}")
    return seed


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
            turn = [new_case(kind, like, number) for like in firsts]
            new = [probe for probe in turn if probe is not None and probe.key not in asker.asked]
            if len(wanted) >= budget or not any(turn):
                break
            wanted += new
        async with asker:
            await asker.ask(wanted[:budget])
        return side.with_cases(asker.cases(), kind.purposes)


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
    limit = limit_of(config.model_dump())
    if limit != baseline.limit:
        raise NotComparable(
            f"the baseline was made at threshold {threshold_words(baseline.limit)}, the config has "
            f"{threshold_words(limit)}",
            "give the config the baseline's threshold, or freeze it again",
        )
    differing = judge_difference(baseline.identities, asker.identities)
    if differing:
        raise NotComparable(f"the baseline and the config: {differing}", "judge alike, or freeze it again")


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
        key = next_unused_key(case.key, self._keys)
        self._keys.add(key)
        return replace(case.probe(), key=key)

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
                found.append(CasePair(case, answer))
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
