"""What is known about a class and about a description: counts, wrong labels, and blocks of fresh images.

The classes that are hunted: their names, the labels that count as right, their superclasses.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from failscape.hunts.classifier.prompts import Clause, Description
from failscape.hunts.rounds import Outcome
from failscape.trials import NOT_SHOWN, Check, Verdict


@dataclass(frozen=True, slots=True)
class Target:
    """One class. `accept` are the labels that count as right, `aim` the wrong one of the targeted mode.

    `others` are classes of the same superclass, as distractors for judges that are given choices.
    """

    name: str
    accept: tuple[str, ...]
    superclass: str = ""
    aim: tuple[str, ...] = ()
    others: tuple[str, ...] = ()

    def presence(self) -> Check:
        """The gate that every image has to pass: is the class visible at all?"""
        from failscape.spaces.wording import capitalised, with_article

        statement = f"{capitalised(with_article(self.name))} is visible in the image."
        return Check("entity", self.name, statement, self.others, gate=True)


@dataclass(slots=True)
class Counts:
    """Outcomes of images of one prompt. `wrong` counts the labels that failures got."""

    fails: int = 0
    passes: int = 0
    invalid: int = 0
    absent: int = 0
    wrong: Counter[str] = field(default_factory=Counter)

    @property
    def valid(self) -> int:
        return self.fails + self.passes

    @property
    def tries(self) -> int:
        return self.valid + self.invalid

    @property
    def rate(self) -> float:
        return self.fails / self.valid if self.valid else 0.0

    def add(self, outcome: Outcome) -> None:
        if outcome.verdict is Verdict.FAIL:
            self.fails += 1
            self.wrong[wrong_label(outcome)] += 1
        elif outcome.verdict is Verdict.PASS:
            self.passes += 1
        else:
            self.invalid += 1
            self.absent += outcome.reason.startswith(NOT_SHOWN)


def wrong_label(outcome: Outcome) -> str:
    """The best label of a failed image."""
    ranking = outcome.facts[-1]
    return str(ranking[0][0]) if ranking else ""


@dataclass(slots=True)
class Described:
    """One captioned image of a baseline: how it went, what was said of it, its vector where there is one."""

    failed: bool
    wrong: str
    sentences: tuple[str, ...]
    vector: tuple[float, ...] = ()


@dataclass(slots=True)
class ClassState:
    """A class of the classifier. `goal` is how many baseline images it shall get.

    `ready` says that the first of them are there, `skip` why the class is left out.
    """

    name: str
    goal: int
    base: Counts = field(default_factory=Counts)
    issued: int = 0
    images: list[tuple[str, bool, str]] = field(default_factory=list)
    described: list[Described] = field(default_factory=list)
    to_describe: int | None = None
    waiting: int = 0
    opened: int = 0
    ready: bool = False
    skip: str = ""


@dataclass(slots=True)
class Arm:
    """A description that competes. `source` says who proposed it first; `log_e` is its evidence so far.

    `hinted`: captions of failures speak for it. `urgent`: a proven description waits for it.
    """

    description: Description
    subject: str
    source: str
    counts: Counts = field(default_factory=Counts)
    issued: int = 0
    log_e: float = 0.0
    shorter: tuple[str, ...] | None = None
    urgent: bool = False
    hinted: bool = False

    @property
    def clauses(self) -> tuple[Clause, ...]:
        return self.description.clauses

    @property
    def pending(self) -> int:
        return self.issued - self.counts.tries


@dataclass(slots=True)
class Block:
    """Fresh images of a description, numbered by their seeds: what a search has chosen is measured anew here.

    Descriptions of one class share seeds, so two blocks can be compared image by image.
    """

    description: Description
    subject: str
    goal: int = 0
    issued: int = 0
    outcomes: dict[int, bool | None] = field(default_factory=dict)
    counts: Counts = field(default_factory=Counts)

    @property
    def complete(self) -> bool:
        return self.goal > 0 and len(self.outcomes) >= self.goal

    def add(self, number: int, outcome: Outcome) -> None:
        self.counts.add(outcome)
        valid = outcome.verdict in (Verdict.PASS, Verdict.FAIL)
        self.outcomes[number] = outcome.verdict is Verdict.FAIL if valid else None


@dataclass(frozen=True, slots=True)
class Photo:
    """A stored picture of a class (by its number), with what people said about it."""

    digest: str
    label: int
    captions: tuple[str, ...] = ()

    @property
    def suggests(self) -> bool:
        return int(self.digest[-1], 16) % 2 == 0


@dataclass(slots=True)
class Seen:
    photo: Photo
    outcome: Outcome
    clauses: dict[str, Clause]

    @property
    def valid(self) -> bool:
        return self.outcome.verdict in (Verdict.PASS, Verdict.FAIL)

    @property
    def failed(self) -> bool:
        return self.outcome.verdict is Verdict.FAIL
