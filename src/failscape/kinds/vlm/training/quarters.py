"""Does the questioner learn? The search cut into quarters, and rates that a change of mix cannot raise. Pure.

A rate can rise because questions became better, or because one skill is named more often. The rate on the
early mix tells them apart: each combination of skills fails as often as it does now, but counts as much as it
did in the first quarter.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from failscape.kinds.vlm.confirm import spread
from failscape.kinds.vlm.outcomes import QuestionOutcome
from failscape.search.counts import Counts

QUARTERS = 4
#: A combination with fewer valid questions in a quarter tells nothing of its rate then.
LEAST = 5

Combination = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LessonCounts:
    """Questions of lessons that named one skill ("": none). What does not take it is written, not valid."""

    named: str
    written: int
    valid: int
    failures: int


@dataclass(frozen=True, slots=True)
class Quarter:
    """A quarter of the questions of the search, by the order in which they were written.

    `of_valid` and `of_written` are shares that failed. `on_early_mix` is the share of valid ones that would
    fail with the first quarter's mix of skills; `shared` is how much of that mix was asked often enough in
    both. `entropy` is that of failing skills, in nats; `largest` the share of the commonest failing form.
    `lessons` has the same counts by the skill that was named.
    """

    written: int
    valid: int
    failures: int
    of_valid: float
    of_written: float
    on_early_mix: float | None
    shared: float
    combinations: int
    failing_combinations: int
    entropy: float
    largest: float
    lessons: tuple[LessonCounts, ...] = ()


def quarters(outcomes: Sequence[QuestionOutcome]) -> tuple[Quarter, ...]:
    """Empty where too little was written to be cut in four."""
    if len(outcomes) < QUARTERS * LEAST:
        return ()
    ordered = sorted(outcomes, key=lambda one: one.round)
    cuts = [round(len(ordered) * at / QUARTERS) for at in range(QUARTERS + 1)]
    parts = [ordered[low:high] for low, high in pairwise(cuts)]
    early = _rates(parts[0])
    return tuple(_quarter(part, early) for part in parts)


def _quarter(part: Sequence[QuestionOutcome], early: Mapping[Combination, Counts]) -> Quarter:
    now = _rates(part)
    failed = [one for one in part if one.failed]
    valid = sum(one.valid for one in part)
    rate, shared = standardised(early, now)
    forms = Counter(one.pattern.form for one in failed)
    return Quarter(
        written=len(part),
        valid=valid,
        failures=len(failed),
        of_valid=round(len(failed) / valid, 4) if valid else 0.0,
        of_written=round(len(failed) / len(part), 4),
        on_early_mix=None if rate is None else round(rate, 4),
        shared=round(shared, 4),
        combinations=len(now),
        failing_combinations=len({one.pattern.skills for one in failed}),
        entropy=round(spread(Counter(skill for one in failed for skill in one.pattern.skills)), 4),
        largest=round(max(forms.values()) / len(failed), 4) if failed else 0.0,
        lessons=tuple(_lesson(name, part) for name in sorted({one.named for one in part})),
    )


def _lesson(name: str, part: Sequence[QuestionOutcome]) -> LessonCounts:
    asked = [one for one in part if one.named == name]
    valid = [one for one in asked if one.valid and (not name or name in one.pattern.skills)]
    return LessonCounts(name, len(asked), len(valid), sum(one.failed for one in valid))


def standardised(
    early: Mapping[Combination, Counts], now: Mapping[Combination, Counts]
) -> tuple[float | None, float]:
    """The rate of now on the early mix, and the share of that mix that it rests on; None without any."""
    known = [kind for kind, count in early.items() if kind in now and now[kind].valid >= LEAST <= count.valid]
    total = sum(count.valid for count in early.values())
    weight = sum(early[kind].valid for kind in known)
    if not weight:
        return None, 0.0
    return sum(early[kind].valid * now[kind].rate for kind in known) / weight, weight / total


def _rates(part: Sequence[QuestionOutcome]) -> dict[Combination, Counts]:
    found: dict[Combination, Counts] = defaultdict(Counts)
    for one in part:
        if one.valid:
            found[one.pattern.skills].count(one.verdict)
    return dict(found)
