"""What plainly fails in the recorded trials of a hunt and is neither a finding nor a suspect nor part of one.

The scan itself is `search.second_opinion`. Here the trials of an atlas become what it reads, and what it says
becomes words. It reads the trials as they are stored, not what a hunt made of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from failscape.search.second_opinion import (
    PlainFailure,
    ScannedPattern,
    ScannedTrial,
    second_opinion,
    unaccounted,
)
from failscape.trials import Finding, Subject, SubjectForm, left_out_in_sql, parse_label, subject_of_key
from failscape.views.read.shots import Rate, rate_of_counts

if TYPE_CHECKING:
    from failscape.views.read.hunt import HuntReader

#: Stand before facts that are no values: what a trial is about, and the skills that a question takes.
_THING = "\x00"
_SKILL = "\x01"

#: The form of a mode that holds for every form of question.
_ANY_FORM = "any"

#: The false discovery rate of the scan, where the settings name none.
LEVEL = 0.05


@dataclass(frozen=True, slots=True)
class SeenPattern:
    """Something that plainly fails by all recorded trials, though the search has not tested it.

    `usual_rate` is how often trials like it fail otherwise; `p_value` is how likely so many failures are at
    that rate.
    """

    title: str
    rate: Rate
    usual_rate: float
    p_value: float

    @property
    def sentence(self) -> str:
        """`hen: pencil sketch (17 of 25)`."""
        return f"{self.title} ({self.rate.failures:,} of {self.rate.of:,})"

    def as_data(self) -> dict[str, Any]:
        return {
            "title": self.title,
            "failures": self.rate.failures,
            "trials": self.rate.of,
            "rate": self.rate.rate,
            "low": self.rate.interval[0],
            "high": self.rate.interval[1],
            "usual_rate": self.usual_rate,
            "p_value": self.p_value,
        }


def plainly_failing(number: int) -> str:
    """How many there are, up to "not tested"."""
    return "1 pattern plainly fails and is" if number == 1 else f"{number:,} patterns plainly fail and are"


def seen_patterns(
    hunt: HuntReader, findings: Iterable[Finding], suspects: Iterable[Finding], excused: Iterable[str]
) -> tuple[SeenPattern, ...]:
    """What has to be told under "seen, not tested", the surest first."""
    trials = list(_scanned_trials(hunt, Counter(subject_of_key(key) for key in excused)))
    opinion = second_opinion(
        trials,
        [_pattern(hunt, one.subject) for one in findings],
        [_pattern(hunt, one.subject) for one in suspects],
        margin=hunt.margin,
        least_rate=hunt.limit or 0.0,
        level=hunt.level or LEVEL,
    )
    counted = f"valid {hunt.unit}s that show it"
    return tuple(_told(one, counted) for one in unaccounted(opinion))


def _scanned_trials(hunt: HuntReader, excused: Counter[str]) -> Iterator[ScannedTrial]:
    """All trials of the target but those of photos, whose facts are in no subject."""
    left_out = [one for one in hunt.kind.purposes if not one.is_of_target or one.shows_photos]
    where, letters = left_out_in_sql(left_out)
    query = (
        "SELECT subject, sum(verdict = 'fail'), sum(verdict = 'pass') FROM trials"
        f" WHERE hunt = ?{where} GROUP BY subject ORDER BY subject"
    )
    for subject, fails, passes in hunt.atlas.query(query, (hunt.row.id, *letters)):
        pattern = _pattern(hunt, subject)
        facts = frozenset(pattern.facts)
        # A failure that was excused counts as passed, as on every screen.
        forgiven = min(fails, excused[subject])
        for failed, times in ((True, fails - forgiven), (False, passes + forgiven)):
            if times:
                yield ScannedTrial(pattern.context, facts, failed, times)


def _pattern(hunt: HuntReader, text: str) -> ScannedPattern:
    """A subject as context and facts. A class has a usual rate of its own; other names are facts."""
    subject = Subject.parse(text, hunt.kind.subject_form)
    facts = {*subject.labels, *(_SKILL + skill for skill in subject.skills)}
    if hunt.kind.names_have_usual_rates:
        return ScannedPattern(subject.name, tuple(sorted(facts)))
    if subject.form is not SubjectForm.QUESTION or subject.name != _ANY_FORM:
        facts.add(_THING + subject.name)
    return ScannedPattern("", tuple(sorted(facts)))


def _told(one: PlainFailure, counted: str) -> SeenPattern:
    who = [one.pattern.context] if one.pattern.context else []
    what: list[str] = []
    for fact in one.pattern.facts:
        if fact.startswith(_THING):
            who.append(fact.removeprefix(_THING))
        elif fact.startswith(_SKILL):
            what.append(f"questions on {fact.removeprefix(_SKILL)}")
        else:
            what.append(parse_label(fact).value)
    title = ": ".join(part for part in (", ".join(who), ", ".join(what)) if part)
    return SeenPattern(title, rate_of_counts(one.fails, one.trials, counted), one.usual_rate, one.p_value)
