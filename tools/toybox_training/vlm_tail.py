"""The long tail in toy-vlm's training: which questions are frequent, rare and never asked."""

import zlib
from math import prod
from typing import Final

import numpy as np

from failscape.toybox.compounds import COMPOUNDS
from failscape.toybox.questions import Form, parse_question
from tools.toybox_training.asking import Question

#: How often each simple form of question is asked in training, relative to the others.
BASIC_WEIGHTS: Final[dict[str, float]] = {
    "exists": 10,
    "colour": 10,
    "count": 8,
    "count all": 6,
    "size": 8,
    "place": 8,
    "relation": 10,
    "more": 4,
    "absent": 4,
    "not size": 1.5,
    "colour+thing": 6,
    "size+thing": 4,
    "size+colour": 1.5,
    "size+colour+thing": 1,
    "odd size": 2,
    "odd colour": 1.5,
    "odd kind": 3,
    "hop thing": 3,
    "hop colour": 1.5,
    "hop size": 0.5,
}
#: How rare a skill makes the forms put together from parts that take it; the others are common (1).
RARE_SKILLS: Final[dict[str, float]] = {
    "parity": 0.15,
    "three-hop": 0.15,
    "nesting": 0.25,
    "diagonal": 0.3,
    "farthest": 0.3,
    "between": 0.4,
    "subtraction": 0.3,
    "exact number": 0.4,
    "ordinal position": 0.5,
    "depth": 0.5,
    "matching": 0.5,
    "disjunction": 0.5,
    "negation": 0.6,
    "position": 0.6,
}
#: How many more questions a form gets that is not one of a family of hundreds.
SPECIAL_WEIGHT: Final = 1.5
FAMILY_WEIGHT: Final = 0.2
#: The simple forms are known from before, and only kept up.
KNOWN_SHARE: Final = 0.6
#: Share of the forms of three parts and more that are never asked.
LEFT_OUT: Final = 0.35


def _compound_weight(form: Form) -> float:
    family = ":" in form.key
    if family and len(form.skills) > 2 and zlib.crc32(form.key.encode()) % 100 < 100 * LEFT_OUT:
        return 0.0
    return (FAMILY_WEIGHT if family else SPECIAL_WEIGHT) * prod(
        RARE_SKILLS.get(skill, 1.0) for skill in form.skills
    )


#: How often each form is asked in training; 0: never.
WEIGHTS: Final[dict[str, float]] = {
    **{key: KNOWN_SHARE * weight for key, weight in BASIC_WEIGHTS.items()},
    **{form.key: _compound_weight(form) for form in COMPOUNDS},
}
#: Forms that count as frequent in the card and in the acceptance test.
FREQUENT: Final = tuple(key for key, weight in BASIC_WEIGHTS.items() if weight >= 4)
#: Relations that are asked less often, by the share that is kept.
RELATIONS: Final[dict[str, float]] = {"left of": 1.0, "above": 1.0, "right of": 0.6, "below": 0.25}
#: Things that are asked for by name less often (share kept); all other things are always kept.
THINGS: Final[dict[str, float]] = {
    "teapot": 0.1,
    "guitar": 0.1,
    "flamingo": 0.1,
    "tulip": 0.25,
    "clock": 0.25,
    "ship": 0.25,
}
#: Things never asked for together with a colour or a relation.
NEVER_COMBINED: Final = frozenset({"drum", "donut"})


def kept(rng: np.random.Generator, question: Question) -> bool:
    """Decide whether a question stays in the training data."""
    query = parse_question(question.text)
    if query is None:
        return False
    slots = dict(query.slots)
    names = {slots.get("thing"), slots.get("other")}
    if names & NEVER_COMBINED and {"colour", "relation"} & slots.keys():
        return False
    share = RELATIONS.get(slots.get("relation", ""), 1.0)
    for name in names:
        share *= THINGS.get(name or "", 1.0)
    return share >= 1.0 or bool(rng.random() < share)
