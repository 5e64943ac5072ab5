"""What a classifier hunt says about all classes, beyond single findings. Plain data; `as_data` gives JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from failscape.kinds.classifier.caption_study import CaptionStudy, CaptionSurvey
from failscape.kinds.classifier.details import RateCounts
from failscape.kinds.classifier.findings import rate_counts
from failscape.kinds.classifier.prompts import SAID
from failscape.kinds.classifier.sentences import many
from failscape.search.surveys import Survey
from failscape.spaces.wording import capitalised, plural_of

if TYPE_CHECKING:
    from failscape.kinds.classifier.record import HuntRecord
    from failscape.search.patterns import PatternSearch


#: The source of descriptions from `descriptions:`.
WRITTEN = "written"


@dataclass(frozen=True, slots=True)
class ClassRow:
    """One class: its baseline, how many descriptions were tried and proven, why it was left out if it was."""

    name: str
    superclass: str
    baseline: RateCounts
    wrong: dict[str, int]
    tried: int
    bugs: int
    skip: str = ""


@dataclass(frozen=True, slots=True)
class Habit:
    """Several values of one kind are bugs of one class: probably it was learned together with the others."""

    name: str
    kind: str
    bugs: tuple[str, ...]
    safe: tuple[str, ...]
    sentence: str


@dataclass(frozen=True, slots=True)
class ClassifierSurvey(Survey):
    """`counts`: descriptions by state. `most_tried` is what e-BH counts over."""

    classes: tuple[ClassRow, ...]
    habits: tuple[Habit, ...]
    counts: dict[str, int]
    most_tried: int
    margin: float
    fdr: float
    slip: float
    notes: tuple[str, ...] = field(default=())
    captions: CaptionSurvey | None = None
    not_examined: tuple[str, ...] = ()

    @property
    def unexamined(self) -> tuple[str, ...]:
        return self.not_examined

    def as_data(self) -> dict[str, Any]:
        return asdict(self)


def survey_of(
    record: HuntRecord, search: PatternSearch, study: CaptionStudy, notes: Sequence[str] = ()
) -> ClassifierSurvey:
    bugs = Counter(test.description.label for test in record.bugs())
    tried = Counter(test.description.label for test in record.tests.values() if test.counts.drawn)
    rows = [
        ClassRow(
            target.name,
            target.superclass,
            rate_counts(record, state.base),
            dict(state.base.wrong.most_common(15)),
            tried[at],
            bugs[at],
            state.skip,
        )
        for at, (target, state) in enumerate(zip(record.targets, record.classes, strict=True))
    ]
    images = [test.counts for test in record.tests.values()]
    bases = [state.base for state in record.classes]
    drawn = record.drawn
    counts = {
        "tried": sum(tried.values()),
        "proven": len(record.claimed),
        "explained by a shorter one": len(record.claimed) - len(record.bugs()),
        "images in the race": sum(one.drawn for one in images),
        "images of baselines": sum(base.drawn for base in bases),
        "fresh images": sum(block.counts.drawn for block in record.fresh.blocks.values()),
        "images of first looks": drawn["explore"] + drawn["look into"] + drawn["check name"],
        "values looked at": len(search.space),
        "clause not seen": sum(one.unheeded for one in images),
        "both objects seen": sum(one.both for one in [*images, *bases]),
        "invalid": sum(one.invalid for one in [*images, *bases]),
    }
    return ClassifierSurvey(
        tuple(rows),
        (*general_habits(record, search), *habits_of(record)),
        counts,
        record.test_slots,
        record.rules.margin,
        record.rules.fdr,
        record.rules.slip,
        (*notes, *_about_written(record)),
        study.survey(_plain_rate(record)),
        tuple(unexamined_classes(record, search)),
    )


def unexamined_classes(record: HuntRecord, search: PatternSearch) -> Iterator[str]:
    """Classes of which most values were never shown, and those that could not be drawn."""
    for state in record.classes:
        shown, options = search.shown_options(state.name)
        if state.skip:
            yield f"{state.name} ({state.skip})"
        elif 2 * shown < options:
            yield f"{state.name} ({shown:,} of {options:,} values shown)"


def _about_written(record: HuntRecord) -> list[str]:
    """What became of the descriptions that a person wrote, proven or not."""
    claimed = {test.subject for test in record.claimed}
    lines = []
    for test in record.tests.values():
        if test.source != WRITTEN:
            continue
        name = capitalised(many(record.targets[test.description.label].name, test.clauses).rstrip(","))
        seen = f"{test.counts.fails:,} of {test.counts.valid:,} pictures failed in its test"
        proof = "proven" if test.subject in claimed else "not proven"
        lines.append(f"{name} (as you wrote): {f'{seen}, {proof}' if test.counts.drawn else 'not tested'}")
    return lines


def _plain_rate(record: HuntRecord) -> float:
    """How often plain pictures of all classes fail."""
    fails, valid = (sum(getattr(state.base, side) for state in record.classes) for side in ("fails", "valid"))
    return fails / valid if valid else 0.0


def general_habits(record: HuntRecord, search: PatternSearch) -> list[Habit]:
    """Clauses that are bugs of several classes: probably all of them were learned without."""
    found: list[Habit] = []
    for claim in search.general_claims():
        clauses = [clause for fact in claim.facts if (clause := record.clause(fact)) is not None]
        words = capitalised(" and ".join(clause.value for clause in clauses))
        safe = tuple(sorted(set(claim.examined) - set(claim.failing)))
        names = ", ".join(claim.failing)
        text = f"{words}: a bug of {len(claim.failing)} of {len(claim.examined)} classes examined ({names})."
        found.append(Habit(words, clauses[0].kind, claim.failing, safe, text))
    return found


def habits_of(record: HuntRecord) -> list[Habit]:
    """Kinds of which a class has two bugs or more, those with the most first."""
    found: dict[tuple[int, str], list[str]] = {}
    for test in record.bugs():
        if len(test.clauses) == 1 and test.clauses[0].kind != SAID:
            found.setdefault((test.description.label, test.clauses[0].kind), []).append(test.clauses[0].value)
    habits = []
    for (label, kind), values in sorted(found.items(), key=lambda item: (-len(item[1]), item[0])):
        if len(values) < 2:
            continue
        tried = [
            test
            for test in record.tests.values()
            if test.description.label == label and len(test.clauses) == 1 and test.clauses[0].kind == kind
        ]
        safe = [
            test.clauses[0].value
            for test in tried
            if test.clauses[0].value not in values and test.counts.valid
        ]
        name, sub = record.targets[label].name, kind.partition(": ")[2].lower()
        known = f"; not proven for {', '.join(sorted(safe))}" if 0 < len(safe) <= 4 else ""
        text = (
            f"{capitalised(plural_of(name))} go wrong with {len(values)} of {len(values) + len(safe)} values "
            f"of {sub} ({', '.join(sorted(values))}){known}."
        )
        habits.append(Habit(name, kind, tuple(sorted(values)), tuple(sorted(safe)), text))
    return habits
