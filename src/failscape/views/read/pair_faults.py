"""What went wrong in failed pictures of two things: one is missing, attributes are mixed up, and so on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from failscape.atlas import StoredTrial
from failscape.spaces.pair_words import is_about_pairs
from failscape.spaces.pairs import RELATION_KIND, SECOND_FAMILY, SECOND_THING_KIND
from failscape.trials import Finding, Subject, Verdict, missed_by


def is_pair_finding(finding: Finding) -> bool:
    """Whether a finding asks for two things, so that its pictures have to be looked up."""
    return any(is_about_pairs(kind) for kind in Subject.parse(finding.subject).kinds)


def pair_sentences(trials: Iterable[StoredTrial]) -> Iterator[str]:
    """One sentence that says in how many failed pictures each thing went wrong; none without failures.

    A picture is counted once. A missing thing explains why its attributes and the relation do not hold, so
    it comes first.
    """
    found: Counter[str] = Counter()
    for stored in trials:
        if stored.trial.verdict is Verdict.FAIL:
            missed = {one.check: one.expected for one in missed_by(stored.steps, stored.trial.facts)}
            found[_fault(Subject.parse(stored.trial.subject).name, missed)] += 1
    if not found:
        return
    parts = [f"{fault} in {count:,}" for fault, count in found.most_common()]
    pictures = "1 failed picture" if found.total() == 1 else f"{found.total():,} failed pictures"
    yield f"Of {pictures}: {'; '.join(parts)}."


def _fault(first: str, missed: Mapping[str, str]) -> str:
    """What went wrong in one picture, by the checks that did not hold."""
    if "entity" in missed:
        return f"the {first} is missing"
    if SECOND_THING_KIND in missed:
        return f"the {missed[SECOND_THING_KIND]} is missing or merged with the {first}"
    of_second = {_attribute(kind) for kind in missed if kind.startswith(f"{SECOND_FAMILY}:")}
    of_first = {_attribute(kind) for kind in missed if not is_about_pairs(kind)}
    both = sorted(of_first & of_second)
    if both:
        return f"the {' and '.join(both)} of both things is wrong, as if swapped"
    if of_second:
        return f"the {' and '.join(sorted(of_second))} of the second thing is wrong"
    if of_first:
        return f"the {' and '.join(sorted(of_first))} of the {first} is wrong"
    return f"the two things are there, but not “{missed.get(RELATION_KIND, '')}”"


def _attribute(kind: str) -> str:
    """`Second: colour` → `colour`."""
    return kind.partition(": ")[2]
