"""The read model of a hunt: what every screen, command and page shows of it comes from here.

`HuntReader` is there at once: counts, cost, events, trials, and where each subject lies, which the kind of
hunt says. `HuntEvidence` adds what it found, for which its trials have to be told again. Both read only.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, NamedTuple, TypeVar

import yaml

from failscape.atlas import Atlas, Event, HuntRow, RunRow, Spent, StoredTrial
from failscape.errors import ConfigError, FailscapeError
from failscape.models.roles import Usage
from failscape.plugins import HuntKind, find_kind
from failscape.search.surveys import Survey, TestedRule
from failscape.spaces.prompt_list import ListedPrompt
from failscape.trials import (
    LETTER_IN_SQL,
    Finding,
    Purpose,
    Status,
    Subject,
    Verdict,
    left_out_in_sql,
    subject_of_key,
)
from failscape.views.read.found import Build, Found, WatchTelling, choose_hunt, read_found
from failscape.views.read.pair_faults import is_pair_finding, pair_sentences
from failscape.views.read.seen import SeenPattern, seen_patterns
from failscape.views.read.shots import (
    FindingEvidence,
    Rate,
    Shot,
    excused,
    gather,
    rate_of_counts,
    shot_of,
    shown_rate,
)
from failscape.views.read.written import is_text_finding, written_sentences

#: The row of subjects that have no attribute value.
ALONE = "alone"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a subject lies: what it is about (its entity), one column (its class), one or more rows.

    `subclass` is a narrower class inside the column, where there is one.
    """

    about: str
    column: str
    rows: tuple[str, ...]
    subclass: str = ""


Placer = Callable[[str], Place | None]


def place_node(classes: Mapping[str, tuple[str, str]]) -> Placer:
    """For subjects like `cat; Base: Colour=red`; `classes` is entity → its class and sub-class."""

    def place(subject: str) -> Place | None:
        parsed = Subject.parse(subject)
        if parsed.name not in classes:
            return None
        upper, lower = classes[parsed.name]
        return Place(parsed.name, upper, parsed.kinds or (ALONE,), lower)

    return place


def place_prompt(prompts: Iterable[ListedPrompt]) -> Placer:
    """For prompts of a list: the first tag is the column, the kinds of its checks are the rows."""
    places = {
        one.id: Place(one.id, str(one.tags[0]) if one.tags else "no tag", tuple(dict.fromkeys(one.kinds)))
        for one in prompts
    }
    return places.get


def placer_of(kind: str, config: dict[str, Any]) -> Placer:
    """A placer for a hunt; one that knows no place when the kind has none or its corpus has moved."""
    try:
        page = find_kind(kind).page
        return page.placer(config) if page is not None else nowhere
    except FailscapeError:
        return nowhere


def nowhere(subject: str) -> None:
    return None


#: Most trials of a subject that are shown. `findings --json` and `trials` have no such limit.
TRIALS_PER_SUBJECT = 400
CACHED_SUBJECTS = 256
CACHED_PLACES = 100_000
SHOTS, PARENTS = 6, 3

#: Stands for a kind that is not installed here.
_PLAIN = HuntKind()

SurveyType = TypeVar("SurveyType")


class SubjectCounts(NamedTuple):
    """Trials of one subject that the search drew; those apart from it are left out."""

    subject: str
    passes: int
    fails: int
    invalid: int

    @property
    def valid(self) -> int:
        return self.passes + self.fails


@dataclass(frozen=True, slots=True)
class PurposeCounts:
    """Trials drawn for one purpose, by verdict. `apart`: they do not follow the search."""

    purpose: str
    apart: bool
    passes: int
    fails: int
    invalid: int

    @property
    def valid(self) -> int:
        return self.passes + self.fails


def limit_of(config: Mapping[str, Any]) -> float | None:
    """The share of failures above which a subject counts as failing, where the settings name one."""
    threshold = _setting(config, "search", "threshold")
    if isinstance(threshold, int | float):
        return 1 - float(threshold)
    margin = _setting(config, "confirm", "margin")
    return float(margin) if isinstance(margin, int | float) else None


def _setting(config: Mapping[str, Any], part: str, name: str) -> Any:
    settings = config.get(part)
    return settings.get(name) if isinstance(settings, dict) else None


class HuntReader:
    """One hunt of an atlas, as far as it can be read without telling its trials again. Safe for threads."""

    def __init__(self, atlas: Atlas, row: HuntRow) -> None:
        self.atlas = atlas
        self.row = row
        try:
            self.kind: HuntKind = find_kind(row.kind)
        except ConfigError:
            self.kind = _PLAIN
        self.place = lru_cache(CACHED_PLACES)(placer_of(row.kind, row.config))
        # Siblings share parents, so most subjects are asked for again and again.
        self.shots = lru_cache(CACHED_SUBJECTS)(self._read_shots)

    # Settings

    @property
    def target(self) -> str:
        """What the model under test is called: its model name, the end of its path, or its provider."""
        target = self.row.config.get("target")
        settings: dict[str, Any] = target if isinstance(target, dict) else {}
        path = re.split(r"[/\\:]", str(settings.get("path") or "").rstrip("/\\"))[-1]
        return str(settings.get("model") or path or settings.get("provider") or "the target")

    @property
    def unit(self) -> str:
        """What one trial is called."""
        return "photo" if self._is_given_pictures else self.kind.unit

    @property
    def came(self) -> str:
        """How the search came to its trials: it drew them, or looked at what it was given."""
        return "looked at" if self._is_given_pictures else "drew"

    @property
    def _is_given_pictures(self) -> bool:
        return bool(self.row.config.get("photos")) and not self.row.config.get("generator")

    @property
    def limit(self) -> float | None:
        return limit_of(self.row.config)

    @property
    def margin(self) -> float:
        """Excess over a class's usual failure rate that is too small to matter; 0 where there is none."""
        margin = _setting(self.row.config, "search", "margin")
        return float(margin) if isinstance(margin, int | float) else 0.0

    @property
    def level(self) -> float | None:
        """The share of false claims that certified findings keep to, where the settings name one."""
        level = _setting(self.row.config, "search", "fdr") or _setting(self.row.config, "confirm", "fdr")
        return float(level) if isinstance(level, int | float) else None

    @property
    def shown_settings(self) -> str:
        """As YAML. Settings hold no secrets, but an address may carry a name and password."""
        text = yaml.safe_dump(self.row.config, sort_keys=False, allow_unicode=True)
        return re.sub(r"://[^/@\s]+@", "://…@", text)

    # Counts and cost

    @property
    def counts(self) -> dict[Verdict, int]:
        """All trials by verdict, whatever they were drawn for."""
        return self.atlas.counts(self.row.id)

    @property
    def trials(self) -> int:
        return sum(self.counts.values())

    @property
    def spent(self) -> Spent:
        return self.atlas.spent(self.row.id)

    @property
    def costs(self) -> dict[str, tuple[int, Usage]]:
        return self.atlas.costs(self.row.id)

    @property
    def runs(self) -> list[RunRow]:
        return self.atlas.runs(self.row.id)

    @property
    def events(self) -> list[Event]:
        return [event for event in self.atlas.events() if event.hunt in (None, self.row.id)]

    @property
    def warnings(self) -> list[Event]:
        """What the runs noticed, each once, as it was last seen: later ones have later numbers."""
        noticed = [event for event in self.events if event.kind in ("warning", "error")]
        return list({(one.kind, one.detail.get("name", one.id)): one for one in noticed}.values())

    def purposes(self) -> list[PurposeCounts]:
        """All trials by what they were drawn for; those of the search first."""
        found: dict[tuple[str, bool], dict[str, int]] = {}
        query = f"SELECT {LETTER_IN_SQL}, verdict, count(*) FROM trials WHERE hunt = ? GROUP BY 1, 2"
        for letter, verdict, number in self.atlas.query(query, (self.row.id,)):
            purpose = self.kind.purposes.of_letter(letter)
            counts = found.setdefault((purpose.name, not purpose.follows_search), {})
            counts[verdict] = counts.get(verdict, 0) + number
        lines = [
            PurposeCounts(
                name,
                apart,
                *(counts.get(one.value, 0) for one in (Verdict.PASS, Verdict.FAIL, Verdict.INVALID)),
            )
            for (name, apart), counts in found.items()
        ]
        return sorted(lines, key=lambda one: (one.apart, -one.valid))

    def seen_rate(self, apart: bool = False) -> Rate:
        """The share of failures among trials that the search chose, or among those apart from it."""
        lines = [one for one in self.purposes() if one.apart is apart]
        fails, valid = sum(one.fails for one in lines), sum(one.valid for one in lines)
        names = ", ".join(one.purpose for one in lines if one.purpose)
        which = f" ({names})" if apart else f" that the search {self.came}"
        return rate_of_counts(fails, valid, f"valid {self.unit}s{which}")

    def subjects(self) -> Iterator[SubjectCounts]:
        """Each subject with its trials of the search, in order of subject."""
        apart = [purpose for purpose in self.kind.purposes if not purpose.follows_search]
        where, letters = left_out_in_sql(apart)
        query = (
            "SELECT subject, sum(verdict = 'pass'), sum(verdict = 'fail'), sum(verdict = 'invalid')"
            f" FROM trials WHERE hunt = ?{where} GROUP BY subject ORDER BY subject"
        )
        return (SubjectCounts(*row) for row in self.atlas.query(query, (self.row.id, *letters)))

    # Trials

    def purpose(self, key: str) -> Purpose:
        """Why a trial was made; one whose letter is not declared is of the search."""
        return self.kind.purposes.of_key(key)

    def purpose_name(self, key: str) -> str:
        """The same in words, for people."""
        return self.purpose(key).name

    def evidence(self, finding: Finding, shots: int = SHOTS, parents: int = PARENTS) -> FindingEvidence:
        """A finding with its trials, and those of its parents beside them."""
        if finding.keys:
            mine: Sequence[Shot] = [self.shot(one) for one in self.trials_of(finding)]
        else:
            mine = self.shots(finding.subject)
        return gather(finding, mine, self.shots, shots, parents, self.unit)

    def went_wrong(self, finding: Finding) -> Iterator[str]:
        """What the failed pictures show instead: another text, one thing of two, mixed-up attributes."""
        if is_text_finding(finding):
            yield from written_sentences(self.trials_of(finding))
        if is_pair_finding(finding):
            yield from pair_sentences(self.trials_of(finding))

    def trials_of(self, finding: Finding) -> Iterator[StoredTrial]:
        """All trials of a finding: those of its subject, or those that it names itself."""
        if not finding.keys:
            yield from self.atlas.trials(self.row.id, subject=finding.subject)
            return
        wanted = set(finding.keys)
        for subject in sorted({subject_of_key(key) for key in wanted}):
            stored = self.atlas.trials(self.row.id, subject=subject)
            yield from (one for one in stored if one.trial.key in wanted)

    def rate(self, finding: Finding) -> Rate:
        """The rate of a finding or suspect as every screen shows it."""
        return shown_rate(finding, self.unit)

    def _read_shots(self, subject: str) -> tuple[Shot, ...]:
        """`shots`: the trials of any subject, in the order of trying; none for an unknown one."""
        stored = self.atlas.trials(self.row.id, subject=subject, limit=TRIALS_PER_SUBJECT)
        return tuple(self.shot(one) for one in stored)

    def shot(self, stored: StoredTrial) -> Shot:
        purpose = self.purpose(stored.trial.key)
        return shot_of(stored, purpose.name, not purpose.follows_search)


class HuntEvidence(HuntReader):
    """A hunt with what it found. A snapshot: `found` stays as it was when its trials were told."""

    def __init__(self, atlas: Atlas, row: HuntRow, found: Found) -> None:
        super().__init__(atlas, row)
        self.found = found
        self.findings = found.findings
        self.suspects = found.suspects
        self.progress = found.progress
        self.curve = found.curve
        self.survey = found.survey
        self.judge = found.judge
        self._excused = frozenset(found.excused)
        self._as_asked = frozenset(found.counted_as_asked)

    def survey_as(self, kind: type[SurveyType]) -> SurveyType | None:
        """What the hunt says about the whole space, where that is of the type that the reader knows."""
        return self.survey if isinstance(self.survey, kind) else None

    @property
    def tested_rules(self) -> Sequence[TestedRule]:
        """Groups that are proven to fail as a whole."""
        survey = self.survey_as(Survey)
        return survey.tested_rules if survey is not None else ()

    @cached_property
    def statuses(self) -> dict[Status, int]:
        """Status → number of findings and suspects, over all of them; the strongest first."""
        counts = Counter(finding.status for finding in (*self.findings, *self.suspects))
        return {status: counts[status] for status in Status if status in counts}

    @cached_property
    def seen(self) -> tuple[SeenPattern, ...]:
        """What plainly fails by all recorded trials and is neither found, suspected nor explained by that."""
        return seen_patterns(self, self.findings, self.suspects, self._excused)

    def shot(self, stored: StoredTrial) -> Shot:
        shot = super().shot(stored)
        if shot.key in self._as_asked:
            shot = replace(shot, heeded=True)
        return excused(shot) if shot.key in self._excused else shot

    def purpose(self, key: str) -> Purpose:
        told = self.found.purposes.get(key)
        return self.kind.purposes.named(told) if told else super().purpose(key)


def load_hunt(
    atlas: Atlas, hunt_id: int | None = None, build: Build | None = None, watch: WatchTelling | None = None
) -> HuntEvidence:
    """The hunt asked for, else the one with the latest recorded trial, with what it found.

    `watch` is told how far it is, where all trials have to be told again.
    """
    row = choose_hunt(atlas, hunt_id)
    return HuntEvidence(atlas, row, read_found(atlas, row, build, watch))
