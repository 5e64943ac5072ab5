"""The failures of a target as a tree: family of skills, skill combination, kind of question. Pure.

Skills come from the grammar, from what a questioner was asked for, or from a model that named them
afterwards; names that mean the same are merged by their vectors.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from failscape.hunts.counts import Counts
from failscape.hunts.vlm.outcomes import SEARCH, QuestionOutcome
from failscape.spaces.questions import Pattern
from failscape.spaces.skills import FAMILIES, OTHER, family_of
from failscape.stats.texts import near_groups, word_vectors
from failscape.trials import Verdict

ALIKE = 0.8
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


def grow(outcomes: Iterable[QuestionOutcome], names: Mapping[str, Sequence[str]] | None = None) -> Branch:
    """The tree of all valid questions. `names` maps questions to skills that a model named."""
    merged = merged_names({skill for skills in (names or {}).values() for skill in skills})
    root = Branch("all questions")
    for outcome in outcomes:
        if not outcome.valid:
            continue
        named = (names or {}).get(outcome.text)
        skills = tuple(sorted({merged[one] for one in named})) if named else outcome.pattern.skills
        path = [root]
        for name in (meta_skill(skills), " + ".join(skills) or OTHER, leaf_name(outcome.pattern)):
            path.append(path[-1].child(name))
        path[-1].subject = leaf_of(outcome.pattern).text
        for branch in path:
            branch.add(outcome)
    return root


def grow_named(asked: Iterable[Sequence[Any]], names: Mapping[str, Sequence[str]]) -> Branch:
    """The tree of questions whose skills a model named, from (question, pattern, failed) rows."""
    chosen = [
        QuestionOutcome(
            "named",
            SEARCH,
            Pattern.parse(pattern),
            Pattern.parse(pattern),
            Verdict.FAIL if failed else Verdict.PASS,
            text,
        )
        for text, pattern, failed in asked
        if text in names
    ]
    return grow(chosen, names)


def named_skills(told: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Question → the skills that a model named, duplicates merged, from all that was logged of it."""
    merged: Mapping[str, str] = told[-1].get("merged", {}) if told else {}
    return {
        text: list(dict.fromkeys(merged.get(name, name) for name in names))
        for detail in told
        for text, names in detail.get("skills", {}).items()
    }


def meta_skill(skills: Sequence[str]) -> str:
    """The family of the most demanding skill: families are listed from seeing to reasoning."""
    return max((family_of(skill) for skill in skills), key=lambda name: _RANK[name], default=OTHER)


def leaf_of(pattern: Pattern) -> Pattern:
    return Pattern(pattern.form, pattern.skills)


def leaf_name(pattern: Pattern) -> str:
    return leaf_of(pattern).title


def merged_names(
    names: Iterable[str], vectors: Mapping[str, Sequence[float]] | None = None
) -> dict[str, str]:
    """Every name → the one that stands for its group: the shortest. Vectors of an embedder do better than
    the words alone, which are taken without them."""
    ordered = sorted({name.strip().lower() for name in names if name.strip()})
    rows = [vectors[name] for name in ordered] if vectors else word_vectors(ordered)
    found: dict[str, str] = {}
    for group in near_groups(rows, ALIKE) if ordered else []:
        members = [ordered[index] for index in group]
        best = min(members, key=lambda name: (len(name), name))
        found.update(dict.fromkeys(members, best))
    return {name: found[name.strip().lower()] for name in names if name.strip()}


def compare(hunts: Mapping[str, Iterable[Pattern]]) -> dict[str, list[str]]:
    """Mode → the targets that have it, for modes certified for several targets in one atlas."""
    owners: dict[str, list[str]] = defaultdict(list)
    for target, patterns in hunts.items():
        for pattern in patterns:
            owners[pattern.text].append(target)
    return dict(sorted(owners.items(), key=lambda pair: (-len(pair[1]), pair[0])))


def _shown(outcome: QuestionOutcome) -> TreeExample:
    return TreeExample(outcome.text, outcome.answer, outcome.truth, outcome.images, outcome.reason)
