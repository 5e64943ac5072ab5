"""What a form of question is, and how it is worded. Pure."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from failscape.spaces.wording import with_article
from failscape.toybox.conditions import GROUPS, Fact, Slots
from failscape.toybox.world import PLURALS, Scene

NUMBERS: Final = ("zero", "one", "two", "three", "four", "five")
SIZES: Final = ("small", "large")
RELATIONS: Final = ("left of", "right of", "above", "below")
GROUP_PLURALS: Final = dict(GROUPS.values())
Solver = Callable[[Scene, Slots], str | None]


@dataclass(frozen=True)
class Form:
    """One way to ask: its key, its main skill, its wordings (the first is canonical) and how it is answered.

    `more` are the other primitive skills that it takes, `simpler` the keys of forms with one part less.
    """

    key: str
    skill: str
    wordings: tuple[str, ...]
    solve: Solver
    more: tuple[str, ...] = ()
    simpler: tuple[str, ...] = ()

    @property
    def skills(self) -> tuple[str, ...]:
        """All primitive skills, sorted."""
        return tuple(sorted({self.skill, *self.more}))

    @property
    def slots(self) -> tuple[str, ...]:
        """The names of what is put into its wording, in order."""
        return tuple(ONE.get(name, name) for name in re.findall(r"\{([a-z ]+)\}", self.wordings[0]))


ONE: Final = {"things": "thing", "a thing": "thing", "others": "other", "groups": "group"}


def words(text: str) -> list[str]:
    """Split a question into lower-case words."""
    return ["colour" if word == "color" else word for word in re.findall(r"[a-z]+", text.lower())]


def word_question(form: Form, slots: Slots, wording: int = 0) -> str:
    """Put slots into a wording of a form."""
    text = form.wordings[wording % len(form.wordings)]
    values = dict(slots)
    if "thing" in values:
        values["things"] = PLURALS[values["thing"]]
        values["a thing"] = with_article(values["thing"])
    if "other" in values:
        values["others"] = PLURALS[values["other"]]
    if "group" in values:
        values["groups"] = GROUP_PLURALS[values["group"]]
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", value)
    text = re.sub(r"\ba (?=[aeiou])", "an ", text)
    return f"{text}?"


def yes(fact: Fact) -> str | None:
    """The answer that a fact gives to a yes-or-no question."""
    return None if fact is None else "yes" if fact else "no"
