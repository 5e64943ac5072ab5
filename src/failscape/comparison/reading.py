"""Reads what is known of a model from an atlas: its cases, which are fresh, what it claims, who judged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from failscape.atlas import Atlas, HuntRow
from failscape.atlas.decisions import asked_trials
from failscape.comparison.cases import AskedCase, case_of
from failscape.comparison.decide import CaseResult, CompareRules, ModelResults
from failscape.errors import ConfigError
from failscape.evidence import HuntEvidence, HuntReader, choose_hunt, load_hunt
from failscape.evidence.findings import short_title
from failscape.models.roles import Identity
from failscape.plugins import find_kind
from failscape.stats.judging.accuracy import JudgeAccuracy
from failscape.trials import Decide, Finding, Verdict

JUDGES = ("judge", "verifier")


def judge_difference(first: Mapping[str, Identity], second: Mapping[str, Identity]) -> str:
    """In words how the judges differ, "" when they are the same."""
    for role in JUDGES:
        here, there = first.get(role), second.get(role)
        if here is not None and there is not None and here.digest != there.digest:
            return f"the {role} is another one ({describe(here)}, then {describe(there)})"
        if (here is None) != (there is None):
            return f"only one of them had a {role}"
    return ""


def knows_truth(identities: Mapping[str, Identity]) -> bool:
    """Whether nobody has to be calibrated: no judge at all, or a verifier that is told the right answers."""
    judges = [one for role, one in identities.items() if role in JUDGES]
    return all(one.provider == "exact" for one in judges)


def describe(identity: Identity) -> str:
    settings = {name: value for name, value in identity.settings.items() if value not in ("", None, {}, [])}
    return f"{identity.provider} {identity.model} {settings}".strip()


#: The failure rate above which a subject fails, where settings name none (classifier hunts).
USUAL_LIMIT = 0.2


@dataclass(frozen=True)
class ModelSide:
    """One model of a comparison: where it was recorded, and every case of it.

    `target` is the digest of its identity. `accuracy` is how its judge errs, where that was measured.
    """

    name: str
    folder: Path
    row: HuntRow
    cases: Mapping[tuple[str, str], AskedCase]
    results: ModelResults
    limit: float | None = None
    accuracy: JudgeAccuracy | None = None
    #: Findings about photos → those that decided it: their trials are about the photos' class.
    photos: Mapping[str, frozenset[str]] = field(default_factory=dict)
    #: Subjects of its certified and listed findings; `results.claimed` has suspects too.
    found: frozenset[str] = frozenset()

    @property
    def kind(self) -> str:
        return self.row.kind

    @cached_property
    def by_subject(self) -> dict[str, list[AskedCase]]:
        found: dict[str, list[AskedCase]] = {}
        for case in self.cases.values():
            found.setdefault(case.subject, []).append(case)
        return found

    def with_cases(self, cases: Iterable[AskedCase], fresh: str, sampled: str) -> ModelSide:
        """The same model with more that was asked of it since."""
        known = dict(self.cases)
        results = list(self.results.results)
        for case in cases:
            if (case.subject, case.case) not in known:
                known[case.subject, case.case] = case
                results.append(_result(case, fresh, sampled))
        return replace(self, cases=known, results=replace(self.results, results=tuple(results)))


def read_side(folder: Path, hunt_id: int | None = None, name: str = "") -> ModelSide:
    """What an atlas knows of the model that a hunt of it was about."""
    with Atlas.open(folder, readonly=True) as atlas:
        return side_of(load_hunt(atlas, hunt_id), name)


def side_of(hunt: HuntEvidence, name: str = "") -> ModelSide:
    """What a hunt that has been read knows of its model."""
    found = (*hunt.findings, *hunt.suspects)
    side = read_cases(hunt.atlas, hunt.row, name or hunt.target)
    results = replace(
        side.results,
        claimed=frozenset(finding.subject for finding in found),
        titles={one.subject: short_title(one) for one in found},
    )
    return replace(
        side,
        results=results,
        limit=hunt.limit,
        accuracy=hunt.judge,
        photos=_photos(hunt.findings),
        found=frozenset(one.subject for one in hunt.findings),
    )


def _photos(findings: Iterable[Finding]) -> dict[str, frozenset[str]]:
    decided = {one.subject: frozenset(one.details_data.get("decided") or ()) for one in findings}
    return {subject: photos for subject, photos in decided.items() if photos}


def with_findings_of_photos(sides: Sequence[ModelSide]) -> list[ModelSide]:
    """Photos that decided a finding count for it too, beside the class that their trials are about."""
    photos = {subject: digests for side in sides for subject, digests in side.photos.items()}
    found = []
    for side in sides:
        more = [
            CaseResult(subject, case.case, case.failed, fresh=True, key=case.key)
            for subject, digests in photos.items()
            for case in side.cases.values()
            if case.images and case.images[-1] in digests
        ]
        found.append(replace(side, results=replace(side.results, results=(*side.results.results, *more))))
    return found


def read_cases(atlas: Atlas, row: HuntRow, name: str) -> ModelSide:
    """The cases of a hunt alone, without telling it its trials again."""
    reader = HuntReader(atlas, row)
    cases = cases_of(atlas, row.id, reader.kind.target)
    if not cases:
        raise ConfigError(
            f"hunt {row.id} of {atlas.folder} has no trial that could be asked of another model",
            "compare hunts of kind t2i, classifier or vlm that recorded valid trials",
        )
    known = {(case.subject, case.case): case for case in cases}
    fresh, sampled = reader.kind.fresh, reader.kind.sampled
    results = tuple(_result(case, fresh, sampled) for case in known.values())
    subjects = {case.subject for case in known.values()}
    places = {subject: reader.place(subject) for subject in subjects}
    groups = {subject: place.about for subject, place in places.items() if place is not None}
    return ModelSide(name, atlas.folder, row, known, ModelResults(name, results, groups=groups))


def with_cases_in(side: ModelSide, atlas: Atlas) -> ModelSide:
    """With what another atlas knows of the same model, judged by the same judge."""
    kind = find_kind(side.kind)
    target = side.row.identities.get(kind.target)
    for row in atlas.hunts() if target is not None else ():
        same = row.kind == side.kind and row.identities.get(kind.target) == target
        if same and not judge_difference(side.row.identities, row.identities):
            side = side.with_cases(cases_of(atlas, row.id, kind.target), kind.fresh, kind.sampled)
    return side


def cases_of(atlas: Atlas, hunt_id: int, target: str) -> list[AskedCase]:
    found = (
        case_of(target, probe, facts, verdict is Verdict.FAIL)
        for probe, facts, verdict in asked_trials(atlas, hunt_id)
    )
    return [case for case in found if case is not None]


def _result(case: AskedCase, fresh: str, sampled: str) -> CaseResult:
    is_fresh, is_sampled = (bool(case.mark) and case.mark in letters for letters in (fresh, sampled))
    return CaseResult(case.subject, case.case, case.failed, is_fresh, is_sampled, case.key)


def hunts_of(folder: Path) -> list[int]:
    """The newest hunt of each model under test in one atlas, in the order in which they began."""
    with Atlas.open(folder, readonly=True) as atlas:
        rows = [row for row in atlas.hunts() if sum(atlas.counts(row.id).values())]
        newest: dict[str, int] = {}
        for row in rows:
            target = row.identities.get(HuntReader(atlas, row).kind.target)
            newest[target.digest if target else str(row.config.get("target"))] = row.id
        if not rows:
            choose_hunt(atlas)
    return sorted(newest.values())


def rules_for(
    sides: Sequence[ModelSide], threshold: float | None, level: float, margin: float
) -> CompareRules:
    """The failure limit of the hunts, or the one asked for, with the judge's errors where they are known."""
    known = next((side.limit for side in sides if side.limit is not None), USUAL_LIMIT)
    limit = known if threshold is None else 1 - threshold
    accuracy = sides[0].accuracy
    limits: dict[str, tuple[float, float]] = {}
    for subject, cases in sides[0].by_subject.items() if accuracy else ():
        checks = [step.checks for step in cases[0].asked if isinstance(step, Decide)]
        kinds = tuple(check.kind for check in checks[-1]) if checks else ("answer",)
        if accuracy is not None and sides[0].kind != "classifier":
            found = accuracy.limits(kinds, 1 - limit)
            limits[subject] = 1 - found.fail, 1 - found.passes
    return CompareRules(limit, level, margin, limits)


#: One case, asked of each model in turn; `None` where one was not asked.
CaseRow = tuple[AskedCase | None, ...]


def cases_beside(sides: Sequence[ModelSide], subject: str, most: int) -> list[CaseRow]:
    """What a page shows of a subject: up to `most` cases that first and last share, changed ones first."""
    digests = next((side.photos[subject] for side in sides if subject in side.photos), frozenset[str]())
    rows: list[CaseRow] = []
    for place, case in sides[0].cases.items():
        mine = place[0] == subject or bool(case.images and case.images[-1] in digests)
        if mine and place in sides[-1].cases:
            rows.append(tuple(side.cases.get(place) for side in sides))
    rows.sort(key=lambda row: len({case.failed for case in row if case is not None}) < 2)
    return rows[:most]
