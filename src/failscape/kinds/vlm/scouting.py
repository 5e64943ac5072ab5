"""First looks: which question to ask next when nothing particular is suspected. Pure.

A grammar's questions are drawn a few at a time, and the one is asked that shows the most that was hardly
seen: its form, its form with each of its clauses, each clause at all. What the search knows so far tilts the
choice towards forms and clauses like those that failed. What a known mode explains shows nothing new.
"""

import random
from collections import Counter
from collections.abc import Iterable

import numpy as np
from scipy import special

from failscape.kinds.vlm.leads import Leads
from failscape.kinds.vlm.outcomes import QuestionLog, QuestionOutcome, examples_of
from failscape.kinds.vlm.purposes import SEARCH
from failscape.spaces.questions import ANY, Asked, Draft, Grammar, Pattern
from failscape.stats.effects import Effects, Levels, fit_effects
from failscape.trials import Verdict

#: Questions drawn for one that is asked: more cover little more, and each costs a picture's layout.
DRAWS = 4

#: Forms that were asked at most so much more often than the least asked one are drawn from.
NEAR_FEWEST = 3

#: Most that the model's hunch can raise or lower what a question promises: it guides and proves nothing.
TILT = 2.0

_LEAST_TO_LEARN = 40


class Scouting:
    """Chooses first looks. `pending` counts patterns of questions that are asked and not yet answered."""

    def __init__(self, grammar: Grammar, log: QuestionLog, leads: Leads) -> None:
        self._grammar = grammar
        self._log = log
        self._leads = leads
        self.pending: Counter[Pattern] = Counter()
        self._hunch = Hunch(log)
        self._open: list[Pattern] = []

    def refresh(self) -> None:
        """Once for each round, after the leads."""
        simplest = self._leads.simplest
        self._open = [p for p in simplest if not self._leads.explained(p)] or list(simplest)
        self._hunch.learn()

    def choose(self, rng: random.Random) -> tuple[Pattern, Asked | Draft] | None:
        """The pattern that a question is asked for, and the question; None when nothing can be drawn."""
        drawn = [one for _ in range(DRAWS) if (one := self._draw(rng)) is not None]
        if not drawn:
            return None
        gains = [self._gain(work) for _, work in drawn]
        return drawn[int(np.argmax(gains))]

    def note(self, work: Asked | Draft, change: int) -> None:
        """A question was planned (1) or came back (−1)."""
        for pattern in shown_by(work, self._log.shared):
            self.pending[pattern] += change

    def _draw(self, rng: random.Random) -> tuple[Pattern, Asked | Draft] | None:
        asked = {p: self._seen(p) for p in self._open}
        least = min(asked.values())
        pattern = rng.choice([p for p in self._open if asked[p] <= least + NEAR_FEWEST])
        if rng.random() < 0.5:
            narrower = self._grammar.narrower(pattern, rng)
            if narrower:
                few = min(self._seen(p) for p in narrower)
                pattern = rng.choice([p for p in narrower if self._seen(p) <= few])
        work = self._grammar.draft(pattern, rng, False, "")
        return None if work is None else (pattern, work)

    def _seen(self, pattern: Pattern) -> int:
        count = self._log.pooled.get(pattern)
        return (count.valid if count else 0) + self.pending[pattern]

    def _gain(self, work: Asked | Draft) -> float:
        if isinstance(work, Asked) and self._leads.explained(work.full):
            return 0.0
        total = sum(1 / (1 + self._seen(pattern)) ** 2 for pattern in shown_by(work, self._log.shared))
        return total * (self._hunch.of(work) if isinstance(work, Asked) else 1.0)


def shown_by(work: Asked | Draft, shared: bool = False) -> tuple[Pattern, ...]:
    """What a planned question will show, with one clause at most; of a draft, only the wish is known."""
    if isinstance(work, Draft):
        return (work.pattern,)
    asked = QuestionOutcome(
        "", SEARCH, work.pattern, work.pattern, Verdict.NONE, work.text, features=work.features
    )
    return tuple(examples_of(asked, 1, shared))


class Hunch:
    """A model over forms, skills and clauses: crossed effects on the log-odds that a question fails."""

    def __init__(self, log: QuestionLog) -> None:
        self._log = log
        self._numbers: tuple[dict[str, int], dict[str, int], dict[str, int]] = ({}, {}, {})
        self._fit: Effects | None = None
        self._usual = 0.0

    def learn(self) -> None:
        """Fit again, from all questions of the search that no known mode explains."""
        rows = [one for one in self._log.outcomes if one.valid and one.purpose == SEARCH]
        if len(rows) < _LEAST_TO_LEARN or not any(one.failed for one in rows):
            return
        parts = [_parts(one.pattern.form, one.pattern.skills, one.features) for one in rows]
        self._numbers = tuple(_numbered(part[at] for part in parts) for at in range(3))  # type: ignore[assignment]
        levels = self._levels(parts)
        failed = np.array([float(one.failed) for one in rows])
        sizes = [max(1, len(known)) for known in self._numbers]
        self._fit = fit_effects(levels, sizes, np.zeros(len(rows)), failed, np.ones(len(rows)))
        self._usual = float(np.median(self._fit.predict(levels, np.zeros(len(rows)))))

    def of(self, asked: Asked) -> float:
        """How much likelier than usual this question is to fail, within the tilt that is allowed."""
        if self._fit is None:
            return 1.0
        levels = self._levels([_parts(asked.pattern.form, asked.pattern.skills, asked.features)])
        predicted = float(self._fit.predict(levels, np.zeros(1))[0])
        ratio = float(special.expit(predicted) / special.expit(self._usual))
        return min(TILT, max(1 / TILT, ratio))

    def _levels(self, parts: list[tuple[list[str], list[str], list[str]]]) -> list[Levels]:
        found = []
        for at, known in enumerate(self._numbers):
            width = max(1, max((len(part[at]) for part in parts), default=1))
            table = np.full((len(parts), width), -1, dtype=np.int64)
            for row, part in enumerate(parts):
                for column, name in enumerate(part[at]):
                    table[row, column] = known.get(name, -1)
            found.append(table)
        return found


def _parts(
    form: str, skills: tuple[str, ...], features: tuple[tuple[str, str], ...]
) -> tuple[list[str], list[str], list[str]]:
    forms = [form] if form != ANY else []
    return forms, list(skills), [f"{name}={value}" for name, value in features]


def _numbered(names: Iterable[list[str]]) -> dict[str, int]:
    return {name: at for at, name in enumerate(sorted({one for some in names for one in some}))}
