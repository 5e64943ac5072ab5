"""Trials as they are shown, and rates over them: pictures, what was decided and said, their purpose.

It knows steps, not strategies, and is the same for all hunts. Each rate names its denominator: a number that
people see says what it is a share of.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from failscape.atlas import StoredTrial
from failscape.atlas.judging import decided
from failscape.atlas.records import prompts_of
from failscape.models.contracts.asking import replies_in_text
from failscape.stats.intervals import exact_interval
from failscape.trials import (
    Answer,
    Caption,
    Classify,
    Consult,
    Decide,
    Edit,
    ExpectChange,
    Facts,
    Finding,
    Generate,
    NameSkills,
    Propose,
    Recall,
    Reword,
    Step,
    Verdict,
    Verify,
)

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Rate:
    """`failures` of `of` failed. `counted` says in words what is counted; `interval` is that of `rate`.

    Where the judge's errors are reckoned with, `rate` is the true rate behind the judged `failures / of`.
    """

    failures: int
    of: int
    rate: float
    interval: Interval
    counted: str = ""
    corrected: bool = False

    @property
    def known(self) -> bool:
        return self.of > 0


def rate_of_counts(failures: int, of: int, counted: str = "") -> Rate:
    """With the exact 95 % interval, for numbers of trials that did not depend on how they went."""
    return Rate(failures, of, failures / of if of else 0.0, exact_interval(failures, of), counted)


def judged_rate(finding: Finding, unit: str = "trial") -> Rate:
    return Rate(
        finding.failures, finding.trials, finding.rate, finding.interval, counted_words(finding, unit)
    )


def shown_rate(finding: Finding, unit: str = "trial") -> Rate:
    """The one rate of a finding that every screen shows: without the judge's errors where these are known."""
    rate = judged_rate(finding, unit)
    known = finding.details_data.get("corrected")
    if not known:
        return rate
    low, high = known["interval"]
    words = f"{rate.counted}; the judge’s errors are allowed for"
    return replace(rate, rate=float(known["rate"]), interval=(low, high), counted=words, corrected=True)


def counted_words(finding: Finding, unit: str) -> str:
    """The denominator of a finding's rate: which of its trials are counted."""
    if unit == "photo":
        return "valid photos like these"
    drawn = f" drawn as {' or '.join(finding.counted)}" if finding.counted else ""
    return f"valid {unit}s of this very request{drawn}"


def missing_of(finding: Finding) -> str:
    """What a suspect lacks to be claimed, in words; empty for findings."""
    return str(finding.details_data.get("missing") or "")


State = Literal["yes", "no", "open"]


@dataclass(frozen=True, slots=True)
class Mark:
    """One decision about an image: it holds (`yes`), it does not (`no`), or nobody could tell (`open`)."""

    text: str
    state: State


@dataclass(frozen=True, slots=True)
class Quote:
    """Something that was asked or said, with a word that tells what it is."""

    label: str
    text: str


@dataclass(frozen=True, slots=True)
class CheckTally:
    """How often one mark was decided over many trials, and how often it did not hold."""

    text: str
    missed: int
    decided: int


def marks_of(steps: Sequence[Step], facts: Sequence[Facts]) -> tuple[Mark, ...]:
    """The decisions of a trial, in the order they were made.

    Each has a text of its own: namesakes, such as the fruit and the colour `orange`, get their kind in front.
    """
    found: list[tuple[str, Mark]] = []
    for step, fact in zip(steps, facts, strict=False):
        match step:
            case Decide(checks):
                answers = zip(checks, _as_list(fact), strict=False)
                found += [(check.kind, Mark(check.value, _state(holds))) for check, holds in answers]
            case Classify():
                found.append(("label", _mark_of_labels(step, fact)))
            case Verify():
                found.append(("answer", _mark_of_answer(fact)))
    names = Counter(mark.text for _, mark in found)
    return tuple(
        Mark(f"{kind}: {mark.text}", mark.state) if names[mark.text] > 1 else mark for kind, mark in found
    )


def lines_of(steps: Sequence[Step], facts: Sequence[Facts]) -> tuple[Quote, ...]:
    """The words of a trial. Prompts come first, then questions with their answers."""
    found: list[Quote] = []
    drawn_from = prompts_of(tuple(steps), facts)
    for step, fact in zip(steps, facts, strict=False):
        if isinstance(step, Generate):
            found.append(Quote("prompt", drawn_from.pop(0)))
        else:
            found += _words_of_request(step, fact) or _words_of_reply(step, fact)
    return tuple(found)


def _words_of_request(step: Step, fact: Facts) -> list[Quote]:
    """The words of a step that are mostly our own."""
    match step:
        case Reword(text):
            return [Quote("prompt before polish", text)] if fact and fact[0] != text else []
        case Edit(instruction):
            return [Quote("edited", instruction)]
        case Answer(question) | Consult(question):
            return [Quote("asked", question), Quote("answered", _as_text(fact))]
        case Recall(turns):
            both = [(Quote("asked", question), Quote("answered", answer)) for question, answer in turns]
            return [quote for pair in both for quote in pair]
        case ExpectChange():
            return [Quote("changed", step.change), Quote("answered before", step.before)]
        case _:
            return []


def _words_of_reply(step: Step, fact: Facts) -> list[Quote]:
    """The words of a step that a model said."""
    match step:
        case NameSkills():
            return [Quote("skills", ", ".join(map(str, _as_list(fact))))] if fact else []
        case Verify(truth):
            reasons = [Quote("because", str(why)) for why in _as_list(fact)[2:3] if why]
            return [Quote("right answer", truth), *reasons] if truth else reasons
        case Caption():
            return [Quote("caption", _as_text(one)) for one in _as_list(fact)]
        case Propose():
            return [Quote("proposed", _as_text(one)) for one in _as_list(fact)]
        case _:
            return []


def tally(trials: Iterable[Sequence[Mark]]) -> list[CheckTally]:
    """Which marks were missed how often, the most often missed first."""
    marks = [mark for some in trials for mark in some if mark.state != "open"]
    missed = Counter(mark.text for mark in marks if mark.state == "no")
    seen = Counter(mark.text for mark in marks)
    found = [CheckTally(text, missed[text], number) for text, number in seen.items()]
    return sorted(found, key=lambda one: -one.missed)


def _mark_of_labels(step: Classify, fact: Facts) -> Mark:
    labels = [str(row[0]) for row in _as_list(fact)[: max(1, step.top_k)]]
    if not labels:
        return Mark("no label", "open")
    named = {label.lower() for label in step.aim or step.accept}
    right = [label for label in labels if label.lower() in named]
    if step.aim or not right:
        wrong = labels[0].lower() in named if step.aim else True
        return Mark(f"called {labels[0]}", "no" if wrong else "yes")
    return Mark(right[0], "yes")


def _mark_of_answer(fact: Facts) -> Mark:
    valid, right = [*_as_list(fact), None, None][:2]
    if valid is None or right is None:
        return Mark("undecided", "open")
    return (
        Mark("right answer" if right else "wrong answer", _state(right))
        if valid
        else Mark("not valid", "open")
    )


def _state(holds: Any) -> State:
    return "open" if holds is None else "yes" if holds else "no"


def _as_list(fact: Facts) -> list[Any]:
    return list(fact) if isinstance(fact, list | tuple) else []


def _as_text(fact: Facts) -> str:
    return fact if isinstance(fact, str) else "" if fact is None else str(fact)


ShotsOf = Callable[[str], Sequence["Shot"]]


@dataclass(frozen=True, slots=True)
class Shot:
    """One trial as it is shown: its pictures, what was decided about them, and the models' own words.

    `purpose` is what it was drawn for; `apart` trials do not follow the search and never count for their
    subject. `heeded`: nothing that was only noted is missing, so the picture shows what was asked for as far
    as anybody can say. Whether one counts for a finding is said by `ShotRow.counts`.
    """

    key: str
    seed: int
    verdict: Verdict
    reason: str
    images: tuple[str, ...]
    marks: tuple[Mark, ...]
    lines: tuple[Quote, ...]
    replies: tuple[Quote, ...]
    purpose: str = ""
    apart: bool = False
    heeded: bool = True

    @property
    def valid(self) -> bool:
        return self.verdict in (Verdict.PASS, Verdict.FAIL)


@dataclass(frozen=True, slots=True)
class ShotRow:
    """Shots of one subject, in the same order of seeds as the finding's own; `None` where it has none.

    `rate` is over the trials that count, shown or not; `counted` are their purposes, empty for all that
    are not apart. `only` says so where it is over some of the subject's trials alone.
    """

    subject: str
    title: str
    rate: Rate
    shots: tuple[Shot | None, ...]
    counted: tuple[str, ...] = ()
    only: str = ""

    def counts(self, shot: Shot) -> bool:
        """Whether a shot is one of those that the rate is over."""
        drawn_for_it = shot.purpose in self.counted if self.counted else not shot.apart
        return shot.valid and shot.heeded and drawn_for_it


@dataclass(frozen=True, slots=True)
class FindingEvidence:
    """A finding with its own row of shots, those of its parents, and how often each check was missed.

    Checks are tallied over the trials that count for the finding, so that they add up to its rate.
    """

    finding: Finding
    own: ShotRow
    parents: tuple[ShotRow, ...]
    tallies: tuple[CheckTally, ...]


def gather(
    finding: Finding,
    mine: Sequence[Shot],
    shots_of: ShotsOf,
    most_shots: int,
    most_parents: int,
    unit: str = "trial",
) -> FindingEvidence:
    """At most `most_shots` of `mine`, those first that count and that parents have at the same seed.

    A finding that names its trials by `keys` has pictures that nobody drew: no seed is shared with others.
    """
    parents = finding.parents[:most_parents]
    title = finding.caption or finding.title
    own = ShotRow(finding.subject, title, shown_rate(finding, unit), tuple(mine), finding.counted)
    theirs = [
        {shot.seed: shot for shot in (() if finding.keys else shots_of(str(one.get("subject", ""))))}
        for one in parents
    ]
    # Sorting is stable: among equally well matched seeds the order of trying stays.
    ranked = sorted(mine, key=lambda shot: (-sum(shot.seed in row for row in theirs), not own.counts(shot)))
    chosen = tuple(ranked[:most_shots])
    return FindingEvidence(
        finding,
        ShotRow(own.subject, own.title, own.rate, chosen, own.counted),
        tuple(_parent_row(one, shots, chosen, unit) for one, shots in zip(parents, theirs, strict=True)),
        tuple(tally(shot.marks for shot in mine if own.counts(shot))),
    )


def _parent_row(parent: dict[str, Any], shots: dict[int, Shot], beside: Sequence[Shot], unit: str) -> ShotRow:
    """The parent's numbers as the hunt gave them; counted from its trials where it gave none."""
    counted = [shot.verdict for shot in shots.values() if shot.valid and not shot.apart]
    failures = int(parent.get("failures", counted.count(Verdict.FAIL)))
    trials = int(parent.get("trials", len(counted)))
    only = str(parent.get("counted", ""))
    rate = rate_of_counts(failures, trials, only or f"valid {unit}s of this request that the search drew")
    subject = str(parent.get("subject", ""))
    title = str(parent.get("caption") or prompt_of(list(shots.values())) or parent.get("title") or subject)
    return ShotRow(subject, title, rate, tuple(shots.get(shot.seed) for shot in beside), only=only)


def prompt_of(shots: Sequence[Shot]) -> str:
    """The first prompt that was sent for a subject."""
    return next((line.text for shot in shots for line in shot.lines if line.label == "prompt"), "")


def shot_of(stored: StoredTrial, purpose: str = "", apart: bool = False) -> Shot:
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
        tuple(Quote(call.role, _said(call.raw) or call.invalid) for call in spoke),
        purpose,
        apart,
        not any(check.note and holds is False for _, check, holds, _ in decided(steps, trial.facts)),
    )


def excused(shot: Shot) -> Shot:
    """A shot that failed and counts as passed: what was missed is left open."""
    marks = tuple(replace(mark, state="open") if mark.state == "no" else mark for mark in shot.marks)
    return replace(shot, verdict=Verdict.PASS, reason=f"excused: {shot.reason}", marks=marks)


def _said(raw: str) -> str:
    """A reply as people read it: those of several calls below each other."""
    return "\n".join(replies_in_text(raw)) or raw
