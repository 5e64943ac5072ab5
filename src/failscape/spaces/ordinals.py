"""Numbers in clauses: "three" is also "more than two" and "at most four". Pure.

So a mode can be named by a threshold, "with more than two things", where no single number holds it.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

NUMBERS: Final = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
MORE, MOST = "more than", "at most"
#: Thresholds between these numbers are told: others hold of hardly any question, or of all.
LOWEST, HIGHEST = 1, 4

Clause = tuple[str, str]


@lru_cache(maxsize=4096)
def thresholds(clause: Clause) -> tuple[Clause, ...]:
    """What else holds where a clause does: wider thresholds of the same name; none if it is no number."""
    name, value = clause
    sign, _, word = value.rpartition(" ")
    if word not in NUMBERS or sign not in ("", MORE, MOST):
        return ()
    number = NUMBERS.index(word)
    found: list[Clause] = []
    if sign != MOST:
        found += [(name, f"{MORE} {NUMBERS[at]}") for at in range(LOWEST, min(number - 1, HIGHEST - 1) + 1)]
    if sign != MORE:
        least = number if not sign else number + 1
        found += [(name, f"{MOST} {NUMBERS[at]}") for at in range(max(least, LOWEST + 1), HIGHEST + 1)]
    return tuple(one for one in found if one != clause)


def with_thresholds(clauses: Iterable[Clause]) -> frozenset[Clause]:
    """Clauses with all that they imply."""
    return _closure(tuple(clauses))


@lru_cache(maxsize=65536)
def _closure(clauses: tuple[Clause, ...]) -> frozenset[Clause]:
    return frozenset([*clauses, *(one for clause in clauses for one in thresholds(clause))])


def is_threshold(clause: Clause) -> bool:
    return clause[1].startswith((f"{MORE} ", f"{MOST} "))
