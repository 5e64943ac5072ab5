"""Longer talks: what a target is asked after its first answer, turn by turn. Pure.

The second turn asks for something that follows from the first answer: another answer contradicts it. A target
whose first answer was right is then pressed, harder each time, and at last asked about the first picture
beside another one. Each is a skill, and so a failure, of its own.
"""

import random
from typing import Final

from failscape.spaces.questions import (
    ANY,
    CONSISTENCY,
    MEMORY,
    PRESSED,
    THEN,
    Asked,
    FollowUp,
    Grammar,
    Pattern,
    make_pattern,
)

MOST_TURNS: Final = 2 + len(PRESSED) + 1
#: Skill → what its form is called, and how a question is asked again.
_PRESSING: Final = dict(
    zip(
        PRESSED,
        (
            ("are you sure", "Are you sure? {}"),
            ("told it is wrong", "I think that is wrong. Look again: {}"),
            ("others disagree", "Everybody else says something else. One last time: {}"),
        ),
        strict=True,
    )
)

_BACK: Final = "Now a second picture is shown. Back to the first one: {}"
#: Skill of a later turn → what it is called to fail at it.
TOLD: Final = {
    CONSISTENCY: "contradiction",
    **dict.fromkeys(PRESSED, "drift after pressure"),
    MEMORY: "forgot the first picture",
}


def later_skills(turns: int) -> tuple[str, ...]:
    """The skills of the turns after the first, in order, of a talk with so many turns."""
    pressed = PRESSED[: max(0, turns - 2 - (turns > 3))]
    return (CONSISTENCY, *pressed, *((MEMORY,) if turns > 3 else ()))[: turns - 1]


def follow(
    grammar: Grammar, asked: Asked, answer: str, right: bool, skill: str, rng: random.Random, fresh: bool
) -> FollowUp | None:
    """What to ask next; None where nothing follows, or where there is no right answer to stand by."""
    if skill == CONSISTENCY:
        return grammar.follow_up(asked, answer, rng)
    if not right:
        return None
    expected = asked.truth or answer
    if skill in _PRESSING:
        name, words = _PRESSING[skill]
        return FollowUp(_pattern(asked, name, skill), words.format(asked.text), expected)
    pick = getattr(grammar, "pick", None)
    sight = pick(rng, fresh) if pick is not None else None
    if sight is None:
        return None
    return FollowUp(_pattern(asked, "first picture", skill), _BACK.format(asked.text), expected, sight)


def skill_of_turn(pattern: Pattern) -> str:
    """The skill that makes a pattern one of a later turn; empty for a first question."""
    return next((skill for skill in pattern.skills if skill in TOLD), "")


def _pattern(asked: Asked, name: str, skill: str) -> Pattern:
    form = asked.pattern.form
    return make_pattern(form if form == ANY else f"{form}{THEN}{name}", [*asked.pattern.skills, skill])
