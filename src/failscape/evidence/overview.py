"""What can be said of a hunt at a glance: the worst things, and what to change when nothing is proven."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from failscape.evidence.hunt import HuntEvidence, HuntReader
from failscape.evidence.rates import Rate, rate_of_counts
from failscape.trials import Verdict

FEWEST = 3
"""Things with fewer valid trials are not among the worst: one failure in one try says little."""

MANY_INVALID = 0.1


@dataclass(frozen=True, slots=True)
class GroupRate:
    """One thing, or one class, with the trials of all its subjects that the search drew."""

    name: str
    group: str
    subjects: int
    rate: Rate


def group_rates(hunt: HuntReader) -> list[GroupRate]:
    """Every thing that was tried, by how surely it fails: the lower end of its interval, then its rate."""
    counts: dict[tuple[str, str], tuple[int, int, int]] = {}
    for one in hunt.subjects():
        place = hunt.place(one.subject)
        if place is not None and one.valid:
            subjects, fails, valid = counts.get((place.about, place.column), (0, 0, 0))
            counts[place.about, place.column] = subjects + 1, fails + one.fails, valid + one.valid
    words = f"valid {hunt.unit}s about it that the search drew"
    found = [
        GroupRate(name, group, subjects, rate_of_counts(fails, valid, words))
        for (name, group), (subjects, fails, valid) in counts.items()
    ]
    return sorted(found, key=lambda one: (-one.rate.interval[0], -one.rate.rate, one.name))


def worst_groups(hunt: HuntReader, most: int) -> list[GroupRate]:
    """The things that fail most surely, among those that failed at all."""
    return [one for one in group_rates(hunt) if one.rate.failures and one.rate.of >= FEWEST][:most]


def suggestions(hunt: HuntEvidence) -> Iterator[str]:
    """What to change so that the next run can prove more."""
    counts = hunt.counts
    judged = sum(counts.values()) - counts[Verdict.NONE]
    if judged and counts[Verdict.INVALID] / judged > MANY_INVALID:
        invalid = f"{counts[Verdict.INVALID]:,} of {judged:,} trials are invalid"
        yield f"{invalid}: see to the models first (failscape doctor)"
    if hunt.row.config.get("photos") and not hunt.row.config.get("generator"):
        yield _more_photos(hunt)
    elif hunt.suspects:
        yield f"raise the budget and run again: {len(hunt.suspects):,} suspects lack evidence"
    elif hunt.seen_rate().rate < (hunt.limit or 0.2) / 2:
        yield "little fails here: ask for more (space.depth), or count smaller failures (search.threshold)"
    else:
        yield "raise the budget, or take fewer entities, so that each gets more evidence"
    if hunt.judge is not None:
        yield f"the judge's errors are allowed for ({hunt.judge.source}): a better judge proves more"


def _more_photos(hunt: HuntEvidence) -> str:
    """A folder has no budget: what it lacks is photos."""
    if not hunt.suspects:
        return "add photos: more of each class would show smaller differences within it"
    nearest = hunt.suspects[0].details_data
    others = f", the nearest of {len(hunt.suspects):,} suspects" if len(hunt.suspects) > 1 else ""
    return f"add photos: {nearest.get('missing', '')} ({nearest.get('short', '')}{others})"
