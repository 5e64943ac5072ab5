"""Findings that say the same but for one value, told once: `bicycle: two, three or four`. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from failscape.trials import Finding

FamilyKey = tuple[str, tuple[str, ...], str]
"""The thing, the labels that all have, and the kind of the label in which they differ."""


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
    thing, *labels = subject.split("; ")
    found = []
    for label in labels:
        kind, equals, value = label.partition("=")
        if equals:
            rest = tuple(sorted(other for other in labels if other != label))
            found.append(((thing, rest, kind), value))
    return found
