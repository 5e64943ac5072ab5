"""The long tail in toy-vlm's training: which questions are frequent, rare and never asked."""

from typing import Final

import numpy as np

from failscape.toybox.questions import Question, parse_question

#: How often each form of question is asked in training, relative to the others.
WEIGHTS: Final[dict[str, float]] = {
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
#: Forms that count as frequent in the card and in the acceptance test.
FREQUENT: Final = tuple(key for key, weight in WEIGHTS.items() if weight >= 4)
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
