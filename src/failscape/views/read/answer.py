"""The answer of a hunt: what fails, in a headline and a handful of themes.

Terminal, viewer, report, notebooks and the end of a run show this text and no other, in this order: the
headline, the themes, then everything else.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from failscape.search.surveys import SpaceRate, Survey, TestedRule
from failscape.trials import Subject, SubjectForm, parse_label
from failscape.views.read.findings import BeforeAfter, varied_examples
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

#: Patterns that are seen and not tested, in a sentence: the lists have all of them.
SEEN_IN_SENTENCE = 3

#: The scope of a tested rule about one thing; others are about a class, or about anything.
ENTITY = "entity"

#: Where surely more than this share of random requests fails, that is said before any cause.
MOST_FAIL = 0.5


@dataclass(frozen=True, slots=True)
class ToldTheme:
    """A theme as people see it.

    `findings` and `newly` are numbers of findings: those with its traits, and those of them that no theme
    before it has. `exceptions` are titles of what was tried with its traits and works. `rate` is over the
    trials of its findings. `proven`: it was tested as one group, and `status` says what is known of it.
    """

    number: int
    title: str
    traits: Traits
    findings: tuple[int, ...]
    newly: tuple[int, ...]
    exceptions: tuple[str, ...]
    rate: Rate
    proven: bool
    status: str

    @property
    def tried(self) -> int:
        return len(self.findings) + len(self.exceptions)

    @property
    def sentence(self) -> str:
        """The theme in one sentence: what, how much of it, how sure."""
        fails = f"fails in {len(self.findings):,} of {self.tried:,} combinations tried"
        if not self.exceptions:
            fails = f"seen in all {self.tried:,} of {self.tried:,} combinations tried"
        return f"{self.title}: {fails}; {self.status}"

    def as_data(self) -> dict[str, Any]:
        return {
            "number": self.number,
            "title": self.title,
            "sentence": self.sentence,
            "traits": [{"family": trait.family, "name": trait.name} for trait in self.traits],
            "findings": list(self.findings),
            "newly": list(self.newly),
            "tried": self.tried,
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
class HuntAnswer:
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
    everywhere = _space_rate(hunt)
    survey = hunt.survey_as(Survey)
    opening = survey.opening if survey is not None else ""
    if opening:
        yield f"{hunt.target} {opening}."
    if everywhere is not None:
        share = f"{percent(everywhere.rate)} ({spread(everywhere.interval)})"
        yield f"{hunt.target} {hunt.kind.fails_at.format(share=share)}."
    found = len(hunt.findings)
    if not found:
        yield _nothing_proven(hunt)
        return
    if everywhere is not None and everywhere.interval[0] >= MOST_FAIL:
        yield "Failing is the rule here: the list below shows where it is worst."
    who = "" if opening or everywhere is not None else f"{hunt.target}: "
    yield f"{who}{_found_and_explained(found, themes)}"


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
    names = ", ".join(one.sentence for one in seen[:SEEN_IN_SENTENCE])
    more = ", …" if len(seen) > SEEN_IN_SENTENCE else ""
    return f"{plainly_failing(len(seen))} not tested: {names}{more}"


def _space_rate(hunt: HuntEvidence) -> SpaceRate | None:
    survey = hunt.survey_as(Survey)
    rates = survey.space_rates if survey is not None else ()
    return next((one for one in rates if one.group == "all"), None)


# Themes


def _told_themes(hunt: HuntEvidence) -> Iterator[ToldTheme]:
    proven = [_traits_of_rule(rule) for rule in hunt.tested_rules]
    for number, theme in enumerate(choose_themes(tried_subjects(hunt)), 1):
        traits = frozenset(theme.traits)
        exceptions = [Subject.parse(one, hunt.kind.subject_form) for one in theme.exceptions]
        yield ToldTheme(
            number=number,
            title=say_traits(theme.traits, hunt.kind.subject_form),
            traits=theme.traits,
            findings=theme.findings,
            newly=theme.newly,
            exceptions=tuple(say_subject(one) for one in exceptions),
            rate=_pooled_rate(hunt, theme),
            proven=traits in proven,
            status=_status(traits in proven, sum(traits < rule for rule in proven)),
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


def _pooled_rate(hunt: HuntEvidence, theme: Theme) -> Rate:
    members = [hunt.findings[number - 1] for number in theme.findings]
    failures = sum(finding.failures for finding in members)
    trials = sum(finding.trials for finding in members)
    return rate_of_counts(failures, trials, f"valid {hunt.unit}s of its findings")


def tried_subjects(hunt: HuntEvidence) -> list[TriedSubject]:
    """The findings, and what works: subjects that passed more often than they failed.

    A subject that holds all of a finding fails because of it, so it says nothing of its own. One with more
    values than any finding, such as a picture described at random, speaks for each of its values alone.
    """
    form = hunt.kind.subject_form
    claimed = {Subject.parse(one.subject, form): number for number, one in enumerate(hunt.findings, 1)}
    if not claimed:
        return []
    deepest = max(len(subject.values) for subject in claimed)
    claimed_of: defaultdict[str, list[Subject]] = defaultdict(list)
    for subject in claimed:
        claimed_of[subject.name].append(subject)
    named = _named_by_trials(hunt, form)
    found = [TriedSubject(one.text, _traits(hunt, one) & named, number) for one, number in claimed.items()]
    for subject, passes, fails in _pooled_counts(hunt, form, deepest):
        explained = any(subject.holds(finding) for finding in claimed_of[subject.name])
        if passes > fails and not explained:
            found.append(TriedSubject(subject.text, _traits(hunt, subject) & named, None))
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
    if place is not None and place.column != subject.name:
        traits.add(Trait(CLASS, place.column))
    return frozenset(traits)


def say_subject(subject: Subject) -> str:
    """`owl: pink, night`."""
    parts = [*subject.skills, *(value.value for value in subject.values)]
    return f"{subject.name}: {', '.join(parts)}" if parts else subject.name


def say_traits(traits: Traits, form: SubjectForm) -> str:
    """`owl: pink`, `car: any colour`, `pixelated`, `questions on counting`, `answer yes`."""
    who = [_say(trait, form) for trait in traits if trait.family in (THING, CLASS)]
    others = [_say(trait, form) for trait in traits if trait.family not in (THING, CLASS)]
    return ": ".join(part for part in (" × ".join(who), " × ".join(others)) if part)


def _say(trait: Trait, form: SubjectForm) -> str:
    if trait.family == ANY_VALUE:
        return f"any {trait.name.rpartition(': ')[2]}"
    if trait.family == SKILL:
        return f"questions on {trait.name}"
    is_clause = form is SubjectForm.QUESTION and trait.family != CLASS
    return f"{trait.family} {trait.name}" if is_clause else trait.name
