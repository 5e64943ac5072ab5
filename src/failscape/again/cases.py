"""What makes two trials the same case, and what an atlas knows of a model: its cases, its claims, who judged.

A case leaves out the model under test: of a generator it is prompt, seed and checks; of a classifier the
picture and the labels that are right; of an answerer the pictures, what was said before, and the question;
of a table the number of the trial.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from failscape.again.decide import CaseResult, CompareRules, ModelResults
from failscape.atlas import Atlas, HuntRow
from failscape.atlas.judging import asked_trials
from failscape.atlas.records import images_of, prompts_of
from failscape.errors import ConfigError
from failscape.models.roles import Identity
from failscape.plugins import HuntKind, find_kind
from failscape.search.fresh import compared_seed, fresh_probe
from failscape.stats.judging.accuracy import JudgeAccuracy
from failscape.trials import (
    Answer,
    Classify,
    Decide,
    Facts,
    Finding,
    Generate,
    Probe,
    Purposes,
    Recall,
    Reword,
    Show,
    Step,
    Subject,
    Verdict,
    Verify,
)
from failscape.trust import Vouched
from failscape.views.read import HuntEvidence, HuntReader, choose_hunt, load_hunt
from failscape.views.read.findings import short_title

GENERATOR, CLASSIFIER, ANSWERER, TABLE = "generator", "classifier", "answerer", "table"


@dataclass(frozen=True, slots=True)
class AskedCase:
    """A case as it was asked of one model. `images` are the digests of its pictures, in order.

    `steps` ask the same of another model: pictures that the model under test did not draw are shown as they
    were, and checks on them that held are not asked again.
    """

    case: str
    subject: str
    key: str
    seed: int
    steps: tuple[Step, ...]
    asked: tuple[Step, ...]
    images: tuple[str, ...]
    failed: bool

    @property
    def shown(self) -> tuple[str, ...]:
        """Pictures that must be at hand to ask it."""
        return tuple(digest for step in self.steps if isinstance(step, Show) for digest in step.images)

    def probe(self) -> Probe:
        return Probe(self.key, self.subject, self.steps, self.seed)


def case_of(target: str, probe: Probe, facts: Sequence[Facts], failed: bool) -> AskedCase | None:
    """The case of a trial with a valid verdict; `None` where its steps do not test `target`."""
    images = images_of(probe.steps, facts)
    found = _READ[target](probe, facts, images) if target in _READ else None
    if found is None:
        return None
    again, mark = found
    name = hashlib.blake2b(repr(mark).encode("utf-8", "surrogatepass"), digest_size=10).hexdigest()
    return AskedCase(name, probe.subject, probe.key, probe.seed, again, probe.steps, images, failed)


#: The steps that ask a case again, and what it is known by.
Read = tuple[tuple[Step, ...], Any]


def _drawn(probe: Probe, facts: Sequence[Facts], images: tuple[str, ...]) -> Read | None:
    again: tuple[Step, ...] = tuple(s for s in probe.steps if isinstance(s, Generate | Decide | Reword))
    prompts = prompts_of(probe.steps, facts)
    checks = [step.checks for step in probe.steps if isinstance(step, Decide)]
    if not prompts or not checks:
        return None
    return again, (prompts, [(check.kind, check.value, check.statement) for check in checks[-1]], probe.seed)


def _classified(probe: Probe, facts: Sequence[Facts], images: tuple[str, ...]) -> Read | None:
    last = next((step for step in reversed(probe.steps) if isinstance(step, Classify)), None)
    if last is None or not images:
        return None
    return (Show(images[-1:]), last), (images[-1], last.accept, last.top_k, last.aim)


def _answered(probe: Probe, facts: Sequence[Facts], images: tuple[str, ...]) -> Read | None:
    asked = [step for step in probe.steps if isinstance(step, Answer)]
    check = next((step for step in probe.steps if isinstance(step, Verify)), None)
    if len(asked) != 1 or check is None or not images:
        return None
    turns = [step for step in probe.steps if isinstance(step, Recall)]
    mark = images, [turn.turns for turn in turns], asked[0].question, check.truth
    return (Show(images), *turns, asked[0], check), mark


def _tabled(probe: Probe, facts: Sequence[Facts], images: tuple[str, ...]) -> Read:
    """A row of somebody's table: known by its number, and never asked again."""
    return (), probe.seed


_READ: dict[str, Callable[[Probe, Sequence[Facts], tuple[str, ...]], Read | None]] = {
    GENERATOR: _drawn,
    CLASSIFIER: _classified,
    ANSWERER: _answered,
    TABLE: _tabled,
}


def new_case(kind: HuntKind, like: AskedCase, number: int) -> Probe | None:
    """The `number`-th new case of a subject: a seed of its own, under a key that no search uses for evidence.

    `None` where a new picture would not be drawn: photos, and questions about one certain picture.
    """
    if not any(isinstance(step, Generate) for step in like.asked) or kind.target == ANSWERER:
        return None
    steps = tuple(step for step in like.asked if isinstance(step, Generate | Decide | Reword | Classify))
    seed = compared_seed(like.subject, number)
    return fresh_probe(kind, like.subject, number, steps, seed)


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

    def with_cases(self, cases: Iterable[AskedCase], purposes: Purposes) -> ModelSide:
        """The same model with more that was asked of it since."""
        known = dict(self.cases)
        results = list(self.results.results)
        for case in cases:
            if (case.subject, case.case) not in known:
                known[case.subject, case.case] = case
                results.append(_result(case, purposes))
        return replace(self, cases=known, results=replace(self.results, results=tuple(results)))


def read_side(
    folder: Path, hunt_id: int | None = None, name: str = "", vouched: Vouched | None = None
) -> ModelSide:
    """What an atlas knows of the model that a hunt of it was about.

    It can be asked more with the models that the user has `vouched` for.
    """
    with Atlas.open(folder, readonly=True).vouch(vouched or Vouched()) as atlas:
        return side_of(load_hunt(atlas, hunt_id), name)


def _words_of(hunt: HuntEvidence, side: ModelSide) -> dict[str, str]:
    """Titles of subjects that are no findings."""
    form = hunt.kind.subject_form
    return {one.subject: Subject.parse(one.subject, form).words for one in side.results.results}


def side_of(hunt: HuntEvidence, name: str = "") -> ModelSide:
    """What a hunt that has been read knows of its model."""
    found = (*hunt.findings, *hunt.suspects)
    side = read_cases(hunt.atlas, hunt.row, name or hunt.target)
    results = replace(
        side.results,
        claimed=frozenset(finding.subject for finding in found),
        titles={**_words_of(hunt, side), **{one.subject: short_title(one) for one in found}},
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
    results = tuple(_result(case, reader.kind.purposes) for case in known.values())
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
            side = side.with_cases(cases_of(atlas, row.id, kind.target), kind.purposes)
    return side


def cases_of(atlas: Atlas, hunt_id: int, target: str) -> list[AskedCase]:
    found = (
        case_of(target, probe, facts, verdict is Verdict.FAIL)
        for probe, facts, verdict in asked_trials(atlas, hunt_id)
    )
    return [case for case in found if case is not None]


def _result(case: AskedCase, purposes: Purposes) -> CaseResult:
    purpose = purposes.of_key(case.key)
    return CaseResult(
        case.subject, case.case, case.failed, purpose.fixed_beforehand, purpose.samples_space, case.key
    )


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
        if accuracy is not None and find_kind(sides[0].kind).target != CLASSIFIER:
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
