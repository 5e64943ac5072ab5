"""What a classifier hunt says about all classes, beyond single findings. Plain data; `as_data` gives JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from failscape.hunts.classifier.caption_study import CaptionStudy, CaptionSurvey
from failscape.hunts.classifier.details import RateCounts
from failscape.hunts.classifier.findings import rate_counts
from failscape.hunts.classifier.prompts import SAID
from failscape.hunts.classifier.sentences import many
from failscape.spaces.wording import capitalised, plural_of

if TYPE_CHECKING:
    from failscape.hunts.classifier.arena import Arena
    from failscape.hunts.classifier.scouting import Scouts


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
class ClassifierSurvey:
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

    def as_data(self) -> dict[str, Any]:
        return asdict(self)


def survey_of(
    arena: Arena, scouts: Scouts, study: CaptionStudy, notes: Sequence[str] = ()
) -> ClassifierSurvey:
    bugs = Counter(arm.description.label for arm in arena.bugs())
    tried = Counter(arm.description.label for arm in arena.arms.values() if arm.counts.drawn)
    rows = [
        ClassRow(
            target.name,
            target.superclass,
            rate_counts(arena, state.base),
            dict(state.base.wrong.most_common(15)),
            tried[at],
            bugs[at],
            state.skip,
        )
        for at, (target, state) in enumerate(zip(arena.targets, arena.classes, strict=True))
    ]
    images = [arm.counts for arm in arena.arms.values()]
    counts = {
        "tried": sum(tried.values()),
        "proven": len(arena.claimed),
        "explained by a shorter one": len(arena.covered),
        "images in the race": sum(one.drawn for one in images),
        "images of baselines": sum(state.base.drawn for state in arena.classes),
        "fresh images": sum(block.counts.drawn for block in arena.blocks.values()),
        "images of first looks": arena.looked_in_crowds + sum(arm.looked for arm in arena.arms.values()),
        "values looked at": sum(int((looks.seen > 0).sum()) for looks in scouts.classes),
        "clause not seen": sum(one.unheeded for one in images),
        "both objects seen": sum(one.both for one in images) + sum(s.base.both for s in arena.classes),
        "invalid": sum(one.invalid for one in [*images, *(state.base for state in arena.classes)]),
    }
    return ClassifierSurvey(
        tuple(rows),
        tuple(habits_of(arena)),
        counts,
        arena.most_tried,
        arena.rules.margin,
        arena.rules.fdr,
        arena.rules.slip,
        (*notes, *_about_written(arena)),
        study.survey(_plain_rate(arena)),
    )


def _about_written(arena: Arena) -> list[str]:
    """What became of the descriptions that a person wrote, proven or not."""
    claimed = {arm.subject for arm in arena.claimed}
    lines = []
    for arm in arena.arms.values():
        if arm.source != WRITTEN:
            continue
        name = capitalised(many(arena.targets[arm.description.label].name, arm.clauses).rstrip(","))
        seen = f"{arm.counts.fails:,} of {arm.counts.valid:,} pictures failed in its test"
        proof = "proven" if arm.subject in claimed else "not proven"
        lines.append(f"{name} (as you wrote): {f'{seen}, {proof}' if arm.counts.drawn else 'not tested'}")
    return lines


def _plain_rate(arena: Arena) -> float:
    """How often plain pictures of all classes fail."""
    fails, valid = (sum(getattr(state.base, side) for state in arena.classes) for side in ("fails", "valid"))
    return fails / valid if valid else 0.0


def habits_of(arena: Arena) -> list[Habit]:
    """Kinds of which a class has two bugs or more, those with the most first."""
    found: dict[tuple[int, str], list[str]] = {}
    for arm in arena.bugs():
        if len(arm.clauses) == 1 and arm.clauses[0].kind != SAID:
            found.setdefault((arm.description.label, arm.clauses[0].kind), []).append(arm.clauses[0].value)
    habits = []
    for (label, kind), values in sorted(found.items(), key=lambda item: (-len(item[1]), item[0])):
        if len(values) < 2:
            continue
        tried = [
            arm
            for arm in arena.arms.values()
            if arm.description.label == label and len(arm.clauses) == 1 and arm.clauses[0].kind == kind
        ]
        safe = [
            arm.clauses[0].value for arm in tried if arm.clauses[0].value not in values and arm.counts.valid
        ]
        name, sub = arena.targets[label].name, kind.partition(": ")[2].lower()
        known = f"; not proven for {', '.join(sorted(safe))}" if 0 < len(safe) <= 4 else ""
        text = (
            f"{capitalised(plural_of(name))} go wrong with {len(values)} of {len(values) + len(safe)} values "
            f"of {sub} ({', '.join(sorted(values))}){known}."
        )
        habits.append(Habit(name, kind, tuple(sorted(values)), tuple(sorted(safe)), text))
    return habits
