"""What the words of a question say about it, as clauses. Pure.

A question may be negated, ask for a certain type of answer, and mention a colour, a shape or a number. These
hold for any question, whoever wrote it, so that "negated questions that mention a shape" can be named.
"""

import re
from typing import Final

from failscape.spaces.ordinals import NUMBERS, Clause

#: Names of clauses that describe the question, not the picture.
NEGATED: Final[Clause] = ("negated", "yes")
MENTIONS, ASKS_OF, ANSWER_TYPE = "mentions", "asks of", "answer type"
QUESTION_CLAUSES: Final = frozenset((NEGATED[0], MENTIONS, ASKS_OF, ANSWER_TYPE))

YES_OR_NO, A_NUMBER, A_COLOUR, A_SHAPE = "yes or no", "a number", "a colour", "a shape"
A_PLACE, A_CHOICE = "a place", "one of several"

_COLOUR_WORDS = (
    "red orange yellow green blue purple violet pink brown black white grey gray teal cyan magenta gold "
    "silver beige turquoise"
)
_SHAPE_WORDS = (
    "circle triangle rectangle square oval ellipse diamond star pentagon hexagon octagon cube sphere "
    "cylinder cone pyramid cross heart crescent"
)
COLOURS: Final = frozenset(_COLOUR_WORDS.split())
SHAPES: Final = frozenset(_SHAPE_WORDS.split())
_GROUPS: Final = {A_COLOUR: COLOURS, A_SHAPE: SHAPES, A_NUMBER: frozenset(NUMBERS)}

_NEGATION = re.compile(r"\b(not|no|none|never|without|neither|nor|nothing|nobody)\b|n't\b")
#: The first that fits tells what a question asks for.
_TYPES: Final = (
    (A_NUMBER, re.compile(r"\bhow many\b|\b(the|what) number of\b")),
    (A_COLOUR, re.compile(r"\b(what|which)( is the)? colou?r\b")),
    (A_SHAPE, re.compile(r"\b(what|which)( is the)? shape\b")),
    (A_PLACE, re.compile(r"^where\b")),
    (A_CHOICE, re.compile(r"^(is|are|does|do|did|was|were|has|have|can)\b.* or (?!not\b|no\b)")),
    (
        YES_OR_NO,
        re.compile(r"^(is|are|isn't|aren't|does|do|doesn't|don't|did|was|were|has|have|can|could)\b"),
    ),
)


def words_in(text: str) -> list[str]:
    """The words of a text in lower case; plurals of shapes in the singular."""
    words = re.findall(r"[a-z]+", text.lower())
    return [word[:-1] if word.endswith("s") and word[:-1] in SHAPES else word for word in words]


def is_negated(text: str) -> bool:
    return _NEGATION.search(text.lower()) is not None


def question_clauses(text: str) -> tuple[Clause, ...]:
    """Negation, type of answer, and the colours, shapes and numbers that a question mentions."""
    plain = " ".join(text.lower().split())
    found: set[Clause] = {NEGATED} if is_negated(plain) else set()
    asked_for = next((name for name, form in _TYPES if form.search(plain)), "")
    if asked_for:
        found.add((ANSWER_TYPE, asked_for))
    for word in words_in(plain):
        for group, members in _GROUPS.items():
            if word in members:
                found |= {(MENTIONS, group), (ASKS_OF, word)}
    return tuple(sorted(found))


def type_of_answer(answer: str) -> str:
    """The type of a right answer, "" for none that is known."""
    plain = answer.strip().strip(".").lower()
    if plain in ("yes", "no"):
        return YES_OR_NO
    if plain.isdecimal():
        return A_NUMBER
    return next((group for group, members in _GROUPS.items() if plain in members), "")


_WISHES: Final = {
    YES_OR_NO: "it is answered with yes or no",
    A_NUMBER: "its answer is a number",
    A_COLOUR: "it asks for a colour",
    A_SHAPE: "it asks for a shape",
    A_PLACE: "it asks where something is",
    A_CHOICE: "it offers the possible answers",
}


def wish(clause: Clause) -> str:
    """What somebody who writes a question is told, so that the clause holds for it."""
    name, value = clause
    if clause == NEGATED:
        return 'it has a negation in it ("not" or "no")'
    if name == ANSWER_TYPE:
        return _WISHES[value]
    return f"it mentions {value}" if name == MENTIONS else f'it has the word "{value}" in it'
