"""Looking into failures: which facts of a failure to draw again, so that its cause becomes clear. Pure.

Every pattern within a failure is a possible cause, and so is chance. A query is a set of the failure's facts.
If it holds the cause, the new trial fails about every other time; if not, as often as usual. The best query
is the one whose outcome tells most about the cause, in nats of expected information.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy import special

from failscape.search.patterns.facts import PatternKey
from failscape.search.patterns.rows import Floats
from failscape.search.patterns.weighing import NOTHING, PatternScore

#: Facts of one failure that are considered, those with the best odds: all their subsets are queries.
WIDEST = 8

#: How often a trial with an unknown bug fails: nothing is known of it, so as often as not.
_RATE_OF_A_CAUSE = 0.5


@dataclass(frozen=True, slots=True)
class CauseQuery:
    """Facts to draw again, and how much the outcome is expected to tell."""

    information: float
    facts: PatternKey


def telling_facts(shown: frozenset[int], scores: Mapping[PatternKey, PatternScore]) -> PatternKey:
    """The facts of a failure that may have caused it, at most `WIDEST`."""
    if len(shown) <= WIDEST:
        return tuple(sorted(shown))
    best = dict.fromkeys(shown, NOTHING)
    for key, score in scores.items():
        if shown.issuperset(key):
            for fact in key:
                best[fact] = max(best[fact], score.log_odds)
    return tuple(sorted(sorted(shown, key=lambda fact: (-best[fact], fact))[:WIDEST]))


def triples_of(facts: PatternKey) -> list[PatternKey]:
    return list(combinations(facts, 3))


def best_query(
    facts: PatternKey,
    scores: Mapping[PatternKey, PatternScore],
    usual_rate: float,
    largest_query: int,
    largest_pattern: int,
) -> CauseQuery:
    """The most telling subset of a failure's facts."""
    layout = _layout(len(facts), min(largest_query, len(facts)), largest_pattern)
    odds = np.full(len(layout.causes), NOTHING)
    for place, cause in enumerate(layout.causes):
        score = scores.get(tuple(facts[at] for at in cause))
        if score is not None:
            odds[place] = score.log_odds
    weights = np.exp(np.minimum(odds, 30.0))
    inside = layout.contains @ weights / (1 + weights.sum())
    information = expected_information(inside, usual_rate)
    best = int(np.argmax(information))
    return CauseQuery(float(information[best]), tuple(facts[at] for at in layout.queries[best]))


def expected_information(inside: Floats, usual_rate: float) -> Floats:
    """What a trial tells about whether a cause is inside, which it is with these probabilities."""
    high = max(_RATE_OF_A_CAUSE, usual_rate)
    outcome = _entropy(inside * high + (1 - inside) * usual_rate)
    known_outcome = inside * _entropy(np.array(high)) + (1 - inside) * _entropy(np.array(usual_rate))
    return np.asarray(outcome - known_outcome)


def _entropy(rate: Floats) -> Floats:
    return np.asarray(special.entr(rate) + special.entr(1 - rate))


@dataclass(frozen=True, slots=True)
class _QueryLayout:
    """Causes and queries as positions among a failure's facts, and which query contains which cause."""

    causes: Sequence[tuple[int, ...]]
    queries: Sequence[tuple[int, ...]]
    contains: NDArray[np.float64]


@cache
def _layout(number: int, largest_query: int, largest_pattern: int) -> _QueryLayout:
    places = range(number)
    causes = [some for size in range(1, largest_pattern + 1) for some in combinations(places, size)]
    queries = [some for size in range(1, largest_query + 1) for some in combinations(places, size)]
    contains = np.array([[set(cause) <= set(query) for cause in causes] for query in queries], np.float64)
    return _QueryLayout(causes, queries, contains)
