"""The failures of a target as a tree: family of skills, skill combination, kind of question. Pure.

Skills come from the grammar, from the words of a question, or from a model that named them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from failscape.kinds.vlm.outcomes import QuestionOutcome
from failscape.search.counts import Counts
from failscape.spaces.questions import Pattern, explains
from failscape.spaces.skills import FAMILIES, OTHER, family_of

_RANK = {name: place for place, name in enumerate((*FAMILIES, OTHER))}


@dataclass(frozen=True, slots=True)
class TreeExample:
    """A failed question at a leaf."""

    question: str
    answer: str
    truth: str
    images: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class TreeNode:
    """A part of the tree as people see it, with all that lies below it. Leaves have examples."""

    name: str
    subject: str
    failures: int
    trials: int
    rate: float
    state: str
    children: tuple[TreeNode, ...]
    examples: tuple[TreeExample, ...]

    def as_data(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(slots=True)
class Branch:
    """A part of the tree while it grows."""

    name: str
    count: Counts = field(default_factory=Counts)
    children: dict[str, Branch] = field(default_factory=dict)
    examples: list[QuestionOutcome] = field(default_factory=list)
    subject: str = ""

    def child(self, name: str) -> Branch:
        return self.children.setdefault(name, Branch(name))

    def add(self, outcome: QuestionOutcome, most: int = 3) -> None:
        self.count.count(outcome.verdict)
        if outcome.failed and len(self.examples) < most:
            self.examples.append(outcome)

    def frozen(self, marks: Mapping[str, str]) -> TreeNode:
        """As it is told, the most failures first; `marks` are states of modes by subject."""
        below = sorted(self.children.values(), key=lambda one: (-one.count.fails, one.name))
        return TreeNode(
            self.name,
            self.subject,
            self.count.fails,
            self.count.valid,
            round(self.count.rate, 4),
            marks.get(self.subject, ""),
            tuple(one.frozen(marks) for one in below),
            () if self.children else tuple(_shown(one) for one in self.examples),
        )


def grow(outcomes: Iterable[QuestionOutcome]) -> Branch:
    """The tree of all valid questions."""
    root = Branch("all questions")
    for outcome in outcomes:
        if not outcome.valid:
            continue
        skills, path = outcome.pattern.skills, [root]
        for name in (meta_skill(skills), " + ".join(skills) or OTHER, leaf_name(outcome.pattern)):
            path.append(path[-1].child(name))
        path[-1].subject = leaf_of(outcome.pattern).text
        for branch in path:
            branch.add(outcome)
    return root


def meta_skill(skills: Sequence[str]) -> str:
    """The family of the most demanding skill: families are listed from seeing to reasoning."""
    return max((family_of(skill) for skill in skills), key=lambda name: _RANK[name], default=OTHER)


def leaf_of(pattern: Pattern) -> Pattern:
    return Pattern(pattern.form, pattern.skills)


def leaf_name(pattern: Pattern) -> str:
    return leaf_of(pattern).title


def compare(hunts: Mapping[str, Iterable[Pattern]]) -> dict[str, list[str]]:
    """Mode → the targets that have it, or a simpler one that explains it, those of all targets first."""
    found = {target: list(patterns) for target, patterns in hunts.items()}
    modes = {pattern for patterns in found.values() for pattern in patterns}
    owners = {
        mode.text: [name for name, own in found.items() if any(explains(one, mode) for one in own)]
        for mode in sorted(modes)
    }
    return dict(sorted(owners.items(), key=lambda pair: (-len(pair[1]), pair[0])))


def _shown(outcome: QuestionOutcome) -> TreeExample:
    return TreeExample(outcome.text, outcome.answer, outcome.truth, outcome.images, outcome.reason)
