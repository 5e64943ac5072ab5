"""What the language model is asked for, and what its replies propose. Pure."""

from __future__ import annotations

from failscape.kinds.classifier.candidates import question_for
from failscape.kinds.classifier.clause_mining import parse_list
from failscape.kinds.classifier.prompts import Clause
from failscape.kinds.classifier.purposes import LANGUAGE_MODEL
from failscape.kinds.classifier.record import HuntRecord
from failscape.kinds.classifier.settings import stream_seed
from failscape.kinds.classifier.tallies import ClassState, Use
from failscape.search.patterns import PatternSearch
from failscape.search.rounds import Outcome, Planned
from failscape.trials import Consult, Probe, Verdict, key_of_try

#: Failures of a class that make it worth asking again; each time twice as many.
FAILURES_TO_ASK_AGAIN = 12

#: Descriptions of each sort that the language model is told of.
MOST_TOLD = 6


class LanguageModel:
    """Asks once a class has plain pictures, and again whenever its failures have doubled."""

    #: The chance that a proposal is a bug, before anything was drawn: one in twenty.
    chance = 0.05

    def __init__(self, record: HuntRecord, search: PatternSearch) -> None:
        self._record = record
        self._search = search
        self._proposed: dict[int, list[str]] = {}

    def plan(self) -> list[Planned]:
        return [
            self._question(label, state)
            for label, state in enumerate(self._record.classes)
            if self._is_due(state)
        ]

    def _is_due(self, state: ClassState) -> bool:
        if state.skip or not state.base.valid:
            return False
        return not state.asked or state.failures >= FAILURES_TO_ASK_AGAIN * 2 ** (state.asked - 1)

    def _question(self, label: int, state: ClassState) -> Planned:
        rules = self._record.rules
        target = self._record.targets[label]
        tests = [
            test
            for test in self._record.tests.values()
            if test.description.label == label and test.counts.valid
        ]
        ranked = sorted(tests, key=lambda test: (-test.counts.rate, test.subject))
        words = {test.subject: " and ".join(clause.value for clause in test.clauses) for test in ranked}
        near_proof = self._search.ledger.near_proof
        failed = [words[test.subject] for test in ranked if test.log_evidence > near_proof][:MOST_TOLD]
        passed = [text for text in reversed(words.values()) if text not in failed][:MOST_TOLD]
        tried = self._proposed.get(label, [])[-3 * MOST_TOLD :]
        question = question_for(target, rules.proposals, failed, passed, tried)
        number = state.asked
        state.asked += 1
        seed = stream_seed(rules.seed, "ask", number)
        key = key_of_try(state.name, LANGUAGE_MODEL, number)
        probe = Probe(key, state.name, (Consult(question),), seed)
        return Planned(probe, Use("answer", label, number))

    def absorb(self, use: Use, outcome: Outcome) -> list[Clause]:
        """The clauses that a reply proposes; none if there was no reply."""
        if outcome.verdict is not Verdict.NONE or not outcome.facts:
            return []
        target = self._record.targets[use.owner]
        lines = parse_list(str(outcome.facts[0]), self._record.rules.proposals)
        clauses = self._record.words.clauses(lines, target.name, target.superclass)
        self._proposed.setdefault(use.owner, []).extend(clause.value for clause in clauses)
        return clauses
