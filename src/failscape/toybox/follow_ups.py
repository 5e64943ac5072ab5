"""Second turns about a scene: questions whose answer follows from the answer to the first, right or wrong."""

from __future__ import annotations

from typing import Final

from failscape.toybox.questions import NUMBERS, SIZES, Slots, normal_answer
from failscape.toybox.world import COLOURS

_INVERSE: Final = {"left of": "right of", "right of": "left of", "above": "below", "below": "above"}
_OPPOSITE: Final = {"yes": "no", "no": "yes"}

Follow = tuple[str, Slots, str]
"""The form of the second question, its slots, and the answer that does not contradict the first."""


def follow(form: str, slots: Slots, answer: str) -> Follow | None:
    """None where nothing follows from the answer, or the answer is none of the closed list."""
    said = normal_answer(answer)
    thing = {"thing": slots["thing"]} if "thing" in slots else {}
    if form == "count" and said in NUMBERS:
        return "exists", thing, "no" if said == "zero" else "yes"
    if form == "exists" and said in _OPPOSITE:
        return "absent", thing, _OPPOSITE[said]
    if form == "absent" and said in _OPPOSITE:
        return "exists", thing, _OPPOSITE[said]
    if form == "colour" and said in COLOURS:
        return "colour+thing", {**thing, "colour": said}, "yes"
    if form == "size" and said in SIZES:
        return "size+thing", {**thing, "size": said}, "yes"
    if form == "relation" and said == "yes":
        turned = {"thing": slots["other"], "other": slots["thing"], "relation": _INVERSE[slots["relation"]]}
        return "relation", turned, "yes"
    return None
