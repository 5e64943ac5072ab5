"""Findings for people: in families, as examples, by thing; and what to do without any."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from failscape.trials import Finding, Subject, Verdict
from failscape.views.read.hunt import HuntEvidence, HuntReader, Place
from failscape.views.read.seen import plainly_failing
from failscape.views.read.shots import FindingEvidence, Rate, Shot, ShotRow, rate_of_counts


def short_title(finding: Finding) -> str:
    """A title for one line: some kinds of hunt have whole sentences."""
    return str(finding.details_data.get("short") or finding.title)


#: The thing, the labels that all have, and the kind of the label in which they differ.
FamilyKey = tuple[str, tuple[str, ...], str]


@dataclass(frozen=True, slots=True)
class Family:
    """`members` are positions of findings, most certain first; they differ in the value of one `kind`.

    A finding that is like no other is a family of its own, with `kind` empty.
    """

    members: tuple[int, ...]
    kind: str = ""
    values: tuple[str, ...] = ()


def families_of(findings: Sequence[Finding]) -> list[Family]:
    """Every finding in exactly one family: large families first get their members. In order of certainty."""
    keys: dict[FamilyKey, list[tuple[int, str]]] = {}
    for at, finding in enumerate(findings):
        for key, value in _keys(finding.subject):
            keys.setdefault(key, []).append((at, value))
    taken: set[int] = set()
    found: list[Family] = []
    for key, members in sorted(keys.items(), key=lambda one: (-len(one[1]), one[1][0][0])):
        free = [(at, value) for at, value in members if at not in taken]
        if len(free) > 1:
            taken.update(at for at, _ in free)
            found.append(Family(tuple(at for at, _ in free), key[2], tuple(value for _, value in free)))
    found += [Family((at,)) for at in range(len(findings)) if at not in taken]
    return sorted(found, key=lambda family: family.members[0])


def _keys(subject: str) -> list[tuple[FamilyKey, str]]:
    parsed = Subject.parse(subject)
    found = []
    for one in parsed.values:
        if one.kind:
            rest = tuple(sorted(other for other in parsed.labels if other != one.label))
            found.append(((parsed.name, rest, one.kind), one.value))
    return found


#: Findings among which examples are chosen: the most certain ones.
LOOKED_AT = 60


@dataclass(frozen=True, slots=True)
class BeforeAfter:
    """`after` is the first failed picture of a finding, `before` its parent's at the same seed, if any.

    `number` is the place of the finding in the list, from 1.
    """

    number: int
    evidence: FindingEvidence
    after: Shot
    before: Shot | None = None
    parent: ShotRow | None = None


def varied_order(findings: Sequence[Finding], place: Callable[[str], Place | None]) -> list[int]:
    """Positions of findings such that neighbours differ: each next one repeats what was shown the least.

    What a finding shows is its thing, its kinds of attributes and its values. Among equals the more certain
    comes first.
    """
    left = {at: _features(finding, place) for at, finding in enumerate(findings[:LOOKED_AT])}
    shown: Counter[str] = Counter()
    order: list[int] = []
    while left:
        best = min(left, key=lambda at: (sum(shown[one] for one in left[at]) / len(left[at]), at))
        shown.update(left.pop(best))
        order.append(best)
    return order


def _features(finding: Finding, place: Callable[[str], Place | None]) -> list[str]:
    where = place(finding.subject)
    names = [where.about, *where.rows] if where else [finding.subject]
    return [*names, *Subject.parse(finding.subject).labels]


def varied_examples(
    findings: Sequence[Finding],
    place: Callable[[str], Place | None],
    evidence_of: Callable[[Finding], FindingEvidence],
    most: int,
) -> list[BeforeAfter]:
    """At most `most` findings with a failed picture, about different things and attributes.

    Pairs come first: a single picture says less.
    """
    pairs: list[BeforeAfter] = []
    singles: list[BeforeAfter] = []
    for at in varied_order(findings, place):
        found = before_after(at + 1, evidence_of(findings[at]))
        if found is not None:
            (singles if found.before is None else pairs).append(found)
        if len(pairs) == most:
            break
    return [*pairs, *singles][:most]


def before_after(number: int, evidence: FindingEvidence) -> BeforeAfter | None:
    """Only trials that count are shown as examples. `None` where no failed picture was kept."""
    failed = [
        (at, shot)
        for at, shot in enumerate(evidence.own.shots)
        if shot is not None and shot.verdict is Verdict.FAIL and shot.images and evidence.own.counts(shot)
    ]
    for at, shot in failed:
        for row in evidence.parents:
            before = row.shots[at]
            if before is not None and before.verdict is Verdict.PASS and before.images:
                return BeforeAfter(number, evidence, shot, before, row)
    return BeforeAfter(number, evidence, failed[0][1]) if failed else None


#: Things with fewer valid trials are not among the worst: one failure in one try says little.
FEWEST = 3

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
    words = f"valid {hunt.unit}s about it that the search {hunt.came}"
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
    elif hunt.seen:
        yield f"raise the budget and run again: {plainly_failing(len(hunt.seen))} not tested"
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
