"""Atlases of earlier versions: other rules planned their trials, but they count as what they were for. Pure.

A trial's key says what it was for: `b…` the baseline, a number a test, `f…` fresh images. So claims can be
read anew from trials that the present plan never asks for.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from failscape.kinds.classifier.drawing import look_of
from failscape.kinds.classifier.prompts import SAID, Clause, Description, describe, said_clause
from failscape.kinds.classifier.purposes import FRESH, PLAIN, SEARCH
from failscape.kinds.classifier.record import KEPT_SHARE, HuntRecord
from failscape.kinds.classifier.tallies import DescriptionTest
from failscape.search.rounds import Outcome
from failscape.stats.differences import absent_share, log_excess, log_excess_grid
from failscape.stats.evalues import log_e_bh
from failscape.trials import ProbeKey, Subject, SubjectValue, Trial


def read_anew(record: HuntRecord, trials: Iterable[Trial], judged: bool) -> HuntRecord:
    """A copy of the record with trials of other plans counted in; claims are made over all of it."""
    found = record.snapshot()
    descriptions = DescriptionReader(found)
    for trial in sorted(trials, key=lambda one: one.key):
        description = descriptions.read(trial.subject)
        if description is not None:
            _count(found, trial, description, judged)
    _claim(found)
    return found


def _count(record: HuntRecord, trial: Trial, description: Description, judged: bool) -> None:
    key = ProbeKey.parse(trial.key)
    if key is None or key.rest or key.number is None:
        return
    outcome = Outcome(trial.verdict, trial.reason, tuple(trial.facts))
    look = look_of(outcome, judged, len(description.clauses), False)
    if PLAIN.is_of(trial.key) and not description.clauses:
        record.classes[description.label].base.add(look)
    elif FRESH.is_of(trial.key):
        block = record.fresh.block(description, 0, 0)
        block.add(key.number, look)
        block.goal = max(block.goal, len(block.outcomes))
    elif SEARCH.is_of(trial.key):
        record.test(description, "an earlier version", True).add(look)


#: Descriptions per class that version 0.2 counted, by default: e-BH must count all of them here, too.
EARLIER_SLOTS = 60


def _claim(record: HuntRecord) -> None:
    """e-BH over what the earlier version could have tested; a longer description of a claim is no news."""
    tests = [test for test in record.tests.values() if test.counts.valid]
    rules = record.rules
    bases = [record.classes[test.description.label].base for test in tests]
    grid = log_excess_grid([base.fails for base in bases], [base.passes for base in bases])
    fails = [test.counts.fails for test in tests]
    passes = [test.counts.passes for test in tests]
    evidence = log_excess(grid, fails, passes, rules.margin, _absent(record, tests))
    for test, value in zip(tests, evidence, strict=True):
        test.log_evidence = float(value)
    slots = max(record.test_slots, EARLIER_SLOTS * len(record.targets))
    claimed = log_e_bh([test.log_evidence for test in tests], rules.fdr, slots)
    proven = [test for test, is_claimed in zip(tests, claimed, strict=True) if is_claimed]
    record.claimed = [test for test in proven if not _has_part(record, test, proven)]


def _absent(record: HuntRecord, tests: Sequence[DescriptionTest]) -> Any:
    rules = record.rules
    if not rules.slip:
        return 0.0
    asked = [test.counts.asked for test in tests]
    seen = [test.counts.asked + test.counts.absent for test in tests]
    return absent_share(asked, seen, rules.sensitivity, rules.slip)


def _has_part(record: HuntRecord, test: DescriptionTest, proven: Sequence[DescriptionTest]) -> bool:
    """Whether a proven description with fewer of the same clauses keeps the bug."""
    return any(
        part.description.label == test.description.label
        and set(part.clauses) < set(test.clauses)
        and record.excess(part) >= KEPT_SHARE * record.excess(test)
        for part in proven
    )


class DescriptionReader:
    """Turns subjects back into descriptions of an record."""

    def __init__(self, record: HuntRecord) -> None:
        self._labels = {target.name: at for at, target in enumerate(record.targets)}
        self._clauses = {clause.label: clause for clause in record.candidates.clauses}

    def read(self, subject: str) -> Description | None:
        """`None` for a class or a clause that is not here."""
        parsed = Subject.parse(subject)
        clauses = [clause for part in parsed.values if (clause := self._clause(part)) is not None]
        if parsed.name not in self._labels or len(clauses) < len(parsed.values):
            return None
        return describe(self._labels[parsed.name], clauses)

    def _clause(self, part: SubjectValue) -> Clause | None:
        return said_clause(part.value) if part.kind == SAID else self._clauses.get(part.label)
