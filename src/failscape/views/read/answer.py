"""The answer of a hunt: what fails, in a headline and a handful of themes.

Terminal, viewer, report, notebooks and the end of a run show this text and no other, in this order: the
headline, the themes, then everything else.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from failscape.notebooks import ShownInNotebooks
from failscape.search.surveys import SpaceRate, Survey, TestedRule
from failscape.spaces.pair_words import is_about_pairs, say_kind, say_subject_of_two, say_two_things
from failscape.trials import Subject, SubjectForm, SubjectValue, parse_label
from failscape.views.read.findings import BeforeAfter, short_title, varied_examples
from failscape.views.read.hunt import HuntEvidence
from failscape.views.read.numbers import percent, spread
from failscape.views.read.seen import SeenPattern, plainly_failing
from failscape.views.read.shots import Rate, rate_of_counts
from failscape.views.read.themes import (
    ANY_VALUE,
    CLASS,
    SKILL,
    THING,
    Theme,
    Trait,
    Traits,
    TriedSubject,
    choose_themes,
)

#: Themes and findings without a theme that the first screen shows: as many as one takes in at a glance.
SHOWN = 5

#: Names in a sentence: lists have all of them.
NAMED = 3

#: The scope of a tested rule about one thing; others are about a class, or about anything.
ENTITY = "entity"

#: Where surely more than this share fails, or surely less than that one, it is said before any cause.
MOST_FAIL = 0.5
FEW_FAIL = 0.05

#: More exceptions than a line holds are counted, not named.
NAMED_EXCEPTIONS = 3


@dataclass(frozen=True, slots=True)
class ToldTheme(ShownInNotebooks):
    """A theme as people see it.

    `findings` and `newly` are numbers of findings: those with its traits, and those of them that no theme
    before it has; `all_findings` is how many the hunt has. `exceptions` are titles of what was tried with its
    traits and works; `open` more were tried and are neither. `rate` is over all trials of its findings and
    exceptions. `proven`: it was tested as one group, and `status` says what is known of it.
    """

    number: int
    title: str
    traits: Traits
    findings: tuple[int, ...]
    newly: tuple[int, ...]
    all_findings: int
    exceptions: tuple[str, ...]
    open: int
    rate: Rate
    proven: bool
    status: str

    @property
    def tried(self) -> int:
        return len(self.findings) + len(self.exceptions) + self.open

    @property
    def sentence(self) -> str:
        """The theme in one sentence: what, how much of it, how sure, how often, and what works."""
        share = f"{percent(self.rate.rate)} ({spread(self.rate.interval)})"
        parts = [
            f"{self.title[:1].upper()}{self.title[1:]}: {self._seen}, {self.status}",
            f"{share} of {self.rate.of:,} {self.rate.counted} fail",
            f"explains {len(self.findings):,} of {self.all_findings:,} findings",
        ]
        return "; ".join([*parts, *self._works])

    @property
    def _seen(self) -> str:
        if len(self.findings) == self.tried:
            return f"seen in all {self.tried:,} of {self.tried:,}"
        return f"seen in {len(self.findings):,} of {self.tried:,} tried"

    @property
    def _works(self) -> list[str]:
        """The exceptions, where they are few enough to name."""
        if not 0 < len(self.exceptions) <= NAMED_EXCEPTIONS:
            return []
        return [f"works: {', '.join(self.exceptions)}"]

    def as_data(self) -> dict[str, Any]:
        return {
            "number": self.number,
            "title": self.title,
            "sentence": self.sentence,
            "traits": [{"family": trait.family, "name": trait.name} for trait in self.traits],
            "findings": list(self.findings),
            "newly": list(self.newly),
            "tried": self.tried,
            "open": self.open,
            "exceptions": list(self.exceptions),
            "failures": self.rate.failures,
            "trials": self.rate.of,
            "counted": self.rate.counted,
            "rate": self.rate.rate,
            "low": self.rate.interval[0],
            "high": self.rate.interval[1],
            "proven": self.proven,
            "status": self.status,
        }


@dataclass(frozen=True, slots=True)
class HuntAnswer(ShownInNotebooks):
    """`alone` are the findings in no theme, most certain first; `findings` is how many there are in all.

    `seen` is what plainly fails in the recorded trials though nothing was tested about it.
    """

    headline: str
    themes: tuple[ToldTheme, ...]
    alone: tuple[int, ...]
    findings: int
    seen: tuple[SeenPattern, ...] = ()

    @property
    def shown(self) -> tuple[ToldTheme, ...]:
        """The themes of the first screen."""
        return self.themes[:SHOWN]

    def as_data(self) -> dict[str, Any]:
        return {
            "headline": self.headline,
            "findings": self.findings,
            "themes": [theme.as_data() for theme in self.themes],
            "alone": list(self.alone),
            "seen": [one.as_data() for one in self.seen],
        }


def answer_of(hunt: HuntEvidence) -> HuntAnswer:
    """What the hunt answers. The same trials give the same text."""
    themes = tuple(_told_themes(hunt))
    covered = {number for theme in themes for number in theme.findings}
    alone = tuple(number for number in range(1, len(hunt.findings) + 1) if number not in covered)
    return HuntAnswer(_headline(hunt, themes[:SHOWN]), themes, alone, len(hunt.findings), hunt.seen)


def say_findings(hunt: HuntEvidence, answer: HuntAnswer) -> list[str]:
    """The first findings in no theme, a line each, as far as the themes leave room on the first screen."""
    room = max(0, SHOWN - len(answer.shown))
    found = [hunt.findings[number - 1] for number in answer.alone[:room]]
    return [
        f"{short_title(one)}: {one.failures:,} of {one.trials:,} {hunt.unit}s fail, {one.status}"
        for one in found
    ]


def theme_examples(hunt: HuntEvidence, theme: ToldTheme, most: int) -> list[BeforeAfter]:
    """Pictures of a theme: failed ones of different findings, each beside what works, where there is such."""
    chosen = [hunt.findings[number - 1] for number in theme.newly or theme.findings]
    found = varied_examples(chosen, hunt.place, hunt.evidence, most)
    numbers = theme.newly or theme.findings
    return [replace(one, number=numbers[one.number - 1]) for one in found]


# Headline


def _headline(hunt: HuntEvidence, themes: Sequence[ToldTheme]) -> str:
    return " ".join(_headline_sentences(hunt, themes))


def _headline_sentences(hunt: HuntEvidence, themes: Sequence[ToldTheme]) -> Iterator[str]:
    yield from _found_sentences(hunt, themes)
    survey = hunt.survey_as(Survey)
    unexamined = survey.unexamined if survey is not None else ()
    if unexamined:
        more = len(unexamined) - NAMED
        others = f" and {more:,} more" if more > 0 else ""
        yield f"Not examined: {', '.join(unexamined[:NAMED])}{others}."


def _found_sentences(hunt: HuntEvidence, themes: Sequence[ToldTheme]) -> Iterator[str]:
    everywhere = _overall(hunt)
    if everywhere is not None:
        yield everywhere.sentence
    found = len(hunt.findings)
    if not found:
        yield _nothing_proven(hunt)
        return
    if everywhere is not None and everywhere.aside:
        yield everywhere.aside
    who = "" if everywhere is not None else f"{hunt.target}: "
    yield f"{who}{_found_and_explained(found, themes)}"


@dataclass(frozen=True, slots=True)
class OverallRate:
    """How often the target fails in general. `aside` says more where that is nearly always or never."""

    sentence: str
    aside: str


def _overall(hunt: HuntEvidence) -> OverallRate | None:
    """Over the whole space, where a random sample speaks for it; else over what the search tried."""
    survey = hunt.survey_as(Survey)
    if survey is not None and survey.opening:
        return OverallRate(f"{hunt.target} {survey.opening}.", _aside(hunt.seen_rate().interval))
    everywhere = _space_rate(hunt)
    if everywhere is not None:
        share = f"{percent(everywhere.rate)} ({spread(everywhere.interval)})"
        sentence = f"{hunt.target} {hunt.kind.fails_at.format(share=share)}."
        return OverallRate(sentence, _aside(everywhere.interval))
    seen = hunt.seen_rate()
    if not seen.known:
        return None
    share = f"{percent(seen.rate)} ({spread(seen.interval)})"
    sentence = f"{hunt.target} fails at {share} of the {seen.of:,} {seen.counted}."
    return OverallRate(sentence, _aside(seen.interval))


def _aside(interval: tuple[float, float]) -> str:
    low, high = interval
    if low >= MOST_FAIL:
        return "Failing is the rule here: the list below shows where it is worst."
    if high <= FEW_FAIL:
        return "Failures are rare here: the list below shows where they are."
    return ""


def _found_and_explained(found: int, themes: Sequence[ToldTheme]) -> str:
    what = f"{found:,} {'failure' if found == 1 else 'failures'} found"
    explained = len({number for theme in themes for number in theme.findings})
    if not explained:
        return f"{what}."
    number = "one theme explains" if len(themes) == 1 else f"{_in_words(len(themes))} themes explain"
    return f"{what}; {number} {percent(explained / found)} of them."


def _in_words(number: int) -> str:
    return ("no", "one", "two", "three", "four", "five")[number] if number <= 5 else str(number)


def _nothing_proven(hunt: HuntEvidence) -> str:
    suspects = len(hunt.suspects)
    parts = [f"Nothing is proven to fail after {hunt.trials:,} trials"]
    if suspects:
        parts.append("1 suspect looks failing" if suspects == 1 else f"{suspects:,} suspects look failing")
    if hunt.seen:
        parts.append(seen_sentence(hunt.seen))
    return f"{'; '.join(parts)}."


def seen_sentence(seen: Sequence[SeenPattern]) -> str:
    """`2 patterns plainly fail and are not tested: hen: pencil sketch (17 of 25), …`."""
    names = ", ".join(one.sentence for one in seen[:NAMED])
    more = ", …" if len(seen) > NAMED else ""
    return f"{plainly_failing(len(seen))} not tested: {names}{more}"


def _space_rate(hunt: HuntEvidence) -> SpaceRate | None:
    survey = hunt.survey_as(Survey)
    rates = survey.space_rates if survey is not None else ()
    return next((one for one in rates if one.group == "all"), None)


# Themes


def _told_themes(hunt: HuntEvidence) -> Iterator[ToldTheme]:
    outcomes = tried_subjects(hunt)
    groups = [_members(outcomes.settled, _traits_of_rule(rule)) for rule in hunt.tested_rules]
    for number, theme in enumerate(choose_themes(outcomes.settled), 1):
        members = _members(outcomes.settled, theme.traits)
        # Two names for the same subjects, such as "four" and "four of any thing", are one group.
        proven = members in groups
        narrower = sum(group < members for group in groups)
        exceptions = [Subject.parse(one, hunt.kind.subject_form) for one in theme.exceptions]
        yield ToldTheme(
            number=number,
            title=say_traits(theme.traits, hunt.kind.subject_form),
            traits=theme.traits,
            findings=theme.findings,
            newly=theme.newly,
            all_findings=len(hunt.findings),
            exceptions=tuple(say_subject(one) for one in exceptions),
            open=len(_members(outcomes.open, theme.traits)),
            rate=_pooled_rate(hunt, theme, outcomes.counts),
            proven=proven,
            status=_status(proven, narrower),
        )


def _members(subjects: Iterable[TriedSubject], traits: Iterable[Trait]) -> frozenset[str]:
    """The subjects that have all traits; of several values of one family, one of them."""
    wanted: defaultdict[str, set[Trait]] = defaultdict(set)
    for trait in traits:
        wanted[trait.family if trait.family not in (SKILL, ANY_VALUE) else trait.name].add(trait)
    return frozenset(
        one.subject for one in subjects if all(not one.traits.isdisjoint(some) for some in wanted.values())
    )


def _traits_of_rule(rule: TestedRule) -> frozenset[Trait]:
    values = {Trait(*parse_label(label)) for label in rule.values}
    who = {Trait(THING if rule.scope == ENTITY else CLASS, rule.who)} if rule.who else set()
    return frozenset(values | who)


def _status(proven: bool, proven_inside: int) -> str:
    """What is known of the theme as a group."""
    if proven:
        return "proven as a group"
    narrower = f"{proven_inside:,} narrower {'group is' if proven_inside == 1 else 'groups are'} proven"
    return f"not tested as a group, {narrower}" if proven_inside else "not tested as a group"


def _pooled_rate(hunt: HuntEvidence, theme: Theme, counts: Mapping[str, tuple[int, int]]) -> Rate:
    """Over the trials of all its findings, which are theirs to count, and of what works."""
    members = [hunt.findings[number - 1] for number in theme.findings]
    works = [counts[subject] for subject in theme.exceptions]
    failures = sum(finding.failures for finding in members) + sum(fails for _, fails in works)
    trials = sum(finding.trials for finding in members) + sum(map(sum, works))
    return rate_of_counts(failures, trials, f"{hunt.unit}s")


@dataclass(frozen=True, slots=True)
class TriedSubjects:
    """What was tried. `settled`: findings, and what works; `open`: what failed as often as not, unclaimed.

    `counts` is subject → passes and failures of what works.
    """

    settled: list[TriedSubject]
    open: list[TriedSubject]
    counts: dict[str, tuple[int, int]]


def tried_subjects(hunt: HuntEvidence) -> TriedSubjects:
    """The findings, and what works: subjects that passed more often than they failed.

    A subject that holds all of a finding fails because of it, so it says nothing of its own. One with more
    values than any finding, such as a picture described at random, speaks for each of its values alone.
    """
    form = hunt.kind.subject_form
    claimed = {Subject.parse(one.subject, form): number for number, one in enumerate(hunt.findings, 1)}
    found = TriedSubjects([], [], {})
    if not claimed:
        return found
    deepest = max(len(subject.values) for subject in claimed)
    claimed_of: defaultdict[str, list[Subject]] = defaultdict(list)
    for subject in claimed:
        claimed_of[subject.name].append(subject)
    named = _named_by_trials(hunt, form)
    found.settled.extend(
        TriedSubject(one.text, _traits(hunt, one) & named, number) for one, number in claimed.items()
    )
    for subject, passes, fails in _pooled_counts(hunt, form, deepest):
        explained = any(subject.holds(finding) for finding in claimed_of[subject.name])
        if explained or not passes + fails:
            continue
        tried = TriedSubject(subject.text, _traits(hunt, subject) & named, None)
        (found.settled if passes > fails else found.open).append(tried)
        found.counts[subject.text] = passes, fails
    return found


def _pooled_counts(hunt: HuntEvidence, form: SubjectForm, deepest: int) -> Iterator[tuple[Subject, int, int]]:
    counts: dict[Subject, tuple[int, int]] = {}
    for one in hunt.subjects():
        for part in _parts(Subject.parse(one.subject, form), deepest):
            passes, fails = counts.get(part, (0, 0))
            counts[part] = passes + one.passes, fails + one.fails
    return ((subject, passes, fails) for subject, (passes, fails) in counts.items())


def _parts(subject: Subject, deepest: int) -> Iterable[Subject]:
    if len(subject.values) <= deepest:
        return [subject]
    return [replace(subject, values=(value,)) for value in subject.values]


def _named_by_trials(hunt: HuntEvidence, form: SubjectForm) -> set[Trait]:
    """Traits that subjects of trials have, so that something is known of what works.

    A photo's trial is about its class: slices by metadata have traits of which nothing else is known.
    """
    return {trait for one in hunt.subjects() for trait in _traits(hunt, Subject.parse(one.subject, form))}


def _traits(hunt: HuntEvidence, subject: Subject) -> frozenset[Trait]:
    traits = {Trait(value.kind, value.value) for value in subject.values}
    traits |= {Trait(ANY_VALUE, value.kind) for value in subject.values if value.kind}
    traits |= {Trait(SKILL, skill) for skill in subject.skills}
    if subject.form is SubjectForm.THING:
        traits.add(Trait(THING, subject.name))
    place = hunt.place(subject.text)
    # A form of question has no name that people know; its skills and clauses say what it is.
    if place is not None and subject.form is SubjectForm.THING:
        traits |= {
            Trait(CLASS, name) for name in (place.column, place.subclass) if name not in ("", subject.name)
        }
    return frozenset(traits)


def say_subject(subject: Subject) -> str:
    """`owl with pink and night`, `questions on counting`."""
    if subject.form is SubjectForm.QUESTION:
        skills = {Trait(SKILL, skill) for skill in subject.skills}
        return say_traits(
            (*sorted(skills), *(Trait(value.kind, value.value) for value in subject.values)), subject.form
        )
    values = [value.value for value in subject.values]
    two_things = say_subject_of_two(subject)
    if two_things:
        return two_things
    return f"{subject.name} with {' and '.join(values)}" if values else subject.name


def say_traits(traits: Traits, form: SubjectForm) -> str:
    """`owl with pink`, `car with any colour`, `anything with four or five`, `questions on counting`.

    Of two things: `anything (red) left of another object`.
    """
    by_family: defaultdict[str, list[str]] = defaultdict(list)
    for trait in traits:
        by_family[trait.family].append(trait.name)
    said_of = {
        family: _say_values(family, names, form) for family, names in by_family.items() if family not in WHO
    }
    values = list(said_of.values())
    if form is SubjectForm.QUESTION:
        skills = " and ".join(by_family[SKILL])
        who = f"questions on {skills}" if skills else "questions"
    else:
        who = " and ".join([*by_family[CLASS], *by_family[THING]]) or "anything"
        if any(is_about_pairs(trait.family) for trait in traits):
            return say_two_things(who, [SubjectValue(*one) for one in said_of.items()])
    said = " and ".join(values)
    return f"{who} with {said}" if said else who


#: Families of traits that say what a theme is about; the others say what it has.
WHO = (THING, CLASS, SKILL)


def _say_values(family: str, names: Sequence[str], form: SubjectForm) -> str:
    if family == ANY_VALUE:
        return " and ".join(f"any {say_kind(name)}" for name in names)
    said = " or ".join(names)
    return f"{family} {said}" if form is SubjectForm.QUESTION else said
