"""Where descriptions come from besides captions: the corpus, and a language model. Pure."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import numpy as np

from failscape.hunts.classifier.prompts import SAID, Clause, clause_of
from failscape.hunts.classifier.tallies import Target
from failscape.spaces.corpus import Corpus
from failscape.spaces.corpus.files import FAMILIES


class CorpusCandidates:
    """The attribute values that make sense for a class, and whether clauses contradict each other."""

    def __init__(self, corpus: Corpus | None, seed: int, families: Sequence[str] = FAMILIES) -> None:
        self._corpus = corpus
        self._seed = seed
        self._chosen = (
            {value.kind for value in corpus.values if value.family in families} if corpus else set()
        )
        self._clauses = [clause_of(value) for value in corpus.values] if corpus else []
        self._index = {clause.label: at for at, clause in enumerate(self._clauses)}

    def clauses(self, target: Target, most: int) -> list[Clause]:
        """Up to `most` values of the chosen families, in turn from all their sub-categories."""
        kinds: dict[str, list[Clause]] = {}
        for at in self._plausible(target):
            if self._clauses[at].kind in self._chosen:
                kinds.setdefault(self._clauses[at].kind, []).append(self._clauses[at])
        if sum(map(len, kinds.values())) > most:
            order = random.Random(f"{self._seed}/{target.name}")
            for group in kinds.values():
                order.shuffle(group)
        return list(_in_turn(list(kinds.values())))[:most]

    def alternatives(self, target: Target, clause: Clause) -> list[Clause]:
        """Other values of the same kind."""
        return [
            self._clauses[at]
            for at in self._plausible(target)
            if self._clauses[at].kind == clause.kind and self._clauses[at].value != clause.value
        ]

    def compatible(self, target: Target, clauses: Sequence[Clause]) -> bool:
        """No two clauses of one kind, none that the corpus rules out for the class or beside another."""
        known = [self._index[clause.label] for clause in clauses if clause.label in self._index]
        kinds = [clause.kind for clause in clauses if clause.kind != SAID]
        if len(set(kinds)) < len(kinds) or len({clause.label for clause in clauses}) < len(clauses):
            return False
        if self._corpus is None or not known:
            return True
        plausible = set(self._plausible(target))
        return plausible.issuperset(known) and not self._corpus.conflicts[np.ix_(known, known)].any()

    def _plausible(self, target: Target) -> list[int]:
        if self._corpus is None:
            return []
        names = {entity.name.lower(): at for at, entity in enumerate(self._corpus.entities)}
        entity = names.get(target.name.lower())
        if entity is None:
            return list(range(len(self._clauses)))
        return [int(at) for at in np.flatnonzero(self._corpus.allowed[entity])]


def _in_turn(groups: Sequence[Sequence[Clause]]) -> Iterator[Clause]:
    for place in range(max(map(len, groups), default=0)):
        yield from (group[place] for group in groups if place < len(group))


def question_for(target: Target, count: int) -> str:
    """What a language model is asked for."""
    about = f" ({target.superclass})" if target.superclass else ""
    return (
        f"An image classifier must recognise a {target.name}{about} in photographs. List {count} short, "
        "different circumstances in which it might call it something else: unusual places, backgrounds, "
        f"weather, light, colours, poses, styles, things beside it. The {target.name} itself must stay "
        "clearly visible. "
        "Write one short sentence a line, each beginning with “it is”, nothing else."
    )
