"""Nodes and values of pair spaces in the words of titles, themes and rules. Pure; needs no corpus."""

from __future__ import annotations

from collections.abc import Sequence

from failscape.spaces.pairs import PAIR_FAMILIES, RELATION_KIND, SECOND_THING_KIND
from failscape.trials import Subject, SubjectValue

#: The second thing where nothing names it.
ANOTHER_OBJECT = "another object"


def is_about_pairs(kind: str) -> bool:
    """Whether a kind of value or check is about the second thing, or about how two things stand."""
    return kind.partition(":")[0] in PAIR_FAMILIES


def say_two_things(first: str, values: Sequence[SubjectValue]) -> str:
    """`cow (red) left of car (blue)`, `owl right of another object`, `cow and car`.

    Args:
        first: The first thing.
        values: What is said of both, at least one of it about the second or about how they stand.
    """
    own = [value.value for value in values if not is_about_pairs(value.kind)]
    relation = next((value.value for value in values if value.kind == RELATION_KIND), "and")
    second = next((value.value for value in values if value.kind == SECOND_THING_KIND), ANOTHER_OBJECT)
    bound = [value.value for value in values if _is_bound(value.kind)]
    return f"{_with_attributes(first, own)} {relation} {_with_attributes(second, bound)}"


def say_subject_of_two(subject: Subject) -> str:
    """The same for a subject; empty where it has one thing."""
    if not any(is_about_pairs(value.kind) for value in subject.values):
        return ""
    return say_two_things(subject.name, subject.values)


def say_value(value: SubjectValue) -> str:
    """One value among others: `blue`, `left of`, `second car`, `second blue`."""
    return f"second {value.value}" if _is_of_second(value.kind) else value.value


def say_kind(kind: str) -> str:
    """A kind of value without its family: `colour`, `relation`, `second colour`."""
    name = kind.rpartition(": ")[2]
    if kind == RELATION_KIND:
        return "relation"
    return f"second {name}" if _is_of_second(kind) else name


def _is_of_second(kind: str) -> bool:
    return is_about_pairs(kind) and kind != RELATION_KIND


def _is_bound(kind: str) -> bool:
    return _is_of_second(kind) and kind != SECOND_THING_KIND


def _with_attributes(thing: str, attributes: Sequence[str]) -> str:
    return f"{thing} ({', '.join(attributes)})" if attributes else thing
