"""The baseline of a gate: a small JSON file to commit: subjects, seeds, how each went; no pictures.

A case keeps how it was asked, so that the file alone is enough to ask a new model the same.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from failscape import __version__
from failscape.atlas.contents import digest_of
from failscape.atlas.files import write_whole
from failscape.comparison.cases import AskedCase
from failscape.comparison.comparing import NotComparable
from failscape.comparison.decide import CaseResult
from failscape.comparison.reading import ModelSide, knows_truth
from failscape.errors import ConfigError
from failscape.models.roles import Identity
from failscape.plugins import find_kind
from failscape.trials import Caption, Embed, Probe, Propose, Step, steps_from_json, steps_to_json

NAME = "failscape-gate"
VERSION = 1
#: Cases of a baseline, unless told: about a megabyte.
MOST_CASES = 5_000

#: Steps that decide nothing: a gate does without them.
HELPERS = (Caption, Embed, Propose)


@dataclass(frozen=True, slots=True)
class FrozenCase:
    """One case of the baseline: how to ask it, and how the old model did. `case` is what it is known by."""

    subject: str
    group: str
    case: str
    steps: tuple[Step, ...]
    seed: int
    failed: bool
    fresh: bool
    sampled: bool
    key: str

    def probe(self) -> Probe:
        return Probe(self.key, self.subject, self.steps, self.seed)

    def result(self) -> CaseResult:
        return CaseResult(self.subject, self.case, self.failed, self.fresh, self.sampled, self.key)


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
        key = _key(side.kind, case.subject, number, len(frozen))
        result = results[case.subject, case.case]
        steps = tuple(step for step in case.asked if not isinstance(step, HELPERS))
        frozen.append(
            FrozenCase(
                case.subject,
                side.results.group(case.subject),
                case.case,
                steps,
                case.seed,
                case.failed,
                result.fresh,
                result.sampled,
                key,
            )
        )
    roles = [role for role in side.row.identities if role in _asked_roles(side)]
    return GateBaseline(
        side.kind,
        side.name,
        side.limit,
        digest_of(side.row.identities),
        {role: side.row.identities[role] for role in roles},
        side.accuracy is not None or knows_truth(side.row.identities),
        side.results.claimed & {case.subject for case in chosen},
        tuple(frozen),
    )


def _key(kind: str, subject: str, number: int, place: int) -> str:
    """A key that is unique in the gate's hunt, in the form that its kind of hunt reads."""
    return f"0.{place}" if kind == "vlm" else f"{subject}#r{number}"


def _asked_roles(side: ModelSide) -> set[str]:
    return {find_kind(side.kind).target, "judge", "verifier"}


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
    except ValueError as error:
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
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise ConfigError(
            f"{path}: is damaged ({type(error).__name__}: {error})",
            "take the committed one, or freeze it again",
        ) from None


def _parsed(data: dict[str, Any]) -> GateBaseline:
    plans = [steps_from_json(json.dumps(plan)) for plan in data["plans"]]
    rows = (
        (subject, row, number, case)
        for subject, row in data["subjects"].items()
        for number, case in enumerate(row["cases"])
    )
    cases = [
        FrozenCase(
            subject,
            str(row["group"]),
            str(case),
            plans[plan],
            int(seed),
            bool(flags & 1),
            bool(flags & 2),
            bool(flags & 4),
            _key(str(data["hunt"]), subject, number, at),
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
