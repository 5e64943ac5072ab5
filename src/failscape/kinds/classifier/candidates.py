"""Where descriptions come from besides captions: the corpus, and a language model. Pure."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from failscape.kinds.classifier.prompts import SAID, Clause, clause_of
from failscape.kinds.classifier.tallies import Target
from failscape.spaces.corpus import Corpus
from failscape.spaces.corpus.files import FAMILIES
from failscape.spaces.wording import with_article


class CorpusCandidates:
    """The attribute values that make sense for a class, and whether clauses contradict each other."""

    def __init__(self, corpus: Corpus | None, families: Sequence[str] = FAMILIES) -> None:
        self._corpus = corpus
        self._chosen = (
            {value.kind for value in corpus.values if value.family in families} if corpus else set()
        )
        self._clauses = [clause_of(value) for value in corpus.values] if corpus else []
        self._entities = {one.name.lower(): at for at, one in enumerate(corpus.entities)} if corpus else {}
        self._allowed: dict[str, list[int]] = {}
        self._index = {clause.label: at for at, clause in enumerate(self._clauses)}

    @property
    def clauses(self) -> list[Clause]:
        """All values of the corpus, by number."""
        return self._clauses

    @property
    def things(self) -> list[str]:
        """The names of all things in the corpus, in lower case."""
        return list(self._entities)

    @property
    def conflicts(self) -> NDArray[np.bool_] | None:
        return None if self._corpus is None else self._corpus.conflicts

    def options(self, target: Target) -> list[int]:
        """Numbers of the values of the chosen families that make sense for a class."""
        return [at for at in self._plausible(target) if self._clauses[at].kind in self._chosen]

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
        known = self._allowed.get(target.name)
        if known is None:
            known = self._allowed[target.name] = self._read_plausible(target)
        return known

    def _read_plausible(self, target: Target) -> list[int]:
        if self._corpus is None:
            return []
        entity = self._entities.get(target.name.lower())
        if entity is None:
            return list(range(len(self._clauses)))
        return [int(at) for at in np.flatnonzero(self._corpus.allowed[entity])]


def question_for(
    target: Target,
    count: int,
    failed: Sequence[str] = (),
    passed: Sequence[str] = (),
    tried: Sequence[str] = (),
) -> str:
    """What a language model is asked for; it is told what failed, what passed and what was tried."""
    about = f" ({target.superclass})" if target.superclass else ""
    known = [
        f"{words}: {'; '.join(some)}. "
        for words, some in (
            ("It was called something else in pictures with", failed),
            ("It was recognised in pictures with", passed),
            ("Do not repeat what was tried", tried),
        )
        if some
    ]
    return (
        f"An image classifier must recognise {with_article(target.name)}{about} in photographs. "
        f"{''.join(known)}List {count} short, "
        "different circumstances in which it might call it something else: unusual places, backgrounds, "
        f"weather, light, colours, poses, styles, things beside it. The {target.name} itself must stay "
        "clearly visible. "
        "Write one short sentence a line, each beginning with “it is”, nothing else."
    )
