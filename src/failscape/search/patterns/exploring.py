"""Exploring: facts in crowds, so that every fact and every pair is met, the least-met first. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from failscape.search.patterns.facts import FactSpace, PatternKey


class CrowdComposer:
    """Composes the exploring trials of one context."""

    def __init__(self, space: FactSpace, context: str) -> None:
        self._space = space
        self._context = context
        self.crowds = 0
        self._own: NDArray[np.float32] = np.zeros(0, np.float32)
        #: Fact → how often each fact was met beside it.
        self._met: dict[int, NDArray[np.float32]] = {}

    @property
    def crowds_for_all(self) -> int:
        """Options of the context: exploring is young while there were fewer crowds than a few of these."""
        return max(1, len(self._space.options(self._context)))

    @property
    def is_young(self) -> bool:
        """Whether some option of the context was in no crowd yet."""
        options = self._space.options(self._context)
        return bool(options) and not bool(self._times_met()[options].all())

    def compose(
        self,
        size: int,
        known: Sequence[frozenset[int]],
        luck: np.random.Generator,
        begin_with: PatternKey = (),
    ) -> PatternKey:
        """The facts of the next crowd. It holds no pattern of `known`, but all of `begin_with`."""
        allowed = np.zeros(len(self._space), np.bool_)
        allowed[self._space.options(self._context)] = True
        for pattern in known:
            if len(pattern) == 1:
                allowed[list(pattern)] = False
        turns = self._times_met() + luck.random(len(self._space))
        beside = np.zeros(len(self._space))
        chosen: list[int] = []
        for fact in begin_with:
            self._choose(fact, chosen, allowed, beside, known)
        while len(chosen) < size and allowed.any():
            order = np.flatnonzero(allowed)
            fewest = order[beside[order] == beside[order].min()]
            fact = int(fewest[np.argmin(turns[fewest])])
            self._choose(fact, chosen, allowed, beside, known)
        self.crowds += 1
        self.note(chosen)
        return tuple(sorted(chosen))

    def _choose(
        self,
        fact: int,
        chosen: list[int],
        allowed: NDArray[np.bool_],
        beside: NDArray[np.float64],
        known: Sequence[frozenset[int]],
    ) -> None:
        """Take a fact into a crowd: what it excludes, and what would complete a known pattern, is out."""
        chosen.append(fact)
        allowed &= self._space.compatible_with(fact)
        beside += self._row(fact)
        for pattern in known:
            rest = pattern.difference(chosen)
            if len(rest) == 1:
                allowed[list(rest)] = False

    def note(self, facts: Iterable[int]) -> None:
        """These facts were met together."""
        together = np.array(sorted(facts), np.intp)
        self._times_met()[together] += 1
        for fact in together:
            self._row(int(fact))[together] += 1

    def _times_met(self) -> NDArray[np.float32]:
        """How often each fact was met."""
        if len(self._own) < len(self._space):
            grown = np.zeros(len(self._space), np.float32)
            grown[: len(self._own)] = self._own
            self._own = grown
        return self._own

    def _row(self, fact: int) -> NDArray[np.float32]:
        row = self._met.get(fact)
        if row is None or len(row) < len(self._space):
            grown = np.zeros(len(self._space), np.float32)
            if row is not None:
                grown[: len(row)] = row
            self._met[fact] = row = grown
        return row
