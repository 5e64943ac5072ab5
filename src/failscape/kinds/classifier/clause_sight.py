"""Can the judge see clauses? Its answers must depend on whether the clause was asked for. Pure.

Of plain pictures it is asked about clauses that nobody asked for, of all others about those that were. A
judge that says yes to both as often (always, never, or as a coin falls) sees none, or the generator draws
none: "pictures that show the clause" would mean nothing then, and rates are as asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable

import numpy as np

from failscape.search.patterns.sight import chance_absent_if_denied
from failscape.stats.differences import GRID, log_below, log_excess, log_excess_grid

#: A judge sees clauses when it says yes so much more often where they were asked for. Half of the generators'
#: pictures obey at the worst that we met, and a judge that misses one of five still leaves twice this gap.
LEAST_GAP = 0.2

#: Evidence at which the judge is taken for blind: one that sees is so with a chance of 1 in 100 at most,
#: however often one looks, and rates as asked are then still true.
PROOF = float(np.log(100.0))

#: Clauses that nobody asked for, in the question about a plain picture.
UNASKED = 3

#: Answers that count of one class and clause that was asked for: one that cannot be drawn must not speak for
#: all. Those that were not asked for are drawn by lot.
MOST_OF_ONE = 6

#: Questions about clauses that were asked for, none of which it answered: then it has nothing to say of them.
SILENT = 60


class ClauseSight:
    def __init__(self) -> None:
        self._yes: Counter[bool] = Counter()
        self._all: Counter[bool] = Counter()
        self._known: Counter[Hashable] = Counter()
        self._unanswered = 0
        self.is_blind = False

    def note(self, asked: bool, answers: Iterable[tuple[Hashable, bool | None]]) -> None:
        """What the judge said of clauses, by class and clause; `asked` for or not."""
        for name, holds in answers:
            self._unanswered += holds is None and asked
            if holds is not None and not (asked and self._known[name] >= MOST_OF_ONE):
                self._known[name] += asked
                self._all[asked] += 1
                self._yes[asked] += holds

    def decide(self) -> bool:
        """True once, when it has become clear that the judge is blind."""
        if self.is_blind or not self._all[True] or not self._all[False]:
            return False
        self.is_blind = self.evidence() >= PROOF
        return self.is_blind

    @property
    def is_trusted(self) -> bool:
        """Whether the judge's no counts.

        It is shown to see clauses, for it says yes more often where they were asked for; and what it does not
        see is more likely missing than overlooked.
        """
        if self.is_blind or not self._all[True] or not self._all[False]:
            return False
        plain = log_excess_grid(self._yes[False], self._all[False] - self._yes[False])
        asked_yes = self._yes[True]
        asked_no = self._all[True] - asked_yes
        evidence = log_excess(plain, [asked_yes], [asked_no], 0.0)
        other_yes = self._yes[False]
        absent = chance_absent_if_denied(asked_yes, asked_no, other_yes, self._all[False] - other_yes)
        return bool(evidence[0] >= PROOF) and absent > 0.5

    def evidence(self) -> float:
        """log e against a judge that says yes at least `LEAST_GAP` more often where a clause was asked for.

        As in `log_excess`: whatever its yes-rate q for clauses that were asked for, the evidence that it is
        lower times the evidence that the other rate is above q − gap; the smallest product over all q.
        Below the gap there is no such judge.
        """
        yes, no = self._yes, {side: self._all[side] - self._yes[side] for side in (True, False)}
        limit = GRID[1:] - LEAST_GAP
        is_possible = limit > 0
        lower = log_excess_grid(yes[True], no[True])[0][is_possible]
        higher = log_below(no[False], yes[False], 1 - limit[is_possible])
        return float(np.min(lower + higher))

    @property
    def sentence(self) -> str:
        """What was seen, where the judge is blind or says nothing; "" where it sees."""
        if self._unanswered >= SILENT and not self._all:
            return (
                f"the judge does not say whether clauses are there: none of {self._unanswered:,} questions "
                "about them was answered, so rates are as asked"
            )
        return self._about_answers("the judge cannot see clauses") if self.is_blind else ""

    @property
    def doubt(self) -> str:
        """What is said at the end where the judge is neither blind nor shown to see; "" otherwise."""
        if self.is_blind or self.is_trusted or not self._all:
            return ""
        return self._about_answers("the judge is not shown to see clauses")

    def _about_answers(self, verdict: str) -> str:
        asked = f"{self._yes[True]:,} of {self._all[True]:,}"
        other = f"{self._yes[False]:,} of {self._all[False]:,}"
        return (
            f"{verdict}: it says yes to {asked} that were asked for and to {other} that were not, "
            "so rates are as asked"
        )
