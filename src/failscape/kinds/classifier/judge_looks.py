"""What the judge sees in photos: captions suggest clauses, the judge says which photos show them. Pure.

Captions leave things out, so a photo that is not said to be at night may well be. Once all photos are
classified, what the suggesting half has in common is put to the judge, for every photo of the class. Where
nobody captions, it is asked about backgrounds and styles of the corpus. It is not told how photos went.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain, zip_longest
from typing import NamedTuple

from failscape.kinds.classifier.prompts import Clause, clause_of
from failscape.kinds.classifier.purposes import JUDGE_LOOK
from failscape.kinds.classifier.tallies import SeenPhoto, Target
from failscape.search.rounds import Outcome, Planned
from failscape.spaces.corpus import Corpus
from failscape.trials import Decide, Probe, Show, key_of_try

#: Clauses of a class that the judge is asked about: one question a photo holds all of them.
MOST_CLAUSES = 12


class JudgeLook(NamedTuple):
    """What a trial is for: photo `number`, and the clauses that the judge is asked about."""

    number: int
    clauses: tuple[Clause, ...]


class JudgeLooks:
    """`suggest` gives the clauses that failed photos of a suggesting half have in common."""

    def __init__(
        self, corpus: Corpus | None, suggest: Callable[[Sequence[SeenPhoto]], list[Clause]], round_size: int
    ) -> None:
        self._around = _around(corpus)
        self._suggest = suggest
        self._round = round_size
        self._waiting: list[Planned] | None = None

    def plan(self, targets: Sequence[Target], seen: Sequence[SeenPhoto]) -> list[Planned]:
        """The next questions about photos, `seen` by their numbers; none when all were asked."""
        if self._waiting is None:
            self._waiting = [
                one for label, target in enumerate(targets) for one in self._of_class(label, target, seen)
            ]
        planned, self._waiting = self._waiting[: self._round], self._waiting[self._round :]
        return planned

    def _of_class(self, label: int, target: Target, seen: Sequence[SeenPhoto]) -> list[Planned]:
        mine = [(number, one) for number, one in enumerate(seen) if one.photo.label == label and one.valid]
        clauses = self._clauses([one for _, one in mine if one.photo.suggests])
        if not clauses:
            return []
        decide = Decide(tuple(clause.check(target.name) for clause in clauses))
        return [
            Planned(
                Probe(
                    key_of_try(target.name, JUDGE_LOOK, number),
                    target.name,
                    (Show((one.photo.digest,)), decide),
                ),
                JudgeLook(number, clauses),
            )
            for number, one in mine
        ]

    def _clauses(self, suggesting: Sequence[SeenPhoto]) -> tuple[Clause, ...]:
        if not any(one.failed for one in suggesting):
            return ()
        said = [clause for clause in self._suggest(suggesting) if clause.wording]
        captioned = any(clause.wording for one in suggesting for clause in one.clauses.values())
        return tuple(said if captioned else self._around)[:MOST_CLAUSES]


def absorb_look(look: JudgeLook, outcome: Outcome, seen: SeenPhoto) -> None:
    """The judge's word replaces that of captions; where it does not commit, theirs stands."""
    answers = outcome.facts[1] if len(outcome.facts) > 1 else None
    for clause, holds in zip(look.clauses, answers or (), strict=False):
        if holds:
            seen.clauses[clause.label] = clause
        elif holds is False:
            seen.clauses.pop(clause.label, None)


def _around(corpus: Corpus | None) -> list[Clause]:
    """Backgrounds and styles of a corpus, in turn over their kinds."""
    kinds: dict[str, list[Clause]] = {}
    for value in corpus.values if corpus else ():
        if value.family != "Base":
            kinds.setdefault(value.kind, []).append(clause_of(value))
    return [clause for clause in chain.from_iterable(zip_longest(*kinds.values())) if clause is not None]
