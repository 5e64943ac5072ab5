"""What a classifier hunt knows of its classes and descriptions: names, counts, wrong labels, fresh images."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from failscape.kinds.classifier.prompts import Clause, Description
from failscape.search.counts import Counts
from failscape.search.patterns import PatternRequest
from failscape.spaces.wording import capitalised, with_article
from failscape.trials import Check, Verdict


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

    @property
    def labels(self) -> frozenset[str]:
        """Its spellings in lower case."""
        return frozenset(label.lower() for label in self.accept)

    def presence(self) -> Check:
        """The gate that every image has to pass: is the class visible at all?"""
        statement = f"{capitalised(with_article(self.name))} is visible in the image."
        return Check("entity", self.name, statement, self.others, gate=True)


@dataclass(slots=True)
class ImageCounts(Counts):
    """Images of one prompt; fails and passes are those in which the judge sees the class and every clause.

    `absent` of the invalid ones do not show the class; `wrong` labels are those of fails. `unheeded` show the
    class but not all clauses, and `unheeded_fails` of them fail: as asked, they count; as seen, they do not.
    In `both` of the passes the wrong label's object is in the picture too. `unsure`: nobody could say whether
    the clauses are visible.
    """

    absent: int = 0
    wrong: Counter[str] = field(default_factory=Counter)
    unheeded: int = 0
    unheeded_fails: int = 0
    both: int = 0
    unsure: int = 0

    def add(self, look: Look) -> None:
        if look.failed is None:
            self.invalid += 1
            self.absent += look.absent
        elif look.heeded is False:
            self.unheeded += 1
            self.unheeded_fails += look.failed
        else:
            self.count(Verdict.FAIL if look.failed else Verdict.PASS)
            self.unsure += look.heeded is None
            self.both += look.both
            if look.failed:
                self.wrong[look.wrong] += 1

    def take_as_asked(self) -> None:
        """Nobody sees clauses after all: every image counts that shows the class."""
        self.fails += self.unheeded_fails
        self.passes += self.unheeded - self.unheeded_fails
        self.unheeded = self.unheeded_fails = 0
        self.unsure = self.valid

    @property
    def asked(self) -> int:
        """Images that show the class, whatever else they show."""
        return self.valid + self.unheeded

    @property
    def asked_rate(self) -> float:
        return (self.fails + self.unheeded_fails) / self.asked if self.asked else 0.0

    @property
    def drawn(self) -> int:
        return self.tries + self.unheeded

    @property
    def obeyed(self) -> float | None:
        """The share of pictures that show what was asked for; `None` where nobody could say."""
        known = self.asked - self.unsure
        return (self.valid - self.unsure) / known if known else None


@dataclass(frozen=True, slots=True)
class Look:
    """One drawn picture: `failed` is `None` when it cannot be used, `heeded` when nobody sees its clauses."""

    failed: bool | None
    wrong: str = ""
    absent: bool = False
    heeded: bool | None = None
    both: bool = False
    digest: str = ""
    shown: tuple[bool | None, ...] = ()


@dataclass(slots=True)
class Described:
    """A captioned image: whether it failed, what was said of it, and which clauses the judge sees in it."""

    failed: bool
    wrong: str
    sentences: tuple[str, ...]
    asked: tuple[str, ...] = ()
    plain: bool = False


@dataclass(slots=True)
class ClassState:
    """A class of the classifier: `base` counts its plain images, `skip` says why the class is left out.

    `issued` plain and `explored` exploring pictures were asked for; the language model was `asked` so often.
    """

    name: str
    base: ImageCounts = field(default_factory=ImageCounts)
    issued: int = 0
    explored: int = 0
    asked: int = 0
    failures: int = 0
    skip: str = ""


@dataclass(slots=True)
class DescriptionTest:
    """A description with evidence of its own. `source` says who proposed it.

    `only_shown`: only images count in which the judge sees every clause; that is fixed when the test begins.
    """

    description: Description
    subject: str
    source: str
    counts: ImageCounts = field(default_factory=ImageCounts)
    only_shown: bool = False
    issued: int = 0
    log_evidence: float = 0.0

    @property
    def clauses(self) -> tuple[Clause, ...]:
        return self.description.clauses

    def add(self, look: Look) -> None:
        self.counts.add(look if self.only_shown else replace(look, heeded=None))


@dataclass(slots=True)
class Block:
    """Fresh images of a description, numbered by their seeds: what a search has chosen is measured anew here.

    Descriptions of one class share seeds, so two blocks can be compared image by image. Blocks of a low
    `order` are drawn first: rates before causes.
    """

    description: Description
    subject: str
    goal: int = 0
    issued: int = 0
    order: int = 0
    outcomes: dict[int, bool | None] = field(default_factory=dict)
    #: The same, whether the image shows the clauses or not.
    as_asked: dict[int, bool | None] = field(default_factory=dict)
    counts: ImageCounts = field(default_factory=ImageCounts)

    @property
    def complete(self) -> bool:
        return self.goal > 0 and len(self.outcomes) >= self.goal

    def add(self, number: int, look: Look) -> None:
        self.counts.add(look)
        self.as_asked[number] = look.failed
        self.outcomes[number] = look.failed if look.heeded is not False else None

    def take_as_asked(self) -> None:
        self.counts.take_as_asked()
        self.outcomes = dict(self.as_asked)


class Use(NamedTuple):
    """What a planned trial is for: plain, explore, look, test, fresh; answer; photo or text.

    `owner` is a subject or the number of a class; `request` is what the search asked for.
    """

    what: str
    owner: Any
    number: int
    description: Description = Description(0)
    request: PatternRequest | None = None


@dataclass(frozen=True, slots=True)
class LabelledPhoto:
    """A stored picture of a class (by its number), with what people said about it."""

    digest: str
    label: int
    captions: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict, hash=False, compare=False)

    @property
    def suggests(self) -> bool:
        return int(self.digest[-1], 16) % 2 == 0


@dataclass(slots=True)
class SeenPhoto:
    """Photo `number` with what came of it, what is said of it, and its vector where there is an embedder."""

    number: int
    photo: LabelledPhoto
    look: Look
    clauses: dict[str, Clause]
    vector: tuple[float, ...] = ()

    @property
    def valid(self) -> bool:
        return self.look.failed is not None

    @property
    def failed(self) -> bool:
        return self.look.failed is True
