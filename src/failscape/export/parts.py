"""Who sees what: findings that a repair is shown, hidden ones of the same rules, and the rest. Pure.

A rule is a class with the kinds of its clauses (`penguin × Background: Place`), or a form of question with
its skills. A repair that learned the rule mends hidden findings too; one that learned pictures by heart does
not.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

SHOWN, HIDDEN, REST, CLEAN = "shown", "hidden", "rest", "clean"
PARTS = {
    SHOWN: "findings whose failures the repair learned from",
    HIDDEN: "findings of the same rules that it never saw",
    REST: "other requests of the hunt: harm would show here",
    CLEAN: "plain pictures of every class",
}

#: Of a rule's findings one in three is hidden, the second one first: a rule with two findings hides one.
EVERY = 3


class Parts(NamedTuple):
    """Subjects by what becomes of them."""

    shown: tuple[str, ...]
    hidden: tuple[str, ...]
    rest: tuple[str, ...]

    def of(self, subject: str) -> str:
        """The part of a subject; plain pictures of a class are none of the three."""
        for name, subjects in zip((SHOWN, HIDDEN, REST), self, strict=True):
            if subject in subjects:
                return name
        return CLEAN

    def sampled(self, most: int) -> Parts:
        """At most so many findings, two thirds of them shown: of many, those first by digest, which is chance
        that nobody chose."""
        shown, hidden = self.shown, self.hidden
        if len(shown) + len(hidden) <= most:
            return self
        few = min(len(hidden), most // EVERY)
        return Parts(_by_digest(shown)[: most - few], _by_digest(hidden)[:few], self.rest)


def _by_digest(subjects: Sequence[str]) -> tuple[str, ...]:
    return tuple(sorted(subjects, key=lambda one: hashlib.blake2b(one.encode(), digest_size=8).digest()))


def choose_parts(findings: Sequence[str], others: Sequence[str], most_others: int, seed: int) -> Parts:
    """Divide findings by chance within their rules, and take at most `most_others` of the rest."""

    def by_chance(subject: str) -> bytes:
        return hashlib.blake2b(f"{seed}/{subject}".encode(), digest_size=8).digest()

    rules: dict[tuple[str, ...], list[str]] = {}
    for subject in sorted(findings, key=by_chance):
        rules.setdefault(rule_of(subject), []).append(subject)
    hidden = {subject for members in rules.values() for subject in members[1::EVERY]}
    rest = sorted(set(others) - set(findings), key=by_chance)[:most_others]
    return Parts(
        tuple(one for one in findings if one not in hidden),
        tuple(one for one in findings if one in hidden),
        tuple(sorted(rest)),
    )


def rule_of(subject: str) -> tuple[str, ...]:
    """`penguin; Background: Place=meadow` → `penguin`, `Background: Place`.

    A kind of question is its form and skills: `hop thing | relation, two-hop | answer=bear` → the first two.
    """
    if " | " in subject:
        return tuple(subject.split(" | ")[:2])
    name, *clauses = subject.split("; ")
    return name, *sorted(clause.partition("=")[0] for clause in clauses)
