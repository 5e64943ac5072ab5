"""What a trial is about, and the text that names it in an atlas.

There are two text forms, both frozen since version 0.1:

- things: `cat; Base: Colour=red; Background: Place=beach` (an entity or class and its values; a prompt or a
  case of a table is a thing without values);
- questions: `count | counting, colour | size=small` (a form, the skills it takes, and clauses).

The border: inside a hunt, subjects are its own types (a node of a lattice, a description, a pattern), which
are small and fast. Probes, trials and the atlas carry the text, which is hashed and compared but not taken
apart. All other code reads the text with `Subject.parse`, which remembers what it has read. Only this module
knows the separators.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

from failscape.errors import ConfigError

_BETWEEN_PARTS = "; "
_BEFORE_VALUE = "="
_BETWEEN_FIELDS = " | "
_BETWEEN_SKILLS = ", "

#: Texts whose parts are remembered. A subject of three values takes about 600 bytes.
REMEMBERED = 1 << 16


class SubjectForm(Enum):
    """Which of the two text forms the subjects of a hunt have."""

    THING = "thing"
    QUESTION = "question"


class SubjectValue(NamedTuple):
    """One value of a subject, such as `Base: Colour` and `red`. A bare label has an empty kind."""

    kind: str
    value: str

    @property
    def label(self) -> str:
        """`Base: Colour=red`."""
        return value_label(self.kind, self.value)


@dataclass(frozen=True, slots=True)
class Subject:
    """What a trial is about.

    Attributes:
        name: The entity, class, prompt or form of question.
        values: What narrows it, in the order of the text.
        skills: The skills that a question takes; none for things.
        form: Which text form it has.
    """

    name: str
    values: tuple[SubjectValue, ...] = ()
    skills: tuple[str, ...] = ()
    form: SubjectForm = SubjectForm.THING

    @property
    def text(self) -> str:
        """As it is stored.

        Raises:
            ConfigError: a name holds a separator, so that the text would be read as something else.
        """
        if self.form is SubjectForm.QUESTION:
            text = question_text(self.name, self.skills, self.values)
        else:
            text = thing_text(self.name, self.labels)
        if Subject.parse(text, self.form) != self:
            raise ConfigError(
                f"the subject {text!r} has a name with a separator in it, so it could not be read again",
                "take '; ' and '=' out of the name, and ' | ' and ', ' where it is of a question",
            )
        return text

    @classmethod
    def parse(cls, text: str, form: SubjectForm = SubjectForm.THING) -> "Subject":
        """The parts of a stored text. Every text has some: one without separators is a bare name."""
        return _parse_question(text) if form is SubjectForm.QUESTION else _parse_thing(text)

    @property
    def words(self) -> str:
        """The same for people, without the kinds of its values: `cat · red`."""
        values = [value.value for value in self.values]
        return " · ".join([self.name, *self.skills, *values])

    @property
    def labels(self) -> tuple[str, ...]:
        """`Base: Colour=red`, for each value."""
        return tuple([value.label for value in self.values])

    @property
    def kinds(self) -> tuple[str, ...]:
        """`Base: Colour`, for each value."""
        return tuple([value.kind for value in self.values])

    @property
    def depth(self) -> int:
        """How much is composed: values and skills together."""
        return len(self.values) + len(self.skills)

    def parents(self) -> list["Subject"]:
        """The subjects with one value less."""
        found = []
        for at in range(len(self.values)):
            rest = (*self.values[:at], *self.values[at + 1 :])
            found.append(replace(self, values=rest))
        return found

    def ancestors(self) -> Iterator["Subject"]:
        """The subjects with fewer values, each once, the name alone last."""
        for size in range(len(self.values) - 1, -1, -1):
            for kept in combinations(self.values, size):
                yield replace(self, values=kept)

    def holds(self, other: "Subject") -> bool:
        """Whether it has all that `other` has: the same name, and at least its values and skills."""
        same_name = self.name == other.name
        return same_name and set(self.values) >= set(other.values) and set(self.skills) >= set(other.skills)


def value_label(kind: str, value: str) -> str:
    """`Base: Colour=red`; the value alone where it has no kind."""
    return f"{kind}{_BEFORE_VALUE}{value}" if kind else value


@lru_cache(REMEMBERED)
def parse_label(label: str) -> SubjectValue:
    """`Base: Colour=red` in its two parts; a label without `=` has an empty kind."""
    kind, equals, value = label.partition(_BEFORE_VALUE)
    return SubjectValue(kind, value) if equals and kind else SubjectValue("", label)


def thing_text(name: str, labels: Iterable[str]) -> str:
    """The text of a thing from its name and labels, unchecked: for hunts, which know their names."""
    return _BETWEEN_PARTS.join((name, *labels))


def question_text(name: str, skills: Iterable[str], values: Iterable[tuple[str, str]]) -> str:
    """The text of a kind of question, unchecked."""
    labels = _BETWEEN_PARTS.join([f"{kind}{_BEFORE_VALUE}{value}" for kind, value in values])
    return _BETWEEN_FIELDS.join([name, _BETWEEN_SKILLS.join(skills), labels]).rstrip(" |")


@lru_cache(REMEMBERED)
def _parse_thing(text: str) -> Subject:
    name, *labels = text.split(_BETWEEN_PARTS)
    return Subject(name, tuple(parse_label(label) for label in labels))


@lru_cache(REMEMBERED)
def _parse_question(text: str) -> Subject:
    fields = [part.strip() for part in text.split(_BETWEEN_FIELDS)]
    name, skills, labels = [*fields, "", ""][:3]
    pairs = [label.partition(_BEFORE_VALUE) for label in labels.split(_BETWEEN_PARTS) if label]
    return Subject(
        name,
        tuple(SubjectValue(kind, value) for kind, _, value in pairs),
        tuple(skill for skill in skills.split(_BETWEEN_SKILLS) if skill),
        SubjectForm.QUESTION,
    )


def without_separators(text: str) -> str:
    """A free text as it may stand in a subject and its key: what would break either is a space."""
    return " ".join(re.sub(r"[;#=]", " ", text).split())


def without_question_separators(text: str) -> str:
    """The same for the name of a skill or clause of a question."""
    return " ".join(re.sub(r"[|;=,]", " ", text).split())
