"""From a proven description to a finding: rate on fresh images, causes by toggling, wrong labels. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from failscape.kinds.classifier.details import (
    BugDetails,
    ClauseSaid,
    RaceCounts,
    RateCounts,
    RealRate,
    SeenRates,
    Toggle,
)
from failscape.kinds.classifier.drawing import names_class
from failscape.kinds.classifier.prompts import Clause, Description
from failscape.kinds.classifier.purposes import FRESH, SEARCH
from failscape.kinds.classifier.sentences import cause_words, many, sentence
from failscape.kinds.classifier.settings import ClassifierRules
from failscape.kinds.classifier.tallies import Block, DescriptionTest, ImageCounts, Target
from failscape.search.patterns import PatternSuspect, SuspectLack
from failscape.search.patterns.settings import divergence
from failscape.stats.differences import absent_share, paired_difference
from failscape.stats.evalues import e_value_of_log
from failscape.stats.intervals import clopper_pearson
from failscape.trials import Finding, Status

if TYPE_CHECKING:
    from failscape.kinds.classifier.record import HuntRecord


#: Wrong labels that are told one by one; the page shows fewer, and the rest as others.
LABELS = 60

FEWEST_PAIRS = 10

#: A wrong label with this share of the failures is what the sentence is about.
MOSTLY = 0.6


def describe_bug(
    record: HuntRecord, test: DescriptionTest, real: RealRate | None = None, sees: bool = False
) -> Finding:
    state, target = record.classes[test.description.label], record.targets[test.description.label]
    block = record.fresh.blocks.get(test.subject)
    confirmed = block is not None and block.complete and block.counts.valid > 0
    counts = block.counts if block is not None and confirmed else test.counts
    toggles = toggles_of(record, test.description)
    unclear = {toggle.clause for toggle in toggles if toggle.what == "beside" and toggle.interval[0] <= 0}
    causes = [toggle for toggle in toggles if toggle.is_cause and toggle.clause not in unclear]
    return Finding(
        subject=test.subject,
        title=_sentence(record, test, counts, causes),
        caption=record.prompt(test.description),
        status=Status.CERTIFIED,
        rate=counts.rate,
        interval=rate_interval(record, counts),
        e_value=e_value_of_log(test.log_evidence),
        trials=counts.valid,
        failures=counts.fails,
        invalid=test.counts.invalid + (block.counts.invalid if block else 0),
        parents=(_parent(record, test.description.label),),
        counted=(FRESH.name,) if confirmed else (SEARCH.name,),
        details=BugDetails(
            class_name=target.name,
            short=many(target.name, test.clauses).rstrip(","),
            clauses=tuple(_clause(record, target, clause) for clause in test.clauses),
            source=test.source,
            confirmed=confirmed,
            race=RaceCounts(test.counts.fails, test.counts.valid, test.counts.invalid),
            baseline=rate_counts(record, state.base),
            wrong=dict(counts.wrong.most_common(LABELS)),
            baseline_wrong=dict(state.base.wrong.most_common(LABELS)),
            toggles=tuple(toggles),
            spurious=tuple(toggle.clause for toggle in causes if toggle.around),
            real=real,
            together=undecided_companions(toggles),
            seen=_seen(counts) if sees else None,
            aim=target.aim[0] if target.aim else "",
        ),
    )


def describe_suspect(
    record: HuntRecord, test: DescriptionTest, suspect: PatternSuspect, keys: tuple[str, ...], sees: bool
) -> Finding:
    """A description that looks like a bug, and what is missing. `keys` are its trials if it has no test."""
    found = describe_bug(record, test, None, sees)
    missing = _missing(suspect)
    details = replace(found.details, missing=missing)
    title = f"{found.title.rstrip('.')}; {missing}."
    return replace(found, status=Status.SUSPECT, title=title, details=details, keys=keys)


def _missing(suspect: PatternSuspect) -> str:
    more = suspect.trials_lacking
    if suspect.lacks is SuspectLack.TRIALS and more:
        return f"about {more:,} more images of it would prove it, if they fail as those did"
    if suspect.lacks is SuspectLack.SLOT:
        return "it has no test of its own, for all tests that the budget allows are taken: raise the budget"
    return "it has no test of its own yet: raise the budget"


def growth(rate: float, limit: float) -> float:
    """By how much evidence grows with an image, on average, when it fails at `rate` against `limit`."""
    return divergence(min(rate, 0.999), limit) if limit < min(rate, 1.0) else 0.0


def _seen(counts: ImageCounts) -> SeenRates:
    fails = counts.fails + counts.unheeded_fails
    low, high = clopper_pearson(fails, counts.asked)
    rate = counts.asked_rate
    return SeenRates(counts.asked, fails, rate, (float(low), float(high)), counts.obeyed, counts.both)


def _sentence(record: HuntRecord, test: DescriptionTest, counts: ImageCounts, causes: list[Toggle]) -> str:
    """All numbers count every wrong label; the one that most failures share is named beside."""
    target, base = record.targets[test.description.label], record.classes[test.description.label].base
    often, hits = counts.wrong.most_common(1)[0] if counts.wrong else ("", 0)
    mostly = often if hits >= MOSTLY * counts.fails else ""
    rates, interval = (counts.rate, base.rate), rate_interval(record, counts)
    return sentence(target.name, test.clauses, mostly, rates, interval, often, _cause(causes))


def rate_interval(record: HuntRecord, counts: ImageCounts) -> tuple[float, float]:
    """Exact for the images; its lower end also allows for accepted images that do not show the object."""
    return widened(counts.fails, counts.valid, gone_of(record.rules, counts))


def gone_of(rules: ClassifierRules, counts: ImageCounts) -> float:
    """The share of counted images that may not show the object."""
    seen = counts.asked + counts.absent
    return float(absent_share(counts.asked, seen, rules.sensitivity, rules.slip)) if rules.slip else 0.0


def widened(fails: int, valid: int, gone: float) -> tuple[float, float]:
    """The interval of a rate when a share of the images does not count, whatever became of them."""
    low, high = (float(end) for end in clopper_pearson(fails, valid))
    if gone >= 1:
        return 0.0, 1.0
    return max(0.0, (low - gone) / (1 - gone)), min(1.0, high / (1 - gone))


def rate_counts(record: HuntRecord, counts: ImageCounts) -> RateCounts:
    return RateCounts(
        counts.fails,
        counts.valid,
        counts.invalid,
        counts.absent,
        counts.rate,
        rate_interval(record, counts),
        counts.both,
    )


def toggles_of(record: HuntRecord, description: Description) -> list[Toggle]:
    """What each clause does, on the same seeds with it, without it, and with another in its place."""
    full = record.fresh.blocks.get(record.subject(description))
    found: list[Toggle] = []
    if full is None:
        return found
    kept = {one.label for one in description.clauses}
    for place, clause in enumerate(description.clauses):
        for number, other in enumerate(record.fresh.toggles(description, place, look=True)):
            block = record.fresh.blocks.get(record.subject(other))
            pairs = _pairs(full, block) if block is not None else []
            if len(pairs) < FEWEST_PAIRS:
                continue
            other_clause = next((one for one in other.clauses if one.label not in kept), None)
            what = "without" if number == 0 else "instead"
            if other_clause is not None and record.fresh.comes_along(description, place, other_clause.label):
                what = "beside"
            instead = other_clause.value if other_clause else ""
            found.append(toggle_of(clause, what, instead, record.prompt(other), record.subject(other), pairs))
    return found


def undecided_companions(toggles: Sequence[Toggle]) -> tuple[str, ...]:
    """What comes along with a clause and, drawn alone, does not clearly fail less: it may be the cause."""
    return tuple(toggle.instead for toggle in toggles if toggle.what == "beside" and toggle.interval[0] <= 0)


def _pairs(full: Block, other: Block) -> list[tuple[bool, bool]]:
    """Outcomes with the clause and in `other`, seed by seed, where both can be used."""
    found = []
    for number, failed in full.outcomes.items():
        beside = other.outcomes.get(number)
        if failed is not None and beside is not None:
            found.append((failed, beside))
    return found


def toggle_of(
    clause: Clause, what: str, instead: str, caption: str, subject: str, pairs: Sequence[tuple[bool, bool]]
) -> Toggle:
    """How much more often images fail with the clause than without, pair by pair."""
    only_full = sum(with_it and not other for with_it, other in pairs)
    only_other = sum(other and not with_it for with_it, other in pairs)
    effect, interval = paired_difference(only_full, only_other, len(pairs))
    return Toggle(
        clause.label,
        cause_words(clause),
        clause.around,
        what,
        instead,
        caption,
        subject,
        effect,
        interval,
        len(pairs),
        sum(other for _, other in pairs) / len(pairs),
        sum(with_it for with_it, _ in pairs) / len(pairs),
    )


def _cause(causes: Sequence[Toggle]) -> str:
    """No number: toggles count other pictures than the sentence that this ends, and stand beside it."""
    words = " and ".join(toggle.words for toggle in causes)
    if len(causes) > 1:
        return f"{words} together are the cause"
    return f"{words} is the cause" if causes else ""


def _parent(record: HuntRecord, label: int) -> dict[str, Any]:
    base = record.classes[label].base
    return {
        "subject": record.targets[label].name,
        "caption": record.prompt(Description(label)),
        "failures": base.fails,
        "trials": base.valid,
    }


def _clause(record: HuntRecord, target: Target, clause: Clause) -> ClauseSaid:
    named = names_class(clause, record.targets, target)
    return ClauseSaid(clause.label, clause.kind, clause.value, clause.around, named)
