"""Counterfactuals for photos: the clause of a finding is edited into photos that lack it. Pure.

Each edited photo is compared with itself before, so the pairs differ in the clause and in whatever the editor
changes on the way.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from failscape.kinds.classifier.details import BugDetails, Toggle
from failscape.kinds.classifier.findings import toggle_of
from failscape.kinds.classifier.prompts import Clause, Template
from failscape.kinds.classifier.purposes import COUNTERFACTUAL
from failscape.kinds.classifier.settings import ClassifierRules, stream_seed
from failscape.kinds.classifier.tallies import SeenPhoto, Target
from failscape.search.rounds import Outcome, Planned
from failscape.trials import Classify, Edit, Finding, Probe, Show, Step, key_of_try

_SCENE = Template("{a class}")


class Edited(NamedTuple):
    """What a trial is for: photo `number` with the clause of a finding edited into it."""

    subject: str
    number: int
    failed_before: bool


class Editing:
    def __init__(self, rules: ClassifierRules) -> None:
        self._rules = rules
        self._asked: set[str] = set()
        self._pairs: dict[str, list[tuple[bool, bool]]] = {}
        self._clauses: dict[str, tuple[Clause, str]] = {}

    def plan(
        self,
        findings: Sequence[Finding],
        targets: Sequence[Target],
        seen: Sequence[SeenPhoto],
        gate: Callable[[Target], tuple[Step, ...]],
    ) -> list[Planned]:
        """Up to `toggles` photos of the class without the clause, for every finding that has none yet."""
        planned: list[Planned] = []
        for finding in findings:
            details: BugDetails = finding.details
            label, name = details.clauses[0].label, details.class_name
            clause = next((one.clauses[label] for one in seen if label in one.clauses), None)
            if finding.subject in self._asked or clause is None or not clause.wording:
                continue  # a column of the metadata, or a cluster, cannot be edited in
            self._asked.add(finding.subject)
            names = {row.name for row in details.classes if row.holds} or {name}
            owners = [at for at, target in enumerate(targets) if target.name in names]
            self._clauses[finding.subject] = clause, instruction(targets[owners[0]], clause)
            lacking = [
                one for one in seen if one.photo.label in owners and one.valid and label not in one.clauses
            ]
            for number, one in enumerate(lacking[: self._rules.toggles]):
                target = targets[one.photo.label]
                text = instruction(target, clause)
                planned.append(self._planned(finding.subject, number, one, target, text, gate))
        return planned

    def _planned(
        self,
        subject: str,
        number: int,
        one: SeenPhoto,
        target: Target,
        text: str,
        gate: Callable[[Target], tuple[Step, ...]],
    ) -> Planned:
        last = Classify(target.accept, self._rules.top_k, target.aim)
        steps = (Show((one.photo.digest,)), Edit(text), *gate(target), last)
        seed = stream_seed(self._rules.seed, f"edit/{subject}", number)
        probe = Probe(key_of_try(subject, COUNTERFACTUAL, number), subject, steps, seed)
        return Planned(probe, Edited(subject, number, one.failed))

    def absorb(self, use: Edited, outcome: Outcome) -> None:
        if outcome.valid:
            self._pairs.setdefault(use.subject, []).append((outcome.failed, use.failed_before))

    def toggle(self, finding: Finding) -> Toggle | None:
        """With the clause edited in, and as it was."""
        pairs = self._pairs.get(finding.subject)
        if not pairs:
            return None
        clause, text = self._clauses[finding.subject]
        return toggle_of(clause, "without", "", text, finding.subject, pairs)


def instruction(target: Target, clause: Clause) -> str:
    """What an editor is told: the scene as it should be, the thing itself unchanged."""
    scene = _SCENE.prompt(target.name, "", [clause]).rstrip(".")
    return f"Change the picture so that it shows {scene}. Leave everything else as it is."
