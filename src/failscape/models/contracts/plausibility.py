"""How a language model is asked whether attribute values make sense for an entity: many in one question.

The order of the phrases differs from vote to vote, so that a habit of the model (the first ones are fine)
does not add up.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, ClassVar

from failscape.models.contracts.asking import Ask, Instruction, Read, strict_object
from failscape.models.contracts.parsing import read_answer

MOST = 10
"""The best score."""


class PlausibilityContract:
    """Phrases in, one whole number from 0 to 10 for each out."""

    label: ClassVar[str] = "plausibility/2"
    instruction: ClassVar[Instruction] = Instruction(
        "Each of these phrases may become the content of a picture. Say for each how much sense it makes, "
        "as a whole number from 0 to 10:\n"
        "0: the words do not fit together, nobody could say what the picture must show;\n"
        "5: unusual or fantastic, but it is clear what the picture must show;\n"
        "10: ordinary.\n\n"
        "[[phrases]]\n\n"
        'Reply with JSON only: an object whose "scores" is a list of [[count]] whole numbers, '
        'in the order of the phrases: {"scores": [number, …]}.'
    )

    def ask(self, phrases: Sequence[str], vote: int) -> Ask:
        shown = [phrases[place] for place in self.order(phrases, vote)]
        lines = "\n".join(f"{number}. {phrase}" for number, phrase in enumerate(shown, 1))
        count = len(phrases)
        score = {"type": "integer", "minimum": 0, "maximum": MOST}
        scores = {"type": "array", "items": score, "minItems": count, "maxItems": count}
        return Ask(self.instruction.fill(phrases=lines, count=count), strict_object(scores=scores))

    def order(self, phrases: Sequence[str], vote: int) -> list[int]:
        """In which order the phrases are shown; the first vote sees them as they are."""
        places = list(range(len(phrases)))
        if vote:
            random.Random(f"{vote}/{'/'.join(phrases)}").shuffle(places)
        return places

    def read(self, text: str, phrases: Sequence[str], vote: int) -> Read[list[int]]:
        """Scores in the order of `phrases`."""
        count = len(phrases)
        wanted = f"list of {count} whole numbers from 0 to {MOST}"
        found, invalid = read_answer(text, lambda value: _scores(value, count), wanted)
        if found is None:
            return Read(None, invalid)
        scores = [0] * count
        for place, score in zip(self.order(phrases, vote), found, strict=True):
            scores[place] = score
        return Read(scores)


def _scores(value: Any, count: int) -> list[int] | None:
    if isinstance(value, dict):
        value = value.get("scores")
    if not isinstance(value, list) or len(value) != count:
        return None
    whole = [isinstance(one, int) and not isinstance(one, bool) and 0 <= one <= MOST for one in value]
    return value if all(whole) else None
