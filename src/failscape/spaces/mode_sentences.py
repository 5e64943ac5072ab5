"""Modes in plain English: what a target gets wrong, as one sentence without figures. Pure.

A grammar may have better words for its own forms: a method `tell` from a pattern to the main clause.
"""

from collections.abc import Callable, Sequence
from typing import Any

from failscape.spaces.ordinals import is_threshold
from failscape.spaces.question_words import ANSWER_TYPE, ASKS_OF, MENTIONS, NEGATED, QUESTION_CLAUSES
from failscape.spaces.questions import (
    ANY,
    ANYTHING,
    CONSISTENCY,
    LATER_TURNS,
    MEMORY,
    PRESSED,
    Clause,
    Pattern,
)

#: Name of a clause → how a sentence says it.
PHRASES: dict[str, str] = {
    "answer": 'where the right answer is "{}"',
    "things": "when the picture shows {} things",
    "place": "in a picture of the {}",
    "time": "at {}",
    "style": "in a picture in the style {}",
    "thing": "about the {}",
    "other": "beside the {}",
    "colour": "about the colour {}",
    "size": "about the size {}",
    "relation": 'with "{}"',
    "words": 'asked with the words "{}"',
    "added": "with a {} added",
    "before": "that was {} before",
    "shows": "in a picture that shows {}",
    "light": "in a picture taken at {}",
    "setting": "in a picture taken {}",
    "crowding": "in a picture that is {}",
    "across": "about what is in the {} of the picture",
    "height": "about what is at the {} of the picture",
    ASKS_OF: 'that mention "{}"',
    MENTIONS: "that mention {}",
    ANSWER_TYPE: "whose answer is {}",
    "frames apart": "when the two events are {} frames apart",
    "speed": "when the movement is {}",
    "left at the end": "when {} of them are left at the end",
}

#: Skill of a later turn → what it means to fail at it.
_TALKS: dict[str, str] = {
    CONSISTENCY: "it contradicts itself",
    PRESSED[0]: 'it gives up right answers when asked "are you sure?"',
    PRESSED[1]: "it gives up right answers when it is told that they are wrong",
    PRESSED[2]: "it gives up right answers when it is told that others disagree",
    MEMORY: "it no longer knows the first picture once it has seen another,",
}

#: The main clause for a pattern, and the clauses that are left to say.
Tell = Callable[[Pattern], "tuple[str, Sequence[Clause]] | None"]


def sentence(pattern: Pattern, grammar: Any = None) -> str:
    """What a target gets wrong, as a sentence."""
    tell: Tell | None = getattr(grammar, "tell", None)
    told = tell(pattern) if tell is not None else None
    main, left = told if told is not None else _told_plainly(pattern)
    orders = [clause for clause in left if clause[0] == "words" and clause[1].startswith(_ORDERS)]
    said = ", ".join(phrase(clause) for clause in left if clause not in orders)
    before = f"Asked to {orders[0][1]}, " if orders else ""
    text = f"{before}{main} {said}" if said else f"{before}{main.removesuffix(',')}"
    return text[:1].upper() + text[1:]


#: Words around a question that tell the target what to do.
_ORDERS = ("look", "answer")


def phrase(clause: Clause) -> str:
    """A clause as part of a sentence."""
    name, value = clause
    if name == "answer" and is_threshold(clause):
        return f"where the right answer is {value}"
    if name in ("things", "crowding") and value == "one":
        return "when the picture shows one thing"
    if (name, value) in (("text", "yes"), ("people", "yes")):
        return f"in a picture with {name}"
    return PHRASES.get(name, f"with {name} {{}}").format(value)


def _told_plainly(pattern: Pattern) -> tuple[str, Sequence[Clause]]:
    """A negation is told with the question, then what else is known of the question, then the picture."""
    left = [clause for clause in pattern.clauses if clause != NEGATED]
    left.sort(key=lambda clause: clause[0] not in QUESTION_CLAUSES)
    what = "negated questions" if NEGATED in pattern.clauses else "questions"
    main = _main(pattern, what)
    if pattern == ANYTHING:
        main = "it gets questions wrong, whatever they ask for"
    return main, left


def _main(pattern: Pattern, questions: str) -> str:
    skills = [skill for skill in pattern.skills if skill not in LATER_TURNS]
    if pattern.second_turn:
        about = f" when asked about {_joined(skills)}" if skills else ""
        return f"{next(told for skill, told in _TALKS.items() if skill in pattern.skills)}{about}"
    if pattern.form != ANY:
        kind = pattern.form.removesuffix(" question")
        if kind != pattern.form:  # "yes-or-no question": the form says what it is
            other = [skill for skill in skills if skill != kind]
            about = f" about {_joined(other)}" if other else ""
            return f"it gets {questions.replace('questions', f'{kind} questions')}{about} wrong"
        return f'it gets {questions} of the kind "{pattern.form}" wrong'
    if skills:
        return f"it gets {questions} wrong that take {_joined(skills)}"
    told = any(name in QUESTION_CLAUSES for name, _ in pattern.clauses)
    return f"it gets {questions} wrong" if told else f"it gets {questions} wrong, whatever they ask for,"


def _joined(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
