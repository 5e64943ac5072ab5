"""Brings a hunt back from its atlas and joins its findings with the trials behind them.

It reads only: the atlas stays as it is. Trials are read for one finding at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from typing import Any

from pydantic import ValidationError

from failscape.atlas import Atlas, HuntRow, StoredTrial
from failscape.atlas.contents import changed_corpus
from failscape.atlas.reviews import hunt_accuracy
from failscape.config import HuntConfig
from failscape.errors import AtlasError, ConfigError, FailscapeError
from failscape.hunts.protocol import Hunt
from failscape.hunts.t2i.findings import corrected
from failscape.plugins import find_kind, kind_of
from failscape.report.marks import CheckTally, Mark, Quote, lines_of, marks_of, tally
from failscape.stats.intervals import clopper_pearson
from failscape.stats.judging.accuracy import JudgeAccuracy
from failscape.trials import AsData, Finding, Progress, Verdict

CURVE_POINTS = 160
TRIALS_PER_SUBJECT = 400
"""Most trials that are looked at per subject for the page. `findings --json` has no such limit."""
CACHED_SUBJECTS = 256

Build = Callable[[HuntRow], Hunt]


@dataclass(frozen=True, slots=True)
class LoadedHunt:
    """A hunt as its trials leave it. `curve` is (trials told, findings then), from the first to the last.

    `undecided` subjects used up their trials without a verdict. `warning` says what speaks against all of it.
    `survey` is what the hunt says about the whole space, where it has a `survey()`: its own type, with
    `as_data()` for all others. `judge` is how its judge errs, where that was measured.
    """

    row: HuntRow
    findings: list[Finding]
    progress: Progress
    curve: list[tuple[int, int]]
    counts: dict[Verdict, int]
    undecided: int = 0
    warning: str = ""
    survey: AsData | None = None
    judge: JudgeAccuracy | None = None

    @property
    def trials(self) -> int:
        return sum(self.counts.values())


@dataclass(frozen=True, slots=True)
class Shot:
    """One trial as it is shown: its pictures, what was decided about them, and the models' own words."""

    key: str
    seed: int
    verdict: Verdict
    reason: str
    images: tuple[str, ...]
    marks: tuple[Mark, ...]
    lines: tuple[Quote, ...]
    replies: tuple[Quote, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """Shots of one subject, in the same order of seeds as the finding's own; `None` where it has none.

    `failures` of `trials` valid ones failed; `interval` is that of the rate.
    """

    subject: str
    title: str
    failures: int
    trials: int
    shots: tuple[Shot | None, ...]
    interval: tuple[float, float] = (0.0, 1.0)


@dataclass(frozen=True, slots=True)
class Evidence:
    """A finding with its own row of shots, those of its parents, and how often each check was missed."""

    finding: Finding
    own: Row
    parents: tuple[Row, ...]
    tallies: tuple[CheckTally, ...]


def choose_hunt(atlas: Atlas, hunt_id: int | None = None) -> HuntRow:
    """The hunt asked for, else the one with the latest recorded trial. It must have trials."""
    row = atlas.hunt(hunt_id)
    if not sum(atlas.counts(row.id).values()):
        which = "no hunt" if hunt_id is None else f"hunt {hunt_id} not"
        raise AtlasError(
            f"{atlas.folder} has no trials yet: {which} got as far as recording one",
            f"failscape run CONFIG --atlas {atlas.folder} goes on with it",
        )
    return row


def rebuild_hunt(row: HuntRow, accuracy: JudgeAccuracy | None = None) -> Hunt:
    """A fresh hunt with the settings that the atlas keeps."""
    config = config_of(row)
    return kind_of(config).build(config, row.shard, accuracy)


def config_of(row: HuntRow) -> HuntConfig:
    """The stored settings, checked. Models that an imported hunt never had are filled in by name only."""
    try:
        settings = find_kind(row.kind).settings
    except ConfigError as error:
        fix = "pip install --upgrade failscape, or the package that brings this kind of hunt"
        raise AtlasError(f"hunt {row.id} is of the unknown kind {row.kind!r}", fix) from error
    data = dict(row.config)
    try:
        return settings.model_validate(data)
    except ValidationError as error:
        missing = [fault["loc"][0] for fault in error.errors() if fault["type"] == "missing"]
    data.update({str(name): {"provider": "unknown"} for name in missing})
    try:
        return settings.model_validate({"hunt": row.kind, **data})
    except ValidationError as error:
        raise AtlasError(
            f"the settings of hunt {row.id} are not understood: {error}", "pip install --upgrade failscape"
        ) from error


def load_hunt(atlas: Atlas, hunt_id: int | None = None, build: Build | None = None) -> LoadedHunt:
    """Tell a fresh hunt every recorded trial and note on the way how its findings grew."""
    row = choose_hunt(atlas, hunt_id)
    warning = changed_corpus(row.config, row.identities)
    try:
        judge = hunt_accuracy(atlas, row)
        hunt = build(row) if build else rebuild_hunt(row, judge)
        curve = _tell_all(atlas, row.id, hunt)
    except FailscapeError as error:
        if not warning:
            raise
        fix = "use the version of failscape that it was run with"
        raise AtlasError(f"{warning}. Its trials cannot be told again: {error.message}", fix) from error
    findings = [_as_sent(atlas, row.id, finding) for finding in hunt.findings()]
    findings = [corrected(finding, judge) for finding in findings] if judge else findings
    curve[-1] = (curve[-1][0], len(findings))  # progress may lag behind
    undecided = len(hunt.undecided())
    survey = hunt.survey()
    counts = atlas.counts(row.id)
    return LoadedHunt(row, findings, hunt.progress(), curve, counts, undecided, warning, survey, judge)


def _tell_all(atlas: Atlas, hunt_id: int, hunt: Hunt) -> list[tuple[int, int]]:
    for subject, number, passed in atlas.verdicts(hunt_id):
        hunt.expect(subject, number, passed)
    every = max(1, sum(atlas.counts(hunt_id).values()) // CURVE_POINTS)
    trials = atlas.replay(hunt_id)
    told, curve = 0, [(0, 0)]
    while group := list(islice(trials, every)):
        for trial in group:
            hunt.tell(trial)
        told += len(group)
        curve.append((told, hunt.progress().findings))
    return curve


def _as_sent(atlas: Atlas, hunt_id: int, finding: Finding) -> Finding:
    """With the prompt that the model got, where all trials sent the same: today's wording may be another."""
    sent = atlas.prompts(hunt_id, finding.subject)
    return replace(finding, caption=sent.pop()) if len(sent) == 1 else finding


class EvidenceReader:
    """Collects what the page shows of findings: at most `shots` trials each, beside at most `parents`."""

    def __init__(self, atlas: Atlas, hunt_id: int, shots: int = 6, parents: int = 3) -> None:
        self._atlas = atlas
        self._hunt = hunt_id
        self._most_shots = shots
        self._most_parents = parents
        # Siblings share parents, so most of them are asked for again and again.
        self._shots_of = lru_cache(CACHED_SUBJECTS)(self._read_shots)

    def read(self, finding: Finding) -> Evidence:
        mine = self._shots_of(finding.subject)
        parents = finding.parents[: self._most_parents]
        theirs = [self._by_seed(str(parent.get("subject", ""))) for parent in parents]
        # Sorting is stable: among equally well matched seeds the order of trying stays.
        ranked = sorted(mine, key=lambda shot: -sum(shot.seed in shots for shots in theirs))
        chosen = tuple(ranked[: self._most_shots])
        title = finding.caption or finding.title
        own = Row(finding.subject, title, finding.failures, finding.trials, chosen, finding.interval)
        rows = [_row_of(parent, shots, chosen) for parent, shots in zip(parents, theirs, strict=True)]
        return Evidence(finding, own, tuple(rows), tuple(tally(shot.marks for shot in mine)))

    def shots(self, subject: str) -> tuple[Shot, ...]:
        """The trials of any subject, in the order of trying; none for an unknown one."""
        return self._shots_of(subject)

    def _by_seed(self, subject: str) -> dict[int, Shot]:
        return {shot.seed: shot for shot in self._shots_of(subject)} if subject else {}

    def _read_shots(self, subject: str) -> tuple[Shot, ...]:
        stored = self._atlas.trials(self._hunt, subject=subject, limit=TRIALS_PER_SUBJECT)
        return tuple(shot_of(one) for one in stored)


def shot_of(stored: StoredTrial) -> Shot:
    trial, steps = stored.trial, stored.steps
    # What a generator says about a picture it drew is not worth a line; its failure is.
    spoke = [call for call in stored.calls if call.invalid or (call.raw and call.role != "generator")]
    return Shot(
        trial.key,
        trial.seed,
        trial.verdict,
        trial.reason,
        tuple(digest for digest in stored.images if digest),  # imported trials have no pictures
        marks_of(steps, trial.facts),
        lines_of(steps, trial.facts),
        tuple(Quote(call.role, call.raw or call.invalid) for call in spoke),
    )


def _row_of(parent: dict[str, Any], shots: dict[int, Shot], beside: tuple[Shot, ...]) -> Row:
    """The parent's numbers as the hunt gave them; counted from its trials where it gave none."""
    verdicts = [shot.verdict for shot in shots.values()]
    failures = parent.get("failures", verdicts.count(Verdict.FAIL))
    trials = parent.get("trials", verdicts.count(Verdict.FAIL) + verdicts.count(Verdict.PASS))
    subject = str(parent.get("subject", ""))
    title = str(parent.get("caption") or _prompt_of(shots) or subject)
    beside_it = tuple(shots.get(shot.seed) for shot in beside)
    low, high = parent.get("interval") or clopper_pearson(failures, trials)
    return Row(subject, title, int(failures), int(trials), beside_it, (float(low), float(high)))


def _prompt_of(shots: dict[int, Shot]) -> str:
    lines = (line for shot in shots.values() for line in shot.lines)
    return next((line.text for line in lines if line.label == "prompt"), "")


def finding_records(atlas: Atlas, loaded: LoadedHunt, limit: int | None = None) -> Iterator[dict[str, Any]]:
    """Every finding with all its trials, as plain data, one at a time."""
    for finding in islice(loaded.findings, limit):
        stored = list(atlas.trials(loaded.row.id, subject=finding.subject))
        yield {
            "hunt": loaded.row.id,
            "kind": loaded.row.kind,
            "subject": finding.subject,
            "title": finding.title,
            "caption": finding.caption,
            "status": finding.status,
            "rate": finding.rate,
            "interval": list(finding.interval),
            "e_value": finding.e_value,
            "trials": finding.trials,
            "failures": finding.failures,
            "invalid": finding.invalid,
            "images_used": sum(len(one.images) for one in stored),
            "parents": list(finding.parents),
            "details": finding.details_data,
            "seeds": [one.trial.seed for one in stored],
            "image_files": [file for one in stored for file in _files(atlas, one)],
            "evidence": [_evidence_record(atlas, one) for one in stored],
        }


def _evidence_record(atlas: Atlas, stored: StoredTrial) -> dict[str, Any]:
    return {
        "key": stored.trial.key,
        "seed": stored.trial.seed,
        "verdict": stored.trial.verdict.value,
        "reason": stored.trial.reason,
        "checks": {mark.text: _holds(mark) for mark in marks_of(stored.steps, stored.trial.facts)},
        "images": _files(atlas, stored),
    }


def _holds(mark: Mark) -> bool | None:
    return None if mark.state == "open" else mark.state == "yes"


def _files(atlas: Atlas, stored: StoredTrial) -> list[str | None]:
    """One name per picture; `None` where it was not kept."""
    return [atlas.images.name(digest) for digest in stored.images]
