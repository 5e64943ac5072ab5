"""What a classifier hunt has seen: classes, tested descriptions, fresh images. It decides nothing. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from copy import copy, deepcopy

from failscape.errors import ConfigError
from failscape.kinds.classifier.candidates import CorpusCandidates
from failscape.kinds.classifier.clause_mining import Words
from failscape.kinds.classifier.fresh_images import FreshImages
from failscape.kinds.classifier.prompts import Clause, Description, Template, describe
from failscape.kinds.classifier.settings import ClassifierRules
from failscape.kinds.classifier.tallies import ClassState, DescriptionTest, Target
from failscape.spaces.corpus import Corpus
from failscape.trials import thing_text

#: A shorter sentence is the better name if it keeps at least this share of the excess (`SearchSettings`).
KEPT_SHARE = 0.5


class HuntRecord:
    """`tests` are the descriptions with evidence of their own, `claimed` those that are proven."""

    def __init__(
        self, targets: Sequence[Target], template: Template, corpus: Corpus | None, rules: ClassifierRules
    ) -> None:
        if not targets:
            raise ConfigError("a classifier hunt needs at least one class", "name some in `classes`")
        self.targets = tuple(targets)
        self.template = template
        self.rules = rules
        self.words = Words(corpus)
        self.candidates = CorpusCandidates(corpus, rules.families)
        self.classes = [ClassState(target.name) for target in targets]
        self.tests: dict[str, DescriptionTest] = {}
        self.claimed: list[DescriptionTest] = []
        self.fresh = FreshImages(self.targets, self.candidates, rules, self.subject)
        #: Descriptions that e-BH counts, proven or not: fixed before the first image.
        self.test_slots = 0
        #: Pictures drawn, by what they were for.
        self.drawn: Counter[str] = Counter()
        self._labels = {target.name: label for label, target in enumerate(targets)}
        self._clauses = {clause.label: clause for clause in self.candidates.clauses}

    def snapshot(self) -> HuntRecord:
        """A copy that can be counted on while this record stays as it is."""
        other = copy(self)
        other.classes = deepcopy(self.classes)
        other.tests = deepcopy(self.tests)
        other.claimed = []
        other.fresh = self.fresh.snapshot()
        return other

    def label_of(self, context: str) -> int:
        """The number of a class."""
        return self._labels[context]

    def knows_class(self, name: str) -> bool:
        return name in self._labels

    def learn_clause(self, clause: Clause) -> None:
        """Remember a clause that somebody said, so that it can be asked for by its label."""
        self._clauses.setdefault(clause.label, clause)

    def clause(self, label: str) -> Clause | None:
        return self._clauses.get(label)

    def describe(self, context: str, facts: Iterable[str]) -> Description:
        """The description of a class with clauses, given by name and labels."""
        return describe(self._labels[context], [self._clauses[fact] for fact in facts])

    def subject(self, description: Description) -> str:
        labels = [clause.label for clause in description.clauses]
        return thing_text(self.targets[description.label].name, labels)

    def prompt(self, description: Description) -> str:
        target = self.targets[description.label]
        return self.template.prompt(target.name, target.superclass, description.clauses)

    def test(self, description: Description, source: str, only_shown: bool) -> DescriptionTest:
        """The test of a description, a new one if it has none yet."""
        subject = self.subject(description)
        known = self.tests.get(subject)
        if known is None:
            known = DescriptionTest(description, subject, source, only_shown=only_shown)
            self.tests[subject] = known
        return known

    def take_as_asked(self) -> None:
        """Nobody sees clauses after all: count every image that shows its class."""
        for test in self.tests.values():
            test.counts.take_as_asked()
        self.fresh.take_as_asked()

    def bugs(self) -> list[DescriptionTest]:
        """Proven descriptions that no shorter sentence explains, most certain first."""
        found = [test for test in self.claimed if not self._has_shorter(test)]
        return sorted(found, key=lambda test: (-test.log_evidence, test.subject))

    def excess(self, test: DescriptionTest) -> float:
        """How much more often a description fails than its class does."""
        return test.counts.rate - self.classes[test.description.label].base.rate

    def shorter_descriptions(self, description: Description) -> list[Description]:
        """The same description with a shorter sentence in place of one that somebody said."""
        return [
            description.without(place, shorter)
            for place, clause in enumerate(description.clauses)
            for shorter in self.words.shorter(clause)
        ]

    def _has_shorter(self, test: DescriptionTest) -> bool:
        proven = {other.subject: other for other in self.claimed}
        shorter = (self.subject(other) for other in self.shorter_descriptions(test.description))
        return any(
            subject in proven and self.excess(proven[subject]) >= KEPT_SHARE * self.excess(test)
            for subject in shorter
        )
