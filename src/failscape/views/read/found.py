"""Brings back what a hunt found: as its run kept it, or by telling a fresh hunt every trial. Reads only."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import islice

from pydantic import ValidationError

from failscape.atlas import Atlas, HuntRow
from failscape.atlas.hunts import changed_corpus, earlier_of, kept_results, last_results, rules_version
from failscape.atlas.judging import hunt_accuracy, people_said, reckoned_with
from failscape.atlas.records import understood
from failscape.config import HuntConfig
from failscape.errors import AtlasError, ConfigError, FailscapeError
from failscape.plugins import begin_hunt, find_kind, kind_names
from failscape.search.checked import corrected
from failscape.search.hunt_results import HuntResults, from_bytes, results_of
from failscape.search.protocol import Hunt
from failscape.spaces.lattice import ancestors_of
from failscape.stats.judging.accuracy import JudgeAccuracy
from failscape.trials import Finding

CURVE_POINTS = 160

Build = Callable[[HuntRow], Hunt]
#: Is called with how many trials have been told again, and how many there are.
WatchTelling = Callable[[int, int], None]


def _unwatched(told: int, total: int) -> None:
    """Most callers do not wait long enough to be told."""


@dataclass(frozen=True, slots=True)
class Found(HuntResults):
    """What a hunt found, as its trials leave it and as it is shown.

    `warning` says what speaks against all of it. `judge` is how its judge errs, where that was measured.
    """

    warning: str = ""
    judge: JudgeAccuracy | None = None


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
    return begin_hunt(config_of(row), row.shard, accuracy, earlier_of(row))


def config_of(row: HuntRow) -> HuntConfig:
    """The stored settings, checked. Models that an imported hunt never had are filled in by name only."""
    try:
        settings = find_kind(row.kind).settings
    except ConfigError as error:
        fix = "pip install --upgrade failscape, or the package that brings this kind of hunt"
        raise AtlasError(f"hunt {row.id} is of the unknown kind {row.kind!r}", fix) from error
    data = find_kind(row.kind).recorded(dict(row.config))
    try:
        return settings.model_validate(data).from_atlas(row.vouched)
    except ValidationError as error:
        missing = [fault["loc"][0] for fault in error.errors() if fault["type"] == "missing"]
    data.update({str(name): {"provider": "unknown"} for name in missing})
    try:
        return settings.model_validate({"hunt": row.kind, **data}).from_atlas(row.vouched)
    except ValidationError as error:
        raise AtlasError(
            f"the settings of hunt {row.id} are not understood: {error}", "pip install --upgrade failscape"
        ) from error


def read_found(
    atlas: Atlas, row: HuntRow, build: Build | None = None, watch: WatchTelling | None = None
) -> Found:
    """What a hunt found: as its run left it, or told again where that is missing or stale."""
    warning = changed_corpus(row.config, row.identities)
    judge = hunt_accuracy(atlas, row)
    told = None if build or warning else kept_by_run(atlas, row, judge)
    if told is None:
        try:
            told = tell_again(atlas, row, judge, build, watch or _unwatched, warning)
        except AtlasError as error:
            told = None if build else _told_then(atlas, row)
            if told is None:
                raise
            warning = f"read as an earlier version told it: {error.message}"
    return Found(
        findings=[_as_shown(atlas, row.id, one, judge) for one in told.findings],
        suspects=[_as_shown(atlas, row.id, one, judge) for one in told.suspects],
        progress=told.progress,
        curve=told.curve,
        survey=told.survey,
        undecided=told.undecided,
        warning=warning,
        judge=judge,
        purposes=told.purposes,
        excused=told.excused,
        counted_as_asked=told.counted_as_asked,
    )


def kept_by_run(atlas: Atlas, row: HuntRow, judge: JudgeAccuracy | None) -> HuntResults | None:
    """What the last run of a hunt kept; `None` when there is nothing, or trials or rules are others now."""
    if row.kind not in kind_names():
        return None
    module = type(find_kind(row.kind)).__module__
    known = reckoned_with(judge, people_said(atlas, row.id))
    content = kept_results(atlas, row.id, rules_version(module), known)
    try:
        return from_bytes(content, module) if content else None
    except ValueError:
        return None


def _told_then(atlas: Atlas, row: HuntRow) -> HuntResults | None:
    """What the last run of an earlier version kept, for a hunt whose plan is no longer known."""
    content = last_results(atlas, row.id)
    try:
        return from_bytes(content, type(find_kind(row.kind)).__module__) if content else None
    except (ValueError, ConfigError):
        return None


def tell_again(
    atlas: Atlas,
    row: HuntRow,
    judge: JudgeAccuracy | None,
    build: Build | None = None,
    watch: WatchTelling = _unwatched,
    warning: str = "",
) -> HuntResults:
    """Tell a fresh hunt every recorded trial and note on the way how its findings grew."""
    try:
        hunt = build(row) if build else rebuild_hunt(row, judge)
        return results_of(hunt, tell_all(atlas, row.id, hunt, watch))
    except FailscapeError as error:
        if not warning:
            raise
        fix = "use the version of failscape that it was run with"
        raise AtlasError(f"{warning}. Its trials cannot be told again: {error.message}", fix) from error


def tell_all(
    atlas: Atlas, hunt_id: int, hunt: Hunt, watch: WatchTelling = _unwatched
) -> list[tuple[int, int]]:
    """Tell a fresh hunt every recorded trial; gives how its findings grew."""
    for subject, number, passed in atlas.verdicts(hunt_id):
        hunt.expect(subject, number, passed)
    hunt.hear_people(people_said(atlas, hunt_id))
    total = sum(atlas.counts(hunt_id).values())
    every = max(1, total // CURVE_POINTS)
    trials = atlas.replay(hunt_id)
    told, curve = 0, [(0, 0)]
    while group := list(islice(trials, every)):
        for trial in group:
            with understood(f"trials {trial.key!r}"):
                hunt.tell(trial)
        told += len(group)
        watch(told, total)
        curve.append((told, hunt.progress().findings))
    return curve


def _as_shown(atlas: Atlas, hunt_id: int, finding: Finding, judge: JudgeAccuracy | None) -> Finding:
    """With the prompt that the model got, where all trials sent the same: today's wording may be another.

    And with the true rate behind the judged one, where the judge's errors are known.
    """
    sent = atlas.prompts(hunt_id, finding.subject)
    finding = replace(finding, caption=sent.pop()) if len(sent) == 1 else finding
    return corrected(finding, judge) if judge else finding


def told_hunt(atlas: Atlas, row: HuntRow) -> Hunt:
    hunt = rebuild_hunt(row, hunt_accuracy(atlas, row))
    tell_all(atlas, row.id, hunt)
    return hunt


def node_verdicts(hunt: Hunt) -> dict[str, bool]:
    """Subject → whether it passes. What a finding rests on passes, as the hunt says; the rest is open."""
    decided = hunt.decided()
    for finding in hunt.findings():
        for ancestor in ancestors_of(finding.subject):
            decided.setdefault(ancestor, True)
    return decided
