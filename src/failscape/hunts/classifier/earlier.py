"""Atlases of earlier versions: other rules planned their trials, but they count as what they were for. Pure.

A trial's key says what it was for: `b…` the baseline, a number a test, `f…` fresh images. So claims can be
read anew from trials that the present plan never asks for.
"""

from collections.abc import Iterable
from copy import deepcopy

from failscape.hunts.classifier.arena import Arena
from failscape.hunts.classifier.drawing import look_of
from failscape.hunts.classifier.prompts import SAID, Clause, Description, describe, said_clause
from failscape.hunts.classifier.scales import Scales
from failscape.hunts.rounds import Outcome
from failscape.trials import Trial


def read_anew(arena: Arena, trials: Iterable[Trial], judged: bool) -> Arena:
    """A copy of the arena with trials of other plans counted in; claims are made over all of it."""
    found = deepcopy(arena)
    descriptions = DescriptionReader(found)
    for trial in sorted(trials, key=lambda one: one.key):
        mark = trial.key.rpartition("#")[2]
        description = descriptions.read(trial.subject)
        if description is None:
            continue
        outcome = Outcome(trial.verdict, trial.reason, tuple(trial.facts))
        look = look_of(outcome, judged, len(description.clauses), None, False)
        if mark[:1] == "b" and not description.clauses:
            found.classes[description.label].base.add(look)
        elif mark[:1] == "f" and mark[1:].isdigit():
            block = found.block(description, 0, 0)
            block.add(int(mark[1:]), look)
            block.goal = max(block.goal, len(block.outcomes))
        elif mark.isdigit():
            arm = found.enter(description, "an earlier version")
            if arm is not None and found.test(arm):
                arm.counts.add(look)
                arm.issued += 1
    _claim(found)
    return found


def _claim(arena: Arena) -> None:
    Scales(arena).weigh(set(arena.arms))
    for arm in list(arena.claimed):
        arena.minimise(arm)
    arena.confirm(set())


class DescriptionReader:
    """Turns subjects back into descriptions of an arena."""

    def __init__(self, arena: Arena) -> None:
        self._labels = {target.name: at for at, target in enumerate(arena.targets)}
        self._clauses = {clause.label: clause for clause in arena.candidates.clauses}

    def read(self, subject: str) -> Description | None:
        """`None` for a class or a clause that is not here."""
        name, *parts = subject.split("; ")
        clauses = [clause for part in parts if (clause := self._clause(part)) is not None]
        if name not in self._labels or len(clauses) < len(parts):
            return None
        return describe(self._labels[name], clauses)

    def _clause(self, label: str) -> Clause | None:
        kind, _, value = label.partition("=")
        return said_clause(value) if kind == SAID else self._clauses.get(label)
