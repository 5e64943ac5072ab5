"""From a class and a description to a prompt: the template with clauses worked into it. Pure.

A description is a class with zero or more clauses. A clause is an attribute value of the corpus, or a
sentence that a captioner or a language model said.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from failscape.errors import ConfigError
from failscape.spaces.corpus import Value
from failscape.spaces.wording import capitalised, phrasing_of, plural_of, with_article
from failscape.trials import Check, value_label, without_separators

#: The kind of a clause that comes from somebody's words and not from the corpus.
SAID = "Said"

#: Kinds of what is known of photos and cannot be drawn: columns of their metadata, groups that look alike.
COLUMN, CLUSTER = "Metadata", "Cluster"

_CLASS = re.compile(r"(\ban? )?\{(a )?class\}( \(\{superclass\}\))?")
_BACKGROUND = re.compile(
    r"\b(background|backdrop|scene|behind|photo|photograph|picture|image|style)\b"
    r"|^it is (in|on|at|under|by|near|beside|inside|outside|against|surrounded)\b"
)


@dataclass(frozen=True, slots=True)
class Clause:
    """`kind` is a sub-category such as `Background: Place`, or `Said`. Both texts have slots."""

    kind: str
    value: str
    wording: str
    rank: int = 0
    statement: str = ""

    @property
    def label(self) -> str:
        return value_label(self.kind, self.value)

    @property
    def around(self) -> bool:
        """It speaks of the background or the style, not of the object itself."""
        if self.kind == SAID:
            return bool(_BACKGROUND.search(self.value))
        return not self.kind.startswith("Base")

    def check(self, name: str, choices: tuple[str, ...] = ()) -> Check:
        """Is it visible in a picture of a `name`? Only noted: a clause that is not obeyed is no failure."""
        return Check(self.kind, self.value, self._said_of(name), choices, note=True)

    def _said_of(self, name: str) -> str:
        if self.kind == SAID:
            return capitalised(re.sub(r"^it\b", f"the {name}", self.value)) + "."
        plural = "{things}" in self.wording
        noun = plural_of(name) if plural else name
        if self.statement:
            inner = _fill(replace(self, wording=self.statement), noun, plural, noun)
            return capitalised(inner)
        if "{thing" not in self.wording and "{scene}" not in self.wording:
            return capitalised(_fill(self, noun, plural, ""))
        scene = _fill(self, noun, plural, noun if "{thing" in self.wording else with_article(noun))
        return f"The image shows {scene if plural else with_article(scene)}."


def clause_of(value: Value) -> Clause:
    phrasing = phrasing_of(value.family, value.sub_category, value.name)
    return Clause(
        value.kind,
        value.name,
        (value.wordings or phrasing.wordings)[0],
        phrasing.rank,
        value.statement or phrasing.statement,
    )


def said_clause(sentence: str) -> Clause:
    """A sentence as a clause; what would break a subject in parts is taken out of it."""
    text = without_separators(sentence).rstrip(".!")
    return Clause(SAID, text, f"{text}.")


class Description(NamedTuple):
    """A class (by its number) and clauses in the order of their labels."""

    label: int
    clauses: tuple[Clause, ...] = ()

    def without(self, place: int, instead: Clause | None = None) -> Description:
        """The same with one clause left out, or another in its place."""
        rest = [clause for at, clause in enumerate(self.clauses) if at != place]
        return describe(self.label, [*rest, instead] if instead else rest)


def describe(label: int, clauses: Sequence[Clause]) -> Description:
    return Description(label, tuple(sorted(clauses, key=lambda clause: clause.label)))


class Template:
    """`a realistic photograph of a {class} ({superclass}).`, with room for clauses."""

    def __init__(self, text: str) -> None:
        found = _CLASS.search(text)
        if found is None or text.count("{class}") + text.count("{a class}") != 1:
            raise ConfigError(
                f"`template` must name `{{class}}` exactly once, but is {text!r}",
                "write for example: a realistic photograph of a {class} ({superclass}).",
            )
        rest = (text[: found.start()] + text[found.end() :]).replace("{superclass}", "")
        if "{" in rest:
            raise ConfigError(
                f"`template` may hold {{class}} and {{superclass}} only, but is {text!r}", "take the rest out"
            )
        self.text = text
        self._head = text[: found.start()]
        self._tail = text[found.end() :] or "."
        self._article = bool(found[1] or found[2])
        self._with_superclass = bool(found[3])

    def prompt(self, name: str, superclass: str, clauses: Sequence[Clause] = ()) -> str:
        """Adjectives join the noun, places follow it, styles replace the head, sentences come last."""
        plural = any("{things}" in clause.wording for clause in clauses)
        noun = plural_of(name) if plural else name
        says_it = self._with_superclass and superclass and not name.endswith(")")
        thing = f"{noun} ({superclass})" if says_it else noun
        head, sentences = self._head.replace("{superclass}", superclass), []
        for clause in sorted(clauses, key=lambda clause: (-clause.rank, clause.label)):
            if "{thing" in clause.wording:
                thing = _fill(clause, noun, plural, thing)
        counted = plural and any("{things}" in clause.wording for clause in clauses)
        scene = with_article(thing) if self._article and not counted else thing
        for clause in clauses:
            if "{scene}" in clause.wording:
                if not clause.wording.startswith("{scene}"):
                    head = ""
                scene = _fill(clause, noun, plural, scene)
            elif "{thing" not in clause.wording:
                sentences.append(_fill(clause, noun, plural, ""))
        whole = f"{head}{scene}{self._tail.replace('{superclass}', superclass)}"
        return " ".join([whole, *(capitalised(sentence) for sentence in sentences)])


def _fill(clause: Clause, noun: str, plural: bool, inner: str) -> str:
    text = clause.wording
    for slot, filling in (
        ("{value}", clause.value),
        ("{a value}", with_article(clause.value)),
        ("{is}", "are" if plural else "is"),
        ("{the thing}", f"the {noun}"),
        ("{thing}", inner),
        ("{things}", inner),
        ("{scene}", inner),
    ):
        text = text.replace(slot, filling)
    return text
