"""Where the next pairs go: to subjects whose answer is open and near. Pure.

Any choice that looks only at what was seen before keeps e-values valid; this one tries to be quick.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from failscape.comparison.decide import Flags, evidence, intervals
from failscape.comparison.pairs import PairCounts
from failscape.comparison.result import CompareRules
from failscape.hunts.certify import evidence_needed
from failscape.stats.evalues import Floats

#: Pairs that a subject gets before it is looked at: with fewer, nothing could be near.
FIRST = 4

#: Pairs that an open subject gets in a round: few enough to change one's mind, enough to keep models busy.
STEP = 8

#: The share of a budget for the random sample: it alone speaks for the whole space.
SAMPLE_SHARE = 0.3


@dataclass(frozen=True, slots=True)
class OpenSubject:
    """A subject that could get `room` more pairs. `claimed`: a search picked it, so it comes first."""

    subject: str
    counts: PairCounts
    room: int
    claimed: bool = False


def plan_round(subjects: Sequence[OpenSubject], room: int, rules: CompareRules) -> dict[str, int]:
    """Subject → how many more pairs, `room` in all at most; empty when nothing is open.

    In turn: what a search claimed and hardly anybody looked at; what is nearest to a claim; what has no pairs
    yet. The last two take turns, so that neither waits for ever.
    """
    able = [one for one in subjects if one.room > 0]
    if not able:
        return {}
    table = np.array([one.counts for one in able], np.float64)
    worse, better = evidence(table)
    settled = _settled(table, worse, better, rules, len(subjects))
    near = np.maximum(worse, better)
    looked = [at for at, one in enumerate(able) if one.counts.pairs >= FIRST and not settled[at]]
    fresh = [at for at, one in enumerate(able) if one.counts.pairs < FIRST]
    looked.sort(key=lambda at: (-near[at], able[at].subject))
    first = [at for at in fresh if able[at].claimed]
    later = [at for at in fresh if not able[at].claimed]
    found: dict[str, int] = {}
    for at in chain(first, _in_turn(looked, later)):
        wanted = STEP if able[at].counts.pairs >= FIRST else FIRST - able[at].counts.pairs
        given = min(wanted, able[at].room, room)
        if given <= 0:
            break
        found[able[at].subject] = given
        room -= given
    return found


def _settled(table: Floats, worse: Floats, better: Floats, rules: CompareRules, tests: int) -> Flags:
    """Proven with some to spare, or shown to lie within the margin."""
    logs = np.concatenate([worse, better])
    need = evidence_needed(logs, rules.level, 2 * tests)
    low, high = intervals(table)
    within = (low >= -rules.margin) & (high <= rules.margin)
    return np.asarray((np.maximum(worse, better) >= need) | within, dtype=np.bool_)


def _in_turn(first: Sequence[int], second: Sequence[int]) -> list[int]:
    """One of each, then the rest of the longer."""
    both = min(len(first), len(second))
    mixed = [at for pair in zip(first, second, strict=False) for at in pair]
    return [*mixed, *first[both:], *second[both:]]
