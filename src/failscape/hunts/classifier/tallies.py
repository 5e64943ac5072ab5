"""What a classifier hunt knows of its classes and descriptions: names, counts, wrong labels, fresh images."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from failscape.hunts.classifier.prompts import Clause, Description
from failscape.hunts.counts import Counts
from failscape.hunts.rounds import Outcome
from failscape.spaces.wording import capitalised, with_article
from failscape.trials import NOT_SHOWN, Check


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
        statement = f"{capitalised(with_article(self.name))} is visible in the image."
        return Check("entity", self.name, statement, self.others, gate=True)


@dataclass(slots=True)
class ImageCounts(Counts):
    """Images of one prompt. `absent` of the invalid ones do not show the object; `wrong` labels of fails."""

    absent: int = 0
    wrong: Counter[str] = field(default_factory=Counter)

    def add(self, outcome: Outcome) -> None:
        self.count(outcome.verdict)
        if outcome.failed:
            self.wrong[wrong_label(outcome)] += 1
        elif not outcome.valid:
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
    base: ImageCounts = field(default_factory=ImageCounts)
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
    counts: ImageCounts = field(default_factory=ImageCounts)
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
    counts: ImageCounts = field(default_factory=ImageCounts)

    @property
    def complete(self) -> bool:
        return self.goal > 0 and len(self.outcomes) >= self.goal

    def add(self, number: int, outcome: Outcome) -> None:
        self.counts.add(outcome)
        self.outcomes[number] = outcome.failed if outcome.valid else None


@dataclass(frozen=True, slots=True)
class LabelledPhoto:
    """A stored picture of a class (by its number), with what people said about it."""

    digest: str
    label: int
    captions: tuple[str, ...] = ()

    @property
    def suggests(self) -> bool:
        return int(self.digest[-1], 16) % 2 == 0


@dataclass(slots=True)
class Seen:
    photo: LabelledPhoto
    outcome: Outcome
    clauses: dict[str, Clause]

    @property
    def valid(self) -> bool:
        return self.outcome.valid

    @property
    def failed(self) -> bool:
        return self.outcome.failed
