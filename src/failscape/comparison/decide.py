"""From pairs to statuses: a paired e-process per subject, e-BH over all subjects and both directions. Pure.

All shared subjects are tested, not those alone that a search picked. e-values hold at any moment of looking,
so that pairs of both searches count although those chose how many to draw. Whether the two models' verdicts
come from the same judge is for the caller to see to: errors that hit both alike only shrink a difference.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from failscape.comparison.pairs import CasePair, ModelResults, PairCounts, SubjectPairs, pair_up
from failscape.comparison.result import (
    BETTER,
    FIXED,
    NEW,
    STATUSES,
    UNCHANGED,
    UNDECIDED,
    WORSE,
    ComparedSubject,
    CompareRules,
    OverallDifference,
    PairedComparison,
    PowerLine,
)
from failscape.stats.differences import anytime_difference, grouped_difference, log_e_more, pairs_needed
from failscape.stats.evalues import Floats, log_e_bh, log_e_value

Flags = NDArray[np.bool_]

#: What the line about power is for: a change of five points, seen four times in five.
CHANGE, POWER = 0.05, 0.8

#: The share of pairs that differ, assumed while there are none to count.
USUAL_DISCORDANT = 0.15

#: With fewer pairs of a random sample, all pairs are taken for the overall rates instead.
FEWEST_SAMPLED = 40

#: With fewer things nothing can be said of others: the interval is about these very ones, pair by pair.
FEWEST_GROUPS = 8


def compare_results(
    first: ModelResults, second: ModelResults, rules: CompareRules | None = None
) -> PairedComparison:
    """Compare two models on every case that both have a valid result of."""
    rules = rules or CompareRules()
    subjects = pair_up(first, second)
    rows = _rows(subjects, rules, {**second.titles, **first.titles})
    return PairedComparison(
        first.name, second.name, rules, rows, overall_of(subjects), power_of(subjects, rules)
    )


def _rows(
    subjects: Sequence[SubjectPairs], rules: CompareRules, titles: dict[str, str]
) -> tuple[ComparedSubject, ...]:
    if not subjects:
        return ()
    counts = [one.all for one in subjects]
    table = np.array(counts, np.float64)
    worse, better = evidence(table)
    is_worse, is_better = proven(worse, better, rules.level)
    low, high = intervals(table)
    failing, passing = _against_limit(subjects, table, rules)
    certified = log_e_bh(failing, rules.level)
    rows = []
    for at, one in enumerate(subjects):
        status = UNDECIDED
        if is_better[at] and (not is_worse[at] or better[at] >= worse[at]):
            status = FIXED if passing[at] >= math.log(1 / rules.level) else BETTER
        elif is_worse[at]:
            status = NEW if certified[at] and _passed_before(one.all, rules.limit) else WORSE
        elif -rules.margin <= low[at] and high[at] <= rules.margin:
            status = UNCHANGED
        rows.append(
            ComparedSubject(
                one.subject,
                titles.get(one.subject, one.subject),
                one.group,
                status,
                one.all,
                one.counted,
                (float(low[at]), float(high[at])),
                float(max(worse[at], better[at])),
                float(failing[at]),
                one.claimed,
            )
        )
    order = list(STATUSES)
    return tuple(sorted(rows, key=lambda row: (order.index(row.status), -row.log_e, row.subject)))


def evidence(table: Floats) -> tuple[Floats, Floats]:
    """log e that the second is worse, and that it is better; a row of `table` is a `PairCounts`."""
    pairs = table.sum(axis=1)
    return log_e_more(table[:, 2], table[:, 1], pairs), log_e_more(table[:, 1], table[:, 2], pairs)


def proven(worse: Floats, better: Floats, level: float) -> tuple[Flags, Flags]:
    """Which differences e-BH claims, over all subjects and both directions."""
    claimed = log_e_bh(np.concatenate([worse, better]), level)
    return claimed[: len(worse)], claimed[len(worse) :]


def intervals(table: Floats, level: float = 0.95) -> tuple[Floats, Floats]:
    """Anytime-valid intervals of the differences. Many subjects have the same counts: each is done once."""
    counts = np.column_stack([table[:, 2], table[:, 1], table.sum(axis=1)])
    distinct, places = np.unique(counts, axis=0, return_inverse=True)
    low, high = anytime_difference(distinct[:, 0], distinct[:, 1], distinct[:, 2], level)
    return low[places.ravel()], high[places.ravel()]


def _against_limit(
    subjects: Sequence[SubjectPairs], table: Floats, rules: CompareRules
) -> tuple[Floats, Floats]:
    """log e that the second fails more often than the limit, and that it fails less often."""
    failures, total = table[:, 0] + table[:, 2], table.sum(axis=1)
    limits = np.clip([rules.limits_of(one.subject) for one in subjects], 1e-6, 1 - 1e-6)
    failing = log_e_value(total - failures, failures, 1 - limits[:, 0])
    passing = log_e_value(failures, total - failures, limits[:, 1])
    return failing, passing


def _passed_before(counts: PairCounts, limit: float) -> bool:
    return counts.first_failures <= limit * counts.pairs


def overall_of(subjects: Sequence[SubjectPairs]) -> OverallDifference | None:
    """The share of failures of each, over a random sample where there is one."""
    sampled = [(one.group, pair) for one in subjects for pair in one.pairs if pair.sampled]
    if len(sampled) >= FEWEST_SAMPLED:
        return overall_difference(sampled, "pairs of the random sample")
    everything = [(one.group, pair) for one in subjects for pair in one.pairs]
    return overall_difference(everything, "pairs in all, as the searches chose them") if everything else None


def overall_difference(pairs: Sequence[tuple[str, CasePair]], counted: str) -> OverallDifference:
    groups = [group for group, _ in pairs]
    alike: Sequence[str | int] = groups if len(set(groups)) >= FEWEST_GROUPS else range(len(pairs))
    difference, interval = grouped_difference([pair.difference for _, pair in pairs], alike)
    return OverallDifference(
        sum(pair.first.failed for _, pair in pairs) / len(pairs),
        sum(pair.second.failed for _, pair in pairs) / len(pairs),
        difference,
        interval,
        len(pairs),
        len(set(groups)),
        counted,
    )


def power_of(subjects: Sequence[SubjectPairs], rules: CompareRules) -> PowerLine:
    """What one more finding would take. `have` is the median of the claimed subjects, else of all."""
    counts = [one.all for one in subjects]
    total = sum(one.pairs for one in counts)
    differ = sum(one.first_only + one.second_only for one in counts)
    discordant = differ / total if total else USUAL_DISCORDANT
    needed = math.log(2 * max(len(counts), 1) / rules.level)
    claimed = [one.all.pairs for one in subjects if one.claimed] or [one.pairs for one in counts]
    have = int(np.median(claimed)) if claimed else 0
    return PowerLine(CHANGE, POWER, pairs_needed(CHANGE, discordant, needed, POWER), have, discordant)
